#include "sim/memory/managed_hints.h"

#include "gtest/gtest.h"

namespace twinmmu {
namespace {

constexpr uint64_t kPage = 4096;

AddressRange Pages(uint64_t first, uint64_t count) {
  return {DeviceAddress(0x7f0000000000 + first * kPage), Bytes(count * kPage), Bytes(0)};
}
const AddressRange kBlock = Pages(0, 512);
void SetReadMostly(ManagedHints& hints) { hints.read_mostly = true; }
void PreferHost(ManagedHints& hints) { hints.preferred = Location::Host(); }

TEST(HintsByPageTest, NothingIsKnownAtFirst) {
  EXPECT_EQ(HintsByPage().InCommon(Pages(0, 10), kBlock), ManagedHints());
}

TEST(HintsByPageTest, AByteMeansItsPage) {
  HintsByPage hints;
  hints.Edit({Pages(1, 1).base + Bytes(5), Bytes(1), Bytes(0)}, kBlock, SetReadMostly);
  EXPECT_TRUE(hints.InCommon(Pages(1, 1), kBlock).read_mostly);
  EXPECT_FALSE(hints.InCommon(Pages(0, 1), kBlock).read_mostly);
  EXPECT_FALSE(hints.InCommon(Pages(2, 1), kBlock).read_mostly);
}

TEST(HintsByPageTest, OnlyWhatAllPagesHaveIsInCommon) {
  HintsByPage hints;
  hints.Edit(Pages(0, 4), kBlock, SetReadMostly);
  hints.Edit(Pages(2, 4), kBlock, PreferHost);
  EXPECT_TRUE(hints.InCommon(Pages(0, 4), kBlock).read_mostly);
  EXPECT_EQ(hints.InCommon(Pages(0, 4), kBlock).preferred, std::nullopt);
  EXPECT_EQ(hints.InCommon(Pages(2, 4), kBlock).preferred, Location::Host());
  EXPECT_FALSE(hints.InCommon(Pages(0, 6), kBlock).read_mostly);
  EXPECT_FALSE(hints.InCommon(Pages(3, 9), kBlock).read_mostly) << "the last pages have no hints";
}

TEST(HintsByPageTest, AGapHasNothingInCommon) {
  HintsByPage hints;
  hints.Edit(Pages(0, 1), kBlock, SetReadMostly);
  hints.Edit(Pages(2, 1), kBlock, SetReadMostly);
  EXPECT_FALSE(hints.InCommon(Pages(0, 3), kBlock).read_mostly);
  hints.Edit(Pages(1, 1), kBlock, SetReadMostly);
  EXPECT_TRUE(hints.InCommon(Pages(0, 3), kBlock).read_mostly);
}

// Page 5 joins the five before it, so that six pages are taken for done.
TEST(HintsByPageTest, AnEditLeavesOutPagesBehindPiecesThatBecomeOne) {
  HintsByPage hints;
  hints.Edit(Pages(5, 1), kBlock, SetReadMostly);
  hints.Edit(Pages(8, 1), kBlock, SetReadMostly);
  const auto prefer_only = [](ManagedHints& of_piece) {
    of_piece.read_mostly = false;
    PreferHost(of_piece);
  };
  hints.Edit(Pages(0, 10), kBlock, prefer_only);
  EXPECT_EQ(hints.InCommon(Pages(0, 6), kBlock).preferred, Location::Host());
  EXPECT_EQ(hints.InCommon(Pages(6, 1), kBlock).preferred, std::nullopt);
  EXPECT_TRUE(hints.InCommon(Pages(8, 1), kBlock).read_mostly);
}

// The pages before the range count as if they were a part of it.
TEST(HintsByPageTest, AQuestionLeavesOutPagesBehindAPieceThatBeginsBeforeIt) {
  HintsByPage hints;
  hints.Edit(Pages(0, 10), kBlock, SetReadMostly);
  EXPECT_TRUE(hints.InCommon(Pages(5, 10), kBlock).read_mostly);
  EXPECT_FALSE(hints.InCommon(Pages(5, 11), kBlock).read_mostly);
}

TEST(HintsByPageTest, BlocksHaveTheirOwnPieces) {
  HintsByPage hints;
  const AddressRange next = Pages(512, 512);
  hints.Edit(Pages(511, 1), kBlock, SetReadMostly);
  hints.Edit(Pages(513, 1), next, PreferHost);
  hints.Edit(Pages(512, 2), next, SetReadMostly);
  EXPECT_TRUE(hints.InCommon(Pages(513, 1), next).read_mostly);
}

// Though the pages of the next one have the same hints.
TEST(HintsByPageTest, APieceEndsWithItsBlock) {
  HintsByPage hints;
  const AddressRange next = Pages(512, 512);
  hints.Edit(Pages(512, 1), next, SetReadMostly);
  hints.Edit(Pages(511, 1), kBlock, SetReadMostly);
  EXPECT_TRUE(hints.InCommon(Pages(512, 1), next).read_mostly);
  EXPECT_FALSE(hints.InCommon(Pages(512, 2), next).read_mostly) << "page 513 has no hints";
}

TEST(HintsByPageTest, HintsInTheMiddleAreForgotten) {
  HintsByPage hints;
  hints.Edit(Pages(0, 10), kBlock, SetReadMostly);
  hints.Forget(Pages(4, 2));
  EXPECT_TRUE(hints.InCommon(Pages(0, 4), kBlock).read_mostly);
  EXPECT_FALSE(hints.InCommon(Pages(4, 2), kBlock).read_mostly);
  EXPECT_TRUE(hints.InCommon(Pages(6, 4), kBlock).read_mostly);
}

}  // namespace
}  // namespace twinmmu
