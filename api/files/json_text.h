// ParseJson: JSON that somebody else has written, as a value of nlohmann's library.
//
// The library's destructor allocates for what is nested, and ends the process where that fails. Who
// must live on with too little memory clears what ParseJson returned, by ClearJson; ParseJson does
// it with what it has when an allocation fails.

#ifndef TWINMMU_API_FILES_JSON_TEXT_H_
#define TWINMMU_API_FILES_JSON_TEXT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace twinmmu {

// Empties it from within: nothing is allocated, then or when it is destroyed.
template <typename Json>
void ClearJson(Json* json) {
  if (json->is_structured()) {
    for (Json& part : *json) ClearJson(&part);
  }
  json->clear();
}

// Of nlohmann::json and nlohmann::ordered_json. InvalidArgument: it is no JSON, has a number that
// no double holds, or is too large.
template <typename Json>
absl::StatusOr<Json> ParseJson(absl::string_view text);

}  // namespace twinmmu

#endif  // TWINMMU_API_FILES_JSON_TEXT_H_
