// Sparse arrays, whose tiles have memory that the program maps. What else is measured of them is in
// conformance/tests/mapping/sparse_rules.cc.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "conformance/abi/textures/texture_fixture.h"
#include "conformance/abi/textures/tile_maps.h"

namespace twinmmu::abi {
namespace {

// Types of functions that our cuda.h does not have.
struct SparseProperties {
  unsigned int width, height, depth;  // of a tile
  unsigned int first_level_of_tail;
  unsigned long long size_of_tail;
  unsigned int flags;
  unsigned int reserved[4];
};
constexpr Function<CUresult(SparseProperties*, CUarray)> properties_of(
    "cuArrayGetSparseProperties");
constexpr Function<CUresult(SparseProperties*, CUmipmappedArray)> properties_of_mipmap(
    "cuMipmappedArrayGetSparseProperties");

constexpr unsigned int kSparse = 0x40;  // CUDA_ARRAY3D_SPARSE
constexpr unsigned int kLayered = CUDA_ARRAY3D_LAYERED;
constexpr size_t kTile = size_t{64} << 10;
constexpr size_t kSide = 256;

class SparseArraysTest : public TextureTest {
 protected:
  void SetUp() override {
    TextureTest::SetUp();
    if (HasFatalFailure()) return;
    constexpr auto kSupported = static_cast<CUdevice_attribute>(112);
    int supported = 0;
    ASSERT_EQ(cuDeviceGetAttribute(&supported, kSupported, 0), CUDA_SUCCESS);
    if (supported == 0) GTEST_SKIP() << "there are no sparse arrays";
  }
  CUarray MakeSparse() { return MakeArray(kSide, kSide, 0, CU_AD_FORMAT_FLOAT, 1, kSparse); }
};

TEST_F(SparseArraysTest, ATileOfThemIs64KiB) {
  SparseProperties found = {};
  EXPECT_EQ(properties_of(&found, MakeSparse()), CUDA_SUCCESS);
  EXPECT_EQ(size_t{found.width} * found.height * found.depth * sizeof(float), kTile);
  found = {};
  EXPECT_EQ(properties_of_mipmap(&found, MakeMipmap(kSide, kSide, 2, kSparse)), CUDA_SUCCESS);
  EXPECT_EQ(size_t{found.width} * found.height * found.depth * sizeof(float), kTile);
}

// In three dimensions rows lie eight by eight, as in 320 bytes x 24 x 8 for the first one. In
// layers 40 rows take the place of 64.
TEST_F(SparseArraysTest, TailsAreAsLargeAsTheirRows) {
  const struct {
    size_t width, height, depth;
    unsigned int flags;
    size_t tiles;
  } seen[] = {{76, 23, 7, 0, 1},
              {612, 11, 8, 0, 5},
              {900, 39, 8, 0, 18},
              {300, 300, 1, 0, 6},
              {372, 40, 5, kLayered, 8}};
  for (const auto& each : seen) {
    SparseProperties found = {};
    const CUarray array =
        MakeArray(each.width, each.height, each.depth, CU_AD_FORMAT_FLOAT, 1, kSparse | each.flags);
    EXPECT_EQ(properties_of(&found, array), CUDA_SUCCESS);
    EXPECT_EQ(found.first_level_of_tail, 0u);
    EXPECT_EQ(found.size_of_tail, each.tiles * kTile) << each.width << " x " << each.height;
  }
}

// Sixteen slices lie together, or as many rows as the first level fills by two thirds, at most 128;
// behind tiles, as many as in a tile. Of 6,000 random arrays.
TEST_F(SparseArraysTest, LevelsOfTailsFillWhatLiesTogether) {
  const struct {
    size_t width, height, depth;
    unsigned int flags;
    CUarray_format format;
    unsigned int channels, levels, first_level;
    size_t tiles;
  } seen[] = {{32, 286, 0, 0, CU_AD_FORMAT_FLOAT, 4, 12, 0, 5},
              {36, 1432, 11, kLayered, CU_AD_FORMAT_UNSIGNED_INT32, 4, 1, 0, 149},
              {9, 1571, 3, kLayered, CU_AD_FORMAT_SIGNED_INT8, 1, 10, 0, 11},
              {48, 42, 9, kLayered, CU_AD_FORMAT_SIGNED_INT16, 1, 6, 0, 2},
              {1062, 42, 12, kLayered, CU_AD_FORMAT_HALF, 2, 7, 0, 68},
              {29, 44, 11, kLayered, CU_AD_FORMAT_UNSIGNED_INT16, 4, 5, 0, 5},
              {29, 47, 72, 0, CU_AD_FORMAT_SIGNED_INT8, 1, 1, 0, 4},
              {13, 86, 158, 0, CU_AD_FORMAT_UNSIGNED_INT16, 1, 12, 0, 20},
              {1407, 134, 113, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 8, 2, 13},
              {53, 47, 81, 0, CU_AD_FORMAT_SIGNED_INT32, 1, 7, 1, 4},
              {1755, 42, 27, 0, CU_AD_FORMAT_UNSIGNED_INT32, 2, 6, 1, 63}};
  for (const auto& each : seen) {
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {each.width,  each.height,   each.depth,
                                          each.format, each.channels, kSparse | each.flags};
    CUmipmappedArray mipmap = nullptr;
    ASSERT_EQ(cuMipmappedArrayCreate(&mipmap, &descriptor, each.levels), CUDA_SUCCESS);
    SparseProperties found = {};
    EXPECT_EQ(properties_of_mipmap(&found, mipmap), CUDA_SUCCESS);
    EXPECT_EQ(found.first_level_of_tail, each.first_level) << each.width << " x " << each.height;
    EXPECT_EQ(found.size_of_tail, each.tiles * kTile) << each.width << " x " << each.height;
    EXPECT_EQ(cuMipmappedArrayDestroy(mipmap), CUDA_SUCCESS);
  }
}

TEST_F(SparseArraysTest, OnlyThoseOfTwoDimensionsAreGathered) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = 72;
  descriptor.Height = 8;
  descriptor.Format = CU_AD_FORMAT_FLOAT;
  descriptor.NumChannels = 1;
  descriptor.Flags = kSparse | CUDA_ARRAY3D_TEXTURE_GATHER;
  CUarray array = nullptr;
  ASSERT_EQ(cuArray3DCreate(&array, &descriptor), CUDA_SUCCESS);
  EXPECT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
  descriptor.Depth = 8;
  EXPECT_EQ(cuArray3DCreate(&array, &descriptor), CUDA_ERROR_INVALID_VALUE);
  descriptor.Flags |= kLayered;
  EXPECT_EQ(cuArray3DCreate(&array, &descriptor), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SparseArraysTest, OthersHaveNoTiles) {
  SparseProperties found = {};
  EXPECT_EQ(properties_of(&found, MakeArray(16, 16)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(properties_of_mipmap(&found, MakeMipmap(16, 16, 2)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SparseArraysTest, OnlyTilesThatAreMappedKeepWhatIsWritten) {
  const CUarray array = MakeSparse();
  SparseProperties tile = {};
  ASSERT_EQ(properties_of(&tile, array), CUDA_SUCCESS);
  CUmemAllocationProp properties = PinnedOn(0);
  properties.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
  MapInfo first;
  first.array = array;
  first.tiles.width = tile.width;
  first.tiles.height = tile.height;
  ASSERT_EQ(cuMemCreate(&first.memory, kChunk, &properties, 0), CUDA_SUCCESS);
  EXPECT_EQ(map_tiles(&first, 1, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  std::vector<float> numbers(kSide * kSide, 3);
  Write(array, numbers.data(), kSide * sizeof(float), kSide);
  Read(array, numbers.data(), kSide * sizeof(float), kSide);
  EXPECT_EQ(numbers.front(), 3);
  EXPECT_EQ(numbers.back(), 0);
  EXPECT_EQ(static_cast<size_t>(std::count(numbers.begin(), numbers.end(), 3)),
            size_t{tile.width} * tile.height);
  EXPECT_EQ(cuMemRelease(first.memory), CUDA_SUCCESS);
}

TEST_F(SparseArraysTest, ThereIsSomethingToMap) {
  MapInfo none;
  EXPECT_EQ(map_tiles(&none, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace twinmmu::abi
