// The driver's structures as value types of api/, and back, number for number.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_CONVERT_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_CONVERT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/allocation.h"
#include "sim/libcuda/calls/enter.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {

// Of reserved words.
template <typename Word, size_t size>
bool AreZero(const Word (&words)[size]) {
  return std::all_of(std::begin(words), std::end(words), [](Word word) { return word == 0; });
}

inline AddressRange RangeOf(cuda_abi::CUdeviceptr address, size_t size) {
  return {DeviceAddress(address), Bytes(size), Bytes(0)};
}

inline Location FromAbi(const cuda_abi::CUmemLocation& location) {
  return {static_cast<LocationType>(location.type), location.id};
}

inline AllocationProperties FromAbi(const cuda_abi::CUmemAllocationProp& prop) {
  AllocationProperties properties;
  properties.type = static_cast<AllocationType>(prop.type);
  properties.requested_handle_types = static_cast<HandleType>(prop.requestedHandleTypes);
  properties.location = FromAbi(prop.location);
  properties.compression = static_cast<CompressionType>(prop.allocFlags.compressionType);
  properties.gpu_direct_rdma = prop.allocFlags.gpuDirectRDMACapable;
  properties.usage = prop.allocFlags.usage;
  return properties;
}

inline cuda_abi::CUmemAllocationProp ToAbi(const AllocationProperties& properties) {
  cuda_abi::CUmemAllocationProp prop = {};
  prop.type = static_cast<int>(properties.type);
  prop.requestedHandleTypes = static_cast<int>(properties.requested_handle_types);
  prop.location = {static_cast<int>(properties.location.type), properties.location.id};
  prop.allocFlags.compressionType = static_cast<unsigned char>(properties.compression);
  prop.allocFlags.gpuDirectRDMACapable = properties.gpu_direct_rdma;
  prop.allocFlags.usage = properties.usage;
  return prop;
}

// Opaque pointers of the driver are numbers in api/.
template <typename Pointer>
Pointer ToPointer(uint64_t value) {
  return reinterpret_cast<Pointer>(static_cast<uintptr_t>(value));
}
inline uint64_t ToNumber(const volatile void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

// What came of a call that gives a value, as a number or a class with one; it goes to `result`.
template <typename Value, typename Result>
CUresult Give(const absl::StatusOr<Value>& made, Result* result) {
  if (!made.ok()) return ToResult(made.status());
  if constexpr (!std::is_class_v<Value>) {
    *result = static_cast<Result>(*made);
  } else if constexpr (std::is_pointer_v<Result>) {
    *result = ToPointer<Result>(made->value());
  } else {
    *result = made->value();
  }
  return cuda_abi::CUDA_SUCCESS;
}
// The same for both halves of a range, where the program wants them.
inline CUresult Give(const absl::StatusOr<AddressRange>& range, cuda_abi::CUdeviceptr* base,
                     size_t* size) {
  if (!range.ok()) return ToResult(range.status());
  if (base != nullptr) *base = range->base.value();
  if (size != nullptr) *size = range->size.value();
  return cuda_abi::CUDA_SUCCESS;
}

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_CONVERT_H_
