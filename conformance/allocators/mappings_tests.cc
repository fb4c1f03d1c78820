// Mapping: an allocation at a place, with its access, all or nothing.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/allocators/owners.h"
#include "api/testing/matchers.h"
#include "conformance/allocators/owners_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class MappingTest : public OwnersTest {
 protected:
  // The host, which is not granted memory of a device.
  static AccessGrant NotSupported() { return AccessGrant{Location::Host(), Access::kReadWrite}; }
};

TEST_P(MappingTest, MapsTheWholeAllocationAtTheOffset) {
  const Reservation reservation = Reserve(8);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Allocation memory,
                               Allocation::Make(&watched(), 3 * granule(), AllocationProperties()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Mapping mapping,
                               Mapping::Make(reservation, 5 * granule(), memory, {ReadWrite()}));
  EXPECT_TRUE(mapping.is_open());
  EXPECT_EQ(mapping.range(), reservation.range().subrange(5 * granule(), 3 * granule()));
  EXPECT_THAT(Fill(mapping.range(), 1), IsOk());
  ExpectFilled(mapping.range(), 1);
}

TEST_P(MappingTest, GrantsNobodyWithoutGrants) {
  const Reservation reservation = Reserve(1);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Mapping mapping,
                               Mapping::Make(reservation, Bytes(0), Allocate()));
  for (const DeviceOrdinal by : accessors()) {
    EXPECT_THAT(vmm().GetAccess(Location::Device(by), mapping.range().base),
                IsOkAndHolds(Access::kNone));
  }
}

TEST_P(MappingTest, GrantsEachDeviceItsAccess) {
  const Reservation reservation = Reserve(1);
  const DeviceOrdinal last = accessors().back();
  TWINMMU_ASSERT_OK_AND_ASSIGN(Mapping mapping,
                               Mapping::Make(reservation, Bytes(0), Allocate(), {ReadWrite(last)}));
  EXPECT_THAT(Fill(mapping.range(), 2, last), IsOk());
  ExpectFilled(mapping.range(), 2, last);
  EXPECT_THAT(mapping.SetAccess({{Location::Device(last), Access::kRead}}), IsOk());
  EXPECT_THAT(vmm().GetAccess(Location::Device(last), mapping.range().base),
              IsOkAndHolds(Access::kRead));
}

TEST_P(MappingTest, LetsAllPlacesOfOneAllocationReadWhatOneWrites) {
  const Reservation reservation = Reserve(4);
  const Reservation elsewhere = Reserve(4);
  const Allocation memory = Allocate();
  std::vector<Mapping> places;
  for (const Reservation* where : {&reservation, &elsewhere}) {
    for (uint64_t i = 0; i < 4; ++i) {
      places.push_back(Mapping::Make(*where, i * granule(), memory, {ReadWrite()}).value());
    }
  }
  uint8_t byte = 0;
  for (const Mapping& written : places) {
    ASSERT_THAT(Fill(written.range(), ++byte), IsOk());
    for (const Mapping& read : places) ExpectFilled(read.range(), byte);
  }
}

TEST_P(MappingTest, IsWrittenAcrossTheSeamToItsNeighbour) {
  const Reservation reservation = Reserve(3);
  std::vector<Mapping> row;
  for (const uint64_t at : {2, 0, 1}) row.push_back(MapOne(reservation, at));
  ASSERT_THAT(Fill(reservation.range(), 3), IsOk());
  ExpectFilled(reservation.range(), 3);
}

TEST_P(MappingTest, IsUnmappedAgainWhereAGrantIsRefused) {
  ExpectDiagnostics({DiagnosticKind::kAccessAppliedInPart});
  const Reservation reservation = Reserve(2);
  const Allocation memory = Allocate();
  EXPECT_THAT(Mapping::Make(reservation, granule(), memory, {ReadWrite(), NotSupported()}),
              HasDriverCode(DriverCode::kNotSupported));
  EXPECT_FALSE(IsMapped(reservation.range().subrange(granule(), granule())));
  EXPECT_THAT(Mapping::Make(reservation, granule(), memory, {ReadWrite()}), IsOk());
}

TEST_P(MappingTest, ReportsWhereARefusedGrantCannotBeUndone) {
  Reservation reservation = Reserve(1);
  Fail(DriverCall::kUnmap);
  EXPECT_THAT(Mapping::Make(reservation, Bytes(0), Allocate(), {NotSupported()}),
              HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(TakeDestructorErrors(), ElementsAre(HasDriverCode(DriverCode::kUnknown)));
  EXPECT_THAT(std::string(reservation.Close().message()), HasSubstr("1 mapping"));
  EXPECT_THAT(vmm().Unmap(reservation.range()), IsOk());
  EXPECT_THAT(vmm().AddressFree(reservation.range()), IsOk());
}

TEST_P(MappingTest, LeavesThePlaceEmptyWhereTheDriverRefusesToMap) {
  Reservation reservation = Reserve(1);
  Fail(DriverCall::kMap);
  EXPECT_THAT(Mapping::Make(reservation, Bytes(0), Allocate(), {ReadWrite()}),
              HasDriverCode(DriverCode::kUnknown));
  EXPECT_EQ(CountOf(DriverCall::kUnmap), 0);
  EXPECT_THAT(reservation.Close(), IsOk());
}

TEST_P(MappingTest, LeavesWhatIsMappedThereAlready) {
  ExpectDiagnostics({DiagnosticKind::kMapOverMapped});
  Reservation reservation = Reserve(2);
  Mapping mapping = MapOne(reservation);
  ASSERT_THAT(Fill(mapping.range(), 4), IsOk());
  EXPECT_THAT(Mapping::Make(reservation, Bytes(0), Allocate(), {ReadWrite()}),
              HasDriverCode(DriverCode::kInvalidValue));
  ExpectFilled(mapping.range(), 4);
  EXPECT_THAT(reservation.Close(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(mapping.Close(), IsOk());
}

TEST_P(MappingTest, LetsTheDriverRefuseAnOffsetThatIsNotAligned) {
  ExpectDiagnostics({DiagnosticKind::kMapMisaligned});
  const Reservation reservation = Reserve(2);
  EXPECT_THAT(Mapping::Make(reservation, Bytes(1), Allocate()),
              HasDriverCode(DriverCode::kInvalidValue));
}

TEST_P(MappingTest, RefusesAPlaceThatIsNotInsideTheReservation) {
  const Reservation reservation = Reserve(2);
  const Allocation memory = Allocate();
  const Bytes to_zero = Bytes(0) - Bytes(reservation.range().base.value());
  for (const Bytes offset :
       {2 * granule(), granule() + Bytes(1), Bytes(0) - granule(), Bytes(0) - Bytes(1), to_zero}) {
    const absl::Status status = Mapping::Make(reservation, offset, memory).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(absl::StrCat("at offset ", ToString(offset))),
                      HasSubstr(ToString(reservation.range().base))));
  }
  EXPECT_EQ(CountOf(DriverCall::kMap), 0);
}

TEST_P(MappingTest, RefusesAnAllocationThatIsLargerThanTheReservation) {
  const Reservation reservation = Reserve(2);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Allocation memory,
                               Allocation::Make(&watched(), 3 * granule(), AllocationProperties()));
  EXPECT_THAT(Mapping::Make(reservation, Bytes(0), memory),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(CountOf(DriverCall::kMap), 0);
}

TEST_P(MappingTest, RefusesAnAllocationThatWasClosed) {
  const Reservation reservation = Reserve(1);
  Allocation memory = Allocate();
  ASSERT_THAT(memory.Close(), IsOk());
  EXPECT_THAT(Mapping::Make(reservation, Bytes(0), memory),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(CountOf(DriverCall::kMap), 0);
}

TEST_P(MappingTest, RefusesAnAllocationOfAnotherVmm) {
  const Reservation reservation = Reserve(1);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Allocation memory,
                               Allocation::Make(&vmm(), granule(), AllocationProperties()));
  EXPECT_THAT(Mapping::Make(reservation, Bytes(0), memory),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(CountOf(DriverCall::kMap), 0);
}

TEST_P(MappingTest, LetsTheDriverRefuseAnEmptyListOfGrants) {
  const Reservation reservation = Reserve(1);
  Mapping mapping = MapOne(reservation);
  EXPECT_THAT(mapping.SetAccess({}), HasDriverCode(DriverCode::kInvalidValue));
}

TEST_P(MappingTest, RetainsMemoryWhoseAllocationIsGone) {
  const Reservation reservation = Reserve(2);
  Mapping mapping = MapOne(reservation);
  ASSERT_THAT(Fill(mapping.range(), 5), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Allocation memory, mapping.Retain());
  EXPECT_EQ(memory.size(), granule());
  ASSERT_THAT(mapping.Close(), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Mapping later,
                               Mapping::Make(reservation, granule(), memory, {ReadWrite()}));
  ExpectFilled(later.range(), 5);
}

TEST_P(MappingTest, RetainsTheHandleThatWasMapped) {
  const Reservation reservation = Reserve(1);
  const Allocation memory = Allocate();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Mapping mapping, Mapping::Make(reservation, Bytes(0), memory));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Allocation retained, mapping.Retain());
  EXPECT_EQ(retained.handle(), memory.handle());
}

TEST_P(MappingTest, IsUnmappedOnceWhenClosedTwice) {
  const Reservation reservation = Reserve(1);
  Mapping mapping = MapOne(reservation);
  const AddressRange range = mapping.range();
  EXPECT_THAT(mapping.Close(), IsOk());
  EXPECT_FALSE(mapping.is_open());
  EXPECT_EQ(mapping.range(), AddressRange());
  EXPECT_FALSE(IsMapped(range));
  EXPECT_THAT(mapping.Close(), IsOk());
  EXPECT_EQ(CountOf(DriverCall::kUnmap), 1);
}

TEST_P(MappingTest, StaysOpenWhereTheDriverRefusesToUnmapIt) {
  Reservation reservation = Reserve(1);
  Mapping mapping = MapOne(reservation);
  const AddressRange range = mapping.range();
  Fail(DriverCall::kUnmap);
  EXPECT_THAT(mapping.Close(), HasDriverCode(DriverCode::kUnknown));
  EXPECT_TRUE(mapping.is_open());
  EXPECT_EQ(mapping.range(), range);
  EXPECT_THAT(Fill(range, 6), IsOk());
  EXPECT_THAT(reservation.Close(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(mapping.Close(), IsOk());
}

TEST_P(MappingTest, GivesTheErrorOfItsDestructorToTheHook) {
  const Reservation reservation = Reserve(1);
  {
    const Mapping mapping = MapOne(reservation);
    Fail(DriverCall::kUnmap);
  }
  EXPECT_THAT(TakeDestructorErrors(), ElementsAre(HasDriverCode(DriverCode::kUnknown)));
  EXPECT_TRUE(IsMapped(reservation.range()));
  EXPECT_THAT(vmm().Unmap(reservation.range()), IsOk());
  EXPECT_THAT(vmm().AddressFree(reservation.range()), IsOk());
}

TEST_P(MappingTest, RefusesEverythingOnceClosed) {
  const Reservation reservation = Reserve(2);
  Mapping mapping = MapOne(reservation);
  ASSERT_THAT(mapping.Close(), IsOk());
  const auto is_refused = StatusIs(absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(mapping.SetAccess({ReadWrite()}), is_refused);
  EXPECT_THAT(mapping.Retain(), is_refused);
  EXPECT_THAT(mapping.MoveTo(reservation, granule()), is_refused);
}

TEST_P(MappingTest, HoldsNothingOnceMovedFrom) {
  const Reservation reservation = Reserve(2);
  Mapping mapping = MapOne(reservation);
  const AddressRange range = mapping.range();
  const Mapping moved = std::move(mapping);
  EXPECT_EQ(moved.range(), range);
  EXPECT_FALSE(mapping.is_open());
  EXPECT_EQ(mapping.range(), AddressRange());
  EXPECT_THAT(mapping.Close(), IsOk());
  EXPECT_THAT(mapping.Retain(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(CountOf(DriverCall::kUnmap), 0);
}

TEST_P(MappingTest, IsAsItWasWhenMovedToItself) {
  const Reservation reservation = Reserve(1);
  Mapping mapping = MapOne(reservation);
  Mapping& same = mapping;
  mapping = std::move(same);
  EXPECT_EQ(mapping.range(), reservation.range());
  EXPECT_EQ(CountOf(DriverCall::kUnmap), 0);
}

TEST_P(MappingTest, GivesTheErrorOfAnAssignmentToTheHook) {
  const Reservation reservation = Reserve(1);
  Mapping mapping = MapOne(reservation);
  Fail(DriverCall::kUnmap);
  mapping = Mapping();
  EXPECT_THAT(TakeDestructorErrors(), ElementsAre(HasDriverCode(DriverCode::kUnknown)));
  EXPECT_FALSE(mapping.is_open());
  EXPECT_THAT(vmm().Unmap(reservation.range()), IsOk());
  EXPECT_THAT(vmm().AddressFree(reservation.range()), IsOk());
}

TEST_P(MappingTest, IsUnmappedWhenAssignedTo) {
  const Reservation reservation = Reserve(2);
  Mapping mapping = MapOne(reservation, 0);
  Mapping other = MapOne(reservation, 1);
  const AddressRange old = mapping.range();
  const AddressRange range = other.range();
  mapping = std::move(other);
  EXPECT_FALSE(IsMapped(old));
  EXPECT_EQ(mapping.range(), range);
  EXPECT_TRUE(IsMapped(range));
}

INSTANTIATE_TEST_SUITE_P(On, MappingTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
