// Litmus tests: what the memory model allows of them, and what a machine shows of it.

#ifndef TWINMMU_TOOLS_COMMANDS_LITMUS_REPORT_H_
#define TWINMMU_TOOLS_COMMANDS_LITMUS_REPORT_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/driver.h"
#include "conformance/litmus/litmus_counts.h"
#include "nlohmann/json.hpp"
#include "sim/coherence/litmus/enumerate.h"

namespace twinmmu {

struct LitmusRun {
  Driver* driver = nullptr;  // null, or on whose devices they are played
  LitmusPlay play;
  coherence::Modes modes;
};

struct LitmusResult {
  // False: a verdict or a hazard is not as the file says, a test cannot be read, or a device showed
  // what the model forbids.
  bool as_expected = false;
  nlohmann::json records;  // of each test, an object
};

// Reads the tests of `paths` and prints to `out`, of each, what comes out: all outcomes, the
// verdict, the races with what would mend them. NotFound: a file cannot be read.
absl::StatusOr<LitmusResult> RunLitmus(const std::vector<std::string>& paths, const LitmusRun& run,
                                       std::ostream& out);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMANDS_LITMUS_REPORT_H_
