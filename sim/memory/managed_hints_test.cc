#include "sim/memory/managed_hints.h"

#include "gtest/gtest.h"

namespace twinmmu {
namespace {

constexpr uint64_t kPage = 4096;

AddressRange Pages(uint64_t first, uint64_t count) {
  return {DeviceAddress(0x7f0000000000 + first * kPage), Bytes(count * kPage), Bytes(0)};
}
void SetReadMostly(ManagedHints& hints) { hints.read_mostly = true; }
void PreferHost(ManagedHints& hints) { hints.preferred = Location::Host(); }

TEST(HintsByPageTest, NothingIsKnownAtFirst) {
  EXPECT_EQ(HintsByPage().InCommon(Pages(0, 10)), ManagedHints());
}

TEST(HintsByPageTest, AByteMeansItsPage) {
  HintsByPage hints;
  hints.Edit({Pages(1, 1).base + Bytes(5), Bytes(1), Bytes(0)}, SetReadMostly);
  EXPECT_TRUE(hints.InCommon(Pages(1, 1)).read_mostly);
  EXPECT_FALSE(hints.InCommon(Pages(0, 1)).read_mostly);
  EXPECT_FALSE(hints.InCommon(Pages(2, 1)).read_mostly);
}

TEST(HintsByPageTest, OnlyWhatAllPagesHaveIsInCommon) {
  HintsByPage hints;
  hints.Edit(Pages(0, 4), SetReadMostly);
  hints.Edit(Pages(2, 4), PreferHost);
  EXPECT_TRUE(hints.InCommon(Pages(0, 4)).read_mostly);
  EXPECT_EQ(hints.InCommon(Pages(0, 4)).preferred, std::nullopt);
  EXPECT_EQ(hints.InCommon(Pages(2, 4)).preferred, Location::Host());
  EXPECT_FALSE(hints.InCommon(Pages(0, 6)).read_mostly);
  EXPECT_FALSE(hints.InCommon(Pages(3, 9)).read_mostly) << "the last pages have no hints";
}

TEST(HintsByPageTest, AGapHasNothingInCommon) {
  HintsByPage hints;
  hints.Edit(Pages(0, 1), SetReadMostly);
  hints.Edit(Pages(2, 1), SetReadMostly);
  EXPECT_FALSE(hints.InCommon(Pages(0, 3)).read_mostly);
  hints.Edit(Pages(1, 1), SetReadMostly);
  EXPECT_TRUE(hints.InCommon(Pages(0, 3)).read_mostly);
}

TEST(HintsByPageTest, HintsInTheMiddleAreForgotten) {
  HintsByPage hints;
  hints.Edit(Pages(0, 10), SetReadMostly);
  hints.Forget(Pages(4, 2));
  EXPECT_TRUE(hints.InCommon(Pages(0, 4)).read_mostly);
  EXPECT_FALSE(hints.InCommon(Pages(3, 2)).read_mostly);
  EXPECT_TRUE(hints.InCommon(Pages(6, 4)).read_mostly);
}

}  // namespace
}  // namespace twinmmu
