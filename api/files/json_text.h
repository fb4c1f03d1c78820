// ParseJson: JSON that somebody else has written, as a value of nlohmann's library.

#ifndef TWINMMU_API_FILES_JSON_TEXT_H_
#define TWINMMU_API_FILES_JSON_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace twinmmu {

// InvalidArgument: it is nested more deeply, or has more values, than limits.h allows; whether it
// is JSON is not asked. The library copies and writes what is nested by calling itself.
absl::Status CheckJsonSize(absl::string_view text);

// Its words for what is wrong, as far as a person reads them.
std::string JsonErrorOf(const char* what);

// InvalidArgument: it is no JSON, has a number that no double holds, or is too large.
template <typename Json>
absl::StatusOr<Json> ParseJson(absl::string_view text) {
  absl::Status size = CheckJsonSize(text);
  if (!size.ok()) return size;
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const typename Json::exception& error) {
    return absl::InvalidArgumentError(JsonErrorOf(error.what()));
  }
}

}  // namespace twinmmu

#endif  // TWINMMU_API_FILES_JSON_TEXT_H_
