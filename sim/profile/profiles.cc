// The machines that have a name.

#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sim/profile/profile.h"

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

Profile InFabricDomain() {
  Profile profile = FabricPermitted();
  profile.fabric_domain = "/dev/shm/twinmmu-fabric";
  return profile;
}

Profile CompressionNotGranted() {
  Profile profile = Reference();
  profile.compression_granted = false;
  return profile;
}

Profile HostMemoryNotPermitted() {
  Profile profile = Reference();
  profile.host_memory_permitted = false;
  return profile;
}

// A machine with these as attributes of each device.
Profile With(Profile profile, std::initializer_list<std::pair<int, int>> attributes) {
  for (DeviceProfile& device : profile.devices) {
    for (const auto& [attribute, value] : attributes) {
      device.attributes[static_cast<DeviceAttribute>(attribute)] = value;
    }
  }
  return profile;
}

// By CUdevice_attribute.
constexpr int kMultiprocessors = 16;
constexpr int kCapabilityMajor = 75;
constexpr int kManagedMemory = 83;
constexpr int kConcurrentManagedAccess = 89;
constexpr int kHostRegister = 99;
constexpr int kRdmaWithVmm = 110;
constexpr int kRdma = 116;
constexpr int kIpcEvents = 125;
constexpr int kFabricHandles = 128;
constexpr int kMulticast = 132;
constexpr int kLocalityDomains = 149;
constexpr int kUnicastEndpoints = 153;
constexpr int kMulticastEndpoints = 154;
constexpr int kCountedEndpointOperations = 155;
constexpr int kEndpointAccessOnOwner = 156;
constexpr int kMultiprocessorsOfDomain = 157;
constexpr int kRdmaWithLocalizedMemory = 161;

// Not measured. What is not published of a B200 is as of an H200.
Profile ReferenceB200() {
  Profile profile = With(Reference(), {{kCapabilityMajor, 10}, {kMultiprocessors, 148}});
  for (DeviceProfile& device : profile.devices) {
    device.name = "NVIDIA B200";
    device.memory = MiB(183359);
  }
  return profile;
}

// Reported of WSL 2 (PyTorch 192330, llama.cpp 29142): memory for GPUDirect RDMA is advertised and
// cannot be granted, a reservation of 32 GiB fails, host memory cannot be registered.
Profile Wsl() {
  Profile profile = With(
      OneDevice(),
      {{kHostRegister, 0}, {kConcurrentManagedAccess, 0}, {kFabricHandles, 0}, {kMulticast, 0}});
  profile.rdma_memory_granted = false;
  profile.devices[0].memory = GiB(16);
  profile.devices[0].memory_in_use = GiB(1);
  profile.window.size = GiB(24);
  return profile;
}

// A process sees one instance, and instances reach none other (Multi-Instance GPU User Guide). Not
// measured.
Profile Mig() {
  Profile profile =
      With(OneDevice(), {{kMultiprocessors, 16}, {kFabricHandles, 0}, {kMulticast, 0}});
  profile.devices[0].name = "NVIDIA H200 MIG 1g.18gb";
  profile.devices[0].memory = MiB(16384);
  profile.devices[0].memory_in_use = MiB(64);
  return profile;
}

// Managed memory is off unless the host's administrator turns it on (Virtual GPU Software User
// Guide); so are IPC and RDMA here. Not measured.
Profile Vgpu() {
  Profile profile = With(OneDevice(), {{kManagedMemory, 0},
                                       {kConcurrentManagedAccess, 0},
                                       {kRdmaWithVmm, 0},
                                       {kRdma, 0},
                                       {kIpcEvents, 0},
                                       {kFabricHandles, 0},
                                       {kMulticast, 0}});
  profile.devices[0].name = "NVIDIA H200X-48C";
  profile.devices[0].memory = GiB(48);
  profile.devices[0].memory_in_use = GiB(1);
  return profile;
}

// The second device is at a node that the machine has, but that holds no memory (NCCL 2106, where
// a driver ended the process).
Profile NumaWithoutMemory() {
  Profile profile = Reference();
  profile.host_nodes.push_back(HostNodeProfile{1, Bytes(0)});
  profile.devices[1].attributes[DeviceAttribute::kHostNumaId] = 1;
  return profile;
}

// As an H100 places reservations, but for the driver's own memory among them, and the distance of
// one area from the next.
Profile ReservationAreas() {
  Profile profile = Reference();
  profile.reservation_area = MiB(32);
  return profile;
}

Profile ExporterInvisible() {
  Profile profile = FabricPermitted();
  profile.exporters_visible = false;
  return profile;
}

Profile MemoryReturnsLate() {
  Profile profile = Reference();
  profile.memory_returns_late = true;
  return profile;
}

Profile MappingsSeenLate() {
  Profile profile = Reference();
  profile.mappings_seen_late = true;
  return profile;
}

// The attributes that the driver of a CUDA version knows: those up to a number, and some of the
// next ones. Source: CUdevice_attribute in the cuda.h of each version.
struct DriverLevel {
  int version;
  int last_attribute;
  int also;  // 0: none
};

// The reference as an older driver sees it.
Profile AtLevel(const DriverLevel& level) {
  Profile profile = Reference();
  profile.driver_version = level.version;
  for (DeviceProfile& device : profile.devices) {
    for (auto at = device.attributes.begin(); at != device.attributes.end();) {
      const int attribute = static_cast<int>(at->first);
      const bool known = attribute <= level.last_attribute || attribute == level.also;
      at = known ? std::next(at) : device.attributes.erase(at);
    }
  }
  return profile;
}

Profile Driver101() { return AtLevel({10010, 101, 0}); }
Profile Driver102() { return AtLevel({10020, 105, 0}); }
Profile Driver110() { return AtLevel({11000, 111, 0}); }
Profile Driver120() { return AtLevel({12000, 127, 129}); }
Profile Driver124() { return AtLevel({12040, 134, 0}); }

// Not measured: machines as a later driver would see them.
Profile AsLater(Profile profile, int version) {
  profile.driver_version = version;
  return profile;
}

Profile Driver131() { return AsLater(Reference(), 13010); }
Profile Driver132() { return AsLater(Reference(), 13020); }

// H200s have no logical endpoints, B200s do. What of them a kernel would use is not modelled: that
// there are counted operations, and access on the owner, is not told.
Profile Driver133() {
  return With(AsLater(ReferenceB200(), 13030), {{kUnicastEndpoints, 1},
                                                {kMulticastEndpoints, 1},
                                                {kCountedEndpointOperations, 0},
                                                {kEndpointAccessOnOwner, 0}});
}

// The numbers of domains and of their multiprocessors are as somebody reported of a B200. What RDMA
// can do with their memory is not known: as little as there may be.
Profile Driver134() {
  return With(
      AsLater(Driver133(), 13040),
      {{kLocalityDomains, 2}, {kMultiprocessorsOfDomain, 70}, {kRdmaWithLocalizedMemory, 0}});
}

}  // namespace

absl::Span<const NamedProfile> NamedProfiles() {
  static constexpr NamedProfile kProfiles[] = {
      {"reference", "two H200s with driver 580.159, each a peer of the other", Reference},
      {"strict", "the reference, but it follows the documentation", Strict},
      {"small-address-space", "39-bit device addresses, 16 GiB of memory", SmallAddressSpace},
      {"full-address-space", "the reference with all 47-bit addresses, as numbers",
       FullAddressSpace},
      {"granularities", "minimum 64 KiB, recommended 2 MiB, reservations in steps of 16 KiB",
       Granularities},
      {"no-vmm", "devices without virtual memory management", NoVmm},
      {"fabric-not-permitted", "fabric handles advertised but not permitted: the reference",
       Reference},
      {"fabric-permitted", "the reference, with fabric handles permitted", FabricPermitted},
      {"fabric-domain",
       "the same, also between processes if /dev/shm/twinmmu-fabric/channel0 exists",
       InFabricDomain},
      {"compression-not-granted", "compression advertised but never granted",
       CompressionNotGranted},
      {"host-memory-not-permitted",
       "host memory advertised but not permitted, as in some containers", HostMemoryNotPermitted},
      {"reservation-areas", "reservations of less than 32 MiB lie in areas of their own",
       ReservationAreas},
      {"one-device", "one device of the reference", OneDevice},
      {"eight-devices", "eight devices, each a peer of every other", EightDevices},
      {"no-peers", "two devices that cannot reach each other's memory", NoPeers},
      {"reference-b200", "two B200s, declared and not measured: compute capability 10.0",
       ReferenceB200},
      {"wsl", "one device with a small address space; RDMA memory is never granted", Wsl},
      {"mig", "one instance of a device that is divided, without peers", Mig},
      {"vgpu", "one virtual device, without managed memory, IPC and RDMA", Vgpu},
      {"numa-without-memory", "the second device is at a NUMA node that holds no memory",
       NumaWithoutMemory},
      {"exporter-invisible", "what other processes export is of devices that this one cannot see",
       ExporterInvisible},
      {"memory-returns-late", "what is freed counts as in use until the program waits for its work",
       MemoryReturnsLate},
      {"mappings-seen-late",
       "devices see zeros in a new mapping until the program waits for its work", MappingsSeenLate},
      {"driver-10.1", "the reference with the last driver without virtual memory management",
       Driver101},
      {"driver-10.2", "with the first driver that has it", Driver102},
      {"driver-11.0", "with the first driver that retains a handle by its address", Driver110},
      {"driver-12.0", "with a CUDA 12.0 driver", Driver120},
      {"driver-12.4", "with the first driver that has fabric handles", Driver124},
      {"driver-13.0", "with a CUDA 13.0 driver: the reference", Reference},
      {"driver-13.1", "with a CUDA 13.1 driver: not measured", Driver131},
      {"driver-13.2", "with a CUDA 13.2 driver: not measured", Driver132},
      {"driver-13.3",
       "two B200s with a CUDA 13.3 driver, which has logical endpoints: not measured", Driver133},
      {"driver-13.4",
       "two B200s with a CUDA 13.4 driver, each of two locality domains: not measured", Driver134},
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
