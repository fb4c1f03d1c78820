// What a device says of itself, for the functions whose answers follow from it.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_DEVICE_ATTRIBUTES_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_DEVICE_ATTRIBUTES_H_

#include <cstddef>

#include "sim/libcuda/contexts.h"
#include "sim/libcuda/process.h"

namespace twinmmu::libcuda {

// CUdevice_attribute.
enum UsedAttribute : int {
  kAttributeMultiprocessors = 16,
  kAttributeSharedPerBlockOptin = 97,
};

// No device has multiprocessors to choose from: CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY.
inline constexpr auto kUnsupportedExecAffinity = static_cast<DriverCode>(224);

// 0: the device does not have it.
inline int AttributeOf(DriverState& driver, DeviceOrdinal device, int attribute) {
  return driver.vmm.GetDeviceAttribute(static_cast<DeviceAttribute>(attribute), device).value_or(0);
}

// Memory and events may be those of another process. CUDA's documentation names one attribute for
// both, which older drivers do not have. What calls say without it is not measured.
inline bool HasIpc(const DriverState& driver, const Context& context) {
  constexpr auto kIpcSupported = static_cast<DeviceAttribute>(125);
  const auto device = static_cast<size_t>(context.device.value());
  const auto& attributes = driver.simulator->profile().devices[device].attributes;
  const auto found = attributes.find(kIpcSupported);
  return found == attributes.end() || found->second != 0;
}

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_DEVICE_ATTRIBUTES_H_
