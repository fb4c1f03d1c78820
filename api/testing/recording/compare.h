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
  Json header;  // the first lines
  Json other_header;
  uint64_t sections = 0;  // that both have
  uint64_t calls = 0;     // that were compared
  // Left out, because time or the machine decides it, not the driver.
  uint64_t after_launch = 0;     // calls with other results but the same code, as kernels ran
  uint64_t polls = 0;            // questions whether something has happened yet
  uint64_t of_threads = 0;       // calls after a second thread had made one
  uint64_t lacking_devices = 0;  // sections whose tests one of the two has too few devices for
  uint64_t calls_only_here = 0;  // that the other did not make, and what followed them
  uint64_t calls_only_there = 0;
  std::vector<std::string> only_here;
  std::vector<std::string> only_there;
  std::vector<SectionDifference> differences;
};

// Sections are matched by name, calls by what they ask, in order. Not compared: where reservations
// are. Errors: the files'.
absl::StatusOr<Comparison> Compare(const std::string& path, const std::string& other_path);

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_COMPARE_H_
