// Mapping::MoveTo: the same memory at another place, or everything as it was.

#include <utility>

#include "absl/status/status.h"
#include "api/allocators/owners.h"
#include "api/testing/matchers.h"
#include "conformance/allocators/owners_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using testing::ElementsAre;

class RemappingTest : public OwnersTest {
 protected:
  // The memory of `mapping` is at granule `at` of the reservation, filled with the byte, and
  // device() may write there.
  void ExpectAt(const Mapping& mapping, const Reservation& reservation, uint64_t at, uint8_t byte) {
    EXPECT_EQ(mapping.range(), reservation.range().subrange(at * granule(), granule()));
    ExpectFilled(mapping.range(), byte);
    EXPECT_THAT(Fill(mapping.range(), byte), IsOk());
  }
};

TEST_P(RemappingTest, KeepsTheDataAndLeavesTheOldPlace) {
  const Reservation reservation = Reserve(4);
  Mapping mapping = MapOne(reservation);
  const AddressRange old = mapping.range();
  ASSERT_THAT(Fill(mapping.range(), 1), IsOk());
  EXPECT_THAT(mapping.MoveTo(reservation, 3 * granule(), {ReadWrite()}), IsOk());
  ExpectAt(mapping, reservation, 3, 1);
  EXPECT_FALSE(IsMapped(old));
  const Mapping next = MapOne(reservation);
  EXPECT_EQ(next.range(), old);
}

TEST_P(RemappingTest, BringsTheMemoryIntoAnotherReservation) {
  Reservation reservation = Reserve(1);
  const Reservation elsewhere = Reserve(2);
  Mapping mapping = MapOne(reservation);
  ASSERT_THAT(Fill(mapping.range(), 2), IsOk());
  EXPECT_THAT(mapping.MoveTo(elsewhere, granule(), {ReadWrite()}), IsOk());
  ExpectAt(mapping, elsewhere, 1, 2);
  EXPECT_THAT(reservation.Close(), IsOk());
}

TEST_P(RemappingTest, SwapsWhatLiesAtTwoPlaces) {
  const Reservation reservation = Reserve(3);
  Mapping first = MapOne(reservation, 0);
  Mapping second = MapOne(reservation, 1);
  ASSERT_THAT(Fill(first.range(), 1), IsOk());
  ASSERT_THAT(Fill(second.range(), 2), IsOk());
  ASSERT_THAT(first.MoveTo(reservation, 2 * granule(), {ReadWrite()}), IsOk());
  ASSERT_THAT(second.MoveTo(reservation, Bytes(0), {ReadWrite()}), IsOk());
  ASSERT_THAT(first.MoveTo(reservation, granule(), {ReadWrite()}), IsOk());
  ExpectAt(second, reservation, 0, 2);
  ExpectAt(first, reservation, 1, 1);
}

TEST_P(RemappingTest, BringsNoAccessAlong) {
  const Reservation reservation = Reserve(2);
  Mapping mapping = MapOne(reservation);
  EXPECT_THAT(mapping.MoveTo(reservation, granule()), IsOk());
  EXPECT_THAT(vmm().GetAccess(Location::Device(device()), mapping.range().base),
              IsOkAndHolds(Access::kNone));
}

TEST_P(RemappingTest, KeepsNoReferenceToTheMemory) {
  const Reservation reservation = Reserve(2);
  Mapping mapping = MapOne(reservation);
  EXPECT_THAT(mapping.MoveTo(reservation, granule(), {ReadWrite()}), IsOk());
  // Free memory after the test says whether this was the last.
  EXPECT_THAT(mapping.Close(), IsOk());
}

TEST_P(RemappingTest, LeavesTheOldPlaceWhicheverStepFails) {
  for (const DriverCall step : {DriverCall::kRetainAllocationHandle, DriverCall::kMap,
                                DriverCall::kSetAccess, DriverCall::kRelease, DriverCall::kUnmap}) {
    SCOPED_TRACE(DriverCallName(step));
    const Reservation reservation = Reserve(2);
    Mapping mapping = MapOne(reservation);
    ASSERT_THAT(Fill(mapping.range(), 3), IsOk());
    Fail(step);
    EXPECT_THAT(mapping.MoveTo(reservation, granule(), {ReadWrite()}),
                HasDriverCode(DriverCode::kUnknown));
    ExpectAt(mapping, reservation, 0, 3);
    EXPECT_FALSE(IsMapped(reservation.range().subrange(granule(), granule())));
    EXPECT_THAT(mapping.MoveTo(reservation, granule(), {ReadWrite()}), IsOk());
    ExpectAt(mapping, reservation, 1, 3);
  }
}

TEST_P(RemappingTest, LeavesTheOldPlaceWhereTheNewOneIsTaken) {
  ExpectDiagnostics({DiagnosticKind::kMapOverMapped, DiagnosticKind::kMapOverMapped});
  const Reservation reservation = Reserve(2);
  Mapping mapping = MapOne(reservation, 0);
  const Mapping other = MapOne(reservation, 1);
  ASSERT_THAT(Fill(mapping.range(), 4), IsOk());
  ASSERT_THAT(Fill(other.range(), 5), IsOk());
  for (const Bytes taken : {granule(), Bytes(0)}) {
    EXPECT_THAT(mapping.MoveTo(reservation, taken, {ReadWrite()}),
                HasDriverCode(DriverCode::kInvalidValue));
  }
  ExpectAt(mapping, reservation, 0, 4);
  ExpectAt(other, reservation, 1, 5);
}

TEST_P(RemappingTest, LeavesTheOldPlaceWhereTheNewOneIsNotInside) {
  const Reservation reservation = Reserve(2);
  Mapping mapping = MapOne(reservation);
  ASSERT_THAT(Fill(mapping.range(), 6), IsOk());
  for (const Bytes offset : {2 * granule(), Bytes(0) - granule()}) {
    EXPECT_THAT(mapping.MoveTo(reservation, offset, {ReadWrite()}),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  ExpectAt(mapping, reservation, 0, 6);
}

TEST_P(RemappingTest, LeavesTheOldPlaceWhereTheReservationIsClosed) {
  const Reservation reservation = Reserve(1);
  Reservation closed = Reserve(1);
  ASSERT_THAT(closed.Close(), IsOk());
  Mapping mapping = MapOne(reservation);
  ASSERT_THAT(Fill(mapping.range(), 7), IsOk());
  EXPECT_THAT(mapping.MoveTo(closed, Bytes(0), {ReadWrite()}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  ExpectAt(mapping, reservation, 0, 7);
}

TEST_P(RemappingTest, FreesADestroyedReservationThatItLeaves) {
  const Reservation elsewhere = Reserve(1);
  Mapping mapping = MapOne(Reserve(1));
  ASSERT_THAT(Fill(mapping.range(), 8), IsOk());
  EXPECT_THAT(mapping.MoveTo(elsewhere, Bytes(0), {ReadWrite()}), IsOk());
  EXPECT_EQ(CountOf(DriverCall::kAddressFree), 1);
  ExpectAt(mapping, elsewhere, 0, 8);
}

TEST_P(RemappingTest, ReportsThatADestroyedReservationIsNotFreed) {
  const Reservation elsewhere = Reserve(1);
  Mapping mapping = MapOne(Reserve(1));
  const AddressRange old = mapping.range();
  Fail(DriverCall::kAddressFree);
  EXPECT_THAT(mapping.MoveTo(elsewhere, Bytes(0), {ReadWrite()}), IsOk());
  EXPECT_THAT(TakeDestructorErrors(), ElementsAre(HasDriverCode(DriverCode::kUnknown)));
  EXPECT_EQ(mapping.range(), elsewhere.range());
  EXPECT_THAT(vmm().AddressFree(old), IsOk());
}

TEST_P(RemappingTest, ReportsWhereTheNewPlaceCannotBeUndone) {
  const Reservation reservation = Reserve(1);
  const Reservation elsewhere = Reserve(1);
  Mapping mapping = MapOne(reservation);
  ASSERT_THAT(Fill(mapping.range(), 9), IsOk());
  Fail(DriverCall::kUnmap, 2);
  EXPECT_THAT(mapping.MoveTo(elsewhere, Bytes(0), {ReadWrite()}),
              HasDriverCode(DriverCode::kUnknown));
  EXPECT_THAT(TakeDestructorErrors(), ElementsAre(HasDriverCode(DriverCode::kUnknown)));
  ExpectAt(mapping, reservation, 0, 9);
  EXPECT_THAT(vmm().Unmap(elsewhere.range()), IsOk());
  EXPECT_THAT(vmm().AddressFree(elsewhere.range()), IsOk());
}

INSTANTIATE_TEST_SUITE_P(On, RemappingTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
