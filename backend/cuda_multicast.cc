#include "backend/cuda_multicast.h"

#include "backend/abi.h"
#include "backend/call_driver.h"

namespace twinmmu {
namespace {

cuda_abi::CUmulticastObjectProp PropOf(const MulticastProperties& properties) {
  cuda_abi::CUmulticastObjectProp prop = {};
  prop.numDevices = properties.device_count;
  prop.size = properties.size.value();
  prop.handleTypes = static_cast<uint64_t>(properties.handle_types);
  prop.flags = properties.flags;
  return prop;
}

// A call for a device of the object's team.
template <Symbol symbol, typename... Arguments>
absl::Status CallForDevice(const DriverTable& table, AllocationHandle object, DeviceOrdinal device,
                           const Arguments&... arguments) {
  cuda_abi::CUdevice id = 0;
  const absl::Status status = Call<Symbol::cuDeviceGet>(table, &id, device.value());
  if (!status.ok()) return status;
  return Call<symbol>(table, object, id, arguments...);
}

}  // namespace

absl::StatusOr<Bytes> CudaMulticast::GetGranularity(const MulticastProperties& properties,
                                                    Granularity option) {
  const cuda_abi::CUmulticastObjectProp prop = PropOf(properties);
  size_t granularity = 0;
  const absl::Status status = Call<Symbol::cuMulticastGetGranularity>(
      table_, &granularity, &prop, static_cast<cuda_abi::CUmulticastGranularity_flags>(option));
  if (!status.ok()) return status;
  return Bytes(granularity);
}

absl::StatusOr<AllocationHandle> CudaMulticast::Create(const MulticastProperties& properties) {
  const cuda_abi::CUmulticastObjectProp prop = PropOf(properties);
  cuda_abi::CUmemGenericAllocationHandle handle = 0;
  const absl::Status status = Call<Symbol::cuMulticastCreate>(table_, &handle, &prop);
  if (!status.ok()) return status;
  return AllocationHandle(handle);
}

absl::Status CudaMulticast::AddDevice(AllocationHandle object, DeviceOrdinal device) {
  return CallForDevice<Symbol::cuMulticastAddDevice>(table_, object, device);
}

absl::Status CudaMulticast::BindMemory(AllocationHandle object, Bytes offset,
                                       AllocationHandle memory, Bytes memory_offset, Bytes size,
                                       uint64_t flags) {
  return Call<Symbol::cuMulticastBindMem>(table_, object, offset, memory, memory_offset, size,
                                          flags);
}

absl::Status CudaMulticast::BindAddress(AllocationHandle object, Bytes offset,
                                        const AddressRange& range, uint64_t flags) {
  return Call<Symbol::cuMulticastBindAddr>(table_, object, offset, range.base, range.size, flags);
}

absl::Status CudaMulticast::BindMemoryForDevice(AllocationHandle object, DeviceOrdinal device,
                                                Bytes offset, AllocationHandle memory,
                                                Bytes memory_offset, Bytes size, uint64_t flags) {
  return CallForDevice<Symbol::cuMulticastBindMem_v2>(table_, object, device, offset, memory,
                                                      memory_offset, size, flags);
}

absl::Status CudaMulticast::BindAddressForDevice(AllocationHandle object, DeviceOrdinal device,
                                                 Bytes offset, const AddressRange& range,
                                                 uint64_t flags) {
  return CallForDevice<Symbol::cuMulticastBindAddr_v2>(table_, object, device, offset, range.base,
                                                       range.size, flags);
}

absl::Status CudaMulticast::Unbind(AllocationHandle object, DeviceOrdinal device, Bytes offset,
                                   Bytes size) {
  return CallForDevice<Symbol::cuMulticastUnbind>(table_, object, device, offset, size);
}

}  // namespace twinmmu
