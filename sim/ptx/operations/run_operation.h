// Runs an operation on given values, for tests of it.

#ifndef TWINMMU_SIM_PTX_OPERATIONS_RUN_OPERATION_H_
#define TWINMMU_SIM_PTX_OPERATIONS_RUN_OPERATION_H_

#include <cstdint>
#include <vector>

#include "sim/ptx/operations/operation.h"

namespace twinmmu::ptx {

// By operand, and by trial; empty for operands that are not read, or not written.
using OperandValues = std::vector<std::vector<uint64_t>>;

// What the operation writes for each of `trials` of what is in `inputs`, in warps of which the last
// one may have lanes that are not active.
OperandValues RunOperation(const Operation& operation, const OperandValues& inputs, int trials);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_OPERATIONS_RUN_OPERATION_H_
