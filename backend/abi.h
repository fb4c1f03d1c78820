// ToAbi: each value type of api/ as the driver's function takes it, number for number. What is
// passed to the driver is exactly what the caller gave: nothing here checks anything.

#ifndef TWINMMU_BACKEND_ABI_H_
#define TWINMMU_BACKEND_ABI_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/executor.h"
#include "api/sparse_arrays.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu {

inline cuda_abi::CUdeviceptr ToAbi(DeviceAddress address) { return address.value(); }
inline size_t ToAbi(Bytes bytes) { return bytes.value(); }
inline cuda_abi::CUmemGenericAllocationHandle ToAbi(AllocationHandle handle) {
  return handle.value();
}

// The driver's opaque pointers travel through api/ as numbers.
inline cuda_abi::CUstream ToAbi(Stream stream) {
  return reinterpret_cast<cuda_abi::CUstream>(static_cast<uintptr_t>(stream.value()));
}
inline cuda_abi::CUevent ToAbi(Event event) {
  return reinterpret_cast<cuda_abi::CUevent>(static_cast<uintptr_t>(event.value()));
}
inline cuda_abi::CUmodule ToAbi(Module module) {
  return reinterpret_cast<cuda_abi::CUmodule>(static_cast<uintptr_t>(module.value()));
}
inline cuda_abi::CUfunction ToAbi(Kernel kernel) {
  return reinterpret_cast<cuda_abi::CUfunction>(static_cast<uintptr_t>(kernel.value()));
}
inline cuda_abi::CUarray ToAbi(Array array) {
  return reinterpret_cast<cuda_abi::CUarray>(static_cast<uintptr_t>(array.value()));
}
inline cuda_abi::CUmipmappedArray ToAbi(MipmappedArray mipmap) {
  return reinterpret_cast<cuda_abi::CUmipmappedArray>(static_cast<uintptr_t>(mipmap.value()));
}
template <typename T>
uint64_t FromAbi(T* opaque) {
  return reinterpret_cast<uintptr_t>(opaque);
}

inline cuda_abi::CUmemLocation ToAbi(const Location& location) {
  return {static_cast<cuda_abi::CUmemLocationType>(location.type), location.id};
}
inline cuda_abi::CUmemAllocationProp ToAbi(const AllocationProperties& properties) {
  cuda_abi::CUmemAllocationProp prop = {};
  prop.type = static_cast<cuda_abi::CUmemAllocationType>(properties.type);
  prop.requestedHandleTypes =
      static_cast<cuda_abi::CUmemAllocationHandleType>(properties.requested_handle_types);
  prop.location = ToAbi(properties.location);
  prop.allocFlags.compressionType = static_cast<unsigned char>(properties.compression);
  prop.allocFlags.gpuDirectRDMACapable = properties.gpu_direct_rdma;
  prop.allocFlags.usage = properties.usage;
  return prop;
}
inline AllocationProperties FromAbi(const cuda_abi::CUmemAllocationProp& prop) {
  AllocationProperties properties;
  properties.type = static_cast<AllocationType>(prop.type);
  properties.requested_handle_types = static_cast<HandleType>(prop.requestedHandleTypes);
  properties.location = {static_cast<LocationType>(prop.location.type), prop.location.id};
  properties.compression = static_cast<CompressionType>(prop.allocFlags.compressionType);
  properties.gpu_direct_rdma = prop.allocFlags.gpuDirectRDMACapable;
  properties.usage = prop.allocFlags.usage;
  return properties;
}

// An array passes as its pointer; its count is an argument of its own.
inline const cuda_abi::CUmemAccessDesc* ToAbi(absl::Span<const cuda_abi::CUmemAccessDesc> array) {
  return array.data();
}

// What already has the driver's type. By value: arguments are integers and pointers.
template <typename T>
T ToAbi(T value) {
  return value;
}

}  // namespace twinmmu

#endif  // TWINMMU_BACKEND_ABI_H_
