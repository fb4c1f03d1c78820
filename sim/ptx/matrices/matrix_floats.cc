// Products of matrices of floats of at most 32 bits.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "sim/ptx/matrices/matrix_product.h"

namespace twinmmu::ptx {
namespace {

enum Class : uint8_t { kFinite, kInfinite, kNumberless };

// significand * 2^(exponent - fraction_bits), the sign in the significand.
struct Float {
  int32_t significand = 0;
  int32_t exponent = 0;
  Class kind = kFinite;
};

struct Layout {
  int exponent_bits;
  int fraction_bits;
};
constexpr Layout LayoutOf(Element element) {
  switch (element) {
    case Element::kF16:
      return {5, 10};
    case Element::kBf16:
      return {8, 7};
    case Element::kTf32:
      return {8, 10};
    case Element::kE4m3:
      return {4, 3};
    case Element::kE5m2:
      return {5, 2};
    default:
      return {8, 23};
  }
}

// Inline: a result in registers would go through memory in parts, for which loads wait.
[[gnu::always_inline]] inline Float ToFloat(Element element, uint64_t bits) {
  if (element == Element::kTf32) bits >>= 13;
  const Layout layout = LayoutOf(element);
  const uint32_t fraction = static_cast<uint32_t>(bits) & ((1u << layout.fraction_bits) - 1);
  const int top = (1 << layout.exponent_bits) - 1;
  const int field = static_cast<int>(bits >> layout.fraction_bits) & top;
  const bool negative = (bits >> (layout.exponent_bits + layout.fraction_bits) & 1) != 0;
  Float value;
  value.exponent = std::max(field, 1) - top / 2;
  value.significand =
      static_cast<int32_t>(field != 0 ? fraction | 1u << layout.fraction_bits : fraction);
  if (negative) value.significand = -value.significand;
  if (element == Element::kE4m3) {
    if (field == top && fraction == 7) value.kind = kNumberless;
  } else if (field == top) {
    value.kind = fraction != 0 ? kNumberless : kInfinite;
  }
  return value;
}

// The exponent of a zero: less than of any product.
constexpr int kNothing = -4096;

// Numbers of a matrix, line by line; `kinds`: the worst of each line.
struct Floats {
  Floats(Element element, const uint64_t* bits, int lines, int length)
      : significands(static_cast<size_t>(lines) * static_cast<size_t>(length)),
        exponents(significands.size()),
        values(significands.size()),
        kinds(static_cast<size_t>(lines), kFinite) {
    size_t i = 0;
    for (Class& kind : kinds) {
      for (const size_t end = i + static_cast<size_t>(length); i < end; ++i) {
        values[i] = ToFloat(element, bits[i]);
        significands[i] = values[i].significand;
        exponents[i] = values[i].significand != 0 ? values[i].exponent : kNothing;
        kind = std::max(kind, values[i].kind);
      }
    }
  }
  std::vector<int32_t> significands;
  std::vector<int32_t> exponents;
  std::vector<Float> values;
  std::vector<Class> kinds;
};

// How a device sums: `terms` products at a time and what was summed before, each cut off behind
// `fraction_bits` bits below the largest exponent of them.
struct Summation {
  int terms = 16;
  int fraction_bits = 25;
  int kept_bits = 23;      // of the fraction of a sum
  bool adds_last = false;  // what was before, to the nearest; else it is one of the first terms
};
Summation SummationOf(const MatrixProduct& product) {
  const bool small = product.a == Element::kE4m3 || product.a == Element::kE5m2;
  if (small && product.of_warpgroup) return {32, 13, 13, false};
  if (small) return {product.k / 2, 25, 23, true};
  if (product.a == Element::kTf32) return {product.of_wmma ? 4 : 8, 25, 23, false};
  return {};
}

// value / 2^shift, towards zero.
int64_t ShiftedRight(int64_t value, int shift) {
  if (shift >= 63) return 0;
  const int64_t below = (int64_t{1} << shift) - 1;
  return (value + (value >> 63 & below)) >> shift;
}

// sum * 2^(exponent - fraction_bits)
struct Sum {
  int64_t sum = 0;
  int exponent = 0;
};

// What is summed, with `most`, the largest exponent: each product in its place, the rest cut off.
// All of them together have less than 32 bits.
template <int kCount>
[[gnu::always_inline]] inline int64_t AlignedSum(const int32_t* a, const int32_t* a_exponents,
                                                 const int32_t* b, const int32_t* b_exponents,
                                                 int up, int* most) {
  int32_t magnitudes[kCount];
  int32_t signs[kCount];
  int32_t exponents[kCount];
  int32_t largest = *most;
  for (int i = 0; i < kCount; ++i) {
    const int32_t product = a[i] * b[i];
    signs[i] = product >> 31;
    magnitudes[i] = ((product ^ signs[i]) - signs[i]) << up;
    exponents[i] = a_exponents[i] + b_exponents[i];
    largest = std::max(largest, exponents[i]);
  }
  int32_t sum = 0;
  for (int i = 0; i < kCount; ++i) {
    const int32_t shifted = magnitudes[i] >> std::min(largest - exponents[i], 31);
    sum += (shifted ^ signs[i]) - signs[i];
  }
  *most = largest;
  return sum;
}

using SumFunction = int64_t (*)(const int32_t*, const int32_t*, const int32_t*, const int32_t*,
                                int up, int* most);

template <int kCount>
int64_t PlainSum(const int32_t* a, const int32_t* a_exponents, const int32_t* b,
                 const int32_t* b_exponents, int up, int* most) {
  return AlignedSum<kCount>(a, a_exponents, b, b_exponents, up, most);
}
#ifdef __x86_64__
// Shifts by several numbers at once.
template <int kCount>
[[gnu::target("avx2")]] int64_t WideSum(const int32_t* a, const int32_t* a_exponents,
                                        const int32_t* b, const int32_t* b_exponents, int up,
                                        int* most) {
  return AlignedSum<kCount>(a, a_exponents, b, b_exponents, up, most);
}
template <int kCount>
SumFunction FindSumOf() {
  return __builtin_cpu_supports("avx2") != 0 ? WideSum<kCount> : PlainSum<kCount>;
}
#else
template <int kCount>
SumFunction FindSumOf() {
  return PlainSum<kCount>;
}
#endif

// Of 4, 8, 16 or 32 products, which is what there are.
SumFunction FindSum(int count) {
  switch (count) {
    case 4:
      return FindSumOf<4>();
    case 8:
      return FindSumOf<8>();
    case 16:
      return FindSumOf<16>();
    default:
      return FindSumOf<32>();
  }
}

Sum WithBefore(const Summation& summation, int64_t products, int most, const Float& c) {
  if (most < kNothing / 2) return {};
  if (c.significand == 0) return {products, most};  // of which the exponent says nothing
  const int up = summation.fraction_bits - 23;
  const int64_t before = int64_t{c.significand} * (int64_t{1} << std::max(up, 0));
  return {products + ShiftedRight(before, most - c.exponent + std::max(-up, 0)), most};
}

// The number as f32, what does not fit cut off.
uint32_t ToF32(const Summation& summation, const Sum& sum) {
  if (sum.sum == 0) return 0;
  const uint32_t sign = sum.sum < 0 ? 0x80000000u : 0;
  uint64_t magnitude = static_cast<uint64_t>(sum.sum < 0 ? -sum.sum : sum.sum);
  const int top = 63 - __builtin_clzll(magnitude);
  int exponent = sum.exponent + top - summation.fraction_bits;  // of the leading bit
  if (exponent > 127) return sign | 0x7f800000u;
  const int kept = std::min(summation.kept_bits, summation.kept_bits + exponent + 126);
  if (kept < 0) return 0;
  // kept + 1 bits stay.
  if (top > kept) {
    magnitude >>= top - kept;
  } else {
    magnitude <<= kept - top;
  }
  magnitude <<= 23 - summation.kept_bits;
  if (exponent < -126) return sign | static_cast<uint32_t>(magnitude);
  return sign | (static_cast<uint32_t>(exponent + 127) << 23) |
         (static_cast<uint32_t>(magnitude) & 0x7fffff);
}

// To the nearest.
uint32_t ToF16(const Summation& summation, const Sum& sum) {
  const double value =
      std::ldexp(static_cast<double>(sum.sum), sum.exponent - summation.fraction_bits);
  const uint32_t bits = RoundTo(kF16Format, value, Round::kNearest);
  return (bits & 0x7fff) == 0 ? 0 : bits;
}

uint64_t Rounded(const MatrixProduct& product, const Summation& summation, const Sum& sum) {
  return product.d == Element::kF16 ? ToF16(summation, sum) : ToF32(summation, sum);
}

// sum + c, to the nearest.
uint64_t AddApart(Element d, uint64_t sum, const Float& c) {
  const float before = std::ldexp(static_cast<float>(c.significand), c.exponent - 23);
  if (d != Element::kF16) return BitsOf(BitCast<float>(static_cast<uint32_t>(sum)) + before);
  return RoundTo(kF16Format, ToDouble(F16{static_cast<uint16_t>(sum)}) + before, Round::kNearest);
}

// What becomes of infinities and what is no number.
uint64_t Special(Element d, const Float* a, const Float* b, int count, const Float& c) {
  bool numberless = c.kind == kNumberless;
  bool infinite[2] = {c.kind == kInfinite && c.significand > 0,
                      c.kind == kInfinite && c.significand < 0};
  for (int i = 0; i < count; ++i) {
    numberless |= a[i].kind == kNumberless || b[i].kind == kNumberless;
    if (a[i].kind != kInfinite && b[i].kind != kInfinite) continue;
    numberless |= (a[i].kind == kFinite && a[i].significand == 0) ||
                  (b[i].kind == kFinite && b[i].significand == 0);
    infinite[(a[i].significand < 0) != (b[i].significand < 0) ? 1 : 0] = true;
  }
  if (numberless || (infinite[0] && infinite[1])) return d == Element::kF16 ? 0x7fff : 0x7fffffff;
  const uint64_t sign = infinite[1] ? 1 : 0;
  return d == Element::kF16 ? sign << 15 | 0x7c00 : sign << 31 | 0x7f800000;
}

bool IsSpecial(const Float* a, const Float* b, int count, const Float& c) {
  Class kind = c.kind;
  for (int i = 0; i < count; ++i) kind = std::max({kind, a[i].kind, b[i].kind});
  return kind != kFinite;
}

// c as if it had the fraction of an f32.
Float ToAccumulator(Element element, uint64_t bits) {
  Float value = ToFloat(element, bits);
  if (element != Element::kF16) return value;
  value.significand *= 1 << 13;
  while (value.significand != 0 && std::abs(value.significand) < 1 << 23) {
    value.significand *= 2;
    --value.exponent;
  }
  return value;
}

// The columns of each line in another order: first those that are the first two of four.
std::vector<uint64_t> PairsApart(const uint64_t* bits, int lines, int length) {
  std::vector<uint64_t> ordered;
  for (int i = 0; i < lines; ++i) {
    for (int second = 0; second < 2; ++second) {
      for (int j = 0; j < length; ++j) {
        if (j % 4 / 2 == second) ordered.push_back(bits[i * length + j]);
      }
    }
  }
  return ordered;
}

void MultiplyInOrder(const MatrixProduct& product, const uint64_t* a, const uint64_t* b,
                     const uint64_t* c, uint64_t* d) {
  Floats left(product.a, a, product.m, product.k);
  const Floats right(product.b, b, product.n, product.k);
  const Summation summation = SummationOf(product);
  const int product_bits = LayoutOf(product.a).fraction_bits + LayoutOf(product.b).fraction_bits;
  const int sign = product.negates_a != product.negates_b ? -1 : 1;
  for (int32_t& significand : left.significands) significand *= sign;
  for (Float& value : left.values) value.significand *= sign;
  const int terms = std::min(summation.terms, product.k);
  const SumFunction sum_of_terms = FindSum(terms);
  const int up = summation.fraction_bits - product_bits;
  const auto sum_of = [&](size_t row, size_t column, Float before) {
    if (summation.adds_last) before = Float();
    for (size_t first = 0;; first += static_cast<size_t>(terms)) {
      int most = before.significand != 0 ? before.exponent : kNothing;
      const int64_t products = sum_of_terms(
          &left.significands[row + first], &left.exponents[row + first],
          &right.significands[column + first], &right.exponents[column + first], up, &most);
      const uint64_t bits =
          Rounded(product, summation, WithBefore(summation, products, most, before));
      if (first + static_cast<size_t>(terms) == static_cast<size_t>(product.k)) return bits;
      before = ToAccumulator(product.d, bits);
      if (before.kind != kFinite) return bits;
    }
  };
  for (int i = 0; i < product.m; ++i) {
    const size_t row = static_cast<size_t>(i * product.k);
    for (int j = 0; j < product.n; ++j) {
      const size_t column = static_cast<size_t>(j * product.k);
      const size_t at = static_cast<size_t>(i * product.n + j);
      const Float before = ToAccumulator(product.c, c[at]);
      const Class kind = std::max(
          {left.kinds[static_cast<size_t>(i)], right.kinds[static_cast<size_t>(j)], before.kind});
      if (kind != kFinite &&
          IsSpecial(&left.values[row], &right.values[column], product.k, before)) {
        d[at] = Special(product.d, &left.values[row], &right.values[column], product.k, before);
        continue;
      }
      const uint64_t bits = sum_of(row, column, before);
      d[at] = summation.adds_last ? AddApart(product.d, bits, before) : bits;
    }
  }
}

}  // namespace

void MultiplyFloats(const MatrixProduct& product, const uint64_t* a, const uint64_t* b,
                    const uint64_t* c, uint64_t* d) {
  if (!SummationOf(product).adds_last) return MultiplyInOrder(product, a, b, c, d);
  MultiplyInOrder(product, PairsApart(a, product.m, product.k).data(),
                  PairsApart(b, product.n, product.k).data(), c, d);
}

}  // namespace twinmmu::ptx
