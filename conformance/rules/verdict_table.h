// docs/reference/verdicts.md: the verdict of each rule on the simulator, and on the hardware that
// was recorded. Its words are written by hand; the tables are generated.

#ifndef TWINMMU_CONFORMANCE_RULES_VERDICT_TABLE_H_
#define TWINMMU_CONFORMANCE_RULES_VERDICT_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace twinmmu::conformance {

// `document` with its section "verdicts" as it is now. `simulated`: a baseline (baseline.h) with a
// verdict of "sim" and one of "cuda_on_sim" for each rule. `recordings`: files of the suite on
// hardware. InvalidArgument: the section has no place, a verdict is missing, a line is none, or a
// file is no recording.
absl::StatusOr<std::string> UpdateVerdicts(absl::string_view document, absl::string_view simulated,
                                           const std::vector<std::string>& recordings);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_RULES_VERDICT_TABLE_H_
