// What recordings of the suite say of each rule.

#ifndef TWINMMU_CONFORMANCE_RULES_OBSERVED_H_
#define TWINMMU_CONFORMANCE_RULES_OBSERVED_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace twinmmu::conformance {

// What was seen of a rule on one machine.
struct Observation {
  std::string machine;            // "2 x NVIDIA H200, driver 580.159.04 (CUDA 13.0)"
  std::string since;              // the date of the first recording: "2026-11-22"
  std::set<std::string> verdict;  // "holds", "unsupported", "does not hold", or the name of the
                                  // deviation that showed; of all tests of the rule
  std::map<std::string, std::string> figures;  // what the tests counted, by name
};

// By the id of the rule, "MAP-5"; in order of machines. Recordings without sections of the suite
// say nothing. Errors: the files'.
absl::StatusOr<std::map<std::string, std::vector<Observation>>> ReadObservations(
    const std::vector<std::string>& recordings);

// The recordings of the suite in that folder, in order of names. Those of random calls say nothing
// of a rule.
std::vector<std::string> SuiteRecordings(const std::string& folder);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_RULES_OBSERVED_H_
