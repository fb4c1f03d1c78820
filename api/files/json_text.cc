#include "api/files/json_text.h"

#include "absl/strings/str_cat.h"
#include "api/files/limits.h"

namespace twinmmu {

absl::Status CheckJsonSize(absl::string_view text) {
  int depth = 0;
  int values = 1;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (c == '[' || c == '{' || c == ',') ++values;
    if (depth > kMaxJsonDepth) {
      return absl::InvalidArgumentError(
          absl::StrCat("it is nested more than ", kMaxJsonDepth, " deep"));
    }
    if (values > kMaxJsonValues) {
      return absl::InvalidArgumentError(
          absl::StrCat("it has more than ", kMaxJsonValues, " values"));
    }
  }
  return absl::OkStatus();
}

std::string JsonErrorOf(const char* what) {
  constexpr size_t kMaxWords = 300;
  const absl::string_view words = what;
  return absl::StrCat(words.substr(0, kMaxWords), words.size() > kMaxWords ? "..." : "");
}

}  // namespace twinmmu
