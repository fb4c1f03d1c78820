// Arrays of deferred mapping, whose memory is mapped as a whole after they were made.

#include <cstdint>
#include <vector>

#include "conformance/abi/textures/texture_fixture.h"
#include "conformance/abi/textures/tile_maps.h"

namespace twinmmu::abi {
namespace {

constexpr unsigned int kDeferred = 0x80;  // CUDA_ARRAY3D_DEFERRED_MAPPING
constexpr unsigned int kSparse = 0x40;
constexpr size_t kTile = size_t{64} << 10;
constexpr size_t kSide = 512;
constexpr size_t kSize = kSide * kSide * sizeof(uint32_t);
constexpr int kUnmap = 2;

CUDA_ARRAY3D_DESCRIPTOR ShapeOf(unsigned int flags) {
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  shape.Width = shape.Height = kSide;
  shape.Format = CU_AD_FORMAT_UNSIGNED_INT32;
  shape.NumChannels = 1;
  shape.Flags = flags;
  return shape;
}

CUmemGenericAllocationHandle MakeMemory(size_t size, bool of_tiles = true) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.allocFlags.usage = of_tiles ? 1 : 0;  // CU_MEM_CREATE_USAGE_TILE_POOL
  CUmemGenericAllocationHandle memory = 0;
  EXPECT_EQ(cuMemCreate(&memory, size, &properties, 0), CUDA_SUCCESS);
  return memory;
}

class DeferredArraysTest : public TextureTest {
 protected:
  CUarray MakeDeferred(size_t width = kSide, size_t height = kSide, size_t depth = 0,
                       unsigned int flags = 0) {
    return MakeArray(width, height, depth, CU_AD_FORMAT_UNSIGNED_INT32, 1, kDeferred | flags);
  }
  static size_t NeededBy(CUarray array) {
    CUDA_ARRAY_MEMORY_REQUIREMENTS needed = {};
    EXPECT_EQ(cuArrayGetMemoryRequirements(&needed, array, 0), CUDA_SUCCESS);
    EXPECT_EQ(needed.alignment, kTile);
    return needed.size;
  }
  static MapInfo MapOf(CUarray array, CUmemGenericAllocationHandle memory, size_t offset = 0) {
    MapInfo info;
    info.array = array;
    info.memory = memory;
    info.offset = offset;
    return info;
  }
  static CUresult Map(MapInfo info) { return map_tiles(&info, 1, nullptr); }
  static void Fill(CUarray array, uint32_t value) {
    const std::vector<uint32_t> data(kSide * kSide, value);
    Write(array, data.data(), kSide * sizeof(uint32_t), kSide);
  }
  static uint32_t LastOf(CUarray array) {
    std::vector<uint32_t> data(kSide * kSide);
    Read(array, data.data(), kSide * sizeof(uint32_t), kSide);
    return data.back();
  }
};

// Rows of 64 bytes, as many together as lie together in a mip tail; 4,000 random shapes agree.
TEST_F(DeferredArraysTest, NeedMemoryForAllLayersAndLevels) {
  EXPECT_EQ(NeededBy(MakeDeferred()), kSize);
  EXPECT_EQ(NeededBy(MakeDeferred(64, 0)), kTile);
  EXPECT_EQ(NeededBy(MakeDeferred(33, 17, 9)), 2 * kTile);
  EXPECT_EQ(NeededBy(MakeDeferred(64, 64, 6, CUDA_ARRAY3D_CUBEMAP)), 2 * kTile);
  EXPECT_EQ(NeededBy(MakeDeferred(kSide, kSide, 4, CUDA_ARRAY3D_LAYERED)), 4 * kSize);
  CUDA_ARRAY_MEMORY_REQUIREMENTS needed = {};
  EXPECT_EQ(
      cuMipmappedArrayGetMemoryRequirements(&needed, MakeMipmap(kSide, kSide, 4, kDeferred), 0),
      CUDA_SUCCESS);
  EXPECT_EQ(needed.size, 22 * kTile);
}

TEST_F(DeferredArraysTest, LevelsOfThemNeedNoneOfTheirOwn) {
  CUarray level = nullptr;
  ASSERT_EQ(cuMipmappedArrayGetLevel(&level, MakeMipmap(kSide, kSide, 4, kDeferred), 0),
            CUDA_SUCCESS);
  CUDA_ARRAY_MEMORY_REQUIREMENTS needed = {};
  EXPECT_EQ(cuArrayGetMemoryRequirements(&needed, level, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DeferredArraysTest, AreNotSparseToo) {
  const CUDA_ARRAY3D_DESCRIPTOR shape = ShapeOf(kDeferred | kSparse);
  CUarray array = nullptr;
  EXPECT_EQ(cuArray3DCreate(&array, &shape), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DeferredArraysTest, OfOneMemoryHaveTheSameElements) {
  const CUmemGenericAllocationHandle memory = MakeMemory(size_t{2} << 20);
  const CUarray one = MakeDeferred();
  const CUarray other = MakeDeferred();
  ASSERT_EQ(Map(MapOf(one, memory)), CUDA_SUCCESS);
  ASSERT_EQ(Map(MapOf(other, memory)), CUDA_SUCCESS);
  Fill(one, 7);
  EXPECT_EQ(LastOf(other), 7u);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
}

TEST_F(DeferredArraysTest, MappedAgainShowTheOtherMemory) {
  const CUmemGenericAllocationHandle memory = MakeMemory(size_t{4} << 20);
  const CUarray array = MakeDeferred();
  ASSERT_EQ(Map(MapOf(array, memory)), CUDA_SUCCESS);
  Fill(array, 7);
  ASSERT_EQ(Map(MapOf(array, memory, size_t{2} << 20)), CUDA_SUCCESS);
  Fill(array, 8);
  ASSERT_EQ(Map(MapOf(array, memory)), CUDA_SUCCESS);
  EXPECT_EQ(LastOf(array), 7u);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
}

TEST_F(DeferredArraysTest, KeepTheirMemoryAfterItsRelease) {
  const CUmemGenericAllocationHandle memory = MakeMemory(size_t{2} << 20);
  const CUarray array = MakeDeferred();
  ASSERT_EQ(Map(MapOf(array, memory)), CUDA_SUCCESS);
  ASSERT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  Fill(array, 7);
  EXPECT_EQ(LastOf(array), 7u);
}

TEST_F(DeferredArraysTest, AreMappedAsAWholeWhateverPartIsNamed) {
  const CUmemGenericAllocationHandle memory = MakeMemory(size_t{2} << 20);
  for (const int subresource : {0, 1, 2}) {
    const CUarray array = MakeDeferred();
    MapInfo info = MapOf(array, memory);
    info.of_tail = subresource;
    info.tiles.level = 7;
    info.tiles.layer = 7;
    info.tiles.x = 3;
    ASSERT_EQ(Map(info), CUDA_SUCCESS) << subresource;
    Fill(array, 7);
    EXPECT_EQ(LastOf(array), 7u);
  }
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
}

TEST_F(DeferredArraysTest, HaveMemoryOfATilePoolThatIsLargeEnough) {
  const CUmemGenericAllocationHandle memory = MakeMemory(size_t{2} << 20);
  const CUmemGenericAllocationHandle other = MakeMemory(size_t{2} << 20, /*of_tiles=*/false);
  const CUarray array = MakeDeferred();
  EXPECT_EQ(Map(MapOf(array, other)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Map(MapOf(array, memory, 1)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Map(MapOf(array, memory, kSize + kTile)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Map(MapOf(MakeDeferred(2 * kSide, 2 * kSide), memory)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Map(MapOf(array, memory, kSize)), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(other), CUDA_SUCCESS);
}

TEST_F(DeferredArraysTest, MapsOfThemAreCheckedInTheirOtherParts) {
  const CUmemGenericAllocationHandle memory = MakeMemory(size_t{2} << 20);
  const MapInfo good = MapOf(MakeDeferred(), memory);
  MapInfo bad = good;
  bad.flags = 1;
  EXPECT_EQ(Map(bad), CUDA_ERROR_INVALID_VALUE);
  bad = good;
  bad.devices = 2;
  EXPECT_EQ(Map(bad), CUDA_ERROR_INVALID_VALUE);
  bad = good;
  bad.operation = 3;
  EXPECT_EQ(Map(bad), CUDA_ERROR_INVALID_VALUE);
  bad = good;
  bad.reserved[0] = 1;
  EXPECT_EQ(Map(bad), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
}

TEST_F(DeferredArraysTest, LevelsOfOneMapLieBehindEachOther) {
  const CUmemGenericAllocationHandle memory = MakeMemory(size_t{2} << 20);
  const CUmipmappedArray mipmap = MakeMipmap(kSide, kSide, 2, kDeferred);
  MapInfo info = MapOf(nullptr, memory);
  info.of_mipmap = 1;
  info.array = reinterpret_cast<CUarray>(mipmap);
  ASSERT_EQ(Map(info), CUDA_SUCCESS);
  CUarray large = nullptr;
  CUarray small = nullptr;
  ASSERT_EQ(cuMipmappedArrayGetLevel(&large, mipmap, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMipmappedArrayGetLevel(&small, mipmap, 1), CUDA_SUCCESS);
  Fill(large, 7);
  const std::vector<uint32_t> data(kSide / 2 * kSide / 2, 8);
  Write(small, data.data(), kSide / 2 * sizeof(uint32_t), kSide / 2);
  EXPECT_EQ(LastOf(large), 7u);
  std::vector<uint32_t> read(data.size());
  Read(small, read.data(), kSide / 2 * sizeof(uint32_t), kSide / 2);
  EXPECT_EQ(read, data);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
}

TEST_F(DeferredArraysTest, GiveTheirMemoryBackAtTheirEnd) {
  constexpr size_t kLarge = size_t{64} << 20;
  size_t before = 0;
  size_t after = 0;
  size_t total = 0;
  ASSERT_EQ(cuMemGetInfo(&before, &total), CUDA_SUCCESS);
  const CUmemGenericAllocationHandle memory = MakeMemory(kLarge);
  const CUDA_ARRAY3D_DESCRIPTOR shape = ShapeOf(kDeferred);
  CUarray array = nullptr;
  ASSERT_EQ(cuArray3DCreate(&array, &shape), CUDA_SUCCESS);
  ASSERT_EQ(Map(MapOf(array, memory)), CUDA_SUCCESS);
  ASSERT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(cuMemGetInfo(&after, &total), CUDA_SUCCESS);
  EXPECT_GE(before - after, kLarge);
  ASSERT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
  ASSERT_EQ(cuMemGetInfo(&after, &total), CUDA_SUCCESS);
  EXPECT_LT(before - after, kLarge);
}

TEST_F(DeferredArraysTest, UnmapsNeedNeitherAMapNorMemory) {
  MapInfo info = MapOf(MakeDeferred(), 0, 1);
  info.operation = kUnmap;
  EXPECT_EQ(Map(info), CUDA_SUCCESS);
}

// Each test is a process, as a fault ends a context.
class UnmappedArraysTest : public NewProcessTest {
 protected:
  void Begin() {
    CUcontext context = nullptr;
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    const CUDA_ARRAY3D_DESCRIPTOR shape = ShapeOf(kDeferred | CUDA_ARRAY3D_SURFACE_LDST);
    ASSERT_EQ(cuArray3DCreate(&array_, &shape), CUDA_SUCCESS);
  }  // To the host. What comes of it may show at once, or when it is waited for.
  void Copy() {
    std::vector<uint32_t> data(kSide * kSide);
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array_;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = data.data();
    copy.dstPitch = copy.WidthInBytes = kSide * sizeof(uint32_t);
    copy.Height = kSide;
    cuMemcpy2D(&copy);
  }
  static constexpr CUresult kLaunchFailed = static_cast<CUresult>(719);

  CUarray array_ = nullptr;
};

TEST_F(UnmappedArraysTest, CopiesOfThemAreAFault) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(Begin());
  Copy();
  EXPECT_EQ(cuCtxSynchronize(), kLaunchFailed);
}

TEST_F(UnmappedArraysTest, CopiesAfterAnUnmapAreAFault) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(Begin());
  MapInfo info;
  info.array = array_;
  info.memory = MakeMemory(size_t{2} << 20);
  ASSERT_EQ(map_tiles(&info, 1, nullptr), CUDA_SUCCESS);
  Copy();
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  info.operation = kUnmap;
  ASSERT_EQ(map_tiles(&info, 1, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  Copy();
  EXPECT_EQ(cuCtxSynchronize(), kLaunchFailed);
}

TEST_F(UnmappedArraysTest, KernelsThatReadThemFault) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(Begin());
  CUDA_RESOURCE_DESC resource = {};
  resource.res.array.hArray = array_;
  CUsurfObject surface = 0;
  ASSERT_EQ(cuSurfObjectCreate(&surface, &resource), CUDA_SUCCESS);
  CUmodule module = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module,
                             ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".visible .entry k(.param .u64 t) {\n"
                             ".reg .b64 %t; .reg .b32 %x;\n"
                             "ld.param.u64 %t, [t]; mov.u32 %x, 0;\n"
                             "suld.b.2d.b32.trap %x, [%t, {%x, %x}];\n"
                             "sust.b.2d.b32.trap [%t, {%x, %x}], %x;\nret; }\n"),
            CUDA_SUCCESS);
  CUfunction kernel = nullptr;
  ASSERT_EQ(cuModuleGetFunction(&kernel, module, "k"), CUDA_SUCCESS);
  void* arguments[] = {&surface};
  ASSERT_EQ(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace
}  // namespace twinmmu::abi
