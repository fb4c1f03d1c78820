// Arrays by the driver's C interface. The simulated driver is linked in: no other one can be meant.

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

constexpr CUresult kInvalidValue = 1;
constexpr size_t kSide = 64;

// An array of 64 x 64 words, each its own number.
class ArraysTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxPushCurrent_v2(context_), CUDA_SUCCESS);
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
    descriptor.Width = kSide;
    descriptor.Height = kSide;
    descriptor.Format = 0x03;  // CU_AD_FORMAT_UNSIGNED_INT32
    descriptor.NumChannels = 1;
    ASSERT_EQ(cuArray3DCreate_v2(&array_, &descriptor), CUDA_SUCCESS);
    std::vector<uint32_t> words(kSide * kSide);
    for (uint32_t i = 0; i < words.size(); ++i) words[i] = i;
    ASSERT_EQ(Copy(true, words.data(), 0, kSide * sizeof(uint32_t), kSide), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuArrayDestroy(array_), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxPopCurrent_v2(&context_), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  }

  // A box at row 0, and waits. x and width are bytes.
  CUresult Copy(bool to_array, void* host, size_t x, size_t width, size_t height) {
    CUDA_MEMCPY3D copy = {};
    copy.WidthInBytes = width;
    copy.Height = height;
    copy.Depth = 1;
    if (to_array) {
      copy.srcMemoryType = cuda_abi::CU_MEMORYTYPE_HOST;
      copy.srcHost = host;
      copy.dstMemoryType = cuda_abi::CU_MEMORYTYPE_ARRAY;
      copy.dstArray = array_;
      copy.dstXInBytes = x;
    } else {
      copy.srcMemoryType = cuda_abi::CU_MEMORYTYPE_ARRAY;
      copy.srcArray = array_;
      copy.srcXInBytes = x;
      copy.dstMemoryType = cuda_abi::CU_MEMORYTYPE_HOST;
      copy.dstHost = host;
    }
    const CUresult copied = cuMemcpy3DAsync_v2(&copy, nullptr);
    return copied == CUDA_SUCCESS ? cuStreamSynchronize(nullptr) : copied;
  }

  CUcontext context_ = nullptr;
  CUarray array_ = nullptr;
};

// A copy may begin and end inside of elements.
TEST_F(ArraysTest, CopiesReadPartsOfElements) {
  uint16_t halves[2] = {7, 7};
  ASSERT_EQ(Copy(false, halves, 2, 4, 1), CUDA_SUCCESS);
  EXPECT_EQ(halves[0], 0);  // the upper half of word 0
  EXPECT_EQ(halves[1], 1);  // the lower half of word 1
  uint16_t rows[2][3] = {};
  ASSERT_EQ(Copy(false, rows, 4, 6, 2), CUDA_SUCCESS);
  EXPECT_EQ(rows[0][0], 1);
  EXPECT_EQ(rows[0][2], 2);
  EXPECT_EQ(rows[1][0], kSide + 1);
  EXPECT_EQ(rows[1][2], kSide + 2);
}

// So may one to the array, which leaves the rest of those elements alone.
TEST_F(ArraysTest, CopiesWritePartsOfElements) {
  uint16_t halves[2] = {0x1111, 0x2222};
  ASSERT_EQ(Copy(true, halves, 10, 4, 1), CUDA_SUCCESS);
  uint32_t words[2] = {};
  ASSERT_EQ(Copy(false, words, 8, 8, 1), CUDA_SUCCESS);
  EXPECT_EQ(words[0], 0x11110002u);
  EXPECT_EQ(words[1], 0x00002222u);
}

// A byte beyond the array is refused.
TEST_F(ArraysTest, CopiesEndWithTheArray) {
  uint8_t bytes[4] = {};
  EXPECT_EQ(Copy(false, bytes, kSide * sizeof(uint32_t) - 1, 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(Copy(false, bytes, kSide * sizeof(uint32_t) - 1, 2, 1), kInvalidValue);
}
TEST_F(ArraysTest, CopiesOfNothingBeginAnywhere) {
  uint8_t bytes[4] = {};
  EXPECT_EQ(Copy(false, bytes, kSide * sizeof(uint32_t) + 1, 0, 1), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
