// Matrices in the registers of a warp.

#ifndef TWINMMU_SIM_PTX_RUN_MATRIX_REGISTERS_H_
#define TWINMMU_SIM_PTX_RUN_MATRIX_REGISTERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/ptx/operations/operation.h"
#include "sim/ptx/program/code.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {

// Matrix instructions are done by all threads of a warp together. kNext: all are here, as `lanes`,
// or none, and there is nothing to do.
Flow GatherWarp(Warp& warp, Lanes lanes);

// The `count` elements of a, b or c, as Multiply counts them.
std::vector<uint64_t> TakeMatrix(Warp& warp, const MatrixCode& matrix, MatrixOperand operand,
                                 size_t count);
// d.
void PutMatrix(Warp& warp, const MatrixCode& matrix, const uint64_t* elements);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_MATRIX_REGISTERS_H_
