// What no implementation shows of PagedReservation: the calls it makes, their order, and what it
// makes of their errors. conformance/allocators has the rest, by way of the pool and the buffers.

#include "api/allocators/paged_reservation.h"

#include <memory>
#include <optional>
#include <string>

#include "api/testing/matchers.h"
#include "api/testing/mock_executor.h"
#include "api/testing/mock_vmm.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using testing::_;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::InSequence;
using testing::Return;

constexpr Bytes kPage = MiB(2);
constexpr AddressRange kAll{DeviceAddress(0x10000000000), 8 * kPage, Bytes(0)};
constexpr AccessGrant kOwner{Location::Device(DeviceOrdinal(0)), Access::kReadWrite};

AddressRange At(uint64_t first, uint64_t count) {
  return kAll.subrange(first * kPage, count * kPage);
}

absl::Status Refused(const char* call) {
  return MakeDriverStatus({DriverCode::kNotPermitted, ErrorOrigin::kDriver, call}, "refused");
}
MATCHER_P(WasRefusedBy, call, "") {
  const std::optional<DriverError> error = GetDriverError(arg);
  return error.has_value() && error->code == DriverCode::kNotPermitted && error->call == call;
}

// A reservation of 8 pages without a cache. Allocations have the handles 1, 2, 3, ...
class PagedReservationTest : public testing::Test {
 protected:
  PagedReservationTest() {
    ON_CALL(vmm_, GetAllocationGranularity).WillByDefault(Return(kPage));
    ON_CALL(vmm_, AddressReserve(_, _)).WillByDefault(Return(kAll));
    ON_CALL(vmm_, AddressFree).WillByDefault(Return(absl::OkStatus()));
    ON_CALL(vmm_, Create(_, _, _)).WillByDefault([&](auto...) {
      return AllocationHandle(++last_handle_);
    });
    ON_CALL(vmm_, Release).WillByDefault(Return(absl::OkStatus()));
    ON_CALL(vmm_, Map(_, _, _, _)).WillByDefault(Return(absl::OkStatus()));
    ON_CALL(vmm_, Unmap).WillByDefault(Return(absl::OkStatus()));
    ON_CALL(vmm_, SetAccess).WillByDefault(Return(absl::OkStatus()));
    ON_CALL(vmm_, CanAccessPeer).WillByDefault(Return(true));
    pages_ = PagedReservation::Make(&vmm_, nullptr, kAll.size, PageOptions()).value();
  }

  MockVmm& vmm() { return vmm_; }
  PagedReservation& pages() { return *pages_; }

  void ExpectMap(uint64_t page, uint64_t handle, absl::Status answer = absl::OkStatus()) {
    EXPECT_CALL(vmm_, Map(At(page, 1), AllocationHandle(handle), Bytes(0), 0))
        .WillOnce(Return(answer));
  }
  void ExpectUnmap(uint64_t first, uint64_t count, absl::Status answer = absl::OkStatus()) {
    EXPECT_CALL(vmm_, Unmap(At(first, count))).WillOnce(Return(answer));
  }
  void ExpectSetAccess(uint64_t first, uint64_t count, const AccessGrant& grant,
                       absl::Status answer = absl::OkStatus()) {
    EXPECT_CALL(vmm_, SetAccess(At(first, count), ElementsAre(grant))).WillOnce(Return(answer));
  }
  void ExpectRelease(uint64_t handle, absl::Status answer = absl::OkStatus()) {
    EXPECT_CALL(vmm_, Release(AllocationHandle(handle))).WillOnce(Return(answer));
  }
  // The expectations so far are met; what follows is answered as in the beginning.
  void Verify() { testing::Mock::VerifyAndClearExpectations(&vmm_); }

 private:
  testing::NiceMock<MockVmm> vmm_;
  uint64_t last_handle_ = 0;
  std::unique_ptr<PagedReservation> pages_;
};

TEST_F(PagedReservationTest, UndoesACommitInReverse) {
  const InSequence in_order;
  EXPECT_CALL(vmm(), Create(kPage, AllocationProperties(), 0)).Times(3);
  ExpectMap(2, 1);
  ExpectMap(3, 2);
  ExpectMap(4, 3);
  ExpectSetAccess(2, 3, kOwner, Refused("cuMemSetAccess"));
  ExpectUnmap(2, 3);
  ExpectRelease(1);
  ExpectRelease(2);
  ExpectRelease(3);
  const absl::Status status = pages().Commit({2, 3});
  EXPECT_THAT(status, WasRefusedBy("cuMemSetAccess"));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("no access to [0x"), HasSubstr(": refused")));
  EXPECT_EQ(pages().physical_memory(), Bytes(0));
  EXPECT_EQ(pages().stats().peak, Bytes(0));
}

TEST_F(PagedReservationTest, UnmapsOnlyWhatItMapped) {
  const InSequence in_order;
  ExpectMap(2, 1);
  ExpectMap(3, 2, Refused("cuMemMap"));
  ExpectUnmap(2, 1);
  ExpectRelease(1);
  ExpectRelease(2);
  ExpectRelease(3);
  const absl::Status status = pages().Commit({2, 3});
  EXPECT_THAT(status, WasRefusedBy("cuMemMap"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("page 2 of 3"));
}

TEST_F(PagedReservationTest, TakesBackAllRunsOfACommit) {
  ASSERT_THAT(pages().Commit({3, 1}), IsOk());
  const InSequence in_order;
  ExpectMap(2, 2);
  ExpectSetAccess(2, 1, kOwner);
  ExpectMap(4, 3);
  ExpectSetAccess(4, 1, kOwner, Refused("cuMemSetAccess"));
  ExpectUnmap(2, 1);
  ExpectUnmap(4, 1);
  EXPECT_THAT(pages().Commit({2, 3}), WasRefusedBy("cuMemSetAccess"));
  Verify();
  EXPECT_TRUE(pages().AllInUse({3, 1}));
}

TEST_F(PagedReservationTest, ReleasesNoPageThatIsStillMapped) {
  ExpectMap(0, 1);
  ExpectMap(1, 2, Refused("cuMemMap"));
  ExpectUnmap(0, 1, Refused("cuMemUnmap"));
  ExpectRelease(2);
  EXPECT_CALL(vmm(), Release(AllocationHandle(1))).Times(0);
  EXPECT_THAT(pages().Commit({0, 2}), WasRefusedBy("cuMemMap"));
  Verify();
  EXPECT_EQ(pages().stats().leaving, kPage);
  EXPECT_EQ(pages().stats().in_use, Bytes(0));

  ExpectUnmap(0, 1, Refused("cuMemUnmap"));
  EXPECT_THAT(pages().Commit({0, 1}), WasRefusedBy("cuMemUnmap"));
  Verify();
  ExpectUnmap(0, 1);
  ExpectRelease(1);
  pages().CollectFinished();
  EXPECT_EQ(pages().physical_memory(), Bytes(0));
}

TEST_F(PagedReservationTest, MapsAgainWhatItUnmappedBeforeARefusal) {
  ASSERT_THAT(pages().Commit({0, 1}), IsOk());
  ASSERT_THAT(pages().Commit({2, 2}), IsOk());
  const InSequence in_order;
  ExpectUnmap(0, 1);
  ExpectUnmap(2, 2, Refused("cuMemUnmap"));
  ExpectMap(0, 1);
  ExpectSetAccess(0, 1, kOwner);
  const absl::Status status = pages().Decommit({0, 8}, {});
  EXPECT_THAT(status, WasRefusedBy("cuMemUnmap"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("could not be given back"));
  Verify();
  EXPECT_EQ(pages().stats().in_use, 3 * kPage);
  EXPECT_EQ(pages().stats().decommits, 0);
}

TEST_F(PagedReservationTest, SaysWhatIsLostWhenItCannotBeMappedAgain) {
  ASSERT_THAT(pages().Commit({0, 2}), IsOk());
  ASSERT_THAT(pages().Commit({3, 1}), IsOk());
  ExpectUnmap(0, 2);
  ExpectUnmap(3, 1, Refused("cuMemUnmap"));
  ExpectMap(0, 1);
  ExpectMap(1, 2, Refused("cuMemMap"));
  ExpectUnmap(0, 1);
  ExpectRelease(1);
  ExpectRelease(2);
  const absl::Status status = pages().Decommit({0, 8}, {});
  EXPECT_THAT(status, WasRefusedBy("cuMemUnmap"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("is lost"));
  Verify();
  EXPECT_EQ(pages().stats().in_use, kPage);
  EXPECT_EQ(pages().physical_memory(), kPage);
}

TEST_F(PagedReservationTest, KeepsWhatIsHalfMappedAgainUntilItCanBeTaken) {
  ASSERT_THAT(pages().Commit({0, 2}), IsOk());
  ASSERT_THAT(pages().Commit({3, 1}), IsOk());
  EXPECT_CALL(vmm(), Unmap(At(0, 2))).WillOnce(Return(absl::OkStatus()));
  ExpectUnmap(3, 1, Refused("cuMemUnmap"));
  ExpectMap(0, 1);
  ExpectMap(1, 2, Refused("cuMemMap"));
  ExpectUnmap(0, 1, Refused("cuMemUnmap"));
  ExpectRelease(2);
  EXPECT_THAT(pages().Decommit({0, 8}, {}), WasRefusedBy("cuMemUnmap"));
  Verify();
  EXPECT_EQ(pages().stats().in_use, kPage);
  EXPECT_EQ(pages().stats().leaving, kPage);
  ExpectUnmap(0, 1);
  ExpectRelease(1);
  pages().CollectFinished();
  Verify();
  EXPECT_EQ(pages().stats().leaving, Bytes(0));
}

TEST_F(PagedReservationTest, GivesBackTheFormerAccessWhenAGrantIsRefused) {
  const DeviceOrdinal other(1);
  const AccessGrant read{Location::Device(other), Access::kRead};
  ASSERT_THAT(pages().Commit({0, 1}), IsOk());
  ASSERT_THAT(pages().Commit({2, 1}), IsOk());
  ASSERT_THAT(pages().Grant(other, Access::kRead), IsOk());
  const AccessGrant write{Location::Device(other), Access::kReadWrite};
  const InSequence in_order;
  ExpectSetAccess(0, 1, write);
  ExpectSetAccess(2, 1, write, Refused("cuMemSetAccess"));
  ExpectSetAccess(0, 1, read);
  const absl::Status status = pages().Grant(other, Access::kReadWrite);
  EXPECT_THAT(status, WasRefusedBy("cuMemSetAccess"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("no read-write for device 1: refused"));
  // What comes later has the former access as well.
  EXPECT_CALL(vmm(), SetAccess(At(4, 1), ElementsAre(kOwner, read)));
  EXPECT_THAT(pages().Commit({4, 1}), IsOk());
}

TEST_F(PagedReservationTest, SaysSoWhenTheFormerAccessCannotBeGivenBack) {
  ASSERT_THAT(pages().Commit({0, 1}), IsOk());
  ASSERT_THAT(pages().Commit({2, 1}), IsOk());
  const AccessGrant read{kOwner.location, Access::kRead};
  ExpectSetAccess(0, 1, read);
  ExpectSetAccess(2, 1, read, Refused("cuMemSetAccess"));
  ExpectSetAccess(0, 1, kOwner, Refused("cuMemSetAccess"));
  EXPECT_THAT(std::string(pages().Grant(DeviceOrdinal(0), Access::kRead).message()),
              HasSubstr("part of the memory has the new access"));
}

TEST_F(PagedReservationTest, GrantsNobodyAnything) {
  ASSERT_THAT(pages().Grant(DeviceOrdinal(0), Access::kNone), IsOk());
  EXPECT_CALL(vmm(), SetAccess).Times(0);
  EXPECT_THAT(pages().Commit({0, 2}), IsOk());
}

// --- Pages that are asked for again while they leave -------------------------------------------

class LeavingPagesTest : public PagedReservationTest {
 protected:
  static constexpr Stream kFirst{DeviceOrdinal(0), 10};
  static constexpr Stream kSecond{DeviceOrdinal(0), 11};
  static constexpr Event kAfterFirst{DeviceOrdinal(0), 20};
  static constexpr Event kAfterSecond{DeviceOrdinal(0), 21};

  LeavingPagesTest() {
    EXPECT_CALL(executor_, CreateEvent(_))
        .WillOnce(Return(kAfterFirst))
        .WillRepeatedly(Return(kAfterSecond));
    ON_CALL(executor_, RecordEvent).WillByDefault(Return(absl::OkStatus()));
    ON_CALL(executor_, SynchronizeEvent).WillByDefault(Return(absl::OkStatus()));
    kept_ = PagedReservation::Make(&vmm(), &executor_, kAll.size, PageOptions()).value();
  }
  PagedReservation& kept() { return *kept_; }
  void SetOver(Event event, bool over) {
    ON_CALL(executor_, QueryEvent(event)).WillByDefault(Return(over));
  }

 private:
  testing::NiceMock<MockExecutor> executor_;
  std::unique_ptr<PagedReservation> kept_;
};

TEST_F(LeavingPagesTest, StayWhenTheyWereAskedForAgain) {
  ASSERT_THAT(kept().Commit({0, 4}), IsOk());
  ASSERT_THAT(kept().Decommit({0, 4}, {kFirst}), IsOk());
  EXPECT_EQ(kept().stats().in_use, Bytes(0));
  ASSERT_THAT(kept().Commit({1, 2}), IsOk());
  EXPECT_EQ(kept().stats().in_use, 2 * kPage);
  SetOver(kAfterFirst, true);
  ExpectUnmap(0, 1);
  ExpectUnmap(3, 1);
  kept().CollectFinished();
  Verify();
  EXPECT_TRUE(kept().AllInUse({1, 2}));
  EXPECT_EQ(kept().physical_memory(), 2 * kPage);
}

TEST_F(LeavingPagesTest, LeaveASecondTimeAfterTheirSecondWork) {
  ASSERT_THAT(kept().Commit({0, 2}), IsOk());
  ASSERT_THAT(kept().Decommit({0, 2}, {kFirst}), IsOk());
  ASSERT_THAT(kept().Commit({0, 2}), IsOk());
  ASSERT_THAT(kept().Decommit({0, 2}, {kSecond}), IsOk());
  SetOver(kAfterFirst, true);
  SetOver(kAfterSecond, false);
  EXPECT_CALL(vmm(), Unmap).Times(0);
  kept().CollectFinished();
  Verify();
  EXPECT_EQ(kept().stats().leaving, 2 * kPage);

  SetOver(kAfterSecond, true);
  ExpectUnmap(0, 2);
  kept().CollectFinished();
  Verify();
  EXPECT_EQ(kept().physical_memory(), Bytes(0));
}

TEST_F(LeavingPagesTest, GoAtOnceWhereNothingIsNamed) {
  ASSERT_THAT(kept().Commit({0, 2}), IsOk());
  ASSERT_THAT(kept().Decommit({0, 2}, {kFirst}), IsOk());
  ASSERT_THAT(kept().Commit({0, 2}), IsOk());
  ExpectUnmap(0, 2);
  ASSERT_THAT(kept().Decommit({0, 2}, {}), IsOk());
  Verify();
  // Others may be there when the first work is over.
  ASSERT_THAT(kept().Commit({0, 2}), IsOk());
  SetOver(kAfterFirst, true);
  EXPECT_CALL(vmm(), Unmap).Times(0);
  kept().CollectFinished();
  Verify();
  EXPECT_TRUE(kept().AllInUse({0, 2}));
}

TEST_F(LeavingPagesTest, LeaveOnce) {
  ASSERT_THAT(kept().Commit({0, 3}), IsOk());
  ASSERT_THAT(kept().Decommit({1, 1}, {kFirst}), IsOk());
  ASSERT_THAT(kept().Decommit({0, 3}, {kSecond}), IsOk());
  EXPECT_EQ(kept().stats().in_use, Bytes(0));
  EXPECT_EQ(kept().stats().leaving, 3 * kPage);
  SetOver(kAfterFirst, true);
  SetOver(kAfterSecond, false);
  ExpectUnmap(1, 1);
  kept().CollectFinished();
  Verify();
  EXPECT_EQ(kept().stats().leaving, 2 * kPage);
}

}  // namespace
}  // namespace twinmmu
