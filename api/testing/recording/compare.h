// Compare: what differs between two recordings of the same calls.

#ifndef TWINMMU_API_TESTING_RECORDING_COMPARE_H_
#define TWINMMU_API_TESTING_RECORDING_COMPARE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/testing/recording/replay.h"

namespace twinmmu {

// A section that came out differently.
struct SectionDifference {
  std::string section;
  std::string rule;                   // "MAP-5"; empty: it is about none
  std::string verdict;                // "passed, then failed"; empty: alike
  std::vector<LineDifference> lines;  // calls with another result: `recorded` here, `seen` there
};

struct Comparison {
  Json machine;  // the first lines
  Json other_machine;
  uint64_t sections = 0;  // that both have
  uint64_t calls = 0;     // that were compared
  uint64_t parted = 0;    // sections in which the two made other calls, from some line on
  std::vector<std::string> only_here;
  std::vector<std::string> only_there;
  std::vector<SectionDifference> differences;
};

// Sections are matched by name, calls by their place. Not compared: where reservations are, and
// whether queued work was done when asked. Errors: the files'.
absl::StatusOr<Comparison> Compare(const std::string& path, const std::string& other_path);

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_COMPARE_H_
