// Copies from and to arrays.

#include <cstdint>

#include "conformance/abi/copies/box_memory.h"

namespace twinmmu::abi {
namespace {

CUarray MakeArray(size_t width, size_t height,
                  CUarray_format format = CU_AD_FORMAT_UNSIGNED_INT32) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = width;
  descriptor.Height = height;
  descriptor.Format = format;
  descriptor.NumChannels = 1;
  CUarray array = nullptr;
  EXPECT_EQ(cuArray3DCreate(&array, &descriptor), CUDA_SUCCESS);
  return array;
}

// An array of one row of 64 bytes, and one of 8 such rows.
class ArrayCopiesTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    if (HasFatalFailure()) return;
    row_ = MakeArray(16, 0);
    rows_ = MakeArray(16, 8);
    EXPECT_EQ(cuMemAlloc(&memory_, 4096), CUDA_SUCCESS);
    Write(memory_, Numbered(4096));
  }
  void TearDown() override {
    EXPECT_EQ(cuMemFree(memory_), CUDA_SUCCESS);
    EXPECT_EQ(cuArrayDestroy(row_), CUDA_SUCCESS);
    EXPECT_EQ(cuArrayDestroy(rows_), CUDA_SUCCESS);
    ContextTest::TearDown();
  }

  // 8 bytes of each of 2 rows of an array, and memory with pitch 16.
  CUDA_MEMCPY2D ToArray(CUarray array) const {
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = memory_;
    copy.srcPitch = 16;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.WidthInBytes = 8;
    copy.Height = 2;
    return copy;
  }

  CUarray row_ = nullptr;
  CUarray rows_ = nullptr;
  CUdeviceptr memory_ = 0;
};

TEST_F(ArrayCopiesTest, GoThereAndBack) {
  const Content host = Numbered(64);
  Content read(64);
  EXPECT_EQ(cuMemcpyHtoA(row_, 0, host.data(), 64), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAtoH(read.data(), row_, 0, 64), CUDA_SUCCESS);
  EXPECT_EQ(read, host);
  EXPECT_EQ(cuMemcpyDtoA(row_, 8, memory_, 16), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAtoD(memory_ + 1024, row_, 8, 16), CUDA_SUCCESS);
  EXPECT_EQ(Read(memory_ + 1024, 16), Numbered(16));
  EXPECT_EQ(Read(memory_ + 1040, 1), Content{Numbered(1041)[1040]}) << "what is behind it";
}

TEST_F(ArrayCopiesTest, GoFromOffsetsToOffsets) {
  const CUarray other = MakeArray(16, 0, CU_AD_FORMAT_FLOAT);
  const Content host = Numbered(64);
  Content read(8);
  EXPECT_EQ(cuMemcpyHtoA(row_, 0, host.data(), 64), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAtoA(other, 32, row_, 12, 8), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAtoH(read.data(), other, 32, 8), CUDA_SUCCESS);
  EXPECT_EQ(read, Content(host.begin() + 12, host.begin() + 20));
  EXPECT_EQ(cuArrayDestroy(other), CUDA_SUCCESS);
}

TEST_F(ArrayCopiesTest, AsynchronousOnesDoTheSame) {
  const Content host = Numbered(64);
  Content read(64);
  EXPECT_EQ(cuMemcpyHtoAAsync(row_, 0, host.data(), 64, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAtoHAsync(read.data(), row_, 0, 64, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(read, host);
}

TEST_F(ArrayCopiesTest, RowsGoBetweenArraysAndMemory) {
  CUDA_MEMCPY2D copy = ToArray(rows_);
  copy.dstXInBytes = 16;
  copy.dstY = 3;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = rows_;
  copy.srcXInBytes = 20;
  copy.srcY = 4;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = memory_ + 1024;
  copy.dstPitch = 4;
  copy.WidthInBytes = 4;
  copy.Height = 1;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  EXPECT_EQ(Read(memory_ + 1024, 4), Read(memory_ + 16 + 4, 4));
}

// Of one dimension, they are rows to a driver: in memory of devices one lies a pitch behind the
// other, whatever the height, and in memory of the host where the height says.
TEST_F(ArrayCopiesTest, LayersOfOneDimensionLieAPitchApart) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = 16;
  descriptor.Depth = 2;
  descriptor.Format = CU_AD_FORMAT_UNSIGNED_INT32;
  descriptor.NumChannels = 1;
  descriptor.Flags = CUDA_ARRAY3D_LAYERED;
  CUarray layers = nullptr;
  ASSERT_EQ(cuArray3DCreate(&layers, &descriptor), CUDA_SUCCESS);
  constexpr size_t kPitch = 80;
  constexpr size_t kHeight = 3;
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = memory_;
  copy.srcPitch = kPitch;
  copy.srcHeight = kHeight;
  copy.srcY = 1;
  copy.srcZ = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = layers;
  copy.WidthInBytes = 64;
  copy.Height = 1;
  copy.Depth = 2;
  EXPECT_EQ(cuMemcpy3D(&copy), CUDA_SUCCESS);
  copy.srcDevice += 4096 - kPitch * 7;
  EXPECT_EQ(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE) << "though 6 pitches are all that is read";
  copy = {};
  Content read(kPitch * kHeight + 64);
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = layers;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = read.data();
  copy.dstPitch = kPitch;
  copy.dstHeight = kHeight;
  copy.WidthInBytes = 64;
  copy.Height = 1;
  copy.Depth = 2;
  EXPECT_EQ(cuMemcpy3D(&copy), CUDA_SUCCESS);
  const size_t first = (kHeight + 1) * kPitch;
  EXPECT_EQ(Content(read.begin(), read.begin() + 64), Read(memory_ + first, 64));
  EXPECT_EQ(Content(read.end() - 64, read.end()), Read(memory_ + first + kPitch, 64));
  EXPECT_EQ(cuArrayDestroy(layers), CUDA_SUCCESS);
}

TEST_F(ArrayCopiesTest, RowsGoBetweenArrays) {
  const CUarray other = MakeArray(16, 8);
  CUDA_MEMCPY2D copy = ToArray(rows_);
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = rows_;
  copy.dstArray = other;
  copy.dstY = 6;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  Content read(16);
  CUDA_MEMCPY2D back = {};
  back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  back.srcArray = other;
  back.srcY = 6;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = read.data();
  back.dstPitch = 8;
  back.WidthInBytes = 8;
  back.Height = 2;
  EXPECT_EQ(cuMemcpy2D(&back), CUDA_SUCCESS);
  Content expected = Read(memory_, 8);
  const Content second = Read(memory_ + 16, 8);
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(read, expected);
  EXPECT_EQ(cuArrayDestroy(other), CUDA_SUCCESS);
}

TEST_F(ArrayCopiesTest, EndWithTheArray) {
  Content host(128);
  EXPECT_EQ(cuMemcpyAtoH(host.data(), row_, 60, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyAtoD(memory_, row_, 0, 68), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoA(row_, 64, memory_, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoA(row_, SIZE_MAX - 3, host.data(), 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyAtoA(row_, 0, row_, 60, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Read(memory_, 128), Numbered(128));
  CUDA_MEMCPY2D copy = ToArray(rows_);
  copy.dstY = 7;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
}

// Source: an H200 with driver 580.159.
TEST_F(ArrayCopiesTest, OfNothingMayBeginAnywhere) {
  EXPECT_EQ(cuMemcpyAtoA(row_, SIZE_MAX - 3, row_, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAtoA(row_, 0, row_, 128, 0), CUDA_SUCCESS);
}

TEST_F(ArrayCopiesTest, NeedMemoryAtTheOtherEnd) {
  EXPECT_EQ(cuMemcpyAtoD(0, row_, 0, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoA(row_, 0, 0, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyAtoH(nullptr, row_, 0, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoA(row_, 0, nullptr, 4), CUDA_ERROR_INVALID_VALUE);
  const Mapping mapping(0, /*granted=*/false);
  EXPECT_EQ(cuMemcpyAtoD(mapping.address(), row_, 0, 4), CUDA_ERROR_INVALID_VALUE);
}

// The documentation wants one size. A driver copies bytes.
TEST_F(ArrayCopiesTest, ElementsOfTwoArraysMayDiffer) {
  const CUarray bytes = MakeArray(64, 0, CU_AD_FORMAT_UNSIGNED_INT8);
  EXPECT_EQ(cuMemcpyAtoA(row_, 0, bytes, 0, 16), CUDA_SUCCESS);
  EXPECT_EQ(cuArrayDestroy(bytes), CUDA_SUCCESS);
}

TEST_F(ArrayCopiesTest, ArraysThatAreGoneOrNullAreRefused) {
  if (!TraitsOf().survives_bad_pointers) GTEST_SKIP() << "may end the process";
  const CUarray gone = MakeArray(16, 0);
  ASSERT_EQ(cuArrayDestroy(gone), CUDA_SUCCESS);
  for (const CUarray array : {gone, CUarray{nullptr}}) {
    EXPECT_EQ(cuMemcpyAtoD(memory_, array, 0, 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpyDtoA(array, 0, memory_, 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpyAtoA(array, 0, row_, 0, 4), CUDA_ERROR_INVALID_VALUE);
    const CUDA_MEMCPY2D copy = ToArray(array);
    EXPECT_EQ(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(Read(memory_, 64), Numbered(64));
}

}  // namespace
}  // namespace twinmmu::abi
