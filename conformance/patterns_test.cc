#include "conformance/patterns.h"

#include <cstdint>
#include <vector>

#include "api/address.h"
#include "gtest/gtest.h"
#include "kernels/common.h"

namespace twinmmu::conformance {
namespace {

// A pattern is what kernels write for the same seed.
TEST(PatternsTest, AreWhatKernelsFillWith) {
  const std::vector<uint32_t> words = Pattern(7, Bytes(12));
  EXPECT_EQ(words, (std::vector<uint32_t>{FillWord(7, 0), FillWord(7, 1), FillWord(7, 2)}));
}

// The last word may reach beyond the size.
TEST(PatternsTest, CoverTheirSize) { EXPECT_EQ(Pattern(7, Bytes(9)).size(), 3u); }

// A word that differs is found wherever it is; where none does, it is the size.
TEST(PatternsTest, TheFirstDifferenceIsFound) {
  const std::vector<uint32_t> expected = Pattern(1, Bytes(40));
  EXPECT_EQ(FirstDifference(expected, expected), 10u);
  std::vector<uint32_t> words = expected;
  for (uint64_t i = 10; i-- > 0;) {
    ++words[i];
    EXPECT_EQ(FirstDifference(words, expected), i);
  }
}

// So is a byte.
TEST(PatternsTest, TheFirstOtherByteIsFound) {
  std::vector<uint8_t> bytes(10, 0xa5);
  EXPECT_EQ(FirstOtherThan(bytes, 0xa5), 10u);
  for (uint64_t i = 10; i-- > 0;) {
    bytes[i] = 0x5a;
    EXPECT_EQ(FirstOtherThan(bytes, 0xa5), i);
  }
}

}  // namespace
}  // namespace twinmmu::conformance
