// Reservation: its addresses, and that none of its mappings loses them.

#include <string>
#include <utility>
#include <vector>

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

class ReservationTest : public OwnersTest {};

TEST_P(ReservationTest, HasTheSizeAndTheAlignmentThatWereAskedFor) {
  ReserveOptions options;
  options.alignment = 8 * granule();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Reservation reservation,
                               Reservation::Make(&vmm(), 16 * granule(), options));
  EXPECT_TRUE(reservation.is_open());
  EXPECT_EQ(reservation.range().size, 16 * granule());
  EXPECT_TRUE(reservation.range().base.IsAligned(8 * granule()));
}

TEST_P(ReservationTest, IsNotMadeWhereTheDriverRefuses) {
  EXPECT_THAT(Reservation::Make(&vmm(), Bytes(0)), HasDriverCode(DriverCode::kInvalidValue));
}

TEST_P(ReservationTest, IsFreedOnceWhenClosedTwice) {
  Reservation reservation = Reserve(4);
  EXPECT_THAT(reservation.Close(), IsOk());
  EXPECT_FALSE(reservation.is_open());
  EXPECT_EQ(reservation.range(), AddressRange());
  EXPECT_THAT(reservation.Close(), IsOk());
  EXPECT_EQ(CountOf(DriverCall::kAddressFree), 1);
}

TEST_P(ReservationTest, IsFreedWhenDestroyed) {
  { const Reservation reservation = Reserve(4); }
  EXPECT_EQ(CountOf(DriverCall::kAddressFree), 1);
}

TEST_P(ReservationTest, StaysOpenWhereTheDriverRefusesToFreeIt) {
  Reservation reservation = Reserve(4);
  const AddressRange range = reservation.range();
  Fail(DriverCall::kAddressFree);
  EXPECT_THAT(reservation.Close(), HasDriverCode(DriverCode::kUnknown));
  EXPECT_TRUE(reservation.is_open());
  EXPECT_EQ(reservation.range(), range);
  MapOne(reservation);
  EXPECT_THAT(reservation.Close(), IsOk());
}

TEST_P(ReservationTest, GivesTheErrorOfItsDestructorToTheHook) {
  Reservation reservation = Reserve(4);
  const AddressRange range = reservation.range();
  Fail(DriverCall::kAddressFree);
  { const Reservation destroyed = std::move(reservation); }
  EXPECT_THAT(TakeDestructorErrors(), ElementsAre(HasDriverCode(DriverCode::kUnknown)));
  EXPECT_THAT(vmm().AddressFree(range), IsOk());
}

TEST_P(ReservationTest, IsNotClosedWhileSomethingIsMapped) {
  Reservation reservation = Reserve(4);
  const Mapping first = MapOne(reservation, 1);
  Mapping second = MapOne(reservation, 3);
  const absl::Status status = reservation.Close();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition));
  const std::string base = ToString(reservation.range().base);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(base), HasSubstr("2 mappings, one of them"),
                    HasSubstr(ToString(first.range().base))));
  EXPECT_TRUE(reservation.is_open());
  EXPECT_EQ(CountOf(DriverCall::kAddressFree), 0);
  EXPECT_THAT(Fill(first.range(), 1), IsOk());

  EXPECT_THAT(second.Close(), IsOk());
  EXPECT_THAT(std::string(reservation.Close().message()), HasSubstr("1 mapping, ["));
}

TEST_P(ReservationTest, IsClosedOnceNothingIsMappedAnyMore) {
  Reservation reservation = Reserve(4);
  Mapping mapping = MapOne(reservation);
  EXPECT_THAT(mapping.Close(), IsOk());
  EXPECT_THAT(reservation.Close(), IsOk());
}

TEST_P(ReservationTest, IsFreedWithItsLastMappingIfDestroyedBefore) {
  Mapping first;
  Mapping second;
  {
    const Reservation reservation = Reserve(4);
    first = MapOne(reservation, 0);
    second = MapOne(reservation, 1);
  }
  EXPECT_THAT(first.Close(), IsOk());
  EXPECT_EQ(CountOf(DriverCall::kAddressFree), 0);
  EXPECT_THAT(Fill(second.range(), 2), IsOk());
  ExpectFilled(second.range(), 2);
  EXPECT_THAT(second.Close(), IsOk());
  EXPECT_EQ(CountOf(DriverCall::kAddressFree), 1);
}

TEST_P(ReservationTest, IsFreedByTheDestructorOfItsLastMapping) {
  {
    Mapping mapping;
    mapping = MapOne(Reserve(4));
    EXPECT_EQ(CountOf(DriverCall::kAddressFree), 0);
  }
  EXPECT_EQ(CountOf(DriverCall::kAddressFree), 1);
}

TEST_P(ReservationTest, LetsItsLastMappingTryToFreeItAgain) {
  Mapping mapping = MapOne(Reserve(4));
  Fail(DriverCall::kAddressFree);
  EXPECT_THAT(mapping.Close(), HasDriverCode(DriverCode::kUnknown));
  EXPECT_TRUE(mapping.is_open());
  EXPECT_EQ(mapping.range(), AddressRange());
  EXPECT_THAT(mapping.SetAccess({ReadWrite()}), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(mapping.Close(), IsOk());
  EXPECT_FALSE(mapping.is_open());
  EXPECT_EQ(CountOf(DriverCall::kUnmap), 1) << "what is unmapped is not unmapped again";
}

TEST_P(ReservationTest, LetsTheDestructorOfItsLastMappingReportThatItIsNotFreed) {
  AddressRange range;
  {
    Reservation reservation = Reserve(4);
    range = reservation.range();
    const Mapping mapping = MapOne(reservation);
    { const Reservation destroyed = std::move(reservation); }
    Fail(DriverCall::kAddressFree);
  }
  EXPECT_THAT(TakeDestructorErrors(), ElementsAre(HasDriverCode(DriverCode::kUnknown)));
  EXPECT_THAT(vmm().AddressFree(range), IsOk());
}

TEST_P(ReservationTest, GrantsSeveralMappingsByOneCall) {
  const Reservation reservation = Reserve(4);
  const Allocation memory = Allocate();
  std::vector<Mapping> mappings;
  for (uint64_t i = 0; i < 4; ++i) {
    mappings.push_back(Mapping::Make(reservation, i * granule(), memory).value());
  }
  EXPECT_THAT(reservation.SetAccess(granule(), 2 * granule(), {ReadWrite()}), IsOk());
  EXPECT_EQ(CountOf(DriverCall::kSetAccess), 1);
  const Access expected[] = {Access::kNone, Access::kReadWrite, Access::kReadWrite, Access::kNone};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(vmm().GetAccess(Location::Device(device()), mappings[i].range().base),
                IsOkAndHolds(expected[i]))
        << "mapping " << i;
  }
}

TEST_P(ReservationTest, GrantsToEachDevice) {
  const Reservation reservation = Reserve(2);
  const Allocation memory = Allocate();
  const Mapping first = Mapping::Make(reservation, Bytes(0), memory).value();
  const Mapping second = Mapping::Make(reservation, granule(), memory).value();
  std::vector<AccessGrant> grants;
  for (const DeviceOrdinal by : accessors()) grants.push_back(ReadWrite(by));
  ASSERT_THAT(reservation.SetAccess(Bytes(0), 2 * granule(), grants), IsOk());
  uint8_t byte = 0;
  for (const DeviceOrdinal writer : accessors()) {
    ASSERT_THAT(Fill(first.range(), ++byte, writer), IsOk());
    for (const DeviceOrdinal reader : accessors()) ExpectFilled(second.range(), byte, reader);
  }
}

TEST_P(ReservationTest, LetsTheDriverRefuseAGrant) {
  const Reservation reservation = Reserve(2);
  const Mapping mapping = MapOne(reservation);
  const AccessGrant nobody{Location::Device(DeviceOrdinal(-1)), Access::kRead};
  EXPECT_THAT(reservation.SetAccess(Bytes(0), granule(), {nobody}),
              HasDriverCode(DriverCode::kInvalidValue));
}

TEST_P(ReservationTest, RefusesToGrantBeyondItsEnd) {
  const Reservation reservation = Reserve(2);
  const Mapping mapping = MapOne(reservation);
  const Bytes wrapping = Bytes(0) - granule();
  const std::pair<Bytes, Bytes> places[] = {
      {granule(), 2 * granule()},
      {3 * granule(), granule()},
      {2 * granule(), Bytes(1)},
      {wrapping, granule()},
      {granule(), wrapping},
      {wrapping, 2 * granule()},
      {Bytes(0), 2 * granule() + Bytes(1)},
  };
  for (const auto& [offset, size] : places) {
    const absl::Status status = reservation.SetAccess(offset, size, {ReadWrite()});
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(absl::StrCat(ToString(size), " at offset ", ToString(offset))),
                      HasSubstr(ToString(reservation.range().base))));
  }
  EXPECT_EQ(CountOf(DriverCall::kSetAccess), 1) << "the one of MapOne";
}

TEST_P(ReservationTest, RefusesEverythingOnceClosed) {
  Reservation reservation = Reserve(2);
  const Allocation memory = Allocate();
  ASSERT_THAT(reservation.Close(), IsOk());
  EXPECT_THAT(reservation.SetAccess(Bytes(0), granule(), {ReadWrite()}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(Mapping::Make(reservation, Bytes(0), memory),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(CountOf(DriverCall::kMap), 0);
}

TEST_P(ReservationTest, HoldsNothingOnceMovedFrom) {
  Reservation reservation = Reserve(2);
  const AddressRange range = reservation.range();
  Mapping mapping = MapOne(reservation);
  Reservation moved = std::move(reservation);
  EXPECT_EQ(moved.range(), range);
  EXPECT_FALSE(reservation.is_open());
  EXPECT_THAT(reservation.Close(), IsOk());
  EXPECT_THAT(reservation.SetAccess(Bytes(0), granule(), {ReadWrite()}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(mapping.MoveTo(moved, granule()), IsOk());
}

TEST_P(ReservationTest, IsAsItWasWhenMovedToItself) {
  Reservation reservation = Reserve(2);
  const AddressRange range = reservation.range();
  Reservation& same = reservation;
  reservation = std::move(same);
  EXPECT_EQ(reservation.range(), range);
  EXPECT_EQ(CountOf(DriverCall::kAddressFree), 0);
}

TEST_P(ReservationTest, GivesTheErrorOfAnAssignmentToTheHook) {
  Reservation reservation = Reserve(2);
  const AddressRange lost = reservation.range();
  Fail(DriverCall::kAddressFree);
  reservation = Reservation();
  EXPECT_THAT(TakeDestructorErrors(), ElementsAre(HasDriverCode(DriverCode::kUnknown)));
  EXPECT_FALSE(reservation.is_open());
  EXPECT_THAT(vmm().AddressFree(lost), IsOk());
}

TEST_P(ReservationTest, ClosesTheOldOneWhenAssignedTo) {
  Reservation reservation = Reserve(2);
  Reservation other = Reserve(4);
  const AddressRange range = other.range();
  reservation = std::move(other);
  EXPECT_EQ(CountOf(DriverCall::kAddressFree), 1);
  EXPECT_EQ(reservation.range(), range);
}

INSTANTIATE_TEST_SUITE_P(On, ReservationTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
