// Copies by tensor maps in kernels. What they do is what an H100 did.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "conformance/abi/tensors/tensor_fixture.h"

namespace twinmmu::abi {
namespace {

constexpr uint32_t kUntouched = 1000;  // and more: what was there before

std::string Load(int rank, const std::string& mode = "tile", const std::string& offsets = "") {
  std::string coordinates = "{%r1";
  for (int i = 2; i <= rank; ++i) coordinates += ", %r" + std::to_string(i);
  return "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10], BYTES;\n"
         "cp.async.bulk.tensor." +
         std::to_string(rank) + "d.shared::cluster.global." + mode +
         ".mbarrier::complete_tx::bytes [%r9], [%rd1, " + coordinates + "}], [%r10]" + offsets +
         ";\n";
}

// With so many bytes expected.
std::string Of(std::string load, int bytes) {
  return load.replace(load.find("BYTES"), 5, std::to_string(bytes));
}

constexpr char kStore[] =
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r1, %r2}], [%r9];\n";

std::vector<uint32_t> First(const std::vector<uint32_t>& words, size_t count) {
  return {words.begin(), words.begin() + static_cast<long>(std::min(count, words.size()))};
}

TEST_F(TensorKernelTest, ABoxIsLoaded) {
  TiledMap tiled;
  tiled.address = address();
  tiled.box[0] = 8;
  CUtensorMap map = {};
  ASSERT_EQ(tiled.Encode(&map), CUDA_SUCCESS);
  Run(Of(Load(2), 64), map, {-4, 7});
  EXPECT_EQ(First(shared_, 17), (std::vector<uint32_t>{0, 0, 0, 0, 112, 113, 114, 115, 0, 0, 0, 0,
                                                       0, 0, 0, 0, kUntouched + 16}));
}

TEST_F(TensorKernelTest, ABoxOfFiveDimensionsIsLoaded) {
  TiledMap tiled;
  tiled.address = address();
  tiled.rank = 5;
  tiled.box = {4, 1, 2, 1, 2};
  CUtensorMap map = {};
  ASSERT_EQ(tiled.Encode(&map), CUDA_SUCCESS);
  Run(Of(Load(5), 64), map, {8, 3, 1, 1, 0});
  const uint32_t at = 8 + 3 * 16 + 1 * 128 + 1 * 512;
  std::vector<uint32_t> expected;
  for (const uint32_t row : {at, at + 128, at + 1024, at + 1024 + 128}) {
    for (uint32_t i = 0; i < 4; ++i) expected.push_back(row + i);
  }
  EXPECT_EQ(First(shared_, 16), expected);
}

TEST_F(TensorKernelTest, SwizzlesGoByTheAddress) {
  for (const int swizzle : {1, 2, 3}) {
    const uint32_t pieces = 1u << swizzle;
    TiledMap tiled;
    tiled.address = address();
    tiled.dims = {32, 64};
    tiled.strides = {128};
    tiled.box = {pieces * 4, 17};
    tiled.swizzle = swizzle;
    CUtensorMap map = {};
    ASSERT_EQ(tiled.Encode(&map), CUDA_SUCCESS);
    Run(Of(Load(2), static_cast<int>(pieces * 16 * 17)), map, {0, 0});
    ASSERT_FALSE(shared_.empty());
    for (uint32_t row = 0; row < 17; ++row) {
      for (uint32_t piece = 0; piece < pieces; ++piece) {
        const uint32_t place = (row * pieces + piece) ^ (row * pieces / 8 & (pieces - 1));
        EXPECT_EQ(shared_[place * 4], row * 32 + piece * 4) << swizzle << " " << row;
      }
    }
  }
}

TEST_F(TensorKernelTest, AColumnIsLoaded) {
  Im2colMap column;
  column.address = address();
  column.pixels = 10;
  CUtensorMap map = {};
  ASSERT_EQ(column.Encode(&map), CUDA_SUCCESS);
  Run(Of(Load(4, "im2col", ", {2, 1}"), 160), map, {0, -1, -1, 0});
  ASSERT_FALSE(shared_.empty());
  const uint32_t firsts[] = {8, 16, 24, 32, 40, 0, 72, 80, 88, 96};
  for (uint32_t pixel = 0; pixel < 10; ++pixel) EXPECT_EQ(shared_[pixel * 4], firsts[pixel]);
}

TEST_F(TensorKernelTest, WhatIsInsideIsStored) {
  TiledMap tiled;
  tiled.address = address();
  tiled.box[0] = 8;
  CUtensorMap map = {};
  ASSERT_EQ(tiled.Encode(&map), CUDA_SUCCESS);
  Run(kStore, map, {12, 7});
  ASSERT_FALSE(tensor_.empty());
  EXPECT_EQ(std::vector<uint32_t>(tensor_.begin() + 122, tensor_.begin() + 130),
            (std::vector<uint32_t>{122, 123, 1000, 1001, 1002, 1003, 128, 129}));
}

// Where a tensor ends within 16 bytes, a load does not read what follows, but a store writes it.
TEST_F(TensorKernelTest, StoresHaveWholePieces) {
  TiledMap tiled;
  tiled.address = address();
  tiled.dims[0] = 6;
  tiled.box = {8, 1};
  CUtensorMap map = {};
  ASSERT_EQ(tiled.Encode(&map), CUDA_SUCCESS);
  Run(Of(Load(2), 32), map, {0, 0});
  EXPECT_EQ(First(shared_, 9), (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 0, 0, kUntouched + 8}));
  Run(kStore, map, {0, 0});
  EXPECT_EQ(First(tensor_, 9),
            (std::vector<uint32_t>{1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 8}));
}

TEST_F(TensorKernelTest, WordsAreReduced) {
  TiledMap tiled;
  tiled.address = address();
  tiled.box = {4, 1};
  CUtensorMap map = {};
  ASSERT_EQ(tiled.Encode(&map), CUDA_SUCCESS);
  const std::pair<const char*, uint32_t> results[] = {
      {"add", 5 + 1001}, {"min", 5}, {"max", 1001}, {"and", 5 & 1001}, {"xor", 5 ^ 1001}};
  for (const auto& [operation, result] : results) {
    const uint32_t five = 5;
    ASSERT_EQ(cuMemcpyHtoD(address() + 4, &five, 4), CUDA_SUCCESS);
    Run(std::string("cp.reduce.async.bulk.tensor.2d.global.shared::cta.") + operation +
            ".bulk_group [%rd1, {%r1, %r2}], [%r9];\n",
        map, {0, 0});
    EXPECT_EQ(tensor_[1], result) << operation;
  }
}

}  // namespace
}  // namespace twinmmu::abi
