// VirtualMemoryPool: the access of devices.

#include <algorithm>

#include "api/testing/forwarding.h"
#include "api/testing/matchers.h"
#include "conformance/allocators/error_matchers.h"
#include "conformance/allocators/pool_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

class PoolGrantTest : public PoolTest {
 protected:
  absl::StatusOr<Access> AccessOf(DeviceOrdinal by, const Pool& pool, uint64_t page) {
    return vmm().GetAccess(Location::Device(by), RangeOf(pool, page).base);
  }
};

TEST_P(PoolGrantTest, GrantsTheMemoryThatIsThereAndThatComesLater) {
  for (const DeviceOrdinal by : accessors()) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(8));
    ASSERT_THAT(pool->Allocate(Pages(0), Pages(2)), IsOk());
    ASSERT_THAT(pool->Grant(by, Access::kReadWrite), IsOk());
    ASSERT_THAT(pool->Allocate(Pages(5), Pages(2)), IsOk());
    for (const uint64_t page : {0, 1, 5, 6}) {
      ASSERT_THAT(Fill(RangeOf(pool, page), page, by), IsOk());
      ExpectFilled(RangeOf(pool, page), page);
    }
  }
}

TEST_P(PoolGrantTest, GrantsWithNothingMapped) {
  for (const DeviceOrdinal by : accessors()) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(4));
    ASSERT_THAT(pool->Grant(by, Access::kRead), IsOk());
    EXPECT_EQ(pool->Stats().calls.set_access, 0);
    ASSERT_THAT(pool->Allocate(Pages(0), Pages(1)), IsOk());
    EXPECT_THAT(AccessOf(by, pool, 0), IsOkAndHolds(Access::kRead));
  }
}

TEST_P(PoolGrantTest, GrantsMemoryFromTheCache) {
  for (const DeviceOrdinal by : accessors()) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(4));
    ASSERT_THAT(pool->Grant(by, Access::kRead), IsOk());
    ASSERT_THAT(pool->Allocate(Pages(0), Pages(2)), IsOk());
    ASSERT_THAT(pool->Deallocate(Pages(0), Pages(2)), IsOk());
    ASSERT_THAT(pool->Allocate(Pages(2), Pages(2)), IsOk());
    ASSERT_EQ(pool->Stats().calls.create, 2);
    EXPECT_THAT(AccessOf(by, pool, 2), IsOkAndHolds(Access::kRead));
    EXPECT_THAT(AccessOf(by, pool, 3), IsOkAndHolds(Access::kRead));
  }
}

TEST_P(PoolGrantTest, GrantsEachContiguousRunByOneCall) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(16));
  for (const uint64_t page : {0, 1, 2, 5, 6, 9}) {
    ASSERT_THAT(pool->Allocate(Pages(page), Pages(1)), IsOk());
  }
  const uint64_t calls = pool->Stats().calls.set_access;
  ASSERT_THAT(pool->Grant(device(), Access::kRead), IsOk());
  EXPECT_EQ(pool->Stats().calls.set_access, calls + 3);
  for (const uint64_t page : {0, 1, 2, 5, 6, 9}) {
    EXPECT_THAT(AccessOf(device(), pool, page), IsOkAndHolds(Access::kRead));
  }
}

TEST_P(PoolGrantTest, TakesAAccess) {
  for (const DeviceOrdinal by : accessors()) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(4));
    ASSERT_THAT(pool->Grant(by, Access::kReadWrite), IsOk());
    ASSERT_THAT(pool->Allocate(Pages(0), Pages(1)), IsOk());
    ASSERT_THAT(pool->Grant(by, Access::kNone), IsOk());
    ASSERT_THAT(pool->Allocate(Pages(1), Pages(1)), IsOk());
    EXPECT_THAT(AccessOf(by, pool, 0), IsOkAndHolds(Access::kNone));
    EXPECT_THAT(AccessOf(by, pool, 1), IsOkAndHolds(Access::kNone));
    for (const DeviceOrdinal other : accessors()) {
      if (other != device() || by == device()) continue;
      EXPECT_THAT(AccessOf(other, pool, 1), IsOkAndHolds(Access::kReadWrite));
    }
  }
}

TEST_P(PoolGrantTest, GivesBackTheAccessOfItsOwnDevice) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(4));
  ASSERT_THAT(pool->Grant(device(), Access::kNone), IsOk());
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(2)), IsOk());
  ASSERT_THAT(pool->Grant(device(), Access::kReadWrite), IsOk());
  EXPECT_THAT(Fill(RangeOf(pool, 0, 2), 3), IsOk());
}

TEST_P(PoolGrantTest, RefusesNoSuchDeviceWithAndWithoutMemory) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(4));
  for (const int no_device : {-1, 99}) {
    EXPECT_THAT(pool->Grant(DeviceOrdinal(no_device), Access::kRead),
                HasDriverCode(DriverCode::kInvalidDevice));
  }
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(2)), IsOk());
  for (const int no_device : {-1, 99}) {
    const absl::Status refused = pool->Grant(DeviceOrdinal(no_device), Access::kNone);
    EXPECT_THAT(refused, HasDriverCode(DriverCode::kInvalidDevice));
    EXPECT_THAT(refused, StatusIs(StatusCode::kNotFound));
  }
  EXPECT_EQ(pool->Stats().calls.set_access, 1);
}

TEST_P(PoolGrantTest, RefusesNoSuchAccess) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(4));
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(2)), IsOk());
  for (const uint32_t no_access : {2, 4, 77}) {
    EXPECT_THAT(pool->Grant(device(), static_cast<Access>(no_access)),
                IsError(StatusCode::kInvalidArgument,
                        HasSubstr("access " + std::to_string(no_access) + " is not none")));
  }
  EXPECT_THAT(AccessOf(device(), pool, 0), IsOkAndHolds(Access::kReadWrite));
}

// Devices that cannot reach each other.
class NoPeersVmm : public ForwardingVmm {
 public:
  using ForwardingVmm::ForwardingVmm;
  absl::StatusOr<bool> CanAccessPeer(DeviceOrdinal, DeviceOrdinal) override { return false; }
};

TEST_P(PoolGrantTest, RefusesADeviceThatCannotReachTheMemory) {
  NoPeersVmm no_peers(&vmm());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool,
                               VirtualMemoryPool::Make(&no_peers, nullptr, Pages(4), Granules()));
  EXPECT_THAT(pool->Grant(DeviceOrdinal(1), Access::kRead),
              IsError(StatusCode::kFailedPrecondition,
                      HasSubstr("device 1 cannot reach memory of device 0")));
  // A device is not its own peer, and reaches its memory all the same.
  EXPECT_THAT(pool->Grant(device(), Access::kRead), IsOk());
}

TEST_P(PoolGrantTest, GrantsMemoryOfTheHostToADevice) {
  PageOptions options = Granules();
  options.properties.location = Location::HostNuma(0);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(4, options));
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(1)), IsOk());
  EXPECT_THAT(AccessOf(device(), pool, 0), IsOkAndHolds(Access::kNone));
  ASSERT_THAT(pool->Grant(device(), Access::kReadWrite), IsOk());
  EXPECT_THAT(Fill(RangeOf(pool, 0), 3), IsOk());
  ExpectFilled(RangeOf(pool, 0), 3);
}

INSTANTIATE_TEST_SUITE_P(On, PoolGrantTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
