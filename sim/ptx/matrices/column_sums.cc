#include "sim/ptx/matrices/column_sums.h"

#include <algorithm>
#include <cstring>

#include "sim/ptx/operations/host_vectors.h"

namespace twinmmu::ptx {
namespace {

// A number for each column. In memory they are arrays, as the alignment of these types depends on
// the processor that a function is compiled for.
using Ints = int32_t __attribute__((vector_size(kColumns * sizeof(int32_t))));
using Longs = int64_t __attribute__((vector_size(kColumns * sizeof(int64_t))));
using Doubles = double __attribute__((vector_size(kColumns * sizeof(double))));

// A format of results, in which a number is normal from 2^least on and up to less than 2^(most +
// 1).
struct Format {
  int least;
  int most;
  int fraction_bits;
};
constexpr Format kF32{-126, 127, 23};
constexpr Format kF16{-14, 15, 10};

constexpr Ints kZeros = {};
constexpr Ints kAll = kZeros + 31;  // of the bits of a number that is not negative

// All that goes into a sum, with the places of its bits.
struct Terms {
  Ints sum;      // of the products, which together have less than 32 bits
  Ints largest;  // of the exponents
};

template <int kTerms>
[[gnu::always_inline]] inline void SumProducts(const int32_t* significands,
                                               const int32_t* exponents,
                                               const int32_t (*of_columns)[kColumns],
                                               const int32_t (*exponents_of_columns)[kColumns],
                                               Terms* terms) {
  Ints products[kTerms];
  Ints places[kTerms];
  Ints largest = terms->largest;
  for (int i = 0; i < kTerms; ++i) {
    std::memcpy(&products[i], of_columns[i], sizeof(Ints));
    std::memcpy(&places[i], exponents_of_columns[i], sizeof(Ints));
    products[i] *= significands[i];
    places[i] += exponents[i];
    largest = places[i] > largest ? places[i] : largest;
  }
  Ints sum = {};
  for (int i = 0; i < kTerms; ++i) {
    const Ints signs = products[i] >> 31;
    const Ints magnitudes = (products[i] ^ signs) - signs;
    const Ints down = largest - places[i];
    sum += ((magnitudes >> (down < kAll ? down : kAll)) ^ signs) - signs;
  }
  terms->sum = sum;
  terms->largest = largest;
}

// What `total` * 2^`scale` is in the format, as a sign and the bits behind it, and where it is no
// zero and no normal number. f32 cuts off, f16 rounds to the nearest.
template <bool kToF16>
[[gnu::always_inline]] inline void RoundTotals(const Longs& total, const Longs& scale,
                                               int kept_bits, Longs* bits, Longs* odd) {
  constexpr Format kFormat = kToF16 ? kF16 : kF32;
  const Doubles exact = __builtin_convertvector(total, Doubles);
  Longs wide;
  std::memcpy(&wide, &exact, sizeof(wide));
  const Longs sign = wide >> 63 & 1;
  wide &= 0x7fffffffffffffff;
  const Longs exponent = (wide >> 52) - 1023 + scale;
  const Longs fraction = wide & 0xfffffffffffff;
  // The exponent as the format counts it, in front of the fraction.
  Longs magnitude = (exponent + (1 - kFormat.least)) << 52 | fraction;
  if (kToF16) {
    constexpr int kDrop = 52 - kFormat.fraction_bits;
    const Longs last = magnitude >> kDrop & 1;
    magnitude = (magnitude + ((int64_t{1} << (kDrop - 1)) - 1) + last) >> kDrop;
  } else {
    magnitude = magnitude >> (52 - kept_bits) << (kFormat.fraction_bits - kept_bits);
  }
  constexpr int kSignBit = kToF16 ? 15 : 31;
  constexpr int64_t kInfinity = int64_t{kFormat.most - kFormat.least + 2} << kFormat.fraction_bits;
  const Longs is_zero = total == 0;
  *bits = (sign << kSignBit | magnitude) & ~is_zero;
  *odd = ((exponent < kFormat.least) | (exponent > kFormat.most) | (magnitude >= kInfinity)) &
         ~is_zero;
}

template <int kTerms, bool kToF16>
void Sum(const Summation& summation, const int32_t* significands, const int32_t* exponents,
         const int32_t (*of_columns)[kColumns], const int32_t (*exponents_of_columns)[kColumns],
         const float* before, ColumnSums* sums) {
  Ints start;
  std::memcpy(&start, before, sizeof(start));
  const Ints field = start >> 23 & 255;
  const Ints fraction = start & 0x7fffff;
  const Ints significand = field != 0 ? fraction | 1 << 23 : fraction;
  const Ints exponent = (field > 1 ? field : kZeros + 1) - 127;
  Terms terms;
  terms.largest = significand != 0 ? exponent : kZeros + kNothing;
  SumProducts<kTerms>(significands, exponents, of_columns, exponents_of_columns, &terms);
  const int up = summation.fraction_bits - kF32.fraction_bits;
  const Ints down = terms.largest - exponent + std::max(-up, 0);
  const Ints signs = start >> 31;
  // Of a zero the exponent may be any.
  const Ints places = down < 0 ? kZeros : down < kAll ? down : kAll;
  const Ints cut = ((significand << std::max(up, 0) >> places) ^ signs) - signs;
  const Longs total =
      __builtin_convertvector(terms.sum, Longs) + __builtin_convertvector(cut, Longs);
  Longs bits;
  Longs odd;
  RoundTotals<kToF16>(total,
                      __builtin_convertvector(terms.largest, Longs) - summation.fraction_bits,
                      summation.kept_bits, &bits, &odd);
  const Ints results = __builtin_convertvector(bits, Ints);
  std::memcpy(sums->totals, &total, sizeof(total));
  std::memcpy(sums->exponents, &terms.largest, sizeof(terms.largest));
  std::memcpy(sums->results, &results, sizeof(results));
  int64_t any = 0;
  for (int i = 0; i < kColumns; ++i) any |= odd[i];
  sums->are_plain = any == 0;
}

template <bool kToF16>
SumColumns FindOf(int terms) {
  switch (terms) {
    case 4:
      return ForHost<Sum<4, kToF16>>();
    case 8:
      return ForHost<Sum<8, kToF16>>();
    case 16:
      return ForHost<Sum<16, kToF16>>();
    default:
      return ForHost<Sum<32, kToF16>>();
  }
}

}  // namespace

SumColumns FindSumColumns(int terms, bool to_f16) {
  return to_f16 ? FindOf<true>(terms) : FindOf<false>(terms);
}

}  // namespace twinmmu::ptx
