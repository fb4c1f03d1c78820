// The machines that have a name.

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sim/profile.h"

namespace twinmmu {
namespace {

Profile Reference() { return Profile::ReferenceH200(2); }
Profile OneDevice() { return Profile::ReferenceH200(1); }
Profile EightDevices() { return Profile::ReferenceH200(8); }

Profile NoPeers() {
  Profile profile = Reference();
  profile.peers = {{false, false}, {false, false}};
  return profile;
}

// The documentation lets reserve host pages, and those are then the pages of the MMU.
Profile Strict() {
  Profile profile = Reference();
  for (const QuirkInfo& quirk : AllQuirks()) profile.quirks.*quirk.field = false;
  profile.reservation_granularity = KiB(4);
  profile.window.size = TiB(2);
  return profile;
}

// The host cannot be told to place a window so low: addresses are numbers.
Profile SmallAddressSpace() {
  Profile profile = Reference();
  profile.address_bits = 39;
  profile.window = WindowProfile{false, DeviceAddress(GiB(64).value()), GiB(256)};
  for (DeviceProfile& device : profile.devices) {
    device.memory = GiB(16);
    device.memory_in_use = MiB(512);
  }
  return profile;
}

// All that 47 bits can name. The process itself lives among those addresses, so that they cannot be
// claimed, and are numbers.
Profile FullAddressSpace() {
  Profile profile = Reference();
  profile.window = WindowProfile{false, DeviceAddress(MiB(2).value()), TiB(128) - MiB(4)};
  return profile;
}

Profile Granularities() {
  Profile profile = Reference();
  profile.minimum_granularity = KiB(64);
  profile.recommended_granularity = MiB(2);
  profile.reservation_granularity = KiB(16);
  profile.window.size = TiB(8);
  return profile;
}

// Everything that rests on virtual memory management is absent with it.
Profile NoVmm() {
  Profile profile = Reference();
  for (DeviceProfile& device : profile.devices) {
    for (const DeviceAttribute capability :
         {DeviceAttribute::kVirtualMemoryManagementSupported,
          DeviceAttribute::kHandleTypePosixFileDescriptorSupported,
          DeviceAttribute::kGenericCompressionSupported,
          DeviceAttribute::kGpuDirectRdmaWithCudaVmmSupported,
          DeviceAttribute::kHandleTypeFabricSupported, DeviceAttribute::kMulticastSupported,
          DeviceAttribute::kHostNumaVirtualMemoryManagementSupported,
          DeviceAttribute::kHostVirtualMemoryManagementSupported}) {
      device.attributes[capability] = 0;
    }
  }
  return profile;
}

Profile FabricPermitted() {
  Profile profile = Reference();
  profile.fabric_permitted = true;
  return profile;
}

}  // namespace

absl::Span<const NamedProfile> NamedProfiles() {
  static constexpr NamedProfile kProfiles[] = {
      {"reference", "two H200 under driver 580.159, each a peer of the other", Reference},
      {"strict", "the reference, but it keeps to the documentation", Strict},
      {"small-address-space", "39 bits of device addresses, 16 GiB of memory", SmallAddressSpace},
      {"full-address-space", "the reference with all addresses of 47 bits, as numbers",
       FullAddressSpace},
      {"granularities", "minimum 64 KiB, recommended 2 MiB, reservations of 16 KiB", Granularities},
      {"no-vmm", "devices without virtual memory management", NoVmm},
      {"fabric-not-permitted", "fabric handles advertised and not permitted: the reference",
       Reference},
      {"fabric-permitted", "the reference, where fabric handles can be made", FabricPermitted},
      {"one-device", "one device of the reference", OneDevice},
      {"eight-devices", "eight devices, each a peer of every other", EightDevices},
      {"no-peers", "two devices that cannot reach each other's memory", NoPeers},
  };
  return kProfiles;
}

absl::StatusOr<Profile> Profile::Named(absl::string_view name) {
  for (const NamedProfile& known : NamedProfiles()) {
    if (name == known.name) return known.make();
  }
  const auto append_name = [](std::string* out, const NamedProfile& known) { *out += known.name; };
  return absl::NotFoundError(absl::StrCat("there is no profile \"", name, "\"; there are ",
                                          absl::StrJoin(NamedProfiles(), ", ", append_name)));
}

}  // namespace twinmmu
