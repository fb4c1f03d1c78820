// Placement of reservations.

#include "sim/memory/address_space.h"

#include <memory>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

namespace twinmmu {
namespace {

constexpr DeviceAddress kBase(0x10000000);
constexpr Bytes kStep = KiB(64);
constexpr AddressRange kWindow{kBase, MiB(1), Bytes(0)};

class AddressSpaceTest : public testing::Test {
 protected:
  std::optional<AddressRange> Reserve(Bytes size, Bytes alignment = Bytes(0),
                                      DeviceAddress hint = DeviceAddress(0)) {
    const auto id = space_->Reserve(size, alignment, hint);
    if (!id.has_value()) return std::nullopt;
    return (*space_)[*id];
  }
  void Free(const AddressRange& range) { space_->Free(*space_->Find(range.base)); }

  std::unique_ptr<AddressSpace> space_ = std::make_unique<AddressSpace>(kWindow, kStep);
};

// The lowest span that is large enough is taken, holes before the end.
TEST_F(AddressSpaceTest, TakesTheLowestSpan) {
  const AddressRange a = *Reserve(kStep);
  const AddressRange b = *Reserve(kStep);
  EXPECT_EQ(a.base, kBase);
  EXPECT_EQ(b.base, a.end());
  Free(a);
  EXPECT_EQ(Reserve(2 * kStep)->base, b.end());
  EXPECT_EQ(Reserve(kStep)->base, kBase);
}

// Who plays what happened elsewhere says where; once, and only where there is room.
TEST_F(AddressSpaceTest, PutsTheNextOneWhereItIsTold) {
  const DeviceAddress told = kBase + 5 * kStep;
  space_->PlaceNext(told);
  EXPECT_EQ(Reserve(kStep, Bytes(0), kBase + 2 * kStep)->base, told);
  EXPECT_EQ(Reserve(kStep)->base, kBase);
  space_->PlaceNext(told);
  EXPECT_EQ(Reserve(kStep)->base, kBase + kStep) << "it is taken";
}

// What is freed grows together with its neighbours, in whatever order.
TEST_F(AddressSpaceTest, FreedSpansGrowTogether) {
  std::vector<AddressRange> ranges;
  for (int i = 0; i < 16; ++i) ranges.push_back(*Reserve(kStep));
  EXPECT_FALSE(Reserve(kStep).has_value());
  for (const size_t i : {1, 3, 2, 0, 15, 13, 14, 5, 4, 6, 12, 11, 7, 9, 8, 10}) Free(ranges[i]);
  EXPECT_EQ(Reserve(MiB(1))->base, kBase);
}

// An alignment may leave a gap, which is still free.
TEST_F(AddressSpaceTest, AlignmentLeavesAGap) {
  Reserve(kStep);
  EXPECT_EQ(Reserve(kStep, KiB(256))->base, kBase + KiB(256));
  EXPECT_EQ(Reserve(kStep)->base, kBase + kStep);
  EXPECT_FALSE(Reserve(kStep, Bytes(uint64_t{1} << 46)).has_value());
}

// A hint that does not fit, at the end or anywhere else, is passed over.
TEST_F(AddressSpaceTest, AHintMustFit) {
  EXPECT_EQ(Reserve(2 * kStep, Bytes(0), kBase + MiB(1) - kStep)->base, kBase);
  EXPECT_EQ(Reserve(kStep, Bytes(0), kBase + MiB(1) - kStep)->base, kBase + MiB(1) - kStep);
  EXPECT_EQ(Reserve(kStep, Bytes(0), DeviceAddress(~uint64_t{0}))->base, kBase + 2 * kStep);
}

// Every address of a reservation finds it, its end does not.
TEST_F(AddressSpaceTest, FindsByAnyAddress) {
  const AddressRange range = *Reserve(2 * kStep);
  EXPECT_TRUE(space_->Find(range.base).has_value());
  EXPECT_TRUE(space_->Find(range.end() - Bytes(1)).has_value());
  EXPECT_FALSE(space_->Find(range.end()).has_value());
  EXPECT_FALSE(space_->Find(range.base - Bytes(1)).has_value());
}

// --- With areas, of four steps

class AreasTest : public AddressSpaceTest {
 protected:
  static constexpr Bytes kArea = 4 * kStep;

  AreasTest() { space_ = std::make_unique<AddressSpace>(kWindow, kStep, kArea); }
};

TEST_F(AreasTest, SmallOnesShareAreas) {
  EXPECT_EQ(Reserve(kStep)->base, kBase);
  EXPECT_EQ(Reserve(2 * kStep)->base, kBase + kStep);
  EXPECT_EQ(Reserve(2 * kStep)->base, kBase + kArea) << "none lies in two areas";
  EXPECT_EQ(Reserve(kStep)->base, kBase + 3 * kStep);
  EXPECT_EQ(Reserve(3 * kStep)->base, kBase + 2 * kArea);
}

TEST_F(AreasTest, LargeOnesBeginWithAnArea) {
  EXPECT_EQ(Reserve(kStep)->base, kBase);
  EXPECT_EQ(Reserve(4 * kStep)->base, kBase + kArea);
  EXPECT_EQ(Reserve(5 * kStep)->base, kBase + 2 * kArea);
  EXPECT_EQ(Reserve(4 * kStep), std::nullopt) << "the end of the last area is free, and no more";
  EXPECT_EQ(Reserve(3 * kStep)->base, kBase + kStep) << "what is left is for small ones";
}

TEST_F(AreasTest, SmallOnesFollowHintsIntoTheirAreas) {
  const AddressRange first = *Reserve(kStep);
  EXPECT_EQ(Reserve(kStep, Bytes(0), kBase + 2 * kStep)->base, kBase + 2 * kStep);
  EXPECT_EQ(Reserve(kStep, Bytes(0), kBase + 2 * kArea)->base, kBase + kStep);
  EXPECT_EQ(Reserve(2 * kStep, Bytes(0), kBase + 3 * kStep)->base, kBase + kArea);
  Free(first);
  EXPECT_EQ(Reserve(kStep, Bytes(0), kBase)->base, kBase);
}

TEST_F(AreasTest, LargeOnesFollowHintsAnywhere) {
  Reserve(kArea);
  EXPECT_EQ(Reserve(kArea, Bytes(0), kBase + 2 * kArea)->base, kBase + 2 * kArea);
  EXPECT_EQ(Reserve(kArea, Bytes(0), kBase + 2 * kArea)->base, kBase + kArea) << "it is taken";
}

TEST_F(AreasTest, LargeOnesTakeAreasThatAreEmptyAgain) {
  Free(*Reserve(kStep));
  EXPECT_EQ(Reserve(4 * kArea)->base, kBase);
  EXPECT_EQ(Reserve(kStep), std::nullopt);
}

TEST_F(AreasTest, TheNextOneGoesWhereItIsTold) {
  space_->PlaceNext(kBase + 2 * kArea + kStep);
  EXPECT_EQ(Reserve(kStep)->base, kBase + 2 * kArea + kStep);
}

}  // namespace
}  // namespace twinmmu
