// Align: which calls of two sections are the same, where one of the two did more than the other.

#ifndef TWINMMU_API_TESTING_RECORDING_ALIGN_H_
#define TWINMMU_API_TESTING_RECORDING_ALIGN_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/testing/recording/file.h"

namespace twinmmu {

// A call of a section.
struct Step {
  size_t line = 0;  // of the section; the call after its beginning is 1
  const Json* call = nullptr;
  std::string key;            // what was asked: alike in calls that can be compared
  bool after_launch = false;  // device code may run, and read and write meanwhile
};

// The calls of a section whose outcome the driver decides, not time.
struct Steps {
  std::vector<Step> steps;
  uint64_t polls = 0;       // left out: questions whether something has happened yet
  uint64_t of_threads = 0;  // left out: from the first call of a second thread on
};

// Points into `section`.
Steps StepsOf(const Section& section);

struct Alignment {
  std::vector<std::pair<const Step*, const Step*>> pairs;
  uint64_t only_here = 0;
  uint64_t only_there = 0;
};

// Passes over calls that only one of the two made, as long as these change nothing: after one that
// does, the same question may rightly have another answer, and the rest is not compared. Points
// into both.
Alignment Align(const Steps& here, const Steps& there);

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_ALIGN_H_
