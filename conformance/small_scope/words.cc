#include "conformance/small_scope/words.h"

#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace twinmmu::conformance::small_scope {
namespace {

// The number in hexadecimal of which the digits begin at `begin`, in words.
std::string NumberInWords(const char* begin, char** end, DeviceAddress origin) {
  constexpr int64_t kNear = int64_t{1} << 30;
  const auto distance = static_cast<int64_t>(std::strtoull(begin, end, 16) - origin.value());
  const bool is_near = distance > -kNear && distance < kNear;
  return is_near ? absl::StrCat("origin", distance < 0 ? "" : "+", distance) : "#";
}

}  // namespace

std::string KindOf(const Diagnostic& diagnostic) {
  return absl::StrCat(ToString(diagnostic.kind), ", ", ToString(diagnostic.severity));
}

std::string WordsOf(const Diagnostic& diagnostic, DeviceAddress origin) {
  std::string words = absl::StrCat(KindOf(diagnostic), ", ", diagnostic.call, ": ");
  const std::string& message = diagnostic.message;
  for (size_t i = 0; i < message.size();) {
    if (message.compare(i, 2, "0x") == 0) {
      char* end = nullptr;
      words += NumberInWords(message.c_str() + i, &end, origin);
      i = static_cast<size_t>(end - message.c_str());
    } else if (absl::ascii_isdigit(message[i]) && absl::EndsWith(words, "call ")) {
      while (absl::ascii_isdigit(message[i])) ++i;  // a string ends with a 0
      words += '#';
    } else {
      words += message[i++];
    }
  }
  return words;
}

std::string Compared(const std::vector<std::string>& first,
                     const std::vector<std::string>& second) {
  return absl::StrCat("it diagnoses [", absl::StrJoin(second, "; "), "], the first one [",
                      absl::StrJoin(first, "; "), "]");
}

}  // namespace twinmmu::conformance::small_scope
