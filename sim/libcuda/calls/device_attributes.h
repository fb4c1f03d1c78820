// What a device says of itself, for the functions whose answers follow from it.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_DEVICE_ATTRIBUTES_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_DEVICE_ATTRIBUTES_H_

#include "sim/libcuda/process.h"

namespace twinmmu::libcuda {

// CUdevice_attribute.
enum UsedAttribute : int {
  kAttributeMultiprocessors = 16,
  kAttributeSharedPerBlockOptin = 97,
};

// 0: the device does not have it.
inline int AttributeOf(DriverState& driver, DeviceOrdinal device, int attribute) {
  return driver.vmm.GetDeviceAttribute(static_cast<DeviceAttribute>(attribute), device).value_or(0);
}

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_DEVICE_ATTRIBUTES_H_
