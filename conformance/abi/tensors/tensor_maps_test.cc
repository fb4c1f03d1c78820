// Which tensor maps a driver makes, and their bits. The answers are those of an H100 with driver
// 580.159; later devices have more swizzles and elements.

#include <functional>
#include <iterator>

#include "conformance/abi/tensors/tensor_fixture.h"

namespace twinmmu::abi {
namespace {

struct Change {
  const char* words;
  std::function<void(TiledMap*)> make;
};

CUresult ResultOf(const Change& change) {
  TiledMap tiled;
  change.make(&tiled);
  CUtensorMap map = {};
  return tiled.Encode(&map);
}

TEST_F(TensorMapTest, TilesThatFitAreMaps) {
  const Change changes[] = {
      {"nothing", [](TiledMap*) {}},
      {"a tensor at 0", [](TiledMap* map) { map->address = 0; }},
      {"rows that overlap", [](TiledMap* map) { map->strides[0] = 16; }},
      {"rows at one place", [](TiledMap* map) { map->strides[0] = 0; }},
      {"a long stride", [](TiledMap* map) { map->strides[0] = (uint64_t{1} << 40) - 16; }},
      {"2^32 elements", [](TiledMap* map) { map->dims[1] = uint64_t{1} << 32; }},
      {"a box beyond the tensor", [](TiledMap* map) { map->box[1] = 256; }},
      {"element strides",
       [](TiledMap* map) {
         map->steps = {8, 8};
       }},
      {"a row as long as its swizzle",
       [](TiledMap* map) {
         map->swizzle = 3;
         map->box[0] = 32;
       }},
      {"a row shorter than its swizzle", [](TiledMap* map) { map->swizzle = 3; }},
      {"promotion", [](TiledMap* map) { map->promotion = 3; }},
      {"NaNs outside",
       [](TiledMap* map) {
         map->element = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
         map->fill = 1;
       }},
      {"interleaved by 32 bytes, without a swizzle",
       [](TiledMap* map) {
         map->rank = 3;
         map->interleave = 2;
         map->box[0] = 16;
       }},
  };
  for (const Change& change : changes) EXPECT_EQ(ResultOf(change), CUDA_SUCCESS) << change.words;
}

TEST_F(TensorMapTest, OthersAreRefused) {
  const Change changes[] = {
      {"no rank", [](TiledMap* map) { map->rank = 0; }},
      {"a rank of 6", [](TiledMap* map) { map->rank = 6; }},
      {"a type that is none", [](TiledMap* map) { map->element = 16; }},
      {"a tensor that is not aligned", [](TiledMap* map) { map->address += 8; }},
      {"an address of more than 57 bits", [](TiledMap* map) { map->address = 1ull << 57; }},
      {"no elements", [](TiledMap* map) { map->dims[1] = 0; }},
      {"more than 2^32 elements", [](TiledMap* map) { map->dims[0] = (1ull << 32) + 1; }},
      {"a stride that is not aligned", [](TiledMap* map) { map->strides[0] = 72; }},
      {"a stride of 2^40", [](TiledMap* map) { map->strides[0] = 1ull << 40; }},
      {"an empty box", [](TiledMap* map) { map->box[1] = 0; }},
      {"a box of 257", [](TiledMap* map) { map->box[1] = 257; }},
      {"a row of 24 bytes", [](TiledMap* map) { map->box[0] = 6; }},
      {"a box larger than shared memory",
       [](TiledMap* map) {
         map->box = {256, 256};
       }},
      {"an element stride of 0", [](TiledMap* map) { map->steps[0] = 0; }},
      {"an element stride of 9", [](TiledMap* map) { map->steps[1] = 9; }},
      {"a row longer than its swizzle",
       [](TiledMap* map) {
         map->swizzle = 1;
         map->box[0] = 12;
       }},
      {"an interleave that is none", [](TiledMap* map) { map->interleave = 3; }},
      {"an interleaved tensor of rank 2", [](TiledMap* map) { map->interleave = 1; }},
      {"interleaved by 32 bytes, at 16",
       [](TiledMap* map) {
         map->rank = 3;
         map->interleave = 2;
         map->address += 16;
       }},
      {"a promotion that is none", [](TiledMap* map) { map->promotion = 4; }},
      {"a fill that is none", [](TiledMap* map) { map->fill = 2; }},
      {"whole numbers that are NaNs", [](TiledMap* map) { map->fill = 1; }},
  };
  for (const Change& change : changes) {
    EXPECT_EQ(ResultOf(change), CUDA_ERROR_INVALID_VALUE) << change.words;
  }
}

TEST_F(TensorMapTest, NeedsAContextAndAMap) {
  EXPECT_EQ(TiledMap().Encode(nullptr), CUDA_ERROR_INVALID_VALUE);
  EmptyStack();
  CUtensorMap map = {};
  EXPECT_EQ(TiledMap().Encode(&map), CUDA_ERROR_INVALID_CONTEXT);
}

// The first words, behind the address; and those that boxes are in.
TEST_F(TensorMapTest, MapsHaveTheirBits) {
  TiledMap tiled;
  tiled.rank = 5;
  tiled.element = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  tiled.dims = {64, 32, 5, 6, 7};
  tiled.strides = {256, 8192, 40960, 245760};
  tiled.box = {16, 8, 2, 3, 4};
  tiled.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  CUtensorMap map = {};
  ASSERT_EQ(tiled.Encode(&map), CUDA_SUCCESS);
  const unsigned long long expected[] = {
      0x7f0000000000, 0x10000063c0,       0xa0000000200,      0x3c00, 0x1f0000003f,
      0x500000004,    0x0f00000000000006, 0x0000000003020107, 0x3000, 0x400};
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(map.opaque[i], i < std::size(expected) ? expected[i] : 0) << i;
  }
}

TEST_F(TensorMapTest, ColumnsHaveTheirBits) {
  Im2colMap column;
  column.element = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  column.dims = {64, 12, 10, 3};
  column.strides = {128, 1536, 15360};
  column.lower = {-1, -2, 0};
  column.upper = {-3, -4, 0};
  column.channels = 16;
  column.pixels = 32;
  CUtensorMap map = {};
  ASSERT_EQ(column.Encode(&map), CUDA_SUCCESS);
  const unsigned long long expected[] = {
      0x7f0000000000, 0x800000331,        0x3c000000060, 0,     0xb0000003f,
      0x200000009,    0x0f00000000000000, 0x1ffcfdfeff,  0x400, 0x10};
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(map.opaque[i], i < std::size(expected) ? expected[i] : 0) << i;
  }
}

TEST_F(TensorMapTest, ColumnsAreChecked) {
  struct Column {
    const char* words;
    CUresult result;
    std::function<void(Im2colMap*)> make;
  };
  const Column columns[] = {
      {"the first corner", CUDA_SUCCESS, [](Im2colMap* map) { map->lower[0] = -128; }},
      {"a corner out of range", CUDA_ERROR_INVALID_VALUE,
       [](Im2colMap* map) { map->upper[1] = 128; }},
      {"one pixel", CUDA_SUCCESS,
       [](Im2colMap* map) {
         map->lower[0] = 0;
         map->upper[0] = -5;
       }},
      {"no pixel", CUDA_ERROR_INVALID_VALUE,
       [](Im2colMap* map) {
         map->lower[0] = 0;
         map->upper[0] = -6;
       }},
      {"256 channels", CUDA_SUCCESS, [](Im2colMap* map) { map->channels = 256; }},
      {"12 bytes of channels", CUDA_ERROR_INVALID_VALUE, [](Im2colMap* map) { map->channels = 3; }},
      {"1024 pixels", CUDA_SUCCESS, [](Im2colMap* map) { map->pixels = 1024; }},
      {"1025 pixels", CUDA_ERROR_INVALID_VALUE, [](Im2colMap* map) { map->pixels = 1025; }},
      {"as many bytes as shared memory has", CUDA_SUCCESS,
       [](Im2colMap* map) {
         map->channels = 256;
         map->pixels = 228;
       }},
      {"more of them", CUDA_ERROR_INVALID_VALUE,
       [](Im2colMap* map) {
         map->channels = 256;
         map->pixels = 229;
       }},
      {"one interleaved pixel", CUDA_SUCCESS,
       [](Im2colMap* map) {
         map->interleave = CU_TENSOR_MAP_INTERLEAVE_16B;
         map->upper[0] = -8;  // of 8 pixels, and the first one is -1
       }},
      {"no interleaved pixel", CUDA_ERROR_INVALID_VALUE,
       [](Im2colMap* map) {
         map->interleave = CU_TENSOR_MAP_INTERLEAVE_16B;
         map->upper[0] = -9;
       }},
      {"rank 5", CUDA_SUCCESS, [](Im2colMap* map) { map->rank = 5; }},
      {"rank 2", CUDA_ERROR_INVALID_VALUE, [](Im2colMap* map) { map->rank = 2; }},
  };
  for (const Column& column : columns) {
    Im2colMap im2col;
    column.make(&im2col);
    CUtensorMap map = {};
    EXPECT_EQ(im2col.Encode(&map), column.result) << column.words;
  }
}

// Of the wide mode, which is for later devices, only what every device refuses.
TEST_F(TensorMapTest, WideColumnsHaveAtLeastThreeDimensions) {
  const Function<CUresult(CUtensorMap*, int, unsigned, CUdeviceptr, const uint64_t*,
                          const uint64_t*, int, int, unsigned, unsigned, const uint32_t*, int, int,
                          int, int, int)>
      encode("cuTensorMapEncodeIm2colWide");
  const Im2colMap column;
  CUtensorMap map = {};
  for (const unsigned rank : {0, 2, 6}) {
    EXPECT_EQ(encode(&map, column.element, rank, column.address, column.dims.data(),
                     column.strides.data(), 0, 0, column.channels, column.pixels,
                     column.steps.data(), 0, 0, 0, 0, 0),
              CUDA_ERROR_INVALID_VALUE)
        << rank;
  }
}

TEST_F(TensorMapTest, AnAddressIsReplaced) {
  CUtensorMap map = {};
  ASSERT_EQ(TiledMap().Encode(&map), CUDA_SUCCESS);
  EXPECT_EQ(cuTensorMapReplaceAddress(&map, reinterpret_cast<void*>(0x7e1234567890)), CUDA_SUCCESS);
  TiledMap moved;
  moved.address = 0x7e1234567890;
  CUtensorMap same = {};
  ASSERT_EQ(moved.Encode(&same), CUDA_SUCCESS);
  EXPECT_EQ(map.opaque[0], same.opaque[0]);
  EXPECT_EQ(map.opaque[1], same.opaque[1]);
  EXPECT_EQ(cuTensorMapReplaceAddress(&map, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTensorMapReplaceAddress(&map, reinterpret_cast<void*>(0x7e1234567898)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map.opaque[0], same.opaque[0]);
}

// Which would not be made there: an interleave by 32 bytes asks for as many.
TEST_F(TensorMapTest, AnAddressOf16BytesReplacesAnyOther) {
  TiledMap tiled;
  tiled.rank = 3;
  tiled.interleave = CU_TENSOR_MAP_INTERLEAVE_32B;
  tiled.box[0] = 16;
  CUtensorMap map = {};
  ASSERT_EQ(tiled.Encode(&map), CUDA_SUCCESS);
  EXPECT_EQ(cuTensorMapReplaceAddress(&map, reinterpret_cast<void*>(tiled.address + 16)),
            CUDA_SUCCESS);
  EXPECT_EQ(map.opaque[0], tiled.address + 16);
}

}  // namespace
}  // namespace twinmmu::abi
