// docs/reference/observations.md: what the reference driver does against the rules. Its words are
// written by hand; the list of deviations is generated.

#ifndef TWINMMU_CONFORMANCE_RULES_OBSERVATIONS_H_
#define TWINMMU_CONFORMANCE_RULES_OBSERVATIONS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace twinmmu::conformance {

// `document` with its section "deviations" as it is now: their number, each in a sentence, and then
// each with its rule and the program that shows it. InvalidArgument: the section has no place.
absl::StatusOr<std::string> UpdateObservations(absl::string_view document);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_RULES_OBSERVATIONS_H_
