// MatrixProduct: what matrix instructions compute, d = a * b + c, from the bits of the elements.

#ifndef TWINMMU_SIM_PTX_MATRICES_MATRIX_PRODUCT_H_
#define TWINMMU_SIM_PTX_MATRICES_MATRIX_PRODUCT_H_

#include <cstdint>

#include "sim/ptx/operations/float_math.h"

namespace twinmmu::ptx {

enum class Element : uint8_t {
  kF16,
  kBf16,
  kTf32,  // in 32 bits, of which the lower 13 do not count
  kE4m3,
  kE5m2,
  kF32,
  kF64,
  kS8,
  kU8,
  kS4,
  kU4,
  kB1,  // 32 of them are one element here, and `k` is so much less
  kS32,
};
constexpr bool IsInteger(Element element) { return element >= Element::kS8; }
// Of a, b, c or d in a register or in memory.
int BitsOf(Element element);

struct MatrixProduct {
  int m = 0;
  int n = 0;
  int k = 0;
  Element a = Element::kF16;
  Element b = Element::kF16;
  Element c = Element::kF32;
  Element d = Element::kF32;
  bool saturates = false;            // s32: to the nearest of its numbers
  bool exclusive_or = false;         // of b1; else and
  Round rounding = Round::kNearest;  // of f64
  bool negates_a = false;
  bool negates_b = false;
  bool of_wmma = false;       // these two sum otherwise
  bool of_warpgroup = false;  // wgmma
};

// Elements row by row; of b, column by column. docs/internals/ptx.md says how floats are summed.
void Multiply(const MatrixProduct& product, const uint64_t* a, const uint64_t* b, const uint64_t* c,
              uint64_t* d);

// The same of floats of at most 32 bits.
void MultiplyFloats(const MatrixProduct& product, const uint64_t* a, const uint64_t* b,
                    const uint64_t* c, uint64_t* d);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_MATRICES_MATRIX_PRODUCT_H_
