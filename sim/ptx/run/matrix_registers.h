// Matrices in the registers of a warp.

#ifndef TWINMMU_SIM_PTX_RUN_MATRIX_REGISTERS_H_
#define TWINMMU_SIM_PTX_RUN_MATRIX_REGISTERS_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/fixed_array.h"
#include "sim/ptx/operations/operation.h"
#include "sim/ptx/program/code.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {

// Matrix instructions are done by all threads of a warp together. kNext: all are here, as `lanes`,
// or none, and there is nothing to do.
Flow GatherWarp(Warp& warp, Lanes lanes);

// As Multiply counts them.
using MatrixElements = absl::FixedArray<uint64_t, 512>;
// Copies a, b or c.
void TakeMatrix(Warp& warp, const MatrixCode& matrix, MatrixOperand operand, uint64_t* elements);
// d.
void PutMatrix(Warp& warp, const MatrixCode& matrix, const uint64_t* elements);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_MATRIX_REGISTERS_H_
