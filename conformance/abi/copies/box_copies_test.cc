// Copies in two and three dimensions, between memory that has addresses.

#include <algorithm>
#include <cstdint>

#include "conformance/abi/copies/box_memory.h"

namespace twinmmu::abi {
namespace {

constexpr size_t kSize = 4096;

// Three rows of 4 bytes, from pitch 8 to pitch 16.
CUDA_MEMCPY2D Rows(CUdeviceptr to, CUdeviceptr from) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.srcPitch = 8;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = to;
  copy.dstPitch = 16;
  copy.WidthInBytes = 4;
  copy.Height = 3;
  return copy;
}

// Two layers of two rows of 4 bytes; in layers of 3 rows of 8 bytes, and of 2 rows of 16.
template <typename Description>
Description Layers(CUdeviceptr to, CUdeviceptr from) {
  Description copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.srcPitch = 8;
  copy.srcHeight = 3;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = to;
  copy.dstPitch = 16;
  copy.dstHeight = 2;
  copy.WidthInBytes = 4;
  copy.Height = 2;
  copy.Depth = 2;
  return copy;
}

// The source is numbered, and the destination is 0.
class BoxCopiesTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    if (HasFatalFailure()) return;
    EXPECT_EQ(cuMemAlloc(&from_, kSize), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc(&to_, kSize), CUDA_SUCCESS);
    Write(from_, Numbered(kSize));
    EXPECT_EQ(cuMemsetD8(to_, 0, kSize), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuMemFree(from_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(to_), CUDA_SUCCESS);
    ContextTest::TearDown();
  }

  CUDA_MEMCPY2D Rows() const { return abi::Rows(to_, from_); }
  CUDA_MEMCPY3D Layers() const { return abi::Layers<CUDA_MEMCPY3D>(to_, from_); }
  // What Rows() leaves there.
  static Content CopiedRows() {
    const Content from = Numbered(kSize);
    Content to(kSize);
    for (size_t row = 0; row < 3; ++row) {
      for (size_t x = 0; x < 4; ++x) to[row * 16 + x] = from[row * 8 + x];
    }
    return to;
  }
  static Content CopiedLayers() {
    const Content from = Numbered(kSize);
    Content to(kSize);
    for (size_t z = 0; z < 2; ++z) {
      for (size_t y = 0; y < 2; ++y) {
        for (size_t x = 0; x < 4; ++x) to[(z * 2 + y) * 16 + x] = from[(z * 3 + y) * 8 + x];
      }
    }
    return to;
  }
  Content Result() const { return Read(to_, kSize); }
  void ExpectRefused(const CUDA_MEMCPY2D& copy) const {
    EXPECT_EQ(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpy2DUnaligned(&copy), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpy2DAsync(&copy, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(Result(), Content(kSize)) << "something was copied";
  }
  void ExpectRefused(const CUDA_MEMCPY3D& copy) const {
    EXPECT_EQ(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpy3DAsync(&copy, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(Result(), Content(kSize)) << "something was copied";
  }

  CUdeviceptr from_ = 0;
  CUdeviceptr to_ = 0;
};

// --- Two dimensions ------------------------------------------------------------------------------

TEST_F(BoxCopiesTest, RowsAreMovedAndTheGapsBetweenThemAreNot) {
  const CUDA_MEMCPY2D copy = Rows();
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  EXPECT_EQ(Result(), CopiedRows());
}

TEST_F(BoxCopiesTest, UnalignedOnesDoTheSame) {
  CUDA_MEMCPY2D copy = Rows();
  EXPECT_EQ(cuMemcpy2DUnaligned(&copy), CUDA_SUCCESS);
  EXPECT_EQ(Result(), CopiedRows());
  copy.srcPitch = 5;
  copy.dstPitch = 7;
  EXPECT_EQ(cuMemcpy2DUnaligned(&copy), CUDA_SUCCESS);
  EXPECT_EQ(Result()[7], Numbered(kSize)[5]);
}

TEST_F(BoxCopiesTest, AsynchronousOnesDoTheSame) {
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  const CUDA_MEMCPY2D copy = Rows();
  EXPECT_EQ(cuMemcpy2DAsync(&copy, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(Result(), CopiedRows());
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(BoxCopiesTest, FormsOfAThreadsStreamDoTheSame) {
  const CUDA_MEMCPY2D rows = Rows();
  const Function<CUresult(const CUDA_MEMCPY2D*)> copy2d("cuMemcpy2D_v2_ptds");
  EXPECT_EQ(copy2d(&rows), CUDA_SUCCESS);
  EXPECT_EQ(Result(), CopiedRows());
  const CUDA_MEMCPY3D layers = Layers();
  const Function<CUresult(const CUDA_MEMCPY3D*, CUstream)> copy3d("cuMemcpy3DAsync_v2_ptsz");
  EXPECT_EQ(cuMemsetD8(to_, 0, kSize), CUDA_SUCCESS);
  EXPECT_EQ(copy3d(&layers, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(Result(), CopiedLayers());
}

TEST_F(BoxCopiesTest, RowsMayBeOfTheHost) {
  Content host = Numbered(kSize);
  CUDA_MEMCPY2D copy = Rows();
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.srcDevice = 0;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  EXPECT_EQ(Result(), CopiedRows());
  copy = Rows();
  Content read(kSize);
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = read.data();
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  EXPECT_EQ(read, CopiedRows());
}

TEST_F(BoxCopiesTest, UnifiedOnesFindOutWhatIsWhere) {
  Content host = Numbered(kSize);
  CUDA_MEMCPY2D copy = Rows();
  copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = AddressOf(host.data());
  copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  EXPECT_EQ(Result(), CopiedRows());
}

TEST_F(BoxCopiesTest, PinnedMemoryIsMemoryOfBoth) {
  void* memory = nullptr;
  ASSERT_EQ(cuMemAllocHost(&memory, kSize), CUDA_SUCCESS);
  Write(AddressOf(memory), Numbered(kSize));
  CUDA_MEMCPY2D copy = abi::Rows(to_, AddressOf(memory));
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  EXPECT_EQ(Result(), CopiedRows());
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
}

// They begin at x and y, counted with the side's own pitch.
TEST_F(BoxCopiesTest, RowsBeginWhereTheOffsetsSay) {
  CUDA_MEMCPY2D copy = Rows();
  copy.srcXInBytes = 2;
  copy.srcY = 3;
  copy.dstXInBytes = 5;
  copy.dstY = 1;
  copy.Height = 1;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  Content expected(kSize);
  for (size_t x = 0; x < 4; ++x) expected[16 + 5 + x] = Numbered(kSize)[3 * 8 + 2 + x];
  EXPECT_EQ(Result(), expected);
}

TEST_F(BoxCopiesTest, RowsCrossTheBordersOfMappings) {
  const Mappings mappings({true, true});
  const CUdeviceptr border = mappings.address() + kChunk;
  CUDA_MEMCPY2D copy = abi::Rows(border - 18, from_);  // the second row lies on both sides
  EXPECT_EQ(cuMemsetD8(border - 18, 0, kSize), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  EXPECT_EQ(Read(border - 18, kSize), CopiedRows());
}

TEST_F(BoxCopiesTest, EachRowNeedsMemory) {
  const Mappings mappings({true, false, true});
  CUDA_MEMCPY2D copy = abi::Rows(mappings.address(), from_);
  copy.dstPitch = kChunk;
  const Content before = Numbered(8);
  Write(mappings.address(), before);
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Read(mappings.address(), 8), before) << "not even the first row";
  copy = Rows();
  copy.srcDevice = mappings.address();
  copy.srcPitch = kChunk;
  ExpectRefused(copy);
}

// A driver looks at all from the first byte to the last.
TEST_F(BoxCopiesTest, GapsBetweenRowsNeedMemoryToo) {
  const Mappings mappings({true, false, true});
  CUDA_MEMCPY2D copy = abi::Rows(mappings.address(), from_);
  copy.dstPitch = 2 * kChunk;
  copy.Height = 2;
  EXPECT_EQ(cuMemsetD8(mappings.address(), 0, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Read(mappings.address(), 4), Content(4)) << "not even the first row";
}

TEST_F(BoxCopiesTest, RowsEndWithTheAllocation) {
  CUDA_MEMCPY2D copy = Rows();
  copy.srcDevice = from_ + kSize - 20;  // that is where the last row ends
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(to_, 0, kSize), CUDA_SUCCESS);
  copy.srcDevice += 1;
  ExpectRefused(copy);
}

// The allocation is that of the address which is passed, whatever lies where the rows are.
TEST_F(BoxCopiesTest, RowsAreOfOneAllocationWithTheirBase) {
  const CUdeviceptr low = std::min(from_, to_);
  const CUdeviceptr high = std::max(from_, to_);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  Content read(4);
  copy.dstHost = read.data();
  copy.WidthInBytes = 4;
  copy.Height = 1;
  copy.srcDevice = low;
  copy.srcXInBytes = high - low;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.srcPitch = high - low;
  copy.srcXInBytes = 0;
  copy.srcY = 1;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.srcDevice = high;
  copy.srcPitch = 8;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
}

TEST_F(BoxCopiesTest, FreedMemoryIsRefused) {
  CUdeviceptr freed = 0;
  ASSERT_EQ(cuMemAlloc(&freed, size_t{4} << 20), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFree(freed), CUDA_SUCCESS);
  ExpectRefused(abi::Rows(to_, freed));
}

TEST_F(BoxCopiesTest, APitchIsNotSmallerThanARow) {
  CUDA_MEMCPY2D copy = Rows();
  copy.srcPitch = 3;
  ExpectRefused(copy);
  copy = Rows();
  copy.dstPitch = 3;
  ExpectRefused(copy);
  copy = Rows();
  copy.srcXInBytes = 5;  // ends behind the pitch
  ExpectRefused(copy);
}

// Rows follow each other.
TEST_F(BoxCopiesTest, APitchMayBeLeftOut) {
  CUDA_MEMCPY2D copy = Rows();
  copy.srcPitch = 0;
  copy.dstPitch = 0;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  EXPECT_EQ(Read(to_, 12), Read(from_, 12));
  EXPECT_EQ(Read(to_ + 12, 4), Content(4));
}

// MAX_PITCH is documented as the most; a driver does not look.
TEST_F(BoxCopiesTest, APitchMayBeLargerThanTheDeviceAllows) {
  int most = 0;
  ASSERT_EQ(cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0), CUDA_SUCCESS);
  CUDA_MEMCPY2D copy = Rows();
  copy.Height = 1;
  copy.srcPitch = static_cast<size_t>(most) + 1;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  EXPECT_EQ(Read(to_, 4), Read(from_, 4));
}

TEST_F(BoxCopiesTest, MemoryIsOfATypeThatExists) {
  for (const int type : {0, 5, -1}) {
    CUDA_MEMCPY2D copy = Rows();
    copy.srcMemoryType = static_cast<CUmemorytype>(type);
    ExpectRefused(copy);
    copy = Rows();
    copy.dstMemoryType = static_cast<CUmemorytype>(type);
    ExpectRefused(copy);
  }
}

TEST_F(BoxCopiesTest, MemoryOfTheProgramIsNoDeviceMemory) {
  Content host(kSize);
  CUDA_MEMCPY2D copy = Rows();
  copy.srcDevice = AddressOf(host.data());
  ExpectRefused(copy);
}

TEST_F(BoxCopiesTest, NullIsRefusedWhateverTheOffset) {
  for (const auto type : {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED}) {
    CUDA_MEMCPY2D copy = abi::Rows(to_, 0);
    copy.srcMemoryType = type;
    ExpectRefused(copy);
    copy.srcXInBytes = 4;
    ExpectRefused(copy);
    copy.srcY = 1;
    ExpectRefused(copy);
  }
}

TEST_F(BoxCopiesTest, SizesThatOverflowAreRefused) {
  CUDA_MEMCPY2D copy = Rows();
  copy.Height = size_t{1} << 62;
  ExpectRefused(copy);
  copy = Rows();
  copy.WidthInBytes = SIZE_MAX;
  ExpectRefused(copy);
  copy = Rows();
  copy.srcXInBytes = SIZE_MAX - 1;
  ExpectRefused(copy);
}

// As copies of nothing in one dimension.
TEST_F(BoxCopiesTest, OfNothingSucceed) {
  CUDA_MEMCPY2D copy = Rows();
  copy.WidthInBytes = 0;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  copy = Rows();
  copy.Height = 0;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  EXPECT_EQ(Result(), Content(kSize));
}

TEST_F(BoxCopiesTest, NullIsNoDescription) {
  if (!TraitsOf().survives_bad_pointers) GTEST_SKIP() << "may end the process";
  EXPECT_EQ(cuMemcpy2D(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy2DAsync(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy3D(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy3DPeer(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy3DPeerAsync(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

// --- Three dimensions ----------------------------------------------------------------------------

TEST_F(BoxCopiesTest, LayersAreMovedRowByRow) {
  const CUDA_MEMCPY3D copy = Layers();
  EXPECT_EQ(cuMemcpy3D(&copy), CUDA_SUCCESS);
  EXPECT_EQ(Result(), CopiedLayers());
  EXPECT_EQ(cuMemsetD8(to_, 0, kSize), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpy3DAsync(&copy, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Result(), CopiedLayers());
}

TEST_F(BoxCopiesTest, LayersBeginWhereTheOffsetsSay) {
  CUDA_MEMCPY3D copy = Layers();
  copy.srcXInBytes = 1;
  copy.srcY = 1;
  copy.srcZ = 2;
  copy.dstZ = 3;
  copy.Depth = 1;
  EXPECT_EQ(cuMemcpy3D(&copy), CUDA_SUCCESS);
  EXPECT_EQ(Read(to_ + 3 * 2 * 16, 4), Read(from_ + (2 * 3 + 1) * 8 + 1, 4));
  EXPECT_EQ(Read(to_, 3 * 2 * 16), Content(3 * 2 * 16));
}

TEST_F(BoxCopiesTest, ALayerIsNotSmallerThanItsRows) {
  CUDA_MEMCPY3D copy = Layers();
  copy.srcHeight = 1;
  ExpectRefused(copy);
  copy = Layers();
  copy.dstHeight = 1;
  ExpectRefused(copy);
  copy = Layers();
  copy.srcY = 2;  // ends behind the layer
  ExpectRefused(copy);
}

TEST_F(BoxCopiesTest, AHeightMayBeLeftOutForOneLayer) {
  CUDA_MEMCPY3D copy = Layers();
  copy.srcHeight = 0;
  copy.dstHeight = 0;
  copy.Depth = 1;
  EXPECT_EQ(cuMemcpy3D(&copy), CUDA_SUCCESS);
  EXPECT_EQ(Read(to_ + 16, 4), Read(from_ + 8, 4));
}

TEST_F(BoxCopiesTest, TooManyLayersAreRefused) {
  CUDA_MEMCPY3D copy = Layers();
  copy.Depth = size_t{1} << 62;
  ExpectRefused(copy);
}

// Memory has none, so nobody looks at it.
TEST_F(BoxCopiesTest, TheLevelOfMemoryDoesNotMatter) {
  CUDA_MEMCPY3D copy = Layers();
  copy.srcLOD = 1;
  copy.dstLOD = 1;
  EXPECT_EQ(cuMemcpy3D(&copy), CUDA_SUCCESS);
  EXPECT_EQ(Result(), CopiedLayers());
}

// --- Between contexts ----------------------------------------------------------------------------

TEST_F(BoxCopiesTest, BothEndsMayBeInOneContext) {
  auto copy = abi::Layers<CUDA_MEMCPY3D_PEER>(to_, from_);
  copy.srcContext = context_;
  copy.dstContext = context_;
  EXPECT_EQ(cuMemcpy3DPeer(&copy), CUDA_SUCCESS);
  EXPECT_EQ(Result(), CopiedLayers());
}

TEST_F(BoxCopiesTest, InventedContextsAreRefused) {
  if (!TraitsOf().survives_bad_pointers) GTEST_SKIP() << "may end the process";
  auto copy = abi::Layers<CUDA_MEMCPY3D_PEER>(to_, from_);
  copy.srcContext = reinterpret_cast<CUcontext>(uintptr_t{0x1234});
  EXPECT_EQ(cuMemcpy3DPeer(&copy), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(Result(), Content(kSize));
}

using PeerBoxCopiesTest = TwoDevicesTest;

TEST_F(PeerBoxCopiesTest, LayersGoFromDeviceToDevice) {
  const Mapping from(0);
  const Mapping to(1);
  Write(from.address(), Numbered(64));
  auto copy = Layers<CUDA_MEMCPY3D_PEER>(to.address(), from.address());
  copy.srcContext = context_;
  copy.dstContext = second_;
  EXPECT_EQ(cuMemcpy3DPeer(&copy), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpy3DPeerAsync(&copy, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  Content row(4);
  ASSERT_EQ(cuCtxSetCurrent(second_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(row.data(), to.address() + 3 * 16, 4), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(row, Read(from.address() + 4 * 8, 4));
}

}  // namespace
}  // namespace twinmmu::abi
