#include "conformance/peer_fixture.h"

#include <string>
#include <utility>
#include <vector>

namespace twinmmu::conformance {

using ::testing::AnyOf;

void PeerTest::SetUp() {
  TwoDevicesTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  ASSERT_NO_FATAL_FAILURE(MapMemory());
  for (const auto& [from, to] : {std::pair(device(), peer()), std::pair(peer(), device())}) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const bool reaches, vmm().CanAccessPeer(from, to));
    if (reaches) continue;
    ExpectNoGrant(from, to == peer() ? peer_memory() : own_memory());
    RecordUnsupported("the devices do not reach each other's memory");
    GTEST_SKIP() << from << " cannot access the memory of " << to;
  }
}

void PeerTest::MapMemory() {
  TWINMMU_ASSERT_OK_AND_ASSIGN(all_, vmm().AddressReserve(4 * granule()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle own,
                               vmm().Create(2 * granule(), properties()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle peers,
                               vmm().Create(2 * granule(), properties(there())));
  ASSERT_THAT(vmm().Map(own_memory(), own), IsOk());
  ASSERT_THAT(vmm().Map(peer_memory(), peers), IsOk());
}

// Which code it is nobody has seen yet.
void PeerTest::ExpectNoGrant(DeviceOrdinal from, const AddressRange& memory) {
  const std::vector<std::string> before = StateOf(all());
  EXPECT_THAT(
      Grant(memory, Access::kRead, Location::Device(from)),
      AnyOf(HasDriverCode(DriverCode::kInvalidDevice), HasDriverCode(DriverCode::kInvalidValue),
            HasDriverCode(DriverCode::kNotSupported)));
  EXPECT_EQ(StateOf(all()), before) << "a refused call must change nothing";
}

absl::Status PeerTest::GrantBoth(const AddressRange& range, Access own, Access peers) {
  const AccessGrant grants[] = {{here(), own}, {there(), peers}};
  return vmm().SetAccess(range, grants);
}

void PeerTest::ExpectAccess(const AddressRange& range, Access own, Access peers) {
  EXPECT_THAT(vmm().GetAccess(here(), range.base), IsOkAndHolds(own));
  EXPECT_THAT(vmm().GetAccess(there(), range.base), IsOkAndHolds(peers));
}

}  // namespace twinmmu::conformance
