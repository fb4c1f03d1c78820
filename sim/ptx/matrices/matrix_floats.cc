// Products of matrices of floats of at most 32 bits.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include "absl/container/fixed_array.h"
#include "sim/ptx/matrices/column_sums.h"
#include "sim/ptx/matrices/matrix_product.h"
#include "sim/ptx/operations/half.h"
#include "sim/ptx/operations/host_vectors.h"

namespace twinmmu::ptx {
namespace {

enum Class : int32_t { kFinite, kInfinite, kNumberless };

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
    default:
      return {5, 2};
  }
}

// --- Numbers as integers -------------------------------------------------------------------------

// Of each number its significand with the sign, its exponent, and its class; gives the worst class.
using Decode = int32_t (*)(const uint64_t* bits, size_t count, int32_t* significands,
                           int32_t* exponents, int32_t* classes);

template <Element kElement>
int32_t DecodeOf(const uint64_t* bits, size_t count, int32_t* significands, int32_t* exponents,
                 int32_t* classes) {
  constexpr Layout kLayout = LayoutOf(kElement);
  constexpr int32_t kTop = (1 << kLayout.exponent_bits) - 1;
  constexpr int32_t kOne = 1 << kLayout.fraction_bits;
  constexpr int kIgnored = kElement == Element::kTf32 ? 13 : 0;
  int32_t worst = kFinite;
  for (size_t i = 0; i < count; ++i) {
    const int32_t number = static_cast<int32_t>(static_cast<uint32_t>(bits[i]) >> kIgnored);
    const int32_t fraction = number & (kOne - 1);
    const int32_t field = number >> kLayout.fraction_bits & kTop;
    const int32_t sign = -(number >> (kLayout.exponent_bits + kLayout.fraction_bits) & 1);
    const int32_t significand = field != 0 ? fraction | kOne : fraction;
    significands[i] = (significand ^ sign) - sign;
    exponents[i] = significand != 0 ? std::max(field, 1) - kTop / 2 : kNothing;
    // e4m3 has no infinities, and numbers where others have them.
    const int32_t beyond = kElement == Element::kE4m3 ? (fraction == 7 ? kNumberless : kFinite)
                                                      : (fraction != 0 ? kNumberless : kInfinite);
    classes[i] = field == kTop ? beyond : kFinite;
    worst = std::max(worst, classes[i]);
  }
  return worst;
}

Decode FindDecode(Element element) {
  switch (element) {
    case Element::kF16:
      return ForHost<DecodeOf<Element::kF16>>();
    case Element::kBf16:
      return ForHost<DecodeOf<Element::kBf16>>();
    case Element::kTf32:
      return ForHost<DecodeOf<Element::kTf32>>();
    case Element::kE4m3:
      return ForHost<DecodeOf<Element::kE4m3>>();
    default:
      return ForHost<DecodeOf<Element::kE5m2>>();
  }
}

// a, line by line.
struct Left {
  // The significands with what `summation` has more bits than their products.
  Left(const MatrixProduct& product, const Summation& summation, const uint64_t* a)
      : significands(static_cast<size_t>(product.m * product.k)),
        exponents(significands.size()),
        classes(significands.size()),
        worst(FindDecode(product.a)(a, significands.size(), significands.data(), exponents.data(),
                                    classes.data())) {
    const int32_t sign = product.negates_a == product.negates_b ? 1 : -1;
    const int32_t factor = sign * (1 << (summation.fraction_bits - summation.product_bits));
    for (int32_t& significand : significands) significand *= factor;
  }
  static constexpr size_t kUsual = 512;
  absl::FixedArray<int32_t, kUsual> significands;
  absl::FixedArray<int32_t, kUsual> exponents;
  absl::FixedArray<int32_t, kUsual> classes;
  int32_t worst;
};

// Eight columns of b.
struct Right {
  Right(const MatrixProduct& product, const uint64_t* b) {
    const size_t k = static_cast<size_t>(product.k);
    uint64_t bits[kMostTerms * kColumns];
    for (size_t column = 0; column < kColumns; ++column) {
      for (size_t i = 0; i < k; ++i) bits[i * kColumns + column] = b[column * k + i];
    }
    worst = FindDecode(product.b)(bits, k * kColumns, significands[0], exponents[0], classes[0]);
  }
  static constexpr size_t kMostTerms = 32;
  int32_t significands[kMostTerms][kColumns];
  int32_t exponents[kMostTerms][kColumns];
  int32_t classes[kMostTerms][kColumns];
  int32_t worst;
};

// --- Sums ----------------------------------------------------------------------------------------

Summation SummationOf(const MatrixProduct& product) {
  const int product_bits = LayoutOf(product.a).fraction_bits + LayoutOf(product.b).fraction_bits;
  const bool small = product.a == Element::kE4m3 || product.a == Element::kE5m2;
  if (small && product.of_warpgroup) return {32, 13, 13, false, product_bits};
  if (small) return {product.k / 2, 25, 23, true, product_bits};
  const int terms = product.a != Element::kTf32 ? 16 : product.of_wmma ? 4 : 8;
  return {std::min(terms, product.k), 25, 23, false, product_bits};
}

// sum * 2^(exponent - fraction_bits)
struct Sum {
  int64_t sum = 0;
  int exponent = 0;
};

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

// The number that c or a sum is, as f32.
float ToFloat(Element element, uint64_t bits) {
  return element == Element::kF16 ? FloatOfHalf(static_cast<uint16_t>(bits))
                                  : BitCast<float>(static_cast<uint32_t>(bits));
}

// sum + c, to the nearest.
uint64_t AddApart(Element d, uint64_t sum, float c) {
  if (d != Element::kF16) return BitsOf(ToFloat(d, sum) + c);
  return RoundTo(kF16Format, double{ToFloat(d, sum)} + double{c}, Round::kNearest);
}

// One line of a, eight columns of b, and what belongs to them of c and d.
class LineOfSums {
 public:
  LineOfSums(const MatrixProduct& product, const Summation& summation, SumColumns sum)
      : product_(product), summation_(summation), sum_(sum) {}

  void Compute(const Left& left, size_t line, const Right& right, const uint64_t* c, uint64_t* d) {
    bool is_finite = left.worst == kFinite && right.worst == kFinite;
    for (size_t i = 0; i < kColumns; ++i) {
      before_[i] = ToFloat(product_.c, c[i]);
      is_finite &= std::isfinite(before_[i]);
    }
    SumUp(&left.significands[line], &left.exponents[line], right);
    for (size_t i = 0; i < kColumns; ++i) {
      d[i] = summation_.adds_last ? AddApart(product_.d, bits_[i], before_[i]) : bits_[i];
      if (is_finite) continue;
      SetSpecial(&left.significands[line], &left.classes[line], right, i, &d[i]);
    }
  }

 private:
  void SumUp(const int32_t* significands, const int32_t* exponents, const Right& right) {
    const size_t terms = static_cast<size_t>(summation_.terms);
    float before[kColumns] = {};
    if (!summation_.adds_last) std::memcpy(before, before_, sizeof(before));
    bool is_infinite[kColumns] = {};
    for (size_t first = 0; first < static_cast<size_t>(product_.k); first += terms) {
      ColumnSums sums;
      sum_(summation_, significands + first, exponents + first, &right.significands[first],
           &right.exponents[first], before, &sums);
      for (size_t i = 0; i < kColumns; ++i) {
        if (is_infinite[i]) continue;
        bits_[i] = static_cast<uint32_t>(sums.results[i]);
        if (!sums.are_plain) {
          bits_[i] = Rounded(product_, summation_, {sums.totals[i], sums.exponents[i]});
        }
        before[i] = ToFloat(product_.d, bits_[i]);
        is_infinite[i] = std::isinf(before[i]);
      }
    }
  }

  // What becomes of infinities and what is no number, if there is any.
  void SetSpecial(const int32_t* a, const int32_t* classes, const Right& right, size_t column,
                  uint64_t* d) const {
    const float c = before_[column];
    bool numberless = std::isnan(c);
    bool infinite[2] = {std::isinf(c) && c > 0, std::isinf(c) && c < 0};
    for (size_t i = 0; i < static_cast<size_t>(product_.k); ++i) {
      const int32_t b = right.significands[i][column];
      const int32_t class_of_b = right.classes[i][column];
      numberless |= classes[i] == kNumberless || class_of_b == kNumberless;
      if (classes[i] != kInfinite && class_of_b != kInfinite) continue;
      numberless |= (classes[i] == kFinite && a[i] == 0) || (class_of_b == kFinite && b == 0);
      infinite[(a[i] < 0) != (b < 0) ? 1 : 0] = true;
    }
    const bool is_half = product_.d == Element::kF16;
    if (numberless || (infinite[0] && infinite[1])) {
      *d = is_half ? 0x7fff : 0x7fffffff;
    } else if (infinite[0] || infinite[1]) {
      *d = (is_half ? 0x7c00 : 0x7f800000) | uint64_t{infinite[1]} << (is_half ? 15 : 31);
    }
  }

  const MatrixProduct& product_;
  const Summation& summation_;
  const SumColumns sum_;
  float before_[kColumns];   // c
  uint64_t bits_[kColumns];  // of the sums
};

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
  const size_t m = static_cast<size_t>(product.m);
  const size_t n = static_cast<size_t>(product.n);
  const size_t k = static_cast<size_t>(product.k);
  const Summation summation = SummationOf(product);
  LineOfSums sums(product, summation, FindSumColumns(summation.terms, product.d == Element::kF16));
  const Left left(product, summation, a);
  for (size_t column = 0; column < n; column += kColumns) {
    const Right right(product, b + column * k);
    for (size_t i = 0; i < m; ++i) {
      sums.Compute(left, i * k, right, &c[i * n + column], &d[i * n + column]);
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
