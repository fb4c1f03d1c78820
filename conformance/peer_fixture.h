// PeerTest: the fixture of tests about two devices that reach each other's memory.

#ifndef TWINMMU_CONFORMANCE_PEER_FIXTURE_H_
#define TWINMMU_CONFORMANCE_PEER_FIXTURE_H_

#include "conformance/fixtures.h"

namespace twinmmu::conformance {

// Two granules of device 0 and two of device 1, side by side in one reservation. No rights. Where
// the devices do not reach each other's memory, that is asserted, and nothing else.
class PeerTest : public TwoDevicesTest {
 protected:
  void SetUp() override;

  const AddressRange& all() const { return all_; }
  AddressRange own_memory() const { return all_.subrange(Bytes(0), 2 * granule()); }
  AddressRange peer_memory() const { return all_.subrange(2 * granule(), 2 * granule()); }

  // A right of each device.
  absl::Status GrantBoth(const AddressRange& range, Access own, Access peers);
  void ExpectAccess(const AddressRange& range, Access own, Access peers);

 private:
  void MapMemory();
  void ExpectNoGrant(DeviceOrdinal from, const AddressRange& memory);

  AddressRange all_;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_PEER_FIXTURE_H_
