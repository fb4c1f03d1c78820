// Devices: counting, naming, asking what they can do.

#include <mutex>
#include <string>

#include "sim/base/errors.h"
#include "sim/calls/vmm/simulated_vmm.h"

namespace twinmmu {

absl::Status SimulatedVmm::CheckDevice(const char* call, DeviceOrdinal device) const {
  if (mmu_.HasDevice(device)) return absl::OkStatus();
  return Fail(DriverCode::kInvalidDevice, call, ToString(device),
              " does not exist: the machine has ", mmu_.profile.device_count(), " device(s)");
}

absl::StatusOr<int> SimulatedVmm::DoGetDeviceCount() { return mmu_.profile.device_count(); }

absl::StatusOr<std::string> SimulatedVmm::DoGetDeviceName(DeviceOrdinal device) {
  const absl::Status known = CheckDevice("cuDeviceGetName", device);
  if (!known.ok()) return known;
  return mmu_.profile.devices[device.value()].name;
}

absl::StatusOr<int> SimulatedVmm::DoGetDeviceAttribute(DeviceAttribute attribute,
                                                       DeviceOrdinal device) {
  static constexpr char kCall[] = "cuDeviceGetAttribute";
  const absl::Status known = CheckDevice(kCall, device);
  if (!known.ok()) return known;
  const auto& attributes = mmu_.profile.devices[device.value()].attributes;
  const auto found = attributes.find(attribute);
  if (found == attributes.end()) {
    return InvalidValue(kCall, "there is no device attribute ", static_cast<int>(attribute));
  }
  return found->second;
}

absl::StatusOr<bool> SimulatedVmm::DoCanAccessPeer(DeviceOrdinal device, DeviceOrdinal peer) {
  static constexpr char kCall[] = "cuDeviceCanAccessPeer";
  absl::Status known = CheckDevice(kCall, device);
  if (known.ok()) known = CheckDevice(kCall, peer);
  if (!known.ok()) return known;
  return device != peer && mmu_.profile.peers[device.value()][peer.value()];
}

absl::StatusOr<MemoryInfo> SimulatedVmm::DoGetMemoryInfo(DeviceOrdinal device) {
  static constexpr char kCall[] = "cuMemGetInfo";
  absl::Status usable = CheckDevice(kCall, device);
  if (usable.ok()) usable = state_.sticky_error.Check(kCall);
  if (!usable.ok()) return usable;
  const std::unique_lock lock(mmu_.mutex);
  return mmu_.memory.Info(device);
}

}  // namespace twinmmu
