#include "sim/ptx/matrices/matrix_product.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "absl/container/fixed_array.h"
#include "sim/ptx/matrices/column_sums.h"
#include "sim/ptx/operations/host_vectors.h"

namespace twinmmu::ptx {
namespace {

// --- Integers ------------------------------------------------------------------------------------

using Integers = absl::FixedArray<int16_t, 1024>;

template <typename Byte, int kUpper>
void ToIntegers(const uint64_t* bits, size_t count, int16_t* values) {
  for (size_t i = 0; i < count; ++i) {
    const auto upper = static_cast<Byte>(static_cast<uint8_t>(bits[i]) << kUpper);
    values[i] = static_cast<int16_t>(upper >> kUpper);
  }
}

void TakeIntegers(Element element, const uint64_t* bits, Integers* values) {
  const auto take = element == Element::kS8   ? ForHost<ToIntegers<int8_t, 0>>()
                    : element == Element::kU8 ? ForHost<ToIntegers<uint8_t, 0>>()
                    : element == Element::kS4 ? ForHost<ToIntegers<int8_t, 4>>()
                                              : ForHost<ToIntegers<uint8_t, 4>>();
  take(bits, values->size(), values->data());
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
  Integers left(m * k);
  Integers right(n * k);
  TakeIntegers(product.a, a, &left);
  TakeIntegers(product.b, b, &right);
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

// What is no number stays what it is, the last of them first.
template <Round kRound>
double Fused(double x, double y, double z) {
  const double sum =
      WithRounding<kRound>([](double u, double v, double w) { return std::fma(u, v, w); }, x, y, z);
  return IsNan(z) ? QuietNan(z) : IsNan(y) ? QuietNan(y) : IsNan(x) ? QuietNan(x) : sum;
}

template <Round kRound>
void MultiplyDoubles(const MatrixProduct& product, const uint64_t* a, const uint64_t* b,
                     const uint64_t* c, uint64_t* d) {
  for (int i = 0; i < product.m; ++i) {
    for (int j = 0; j < product.n; ++j) {
      double sum = BitCast<double>(c[i * product.n + j]);
      for (int l = 0; l < product.k; ++l) {
        sum = Fused<kRound>(BitCast<double>(a[i * product.k + l]),
                            BitCast<double>(b[j * product.k + l]), sum);
      }
      d[i * product.n + j] = BitsOf(sum);
    }
  }
}

// To the nearest, of numbers and kColumns columns, which is how many there are: false if there is
// something else among the sums.
bool MultiplyNumbers(const MatrixProduct& product, const uint64_t* a, const uint64_t* b,
                     const uint64_t* c, uint64_t* d) {
  double sums[kColumns];
  bool are_numbers = true;
  for (int i = 0; i < product.m; ++i, a += product.k, c += kColumns, d += kColumns) {
    std::memcpy(sums, c, sizeof(sums));
    for (int l = 0; l < product.k; ++l) {
      const double left = BitCast<double>(a[l]);
      for (int j = 0; j < kColumns; ++j) {
        sums[j] = std::fma(left, BitCast<double>(b[l * kColumns + j]), sums[j]);
      }
    }
    for (int j = 0; j < kColumns; ++j) are_numbers &= !IsNan(sums[j]);
    std::memcpy(d, sums, sizeof(sums));
  }
  return are_numbers;
}

void MultiplyDoublesToNearest(const MatrixProduct& product, const uint64_t* a, const uint64_t* b,
                              const uint64_t* c, uint64_t* d) {
  static const auto multiply = ForHost<MultiplyNumbers>();
  const size_t k = static_cast<size_t>(product.k);
  absl::FixedArray<uint64_t, 128> rows(k * kColumns);  // of b
  for (size_t j = 0; j < kColumns; ++j) {
    for (size_t l = 0; l < k; ++l) rows[l * kColumns + j] = b[j * k + l];
  }
  if (!multiply(product, a, rows.data(), c, d)) {
    MultiplyDoubles<Round::kNearest>(product, a, b, c, d);
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
  if (product.a != Element::kF64) return MultiplyFloats(product, a, b, c, d);
  switch (product.rounding) {
    case Round::kZero:
      return MultiplyDoubles<Round::kZero>(product, a, b, c, d);
    case Round::kDown:
      return MultiplyDoubles<Round::kDown>(product, a, b, c, d);
    case Round::kUp:
      return MultiplyDoubles<Round::kUp>(product, a, b, c, d);
    default:
      return MultiplyDoublesToNearest(product, a, b, c, d);
  }
}

}  // namespace twinmmu::ptx
