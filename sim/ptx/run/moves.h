// Moves: copies of values between slots, wider, narrower, in parts and put together.

#ifndef TWINMMU_SIM_PTX_RUN_MOVES_H_
#define TWINMMU_SIM_PTX_RUN_MOVES_H_

#include <cstdint>

#include "sim/ptx/operations/operation.h"

namespace twinmmu::ptx {

// operands: to, from, which have that width; 0: predicates.
Compute FindCopy(int width);
// operands: to, from. Cuts, or extends with the sign or with zeros. Widths: 2, 4, 8.
Compute FindResize(int to, int from, bool is_signed);
// operands: to, from.
Compute FindInversion();
// operands: the whole, then `count` parts from the lowest on, or the parts, then the whole. `bits`
// of a part, in slots of 2 bytes if that is 8. Null: there is no such form.
Compute FindPack(int whole, int count);
Compute FindUnpack(int whole, int count);
// operands: to, a, b; 64 bits.
Compute FindAddressAdd();
// operands: a predicate, an address, a window: whether it lies there.
Compute FindInWindow();
// operands: a predicate, an address, where a range begins, its size: whether it lies there.
Compute FindInRange();
// The same: whether it lies neither there nor in a window.
Compute FindInNoWindow();

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_MOVES_H_
