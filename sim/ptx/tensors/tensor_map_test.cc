#include "sim/ptx/tensors/tensor_map.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace twinmmu::ptx {
namespace {

TensorMap Im2col(uint32_t rank) {
  TensorMap map;
  map.element = TensorElement::kTf32;
  map.swizzle = TensorSwizzle::k128;
  map.promotion = 2;
  map.fills_with_nan = true;
  map.im2col = true;
  map.rank = rank;
  map.address = 0x7f1234567890;
  for (uint32_t i = 0; i < rank; ++i) {
    map.dims[i] = uint64_t{100} << 4 * i;
    map.steps[i] = i + 1;
    if (i > 0) map.strides[i - 1] = (uint64_t{1} << 39) + 16 * i;
  }
  map.box[0] = 32;
  map.pixels = 1000;
  for (uint32_t i = 0; i + 2 < rank; ++i) {
    map.lower[i] = -static_cast<int32_t>(i) - 3;
    map.upper[i] = static_cast<int32_t>(i) + 4;
  }
  return map;
}

void ExpectSame(const TensorMap& a, const TensorMap& b) {
  EXPECT_EQ(a.element, b.element);
  EXPECT_EQ(a.swizzle, b.swizzle);
  EXPECT_EQ(a.promotion, b.promotion);
  EXPECT_EQ(a.fills_with_nan, b.fills_with_nan);
  EXPECT_EQ(a.im2col, b.im2col);
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.address, b.address);
  EXPECT_EQ(a.dims, b.dims);
  EXPECT_EQ(a.strides, b.strides);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.box, b.box);
  EXPECT_EQ(a.pixels, b.pixels);
  EXPECT_EQ(a.lower, b.lower);
  EXPECT_EQ(a.upper, b.upper);
}

TEST(TensorMapTest, BitsSayAllOfAMap) {
  for (uint32_t rank = 3; rank <= 5; ++rank) {
    TensorMap read;
    EXPECT_TRUE(Decode(Encode(Im2col(rank)), &read));
    ExpectSame(read, Im2col(rank));
  }
}

TEST(TensorMapTest, OtherBitsAreNoMap) {
  TensorMap map;
  TensorMapBits bits;
  bits.fill(~uint64_t{0});
  EXPECT_FALSE(Decode(bits, &map));
}

// Numbers of 4 bits say what the elements are, and not all of them are taken.
TEST(TensorMapTest, OtherElementsAreNoMap) {
  constexpr int kElement = 7;  // where the bits are in word 1
  for (uint64_t element = 0; element < 16; ++element) {
    TensorMapBits bits = Encode(TensorMap());
    bits[1] |= element << kElement;
    TensorMap map;
    EXPECT_EQ(Decode(bits, &map), element <= static_cast<uint64_t>(TensorElement::kBf16))
        << element;
  }
}

// Each field for itself: a map that was made this way is as one that was made at once.
TEST(TensorMapTest, FieldsAreReplaced) {
  TensorMap map;
  map.rank = 3;
  TensorMapBits bits = Encode(map);
  map.element = TensorElement::kTf32Ftz;
  Replace(TensorField::kElement, 0, 12, &bits);
  map.address = 0x123450;
  Replace(TensorField::kAddress, 0, map.address, &bits);
  map.rank = 5;
  Replace(TensorField::kRank, 0, 4, &bits);
  for (uint32_t i = 0; i < 5; ++i) {
    map.box[i] = 10 + i;
    map.dims[i] = 1000 + i;
    map.steps[i] = 8 - i;
    Replace(TensorField::kBox, i, map.box[i], &bits);
    Replace(TensorField::kDim, i, map.dims[i], &bits);
    Replace(TensorField::kStep, i, map.steps[i], &bits);
    Replace(TensorField::kStride, i, (uint64_t{i} << 36) + 32, &bits);
    if (i < 4) map.strides[i] = (uint64_t{i} << 36) + 32;
  }
  map.swizzle = TensorSwizzle::k64;
  Replace(TensorField::kSwizzle, 0, 2, &bits);
  map.fills_with_nan = true;
  Replace(TensorField::kFill, 0, 1, &bits);
  TensorMap read;
  ASSERT_TRUE(Decode(bits, &read));
  ExpectSame(read, map);
}

}  // namespace
}  // namespace twinmmu::ptx
