// How tests of operations say what they compute.

#ifndef TWINMMU_SIM_PTX_OPERATIONS_OPERATION_TESTING_H_
#define TWINMMU_SIM_PTX_OPERATIONS_OPERATION_TESTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sim/ptx/operations/operation.h"

namespace twinmmu::ptx {

// The operation of "add.s32" with that many operands in the text.
absl::StatusOr<Operation> Find(absl::string_view form, int operands);

// What the form writes, in the order of its operands, for what it reads. The number of operands is
// that of the inputs and one more, or `results`. A failure of the test, and nothing, if there is no
// such form.
std::vector<uint64_t> ResultsOf(absl::string_view form, const std::vector<uint64_t>& inputs,
                                int results = 1);
// The same of a form that writes one value; 0xbad...bad if there is none.
uint64_t ResultOf(absl::string_view form, const std::vector<uint64_t>& inputs);

uint64_t Bits(float x);
uint64_t Bits(double x);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_OPERATIONS_OPERATION_TESTING_H_
