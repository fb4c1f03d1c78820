// Random maps, unmaps and copies on random arrays, against a model: which tile of the pool each
// block of an array is mapped to, and what was last written into each place of each tile.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/sparse_arrays.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

constexpr Bytes kTile = KiB(64);
constexpr uint64_t kTilesOfPool = 64;

using Random = std::mt19937;
uint64_t Below(Random& random, uint64_t end) { return random() % end; }

// A block of an array: its level, layer and position among the tiles. Of a mip tail, which is
// always mapped whole here: the number of levels, and its layer.
using Block = std::tuple<uint32_t, uint64_t, uint64_t, uint64_t, uint64_t>;
// Where an element lies: a tile of a pool, and its place there.
using Spot = std::pair<uint64_t, Block>;

ArrayDescriptor RandomDescriptor(Random& random) {
  static constexpr ArrayExtent kExtents[] = {{300, 200, 0}, {512, 256, 0}, {129, 1, 0},
                                             {64, 64, 40},  {33, 70, 20},  {40, 30, 0}};
  static constexpr ArrayFormat kFormats[] = {ArrayFormat::kUint8, ArrayFormat::kHalf,
                                             ArrayFormat::kUint32};
  ArrayDescriptor descriptor;
  descriptor.extent = kExtents[Below(random, std::size(kExtents))];
  descriptor.format = kFormats[Below(random, std::size(kFormats))];
  descriptor.channels = uint32_t{1} << Below(random, 3);
  if (Below(random, 4) == 0) descriptor.flags = 0;
  if (descriptor.extent.z == 0 && Below(random, 2) == 0) {
    descriptor.extent.z = 1 + Below(random, 3);
    descriptor.flags |= kArrayLayered;
  }
  return descriptor;
}

// Elements are told apart by a number, of which small ones have the first bytes.
void PutElement(char* to, uint64_t size, uint32_t number) {
  for (uint64_t i = 0; i < size; ++i) to[i] = static_cast<char>(number >> 8 * (i % 4));
}

class RandomArray {
 public:
  RandomArray(Simulator& simulator, uint32_t seed)
      : random_(seed),
        vmm_(**simulator.vmm()),
        executor_(**simulator.executor()),
        arrays_(**simulator.sparse_arrays()),
        descriptor_(RandomDescriptor(random_)),
        element_(ElementSize(descriptor_).value()) {
    mipmap_ = *arrays_.CreateMipmappedArray(kDevice0, descriptor_, 20);
    while (arrays_.GetLevel(mipmap_, levels_).ok()) ++levels_;
    if (sparse()) properties_ = *arrays_.GetMipmappedArraySparseProperties(mipmap_);
    AllocationProperties properties;
    properties.usage = kUsageTilePool;
    tile_pool_ = *vmm_.Create(kTile * kTilesOfPool, properties);
    tail_pool_ = *vmm_.Create(kTile * kTilesOfPool, properties);
    stream_ = *executor_.CreateStream(kDevice0);
  }

  void Step() {
    const uint64_t kind = Below(random_, 8);
    if (kind < 2 && sparse()) return ChangeMaps();
    if (kind < 5) return Write();
    if (kind < 7) return Read();
    Check();
  }
  // Waits, and compares what was read since the last time.
  void Check() {
    ASSERT_THAT(executor_.SynchronizeStream(stream_), IsOk());
    for (const Reading& reading : readings_) {
      for (size_t i = 0; i < reading.expected.size(); ++i) {
        if (!reading.expected[i].has_value()) continue;
        std::string expected(element_, '\0');
        PutElement(expected.data(), element_, *reading.expected[i]);
        ASSERT_EQ(std::string(&reading.bytes[i * element_], element_), expected)
            << "element " << i << " of " << reading.words;
      }
    }
    readings_.clear();
    written_.clear();
  }
  void End() {
    Check();
    EXPECT_THAT(arrays_.DestroyMipmappedArray(mipmap_), IsOk());
    EXPECT_THAT(executor_.DestroyStream(stream_), IsOk());
    for (const AllocationHandle pool : {tile_pool_, tail_pool_}) {
      EXPECT_THAT(vmm_.Release(pool), IsOk());
    }
  }

 private:
  struct Box {
    uint32_t level;
    ArrayExtent offset;
    ArrayExtent extent;
  };
  struct Reading {
    std::vector<char> bytes;
    std::vector<std::optional<uint32_t>> expected;  // nullopt: nobody has written it
    std::string words;
  };

  bool sparse() const { return (descriptor_.flags & kArraySparse) != 0; }
  bool layered() const { return (descriptor_.flags & kArrayLayered) != 0; }
  uint64_t layers() const { return layered() ? descriptor_.extent.z : 1; }
  bool InTail(uint32_t level) const { return sparse() && level >= properties_.mip_tail_level; }
  // Without layers.
  ArrayExtent ExtentOf(uint32_t level) const {
    const auto side = [level](uint64_t size) { return std::max<uint64_t>(size >> level, 1); };
    return {side(descriptor_.extent.x), side(descriptor_.extent.y),
            layered() ? 1 : side(descriptor_.extent.z)};
  }
  Block TailOf(uint64_t layer) const {
    return {levels_, properties_.single_mip_tail ? 0 : layer, 0, 0, 0};
  }

  // nullopt: nothing is mapped there.
  std::optional<Spot> SpotOf(uint32_t level, uint64_t layer, const ArrayExtent& at) const {
    if (!sparse()) return Spot(0, {level, layer, at.x, at.y, at.z});
    const ArrayExtent& tile = properties_.tile;
    const bool in_tail = InTail(level);
    const auto found = mapped_.find(
        in_tail ? TailOf(layer) : Block(level, layer, at.x / tile.x, at.y / tile.y, at.z / tile.z));
    if (found == mapped_.end()) return std::nullopt;
    if (in_tail) {
      return Spot(found->second,
                  {level, properties_.single_mip_tail ? layer : 0, at.x, at.y, at.z});
    }
    return Spot(found->second, {0, 0, at.x % tile.x, at.y % tile.y, at.z % tile.z});
  }

  Box RandomBox() {
    Box box;
    box.level = static_cast<uint32_t>(Below(random_, Below(random_, levels_) + 1));
    const ArrayExtent size = ExtentOf(box.level);
    const auto choose = [&](uint64_t end, uint64_t most, uint64_t& offset, uint64_t& extent) {
      offset = Below(random_, end);
      extent = 1 + Below(random_, std::min(most, end - offset));
    };
    choose(size.x, 150, box.offset.x, box.extent.x);
    choose(size.y, 6, box.offset.y, box.extent.y);
    choose(layered() ? layers() : size.z, 3, box.offset.z, box.extent.z);
    return box;
  }
  // Calls visit(spot) for each element, in the order of host memory.
  template <typename Visit>
  void ForEach(const Box& box, const Visit& visit) const {
    for (uint64_t z = box.offset.z; z < box.offset.z + box.extent.z; ++z) {
      for (uint64_t y = box.offset.y; y < box.offset.y + box.extent.y; ++y) {
        for (uint64_t x = box.offset.x; x < box.offset.x + box.extent.x; ++x) {
          visit(SpotOf(box.level, layered() ? z : 0, {x, y, layered() ? 0 : z}));
        }
      }
    }
  }

  void Write() {
    const Box box = RandomBox();
    std::vector<char>& bytes = written_.emplace_back();
    bytes.resize(box.extent.x * box.extent.y * box.extent.z * element_);
    char* next = bytes.data();
    ForEach(box, [&](const std::optional<Spot>& spot) {
      const auto number = static_cast<uint32_t>(random_());
      PutElement(next, element_, number);
      next += element_;
      if (spot.has_value()) content_[*spot] = number;
    });
    const Array level = *arrays_.GetLevel(mipmap_, box.level);
    ASSERT_THAT(arrays_.CopyHostToArray(stream_, level, box.offset, box.extent, bytes.data()),
                IsOk());
  }
  void Read() {
    const Box box = RandomBox();
    Reading& reading = readings_.emplace_back();
    ForEach(box, [&](const std::optional<Spot>& spot) {
      const auto found = spot.has_value() ? content_.find(*spot) : content_.end();
      std::optional<uint32_t> expected;
      if (!spot.has_value()) expected = 0;
      if (found != content_.end()) expected = found->second;
      reading.expected.push_back(expected);
    });
    reading.bytes.resize(reading.expected.size() * element_);
    reading.words = absl::StrCat(box.extent.x, " x ", box.extent.y, " x ", box.extent.z, " at ",
                                 box.offset.x, ", ", box.offset.y, ", ", box.offset.z, " of level ",
                                 box.level, ", elements of ", element_);
    const Array level = *arrays_.GetLevel(mipmap_, box.level);
    ASSERT_THAT(
        arrays_.CopyArrayToHost(stream_, reading.bytes.data(), level, box.offset, box.extent),
        IsOk());
  }

  void ChangeMaps() {
    std::vector<TileOperation> operations;
    for (uint64_t i = 0; i <= Below(random_, 3); ++i) {
      const bool has_tiles = properties_.mip_tail_level > 0;
      const bool has_tail = properties_.mip_tail_size != Bytes(0);
      const bool tail = !has_tiles || (has_tail && Below(random_, 4) == 0);
      operations.push_back(tail ? RandomTail() : RandomTiles());
    }
    ASSERT_THAT(arrays_.MapTiles(stream_, operations), IsOk());
  }
  void Set(const Block& block, bool maps, uint64_t tile) {
    mapped_.erase(block);
    if (maps) mapped_[block] = tile;
  }
  TileOperation RandomOperation() {
    TileOperation operation;
    operation.mipmap = mipmap_;
    if (Below(random_, 4) == 0) operation.type = TileOperationType::kUnmap;
    return operation;
  }
  TileOperation RandomTail() {
    TileOperation operation = RandomOperation();
    operation.subresource = ArraySubresource::kMipTail;
    MipTailRange& tail = operation.mip_tail;
    tail.size = properties_.mip_tail_size;
    if (!properties_.single_mip_tail) tail.layer = static_cast<uint32_t>(Below(random_, layers()));
    const uint64_t slot = Below(random_, kTile * kTilesOfPool / tail.size);
    operation.memory = tail_pool_;
    operation.memory_offset = tail.size * slot;
    // Not one of the tiles of the other pool.
    Set(TailOf(tail.layer), operation.type == TileOperationType::kMap, kTilesOfPool + slot);
    return operation;
  }
  TileOperation RandomTiles() {
    TileOperation operation = RandomOperation();
    TileRange& tiles = operation.tiles;
    tiles.level = static_cast<uint32_t>(
        Below(random_, std::min<uint32_t>(levels_, properties_.mip_tail_level)));
    tiles.layer = static_cast<uint32_t>(Below(random_, layers()));
    const ArrayExtent size = ExtentOf(tiles.level);
    const ArrayExtent& tile = properties_.tile;
    const auto choose = [&](uint64_t end, uint64_t step, uint64_t& offset, uint64_t& extent) {
      const uint64_t count = (end + step - 1) / step;
      const uint64_t first = Below(random_, count);
      offset = first * step;
      extent =
          std::min((1 + Below(random_, std::min<uint64_t>(2, count - first))) * step, end - offset);
    };
    choose(size.x, tile.x, tiles.offset.x, tiles.extent.x);
    choose(size.y, tile.y, tiles.offset.y, tiles.extent.y);
    choose(size.z, tile.z, tiles.offset.z, tiles.extent.z);
    uint64_t of_pool = Below(random_, kTilesOfPool - 8);
    operation.memory = tile_pool_;
    operation.memory_offset = kTile * of_pool;
    const ArrayExtent& at = tiles.offset;
    for (uint64_t z = at.z; z < at.z + tiles.extent.z; z += tile.z) {
      for (uint64_t y = at.y; y < at.y + tiles.extent.y; y += tile.y) {
        for (uint64_t x = at.x; x < at.x + tiles.extent.x; x += tile.x) {
          Set(Block(tiles.level, tiles.layer, x / tile.x, y / tile.y, z / tile.z),
              operation.type == TileOperationType::kMap, of_pool++);
        }
      }
    }
    return operation;
  }

  Random random_;
  Vmm& vmm_;
  Executor& executor_;
  SparseArrays& arrays_;
  const ArrayDescriptor descriptor_;
  const uint64_t element_;
  MipmappedArray mipmap_;
  uint32_t levels_ = 0;
  SparseProperties properties_;
  AllocationHandle tile_pool_;
  AllocationHandle tail_pool_;
  Stream stream_;
  std::map<Block, uint64_t> mapped_;
  std::map<Spot, uint32_t> content_;
  std::vector<Reading> readings_;           // not compared yet
  std::vector<std::vector<char>> written_;  // perhaps not copied yet
};

class RandomArraysTest : public testing::TestWithParam<StreamPolicy> {};

TEST_P(RandomArraysTest, AreAsTheModelSays) {
  Profile profile = Profile::ReferenceH200(2);
  profile.stream_policy = GetParam();
  const auto simulator = *Simulator::Create(profile);
  Vmm& vmm = **simulator->vmm();
  const Bytes free = vmm.GetMemoryInfo(kDevice0)->free;
  for (uint32_t seed = 0; seed < 30 && !HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomArray array(*simulator, seed);
    for (int step = 0; step < 60 && !HasFailure(); ++step) array.Step();
    array.End();
    EXPECT_EQ(vmm.GetMemoryInfo(kDevice0)->free, free);
  }
  EXPECT_THAT(simulator->diagnostics(), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, RandomArraysTest,
                         testing::Values(StreamPolicy::kEager, StreamPolicy::kDeferred,
                                         StreamPolicy::kSeeded));

}  // namespace
}  // namespace twinmmu
