// Owners that hold nothing: no driver is needed to find out what they do.

#include "api/allocators/owners.h"

#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

static_assert(!std::is_copy_constructible_v<Reservation> &&
              !std::is_copy_assignable_v<Reservation>);
static_assert(!std::is_copy_constructible_v<Allocation> && !std::is_copy_assignable_v<Allocation>);
static_assert(!std::is_copy_constructible_v<Mapping> && !std::is_copy_assignable_v<Mapping>);
// std::vector moves them only so.
static_assert(std::is_nothrow_move_constructible_v<Reservation>);
static_assert(std::is_nothrow_move_constructible_v<Allocation>);
static_assert(std::is_nothrow_move_constructible_v<Mapping>);

const auto kNothingHeld = StatusIs(absl::StatusCode::kFailedPrecondition);
const auto kRefused = StatusIs(absl::StatusCode::kInvalidArgument);

TEST(OwnersTest, AReservationThatHoldsNothingSaysSo) {
  const Reservation reservation;
  EXPECT_FALSE(reservation.is_open());
  EXPECT_EQ(reservation.range(), AddressRange());
  EXPECT_THAT(reservation.SetAccess(Bytes(0), Bytes(0), {}), kNothingHeld);
  const Allocation memory;
  EXPECT_THAT(Mapping::Make(reservation, Bytes(0), memory), kNothingHeld);
}

TEST(OwnersTest, AnAllocationThatHoldsNothingSaysSo) {
  const Allocation memory;
  EXPECT_FALSE(memory.is_open());
  EXPECT_EQ(memory.handle(), AllocationHandle());
  EXPECT_EQ(memory.size(), Bytes(0));
}

TEST(OwnersTest, AMappingThatHoldsNothingSaysSo) {
  Mapping mapping;
  EXPECT_FALSE(mapping.is_open());
  EXPECT_EQ(mapping.range(), AddressRange());
  EXPECT_THAT(mapping.SetAccess({}), kNothingHeld);
  EXPECT_THAT(mapping.Retain(), kNothingHeld);
  EXPECT_THAT(mapping.MoveTo(Reservation(), Bytes(0)), kNothingHeld);
}

TEST(OwnersTest, ClosingWhatHoldsNothingIsOk) {
  EXPECT_THAT(Reservation().Close(), IsOk());
  EXPECT_THAT(Allocation().Close(), IsOk());
  EXPECT_THAT(Mapping().Close(), IsOk());
}

TEST(OwnersTest, ANullVmmIsRefused) {
  EXPECT_THAT(Reservation::Make(nullptr, MiB(2)), kRefused);
  EXPECT_THAT(Allocation::Make(nullptr, MiB(2), AllocationProperties()), kRefused);
  EXPECT_THAT(Allocation::Import(nullptr, ShareableHandle(), MiB(2)), kRefused);
  EXPECT_FALSE(Allocation::Adopt(nullptr, AllocationHandle(1), MiB(2)).is_open());
}

}  // namespace
}  // namespace twinmmu
