// What a device can hold, by the attributes of its profile.

#ifndef TWINMMU_SIM_PROFILE_DEVICE_LIMITS_H_
#define TWINMMU_SIM_PROFILE_DEVICE_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "api/allocation.h"
#include "api/attributes.h"
#include "sim/profile/profile.h"

namespace twinmmu {

// Shared memory is given out in units of so many bytes.
constexpr uint32_t kSharedMemoryUnit = 128;

// A limit that stands in an attribute.
struct DeviceLimit {
  int attribute;        // CUdevice_attribute
  uint64_t by_default;  // of a device that does not tell
};

// `device` exists.
inline uint64_t LimitOf(const Profile& profile, DeviceOrdinal device, const DeviceLimit& limit) {
  const auto& attributes = profile.devices[static_cast<size_t>(device.value())].attributes;
  const auto found = attributes.find(static_cast<DeviceAttribute>(limit.attribute));
  const bool told = found != attributes.end() && found->second > 0;
  return told ? static_cast<uint64_t>(found->second) : limit.by_default;
}

// 90 for 9.0; none: the device, which exists, does not tell.
inline std::optional<int> ComputeCapabilityOf(const Profile& profile, DeviceOrdinal device) {
  const auto& attributes = profile.devices[static_cast<size_t>(device.value())].attributes;
  const auto major = attributes.find(DeviceAttribute::kComputeCapabilityMajor);
  const auto minor = attributes.find(DeviceAttribute::kComputeCapabilityMinor);
  if (major == attributes.end() || minor == attributes.end()) return std::nullopt;
  return 10 * major->second + minor->second;
}

}  // namespace twinmmu

#endif  // TWINMMU_SIM_PROFILE_DEVICE_LIMITS_H_
