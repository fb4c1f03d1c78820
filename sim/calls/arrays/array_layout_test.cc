// ArrayLayout: tiles and mip tails as the reference driver reports them, and no two elements in one
// place.

#include "sim/calls/arrays/array_layout.h"

#include <set>
#include <utility>

#include "gtest/gtest.h"

namespace twinmmu {
namespace {

ArrayLayout Words(const ArrayExtent& extent, uint32_t channels, uint32_t flags, uint32_t levels) {
  return ArrayLayout({extent, ArrayFormat::kUint32, channels, kArraySparse | flags}, levels);
}

// What an H200 says: the first level of the mip tail, and its size in tiles.
TEST(ArrayLayoutTest, HasTheMipTailsOfTheReferenceDriver) {
  const struct {
    ArrayExtent extent;
    uint32_t channels;
    uint32_t flags;
    uint32_t levels;
    uint32_t tail_level;
    uint64_t tail_tiles;
    bool single;
  } seen[] = {
      {{1024, 1024, 0}, 1, 0, 11, 4, 1, false},
      {{1024, 1024, 0}, 1, 0, 4, 4, 0, false},
      {{1024, 1024, 0}, 1, 0, 1, 1, 0, false},
      {{1000, 700, 0}, 1, 0, 10, 3, 2, false},
      {{2048, 256, 0}, 1, 0, 12, 2, 3, false},
      {{100, 100, 0}, 1, 0, 7, 0, 2, true},
      {{4096, 4096, 0}, 4, 0, 13, 7, 1, false},
      {{300, 300, 0}, 1, 0, 9, 2, 1, false},
      {{127, 127, 0}, 1, 0, 7, 0, 2, true},
      {{1, 1, 0}, 1, 0, 1, 0, 1, true},
      {{1024, 1024, 4}, 1, kArrayLayered, 11, 4, 1, false},
      {{100, 100, 5}, 1, kArrayLayered, 7, 0, 7, true},
      {{128, 128, 64}, 1, 0, 8, 3, 1, false},
      {{100, 60, 40}, 1, 0, 7, 1, 5, false},
      {{256, 256, 16}, 1, 0, 9, 1, 10, false},
      {{256, 256, 1}, 1, 0, 1, 0, 4, true},
      {{64, 64, 64}, 4, 0, 7, 3, 1, false},
      {{76, 23, 7}, 1, 0, 1, 0, 1, true},
      {{900, 39, 8}, 1, 0, 1, 0, 18, true},
      {{300, 300, 6}, 1, 0, 4, 0, 52, true},
      {{372, 40, 5}, 1, kArrayLayered, 1, 0, 8, true},
      {{32, 286, 0}, 4, 0, 12, 0, 5, true},
      {{35, 506, 7}, 1, kArrayLayered, 10, 0, 17, true},
      {{36, 1432, 11}, 4, kArrayLayered, 1, 0, 149, true},
      {{1062, 42, 12}, 1, kArrayLayered, 7, 0, 68, true},
      {{1472, 21, 9}, 2, kArrayLayered, 3, 0, 68, true},
      {{29, 44, 11}, 2, kArrayLayered, 5, 0, 5, true},
      {{285, 1030, 3}, 2, kArrayLayered, 3, 2, 3, false},
      {{53, 47, 81}, 1, 0, 7, 1, 4, false},
      {{1755, 42, 27}, 2, 0, 6, 1, 63, false},
  };
  for (const auto& each : seen) {
    SCOPED_TRACE(testing::Message() << each.extent.x << " x " << each.extent.y << " x "
                                    << each.extent.z << ", " << each.levels << " levels");
    const ArrayLayout layout = Words(each.extent, each.channels, each.flags, each.levels);
    EXPECT_EQ(layout.properties().mip_tail_level, each.tail_level);
    EXPECT_EQ(layout.tail_blocks(), each.tail_tiles);
    EXPECT_EQ(layout.properties().single_mip_tail, each.single && each.tail_tiles != 0);
  }
}

TEST(ArrayLayoutTest, HasNoMoreLevelsThanThereAre) {
  EXPECT_EQ(Words({1024, 1024, 0}, 1, 0, 40).levels(), 11u);
  EXPECT_EQ(Words({1024, 1024, 0}, 1, 0, 0).levels(), 1u);
  EXPECT_EQ(Words({1000, 700, 0}, 1, 0, 40).level(3).extent, (ArrayExtent{125, 87, 1}));
}

// As cuArrayGetMemoryRequirements has it on an H100 with driver 580.159: rows of 64 bytes and more,
// eight of them for one.
TEST(ArrayLayoutTest, RowsOfOneDimensionTakeEightTimesTheirSize) {
  EXPECT_EQ(Words({1024, 0, 0}, 1, 0, 1).blocks(), 1u);
  EXPECT_EQ(Words({1024, 0, 64}, 1, kArrayLayered, 1).blocks(), 32u);
  EXPECT_EQ(Words({1, 0, 2048}, 1, kArrayLayered, 1).blocks(), 16u);
  EXPECT_EQ(Words({131072, 0, 0}, 4, 0, 1).blocks(), 256u);
}

// Every element of every level has a place of its own, inside of the blocks that there are.
TEST(ArrayLayoutTest, KeepsElementsApart) {
  for (const auto& [extent, flags] :
       {std::pair(ArrayExtent{150, 140, 0}, 0u), std::pair(ArrayExtent{30000, 0, 0}, 0u),
        std::pair(ArrayExtent{300, 0, 7}, kArrayLayered),
        std::pair(ArrayExtent{40, 30, 3}, kArrayLayered), std::pair(ArrayExtent{50, 30, 20}, 0u)}) {
    const ArrayLayout layout = Words(extent, 1, flags, 5);
    std::set<std::pair<uint64_t, uint64_t>> places;
    uint64_t elements = 0;
    for (uint32_t level = 0; level < layout.levels(); ++level) {
      const ArrayExtent& size = layout.level(level).extent;
      elements += layout.layers() * size.x * size.y * size.z;
      for (uint64_t layer = 0; layer < layout.layers(); ++layer) {
        for (uint64_t z = 0; z < size.z; ++z) {
          for (uint64_t y = 0; y < size.y; ++y) {
            for (uint64_t x = 0; x < size.x; ++x) {
              const ArrayLayout::Run run = layout.RunAt(level, layer, {x, y, z});
              ASSERT_LT(run.block, layout.blocks());
              ASSERT_LE(run.offset + layout.element(), ArrayLayout::kBlock);
              ASSERT_GE(run.elements, 1u);
              ASSERT_LE(run.elements, size.x - x);
              places.insert({run.block, run.offset});
            }
          }
        }
      }
    }
    EXPECT_EQ(places.size(), elements);
  }
}

}  // namespace
}  // namespace twinmmu
