// Multicast objects.

#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

MulticastProperties FromAbi(const CUmulticastObjectProp& prop) {
  return {prop.numDevices, Bytes(prop.size), static_cast<HandleType>(prop.handleTypes), prop.flags};
}

}  // namespace

extern "C" CUresult cuMulticastCreate(CUmemGenericAllocationHandle* mcHandle,
                                      const CUmulticastObjectProp* prop) {
  return Enter(TWINMMU_HERE, {mcHandle, prop}, [&](DriverState& driver) {
    const absl::StatusOr<AllocationHandle> made = driver.multicast.Create(FromAbi(*prop));
    if (made.ok()) {
      driver.report.AddAllocation(*made, Bytes(prop->size), AllocationKind::kMulticastObject);
    }
    return Give(made, mcHandle);
  });
}

extern "C" CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle mcHandle, CUdevice dev) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    return driver.multicast.AddDevice(AllocationHandle(mcHandle), DeviceOrdinal(dev));
  });
}

extern "C" CUresult cuMulticastBindMem(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                                       CUmemGenericAllocationHandle memHandle, size_t memOffset,
                                       size_t size, unsigned long long flags) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    return driver.multicast.BindMemory(AllocationHandle(mcHandle), Bytes(mcOffset),
                                       AllocationHandle(memHandle), Bytes(memOffset), Bytes(size),
                                       flags);
  });
}

extern "C" CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                                        CUdeviceptr memptr, size_t size, unsigned long long flags) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    return driver.multicast.BindAddress(AllocationHandle(mcHandle), Bytes(mcOffset),
                                        RangeOf(memptr, size), flags);
  });
}

extern "C" CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                          size_t mcOffset, CUmemGenericAllocationHandle memHandle,
                                          size_t memOffset, size_t size, unsigned long long flags) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    return driver.multicast.BindMemoryForDevice(AllocationHandle(mcHandle), DeviceOrdinal(dev),
                                                Bytes(mcOffset), AllocationHandle(memHandle),
                                                Bytes(memOffset), Bytes(size), flags);
  });
}

extern "C" CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                           size_t mcOffset, CUdeviceptr memptr, size_t size,
                                           unsigned long long flags) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    return driver.multicast.BindAddressForDevice(AllocationHandle(mcHandle), DeviceOrdinal(dev),
                                                 Bytes(mcOffset), RangeOf(memptr, size), flags);
  });
}

extern "C" CUresult cuMulticastUnbind(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                      size_t mcOffset, size_t size) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    return driver.multicast.Unbind(AllocationHandle(mcHandle), DeviceOrdinal(dev), Bytes(mcOffset),
                                   Bytes(size));
  });
}

extern "C" CUresult cuMulticastGetGranularity(size_t* granularity,
                                              const CUmulticastObjectProp* prop,
                                              CUmulticastGranularity_flags option) {
  return Enter(TWINMMU_HERE, {granularity, prop}, [&](DriverState& driver) {
    const auto asked = static_cast<Granularity>(option);
    return Give(driver.multicast.GetGranularity(FromAbi(*prop), asked), granularity);
  });
}

}  // namespace twinmmu::libcuda
