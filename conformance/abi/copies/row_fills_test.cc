// Fills of rows with gaps between them.

#include <cstdint>

#include "conformance/abi/copies/box_memory.h"

namespace twinmmu::abi {
namespace {

constexpr size_t kSize = 4096;

class RowFillsTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    if (HasFatalFailure()) return;
    EXPECT_EQ(cuMemAlloc(&to_, kSize), CUDA_SUCCESS);
    Clear();
  }
  void TearDown() override {
    EXPECT_EQ(cuMemFree(to_), CUDA_SUCCESS);
    ContextTest::TearDown();
  }

  void Clear() const { EXPECT_EQ(cuMemsetD8(to_, 0, kSize), CUDA_SUCCESS); }
  // `height` rows in which `row` is repeated `width` times.
  static Content Rows(size_t pitch, const Content& element, size_t width, size_t height) {
    Content rows(kSize);
    for (size_t y = 0; y < height; ++y) {
      for (size_t x = 0; x < width * element.size(); ++x) {
        rows[y * pitch + x] = element[x % element.size()];
      }
    }
    return rows;
  }
  Content Result() const { return Read(to_, kSize); }

  CUdeviceptr to_ = 0;
};

TEST_F(RowFillsTest, RowsAreFilledAndTheGapsBetweenThemAreNot) {
  EXPECT_EQ(cuMemsetD2D8(to_, 10, 7, 5, 3), CUDA_SUCCESS);
  EXPECT_EQ(Result(), Rows(10, {7}, 5, 3));
  Clear();
  EXPECT_EQ(cuMemsetD2D16(to_, 10, 0x0102, 3, 4), CUDA_SUCCESS);
  EXPECT_EQ(Result(), Rows(10, {2, 1}, 3, 4));
  Clear();
  EXPECT_EQ(cuMemsetD2D32(to_, 12, 0x01020304, 2, 5), CUDA_SUCCESS);
  EXPECT_EQ(Result(), Rows(12, {4, 3, 2, 1}, 2, 5));
}

TEST_F(RowFillsTest, AsynchronousOnesDoTheSame) {
  EXPECT_EQ(cuMemsetD2D8Async(to_, 10, 7, 5, 3, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Result(), Rows(10, {7}, 5, 3));
  EXPECT_EQ(cuMemsetD2D16Async(to_, 10, 0, 3, 3, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Result(), Content(kSize));
  EXPECT_EQ(cuMemsetD2D32Async(to_, 12, 0x01020304, 2, 5, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Result(), Rows(12, {4, 3, 2, 1}, 2, 5));
}

TEST_F(RowFillsTest, APitchIsNotSmallerThanARow) {
  EXPECT_EQ(cuMemsetD2D8(to_, 4, 7, 5, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD2D16(to_, 4, 7, 3, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD2D32(to_, 4, 7, 2, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD2D8(to_, 0, 7, 5, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Result(), Content(kSize));
}

TEST_F(RowFillsTest, OneRowNeedsNoPitch) {
  EXPECT_EQ(cuMemsetD2D32(to_, 0, 0x01020304, 2, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD2D32(to_, 3, 0x01020304, 2, 1), CUDA_SUCCESS);
  EXPECT_EQ(Result(), Rows(0, {4, 3, 2, 1}, 2, 1));
}

TEST_F(RowFillsTest, RowsHaveTheAlignmentOfTheirElements) {
  EXPECT_EQ(cuMemsetD2D16(to_ + 1, 16, 7, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD2D32(to_ + 2, 16, 7, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD2D16(to_, 15, 7, 1, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD2D32(to_, 18, 7, 1, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Result(), Content(kSize));
}

TEST_F(RowFillsTest, OfNothingSucceed) {
  EXPECT_EQ(cuMemsetD2D8(to_, 16, 7, 0, 3), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD2D32(to_, 16, 7, 3, 0), CUDA_SUCCESS);
  EXPECT_EQ(Result(), Content(kSize));
}

TEST_F(RowFillsTest, EndWithTheAllocation) {
  EXPECT_EQ(cuMemsetD2D8(to_, kSize - 4, 7, 4, 2), CUDA_SUCCESS);
  Clear();
  EXPECT_EQ(cuMemsetD2D8(to_, kSize - 4, 7, 5, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD2D8(0, 16, 7, 4, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Result(), Content(kSize));
}

TEST_F(RowFillsTest, RowsCrossTheBordersOfMappings) {
  const Mappings mappings({true, true});
  const CUdeviceptr border = mappings.address() + kChunk;
  EXPECT_EQ(cuMemsetD8(border - 8, 0, 32), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD2D32(border - 8, 12, 0x07070707, 3, 2), CUDA_SUCCESS);
  EXPECT_EQ(Read(border - 8, 24), Content(24, 7));
}

TEST_F(RowFillsTest, EachRowNeedsMemory) {
  const Mappings mappings({true, false, true});
  EXPECT_EQ(cuMemsetD8(mappings.address(), 1, 8), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD2D8(mappings.address(), kChunk, 7, 4, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Read(mappings.address(), 8), Content(8, 1)) << "not even the first row";
}

}  // namespace
}  // namespace twinmmu::abi
