// docs/reference/observations.md: what drivers were seen to do. Its words are written by hand; its sections
// are made from what the project knows.

#ifndef TWINMMU_CONFORMANCE_OBSERVATIONS_H_
#define TWINMMU_CONFORMANCE_OBSERVATIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace twinmmu::conformance {

// `document` with its sections as they are now. "deviations": their number, each in a sentence, and
// then each with its rule and the program that shows it. "rules": each rule, who says it, and what
// was seen by the recordings in these files, on which machines, since when. InvalidArgument: a
// section has no place, or a file is no recording.
absl::StatusOr<std::string> UpdateObservations(absl::string_view document,
                                               const std::vector<std::string>& recordings);

// The recordings of the suite in that folder, in order of names. Those of random calls say nothing
// of a rule.
std::vector<std::string> SuiteRecordings(const std::string& folder);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_OBSERVATIONS_H_
