// Products of matrices against what an H100 gave, bit for bit.

#include "sim/ptx/matrices/matrix_product.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "sim/ptx/matrices/matrix_fragments.h"

namespace twinmmu::ptx {
namespace {

constexpr int kWarps = 512;

struct Recorded {
  const char* text;
  uint64_t hash;
};
constexpr Recorded kRecorded[] = {
#define TWINMMU_MATRIX_RESULT(text, hash) {text, hash},
#include "sim/ptx/matrices/h100_matrix_results.inc"
#undef TWINMMU_MATRIX_RESULT
};

uint64_t HashOf(const void* data, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  const unsigned char* const bytes = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

// The numbers that were given to the device: SplitMix64.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  int Below(int count) { return static_cast<int>(Next() % static_cast<uint64_t>(count)); }

  // A float of a kind that depends on the trial: small integers; more and more exponents; zeros;
  // subnormals; infinities and what is no number.
  uint32_t Float(int trial, int exponent_bits, int fraction_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int top = (1 << exponent_bits) - 1;
    uint32_t sign = static_cast<uint32_t>(Next() & 1);
    uint32_t fraction = static_cast<uint32_t>(Next()) & ((1u << fraction_bits) - 1);
    int exponent = 0;
    const int kind = trial % 8;
    if (kind == 0) {
      const int value = Below(9) - 4;
      if (value == 0) return 0;
      sign = value < 0 ? 1 : 0;
      const int magnitude = value < 0 ? -value : value;
      const int log = magnitude >= 4 ? 2 : magnitude >= 2 ? 1 : 0;
      fraction =
          log == 0 ? 0 : static_cast<uint32_t>(magnitude - (1 << log)) << (fraction_bits - log);
      exponent = bias + log;
    } else if (kind == 1) {
      exponent = bias + Below(2);
    } else if (kind == 2) {
      exponent = bias - 2 + Below(5);
    } else if (kind == 3) {
      exponent = bias - 6 + Below(12);
    } else if (kind == 4) {
      exponent = bias + Below(4);
      if (Below(3) == 0) exponent = 0;
    } else if (kind == 5) {
      exponent = Below(top);
    } else if (kind == 6) {
      exponent = Below(2) != 0 ? 0 : Below(4);
    } else {
      exponent = Below(top + 1);
      if (Below(4) != 0) exponent = bias + Below(3);
    }
    if (kind != 7 && exponent >= top) exponent = top - 1;
    if (exponent < 0) exponent = 0;
    return sign << (exponent_bits + fraction_bits) |
           static_cast<uint32_t>(exponent) << fraction_bits | fraction;
  }
  double Double(int trial) {
    const int kind = trial % 4;
    if (kind == 0) return Below(9) - 4;
    double value = static_cast<double>(static_cast<int64_t>(Next())) * 0x1p-63;
    if (kind == 2 && (Next() & 1) != 0) value *= 0x1p40;
    if (kind == 3) value = BitCast<double>(Next());
    return value;
  }
  // A register with elements.
  uint64_t Register(Element element, int trial) {
    const auto packed = [&](int bits, int exponent_bits, int fraction_bits) {
      uint32_t word = 0;
      for (int at = 0; at < 32; at += bits)
        word |= Float(trial, exponent_bits, fraction_bits) << at;
      return word;
    };
    switch (element) {
      case Element::kF16:
        return packed(16, 5, 10);
      case Element::kBf16:
        return packed(16, 8, 7);
      case Element::kE4m3:
        return packed(8, 4, 3);
      case Element::kE5m2:
        return packed(8, 5, 2);
      case Element::kTf32:
        return trial % 16 < 8 ? Float(trial, 8, 23) & ~0x1fffu : Float(trial, 8, 23);
      case Element::kF32:
        return Float(trial, 8, 23);
      case Element::kF64:
        return BitsOf(Double(trial));
      default:
        return static_cast<uint32_t>(Next());
    }
  }

 private:
  uint64_t state_;
};

// An instruction as text, read by nothing but this test.
struct Named {
  explicit Named(const std::string& text) {
    std::vector<std::string> layouts;
    std::vector<Element> elements;
    for (const std::string& word :
         std::vector<std::string>(absl::StrSplit(text, absl::ByAnyChar(". ")))) {
      if (absl::StartsWith(word, "sp")) sparse = true;
      if (word == "row" || word == "col") layouts.push_back(word);
      if (word == "satfinite") product.saturates = true;
      if (word == "xor") product.exclusive_or = true;
      if (word == "rz") product.rounding = Round::kZero;
      if (word == "rm") product.rounding = Round::kDown;
      if (word == "rp") product.rounding = Round::kUp;
      if (absl::StartsWith(word, "sel")) selector = word[3] - '0';
      int m = 0, n = 0, k = 0;
      if (std::sscanf(word.c_str(), "m%dn%dk%d", &m, &n, &k) == 3) {
        product.m = m;
        product.n = n;
        product.k = k;
      }
      if (ElementNamed(word).has_value()) elements.push_back(*ElementNamed(word));
    }
    product.d = elements.front();
    product.c = elements.back();
    product.a = elements.size() == 4 ? elements[1] : Element::kF16;
    product.b = elements.size() == 4 ? elements[2] : Element::kF16;
    if (product.a == Element::kB1) product.k /= 32;
    form = absl::StartsWith(text, "wmma")
               ? FormOfWmma(product)
               : FormOfMma(product, sparse, layouts[0] == "col", layouts[1] == "row");
  }
  MatrixProduct product;
  bool sparse = false;
  int selector = 0;
  MatrixForm form;
};

using Registers = std::vector<std::array<uint64_t, kLanes>>;

std::vector<uint64_t> ElementsOf(const Fragment& fragment, const Registers& registers, size_t first,
                                 int count) {
  std::vector<uint64_t> elements(static_cast<size_t>(count));
  const uint64_t mask = fragment.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << fragment.bits) - 1;
  for (int reg = fragment.registers - 1; reg >= 0; --reg) {
    for (int place = 0; place < fragment.per_register; ++place) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const uint64_t word =
            registers[first + static_cast<size_t>(reg)][static_cast<size_t>(lane)];
        elements[fragment.ElementsOf(reg, place)[lane]] = word >> place * fragment.bits & mask;
      }
    }
  }
  return elements;
}

void AppendRegisters(const Fragment& fragment, const std::vector<uint64_t>& elements,
                     std::string* bytes) {
  for (int reg = 0; reg < fragment.registers; ++reg) {
    for (int lane = 0; lane < kLanes; ++lane) {
      uint64_t word = 0;
      for (int place = 0; place < fragment.per_register; ++place) {
        word |= elements[fragment.ElementsOf(reg, place)[lane]] << place * fragment.bits;
      }
      bytes->append(reinterpret_cast<const char*>(&word),
                    static_cast<size_t>(fragment.register_bytes));
    }
  }
}

// Pairs of places of which the first is the smaller one, as sparse matrices have them.
uint32_t Metadata(Numbers& numbers, Element a) {
  constexpr uint32_t kPairs[] = {4, 8, 9, 12, 13, 14};
  constexpr uint32_t kHalves[] = {14, 4};
  uint32_t metadata = 0;
  for (int i = 0; i < 8; ++i) {
    const uint32_t places =
        a == Element::kTf32 ? kHalves[numbers.Below(2)] : kPairs[numbers.Below(6)];
    metadata |= places << 4 * i;
  }
  return metadata;
}

uint64_t HashOfResults(const std::string& text) {
  const Named named(text);
  const MatrixForm& form = named.form;
  const MatrixProduct& product = form.product;
  const std::string seed = text.substr(0, text.find(" sel"));
  Numbers numbers(HashOf(seed.data(), seed.size()));
  std::vector<Registers> inputs(kWarps);
  for (int warp = 0; warp < kWarps; ++warp) {
    for (const MatrixOperand operand : {kMatrixA, kMatrixB, kMatrixC}) {
      const Element element = operand == kMatrixA   ? product.a
                              : operand == kMatrixB ? product.b
                                                    : product.c;
      for (int reg = 0; reg < form.fragments[operand].registers; ++reg) {
        std::array<uint64_t, kLanes> lanes;
        for (uint64_t& lane : lanes) lane = numbers.Register(element, warp);
        inputs[static_cast<size_t>(warp)].push_back(lanes);
      }
    }
  }
  const int m = product.m * form.products, n = product.n, k = product.k;
  const size_t first_b = static_cast<size_t>(form.fragments[kMatrixA].registers);
  const size_t first_c = first_b + static_cast<size_t>(form.fragments[kMatrixB].registers);
  std::string results;
  for (const Registers& input : inputs) {
    const std::vector<uint64_t> a = ElementsOf(form.fragments[kMatrixA], input, 0, m * k);
    const std::vector<uint64_t> b =
        ElementsOf(form.fragments[kMatrixB], input, first_b, n * k * form.products);
    const std::vector<uint64_t> c = ElementsOf(form.fragments[kMatrixC], input, first_c, m * n);
    std::vector<uint64_t> d(c.size());
    if (named.sparse) {
      std::array<uint32_t, kLanes> metadata;
      for (uint32_t& lane : metadata) lane = Metadata(numbers, product.a);
      MultiplySparse(form, a.data(), metadata.data(), named.selector, b.data(), c.data(), d.data());
    } else {
      for (int i = 0; i < form.products; ++i) {
        Multiply(product, &a[static_cast<size_t>(i * product.m * k)],
                 &b[static_cast<size_t>(i * n * k)], &c[static_cast<size_t>(i * product.m * n)],
                 &d[static_cast<size_t>(i * product.m * n)]);
      }
    }
    AppendRegisters(form.fragments[kMatrixD], d, &results);
  }
  return HashOf(results.data(), results.size());
}

// Layouts, sums, infinities and all: of each shape, type and rounding.
TEST(MatrixProduct, GivesWhatAnH100Gives) {
  for (const Recorded& recorded : kRecorded) {
    EXPECT_EQ(HashOfResults(recorded.text), recorded.hash) << recorded.text;
  }
}

// Whatever a device does to sums, small integers are exact.
TEST(MatrixProduct, IsExactForSmallIntegers) {
  MatrixProduct product;
  product.m = product.n = 8;
  product.k = 16;
  std::vector<uint64_t> a(128), b(128), c(64), d(64);
  for (size_t i = 0; i < 128; ++i)
    a[i] = RoundTo(kF16Format, static_cast<double>(i % 7) - 3, Round::kNearest);
  for (size_t i = 0; i < 128; ++i)
    b[i] = RoundTo(kF16Format, static_cast<double>(i % 5) - 2, Round::kNearest);
  for (size_t i = 0; i < 64; ++i) c[i] = BitsOf(static_cast<float>(i));
  Multiply(product, a.data(), b.data(), c.data(), d.data());
  for (size_t i = 0; i < 8; ++i) {
    for (size_t j = 0; j < 8; ++j) {
      int sum = static_cast<int>(8 * i + j);
      for (size_t l = 0; l < 16; ++l) {
        sum += (static_cast<int>((16 * i + l) % 7) - 3) * (static_cast<int>((16 * j + l) % 5) - 2);
      }
      EXPECT_EQ(d[8 * i + j], BitsOf(static_cast<float>(sum))) << i << ", " << j;
    }
  }
}

}  // namespace
}  // namespace twinmmu::ptx
