// Products of a line of floats and eight columns, summed as a device sums them.

#ifndef TWINMMU_SIM_PTX_MATRICES_COLUMN_SUMS_H_
#define TWINMMU_SIM_PTX_MATRICES_COLUMN_SUMS_H_

#include <cstdint>

namespace twinmmu::ptx {

constexpr int kColumns = 8;

// A finite number is significand * 2^(exponent - fraction_bits of its format), the sign in the
// significand. The exponent of a zero is less than that of any product.
constexpr int kNothing = -4096;

// How a device sums: `terms` products at a time and what was summed before, each cut off behind
// `fraction_bits` bits below the largest exponent of them.
struct Summation {
  int terms = 16;
  int fraction_bits = 25;
  int kept_bits = 23;      // of the fraction of a sum
  bool adds_last = false;  // what was before, to the nearest; else it is one of the first terms
  int product_bits = 0;    // of the fraction of a product
};

struct ColumnSums {
  int64_t totals[kColumns];     // total * 2^(exponent - fraction_bits), before it is rounded
  int32_t exponents[kColumns];  // the largest
  int32_t results[kColumns];    // the bits of f32 or f16
  // Whether all are zeros and normal numbers; else those of `results` that are not are wrong.
  bool are_plain;
};

// Products of `significands` and those of the columns have `fraction_bits` bits of fraction. Of a
// `before` that is infinite or no number it makes anything.
using SumColumns = void (*)(const Summation& summation, const int32_t* significands,
                            const int32_t* exponents, const int32_t (*of_columns)[kColumns],
                            const int32_t (*exponents_of_columns)[kColumns], const float* before,
                            ColumnSums* sums);
// For 4, 8, 16 or 32 terms, which is what there are.
SumColumns FindSumColumns(int terms, bool to_f16);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_MATRICES_COLUMN_SUMS_H_
