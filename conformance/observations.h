// docs/observations.md: what drivers were seen to do. Its words are written by hand; its sections
// are made from what the project knows.

#ifndef TWINMMU_CONFORMANCE_OBSERVATIONS_H_
#define TWINMMU_CONFORMANCE_OBSERVATIONS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace twinmmu::conformance {

// `document` with its sections as they are now. "deviations": their number, each in a sentence, and
// then each with its rule and the program that shows it. InvalidArgument: a section has no place.
absl::StatusOr<std::string> UpdateObservations(absl::string_view document);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_OBSERVATIONS_H_
