#include "sim/profile.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "sim/page_table.h"

namespace twinmmu {
namespace {

// The thread sanitizer leaves the program less than 2 TiB of address space: no room for a window.
#if defined(__SANITIZE_THREAD__)
constexpr bool kRoomForWindow = false;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool kRoomForWindow = false;
#else
constexpr bool kRoomForWindow = true;
#endif
#else
constexpr bool kRoomForWindow = true;
#endif

// The number of the attribute that api/attributes.h has no name for.
constexpr DeviceAttribute Numbered(int number) { return static_cast<DeviceAttribute>(number); }

DeviceProfile H200() {
  DeviceProfile device;
  device.name = "NVIDIA H200";
  device.memory = Bytes(150109880320);
  device.memory_in_use = Bytes(150109880320 - 149557477376);
  device.memory_kept_back = MiB(2);
  device.attributes = {
      {DeviceAttribute::kUnifiedAddressing, 1},
      {DeviceAttribute::kComputeCapabilityMajor, 9},
      {DeviceAttribute::kComputeCapabilityMinor, 0},
      {DeviceAttribute::kVirtualMemoryManagementSupported, 1},
      {DeviceAttribute::kHandleTypePosixFileDescriptorSupported, 1},
      {DeviceAttribute::kHandleTypeWin32Supported, 0},
      {DeviceAttribute::kHandleTypeWin32KmtSupported, 0},
      {DeviceAttribute::kGenericCompressionSupported, 1},
      {DeviceAttribute::kGpuDirectRdmaWithCudaVmmSupported, 1},
      {Numbered(115), 1},    // memory pools
      {Numbered(116), 1},    // GPUDirect RDMA
      {Numbered(117), 1},    // GPUDirect RDMA, flush
      {Numbered(118), 100},  // GPUDirect RDMA, ordering of writes
      {Numbered(119), 9},    // handle types of memory pools
      {DeviceAttribute::kDmaBufSupported, 1},
      {DeviceAttribute::kHandleTypeFabricSupported, 1},
      {DeviceAttribute::kMulticastSupported, 1},
      {DeviceAttribute::kHostNumaId, 0},
      {DeviceAttribute::kHostNumaVirtualMemoryManagementSupported, 1},
      {Numbered(142), 1},  // memory pools on a host NUMA node
      {DeviceAttribute::kHostNumaMultinodeIpcSupported, 0},
      {Numbered(144), 1},  // memory pools on the host
      {DeviceAttribute::kHostVirtualMemoryManagementSupported, 1},
      {Numbered(146), 0},
      {Numbered(147), 0},
  };
  return device;
}

template <typename... Parts>
absl::Status Wrong(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("profile: ", parts...));
}

absl::Status ValidateGranularities(const Profile& profile) {
  const Bytes host_page = KiB(4);
  for (const Bytes granularity : {profile.minimum_granularity, profile.recommended_granularity,
                                  profile.reservation_granularity}) {
    if (!IsPowerOfTwo(granularity) || granularity < host_page) {
      return Wrong("granularity ", ToString(granularity), " is not a power of two of at least ",
                   ToString(host_page));
    }
  }
  if (profile.recommended_granularity < profile.minimum_granularity) {
    return Wrong("the recommended granularity ", ToString(profile.recommended_granularity),
                 " is less than the minimum ", ToString(profile.minimum_granularity));
  }
  return absl::OkStatus();
}

absl::Status ValidateWindow(const Profile& profile) {
  const WindowProfile& window = profile.window;
  const Bytes granularity = std::max(profile.minimum_granularity, profile.reservation_granularity);
  if (profile.address_bits < 32 || profile.address_bits > 57) {
    return Wrong("address_bits ", profile.address_bits, " is not in 32 .. 57");
  }
  if (window.size == Bytes(0) || window.size % granularity != Bytes(0)) {
    return Wrong("the window's size ", ToString(window.size), " is not a multiple of ",
                 ToString(granularity));
  }
  // Page numbers are stored in 32 bits.
  if (window.size / profile.page_size() >= PageEntry::kMaxIndex) {
    return Wrong("the window of ", ToString(window.size), " has too many pages of ",
                 ToString(profile.page_size()));
  }
  const bool base_fits =
      window.base != DeviceAddress(0) && window.base.IsAligned(granularity) &&
      AddressRange{window.base, window.size, Bytes(0)}.end() <= profile.address_end();
  if (!window.claimed && !base_fits) {
    return Wrong("the window's base ", ToString(window.base), " is 0, is not a multiple of ",
                 ToString(granularity), ", or leaves the window beyond 2^", profile.address_bits);
  }
  return absl::OkStatus();
}

absl::Status ValidateDevices(const Profile& profile) {
  const size_t count = profile.devices.size();
  // One location is the host.
  if (count > PageEntry::kMaxLocations - 1) {
    return Wrong(count, " devices are more than ", PageEntry::kMaxLocations - 1);
  }
  for (size_t i = 0; i < count; ++i) {
    const DeviceProfile& device = profile.devices[i];
    if (device.memory_in_use > device.memory ||
        device.memory_kept_back > device.memory - device.memory_in_use) {
      return Wrong("device ", i, " has ", ToString(device.memory), " of memory, but ",
                   ToString(device.memory_in_use), " in use and ",
                   ToString(device.memory_kept_back), " kept back");
    }
    if (device.memory / profile.page_size() >= PageEntry::kMaxIndex) {
      return Wrong("device ", i, " has too many pages");
    }
  }
  const bool square =
      profile.peers.size() == count &&
      std::all_of(profile.peers.begin(), profile.peers.end(),
                  [=](const std::vector<bool>& row) { return row.size() == count; });
  if (!square) return Wrong("the peer matrix is not ", count, " by ", count);
  return absl::OkStatus();
}

absl::Status ValidateHost(const Profile& profile) {
  std::set<int> seen;
  for (const HostNodeProfile& node : profile.host_nodes) {
    if (node.node < 0 || !seen.insert(node.node).second) {
      return Wrong("host NUMA node ", node.node, " is negative or there twice");
    }
    if (node.memory / profile.page_size() >= PageEntry::kMaxIndex) {
      return Wrong("host NUMA node ", node.node, " has too many pages");
    }
  }
  return absl::OkStatus();
}

}  // namespace

Profile Profile::ReferenceH200(int devices) {
  const size_t count = static_cast<size_t>(std::max(devices, 0));
  Profile profile;
  profile.driver_version = 13000;
  profile.devices.assign(count, H200());
  profile.peers.assign(count, std::vector<bool>(count, true));
  profile.host_nodes = {HostNodeProfile{0, TiB(1)}};
  profile.minimum_granularity = MiB(2);
  profile.recommended_granularity = MiB(2);
  profile.reservation_granularity = MiB(2);
  profile.address_bits = 47;
  profile.window = WindowProfile{kRoomForWindow, DeviceAddress(TiB(16).value()), TiB(16)};
  return profile;
}

Bytes Profile::page_size() const { return std::min(minimum_granularity, reservation_granularity); }

absl::Status Profile::Validate() const {
  absl::Status status = ValidateGranularities(*this);
  if (status.ok()) status = ValidateWindow(*this);
  if (status.ok()) status = ValidateDevices(*this);
  if (status.ok()) status = ValidateHost(*this);
  return status;
}

}  // namespace twinmmu
