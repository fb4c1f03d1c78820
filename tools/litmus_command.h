// twinmmu litmus: what the memory model allows of litmus tests, and what a machine shows of it.

#ifndef TWINMMU_TOOLS_LITMUS_COMMAND_H_
#define TWINMMU_TOOLS_LITMUS_COMMAND_H_

#include <ostream>
#include <string>
#include <vector>

#include "api/driver.h"
#include "conformance/litmus/litmus_counts.h"

namespace twinmmu {

// Reads the tests of `paths` and prints to `out`, of each, what comes out: all outcomes, the
// verdict, the races with what would mend them. `driver`: null, or on whose devices they are
// played as `play` says, unless --rounds says otherwise. Returns the exit code of the program:
// 1 where a verdict or a hazard is not as the file says, a test cannot be read, or a device showed
// what the model forbids; 2 without files.
int RunLitmus(const std::vector<std::string>& paths, Driver* driver, const LitmusPlay& play,
              std::ostream& out);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_LITMUS_COMMAND_H_
