// Fusions: which products of a function go into sums without being rounded.
//
// A `mul` and an `add` or `sub` without `.rn` may become one `fma`, and the driver's compiler makes
// it one. Which products it takes was measured with ptxas 13.0; docs/internals/ptx.md has the rule.

#ifndef TWINMMU_SIM_PTX_DECODE_FUSIONS_H_
#define TWINMMU_SIM_PTX_DECODE_FUSIONS_H_

#include <cstddef>
#include <vector>

#include "sim/ptx/text/module.h"

namespace twinmmu::ptx {

// Of an instruction.
struct Fusion {
  // Of a sum, or else -1: the product that goes into it.
  int product = -1;
  size_t addend = 0;  // the operand that is not the product
  bool negates_product = false;
  bool negates_addend = false;
  // Of a product.
  bool goes_into_sums = false;
  bool keeps_factors = false;  // what they are changes before the last of these sums
  // A product, a copy of it or its negative, that nothing reads any more.
  bool left_out = false;
};

// By instruction; empty: there are none.
std::vector<Fusion> FindFusions(const Function& function);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_DECODE_FUSIONS_H_
