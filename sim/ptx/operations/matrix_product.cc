#include "sim/ptx/operations/matrix_product.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <vector>

namespace twinmmu::ptx {
namespace {

// --- Integers ------------------------------------------------------------------------------------

int16_t ToInteger(Element element, uint64_t bits) {
  switch (element) {
    case Element::kS8:
      return static_cast<int8_t>(bits);
    case Element::kU8:
      return static_cast<uint8_t>(bits);
    case Element::kS4:
      return static_cast<int16_t>(static_cast<int8_t>(bits << 4) >> 4);
    default:
      return static_cast<int16_t>(bits & 0xf);
  }
}

std::vector<int16_t> Integers(Element element, const uint64_t* bits, size_t count) {
  std::vector<int16_t> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = ToInteger(element, bits[i]);
  return values;
}

uint32_t AddToS32(const MatrixProduct& product, int32_t sum, uint64_t c) {
  const int32_t before = static_cast<int32_t>(c);
  if (!product.saturates) return static_cast<uint32_t>(before) + static_cast<uint32_t>(sum);
  const int64_t exact = int64_t{before} + sum;
  const int64_t most = std::numeric_limits<int32_t>::max();
  const int64_t least = std::numeric_limits<int32_t>::min();
  return static_cast<uint32_t>(std::min(std::max(exact, least), most));
}

void MultiplyIntegers(const MatrixProduct& product, const uint64_t* a, const uint64_t* b,
                      const uint64_t* c, uint64_t* d) {
  const size_t m = static_cast<size_t>(product.m);
  const size_t n = static_cast<size_t>(product.n);
  const size_t k = static_cast<size_t>(product.k);
  const std::vector<int16_t> left = Integers(product.a, a, m * k);
  const std::vector<int16_t> right = Integers(product.b, b, n * k);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      const int16_t* const row = &left[i * k];
      const int16_t* const column = &right[j * k];
      int32_t sum = 0;  // of at most 512 products of 16 bits
      for (size_t l = 0; l < k; ++l) sum += int32_t{row[l]} * column[l];
      d[i * n + j] = AddToS32(product, sum, c[i * n + j]);
    }
  }
}

void MultiplyBits(const MatrixProduct& product, const uint64_t* a, const uint64_t* b,
                  const uint64_t* c, uint64_t* d) {
  for (int i = 0; i < product.m; ++i) {
    for (int j = 0; j < product.n; ++j) {
      int32_t sum = 0;
      for (int l = 0; l < product.k; ++l) {
        const uint32_t row = static_cast<uint32_t>(a[i * product.k + l]);
        const uint32_t column = static_cast<uint32_t>(b[j * product.k + l]);
        sum += __builtin_popcount(product.exclusive_or ? row ^ column : row & column);
      }
      d[i * product.n + j] = AddToS32(product, sum, c[i * product.n + j]);
    }
  }
}

// --- f64 -----------------------------------------------------------------------------------------

template <Round kRound>
void MultiplyDoubles(const MatrixProduct& product, const uint64_t* a, const uint64_t* b,
                     const uint64_t* c, uint64_t* d) {
  // What is no number stays what it is, the last of them first.
  const auto fused = [](double x, double y, double z) {
    const double sum = WithRounding<kRound>(
        [](double u, double v, double w) { return std::fma(u, v, w); }, x, y, z);
    return IsNan(z) ? QuietNan(z) : IsNan(y) ? QuietNan(y) : IsNan(x) ? QuietNan(x) : sum;
  };
  for (int i = 0; i < product.m; ++i) {
    for (int j = 0; j < product.n; ++j) {
      double sum = BitCast<double>(c[i * product.n + j]);
      for (int l = 0; l < product.k; ++l) {
        sum = fused(BitCast<double>(a[i * product.k + l]), BitCast<double>(b[j * product.k + l]),
                    sum);
      }
      d[i * product.n + j] = BitsOf(sum);
    }
  }
}

// --- Floats --------------------------------------------------------------------------------------

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

Float ToFloat(Element element, uint64_t bits) {
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

// Numbers of a matrix, line by line; `kinds`: the worst of each line.
struct Floats {
  Floats(Element element, const uint64_t* bits, int lines, int length)
      : significands(static_cast<size_t>(lines) * static_cast<size_t>(length)),
        exponents(significands.size()),
        values(significands.size()),
        kinds(static_cast<size_t>(lines), kFinite) {
    for (size_t i = 0; i < significands.size(); ++i) {
      values[i] = ToFloat(element, bits[i]);
      significands[i] = values[i].significand;
      exponents[i] = values[i].exponent;
      Class& kind = kinds[i / static_cast<size_t>(length)];
      kind = std::max(kind, values[i].kind);
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

constexpr int kNothing = -100000;  // the exponent of a zero

Sum SumOf(const Summation& summation, int product_bits, const int32_t* a_significands,
          const int32_t* a_exponents, const int32_t* b_significands, const int32_t* b_exponents,
          int count, const Float& c) {
  constexpr int kMost = 32;
  int32_t products[kMost];
  int32_t exponents[kMost];
  int most = c.significand == 0 ? kNothing : c.exponent;
  for (int i = 0; i < count; ++i) {
    products[i] = a_significands[i] * b_significands[i];
    exponents[i] = a_exponents[i] + b_exponents[i];
    const int counted = products[i] == 0 ? kNothing : exponents[i];
    most = std::max(most, counted);
  }
  if (most == kNothing) return {};
  const int up = summation.fraction_bits - product_bits;
  int64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += ShiftedRight(int64_t{products[i]} << up, most - exponents[i]);
  }
  const int c_up = summation.fraction_bits - 23;
  sum += ShiftedRight(int64_t{c.significand} << std::max(c_up, 0),
                      most - c.exponent + std::max(-c_up, 0));
  return {sum, most};
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

void MultiplyFloats(const MatrixProduct& product, const uint64_t* a, const uint64_t* b,
                    const uint64_t* c, uint64_t* d) {
  const Floats left(product.a, a, product.m, product.k);
  const Floats right(product.b, b, product.n, product.k);
  const Summation summation = SummationOf(product);
  const int product_bits = LayoutOf(product.a).fraction_bits + LayoutOf(product.b).fraction_bits;
  const int sign = product.negates_a != product.negates_b ? -1 : 1;
  std::vector<int32_t> signed_left = left.significands;
  for (int32_t& significand : signed_left) significand *= sign;
  const auto sum_of = [&](size_t row, size_t column, Float before) {
    if (summation.adds_last) before = Float();
    for (int first = 0;; first += summation.terms) {
      const int count = std::min(summation.terms, product.k - first);
      const size_t skipped = static_cast<size_t>(first);
      const Sum sum = SumOf(summation, product_bits, &signed_left[row + skipped],
                            &left.exponents[row + skipped], &right.significands[column + skipped],
                            &right.exponents[column + skipped], count, before);
      const uint64_t bits = Rounded(product, summation, sum);
      if (first + count == product.k) return bits;
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

int BitsOf(Element element) {
  switch (element) {
    case Element::kF16:
    case Element::kBf16:
      return 16;
    case Element::kE4m3:
    case Element::kE5m2:
    case Element::kS8:
    case Element::kU8:
      return 8;
    case Element::kS4:
    case Element::kU4:
      return 4;
    case Element::kF64:
      return 64;
    default:
      return 32;
  }
}

void Multiply(const MatrixProduct& product, const uint64_t* a, const uint64_t* b, const uint64_t* c,
              uint64_t* d) {
  if (product.a == Element::kB1) return MultiplyBits(product, a, b, c, d);
  if (IsInteger(product.a)) return MultiplyIntegers(product, a, b, c, d);
  if (product.a != Element::kF64) {
    if (!SummationOf(product).adds_last) return MultiplyFloats(product, a, b, c, d);
    return MultiplyFloats(product, PairsApart(a, product.m, product.k).data(),
                          PairsApart(b, product.n, product.k).data(), c, d);
  }
  switch (product.rounding) {
    case Round::kZero:
      return MultiplyDoubles<Round::kZero>(product, a, b, c, d);
    case Round::kDown:
      return MultiplyDoubles<Round::kDown>(product, a, b, c, d);
    case Round::kUp:
      return MultiplyDoubles<Round::kUp>(product, a, b, c, d);
    default:
      return MultiplyDoubles<Round::kNearest>(product, a, b, c, d);
  }
}

}  // namespace twinmmu::ptx
