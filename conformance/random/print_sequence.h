// Prints a sequence as the body of a test.

#ifndef TWINMMU_CONFORMANCE_RANDOM_PRINT_SEQUENCE_H_
#define TWINMMU_CONFORMANCE_RANDOM_PRINT_SEQUENCE_H_

#include <string>
#include <vector>

#include "conformance/random/checker.h"
#include "conformance/random/random_call.h"

namespace twinmmu::conformance::random {

// C++ for a GoogleTest test over `Vmm& vmm` and `Executor& executor`, with api/testing/matchers.h.
// It expects what the model says. `checker`, which is new, makes the calls.
std::string PrintTest(const std::vector<Call>& calls, Checker& checker);

}  // namespace twinmmu::conformance::random

#endif  // TWINMMU_CONFORMANCE_RANDOM_PRINT_SEQUENCE_H_
