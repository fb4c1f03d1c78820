#include "backend/cuda_vmm.h"

#include <fcntl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "absl/container/fixed_array.h"
#include "backend/abi.h"
#include "backend/call_driver.h"

namespace twinmmu {
namespace {

// The two are one layout, so that SetAccess, which every mapping needs, can copy whole arrays.
static_assert(sizeof(AccessGrant) == sizeof(cuda_abi::CUmemAccessDesc) &&
              std::is_trivially_copyable_v<AccessGrant> &&
              offsetof(AccessGrant, location.type) ==
                  offsetof(cuda_abi::CUmemAccessDesc, location.type) &&
              offsetof(AccessGrant, location.id) ==
                  offsetof(cuda_abi::CUmemAccessDesc, location.id) &&
              offsetof(AccessGrant, access) == offsetof(cuda_abi::CUmemAccessDesc, flags));

}  // namespace

// --- Devices -------------------------------------------------------------------------------------

absl::StatusOr<int> CudaVmm::GetDriverVersion() {
  int version = 0;
  const absl::Status status = Call<Symbol::cuDriverGetVersion>(table_, &version);
  if (!status.ok()) return status;
  return version;
}

absl::StatusOr<int> CudaVmm::GetDeviceCount() {
  int count = 0;
  const absl::Status status = Call<Symbol::cuDeviceGetCount>(table_, &count);
  if (!status.ok()) return status;
  return count;
}

absl::StatusOr<cuda_abi::CUdevice> CudaVmm::GetDevice(DeviceOrdinal device) {
  cuda_abi::CUdevice result = 0;
  const absl::Status status = Call<Symbol::cuDeviceGet>(table_, &result, device.value());
  if (!status.ok()) return status;
  return result;
}

absl::StatusOr<std::string> CudaVmm::GetDeviceName(DeviceOrdinal device) {
  const absl::StatusOr<cuda_abi::CUdevice> id = GetDevice(device);
  if (!id.ok()) return id.status();
  std::array<char, 256> name = {};
  const absl::Status status =
      Call<Symbol::cuDeviceGetName>(table_, name.data(), static_cast<int>(name.size()), *id);
  if (!status.ok()) return status;
  return std::string(name.data());
}

absl::StatusOr<int> CudaVmm::GetDeviceAttribute(DeviceAttribute attribute, DeviceOrdinal device) {
  const absl::StatusOr<cuda_abi::CUdevice> id = GetDevice(device);
  if (!id.ok()) return id.status();
  int value = 0;
  const absl::Status status = Call<Symbol::cuDeviceGetAttribute>(
      table_, &value, static_cast<cuda_abi::CUdevice_attribute>(attribute), *id);
  if (!status.ok()) return status;
  return value;
}

absl::StatusOr<bool> CudaVmm::CanAccessPeer(DeviceOrdinal device, DeviceOrdinal peer) {
  const absl::StatusOr<cuda_abi::CUdevice> id = GetDevice(device);
  if (!id.ok()) return id.status();
  const absl::StatusOr<cuda_abi::CUdevice> peer_id = GetDevice(peer);
  if (!peer_id.ok()) return peer_id.status();
  int can = 0;
  const absl::Status status = Call<Symbol::cuDeviceCanAccessPeer>(table_, &can, *id, *peer_id);
  if (!status.ok()) return status;
  return can != 0;
}

absl::StatusOr<MemoryInfo> CudaVmm::GetMemoryInfo(DeviceOrdinal device) {
  // The driver answers for the device of the current context.
  size_t free = 0;
  size_t total = 0;
  const absl::Status status = CallOn<Symbol::cuMemGetInfo>(contexts_, device, &free, &total);
  if (!status.ok()) return status;
  return MemoryInfo{Bytes(free), Bytes(total)};
}

// --- Reservations --------------------------------------------------------------------------------

absl::StatusOr<AddressRange> CudaVmm::AddressReserve(Bytes size, const ReserveOptions& options) {
  cuda_abi::CUdeviceptr base = 0;
  const absl::Status status = Call<Symbol::cuMemAddressReserve>(
      table_, &base, size, options.alignment, options.hint, options.flags);
  if (!status.ok()) return status;
  return AddressRange{DeviceAddress(base), size, options.alignment};
}

absl::Status CudaVmm::AddressFree(const AddressRange& range) {
  return Call<Symbol::cuMemAddressFree>(table_, range.base, range.size);
}

// --- Physical memory -----------------------------------------------------------------------------

absl::StatusOr<Bytes> CudaVmm::GetAllocationGranularity(const AllocationProperties& properties,
                                                        Granularity option) {
  const cuda_abi::CUmemAllocationProp prop = ToAbi(properties);
  size_t granularity = 0;
  const absl::Status status = Call<Symbol::cuMemGetAllocationGranularity>(
      table_, &granularity, &prop, static_cast<cuda_abi::CUmemAllocationGranularity_flags>(option));
  if (!status.ok()) return status;
  return Bytes(granularity);
}

absl::StatusOr<AllocationHandle> CudaVmm::Create(Bytes size, const AllocationProperties& properties,
                                                 uint64_t flags) {
  const cuda_abi::CUmemAllocationProp prop = ToAbi(properties);
  cuda_abi::CUmemGenericAllocationHandle handle = 0;
  const absl::Status status = Call<Symbol::cuMemCreate>(table_, &handle, size, &prop, flags);
  if (!status.ok()) return status;
  return AllocationHandle(handle);
}

absl::Status CudaVmm::Release(AllocationHandle handle) {
  return Call<Symbol::cuMemRelease>(table_, handle);
}

absl::StatusOr<AllocationHandle> CudaVmm::RetainAllocationHandle(DeviceAddress address) {
  cuda_abi::CUmemGenericAllocationHandle handle = 0;
  const absl::Status status = Call<Symbol::cuMemRetainAllocationHandle>(
      table_, &handle, reinterpret_cast<void*>(static_cast<uintptr_t>(address.value())));
  if (!status.ok()) return status;
  return AllocationHandle(handle);
}

absl::StatusOr<AllocationProperties> CudaVmm::GetAllocationProperties(AllocationHandle handle) {
  cuda_abi::CUmemAllocationProp prop = {};
  const absl::Status status =
      Call<Symbol::cuMemGetAllocationPropertiesFromHandle>(table_, &prop, handle);
  if (!status.ok()) return status;
  return FromAbi(prop);
}

// --- Mappings ------------------------------------------------------------------------------------

absl::Status CudaVmm::Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                          uint64_t flags) {
  return Call<Symbol::cuMemMap>(table_, range.base, range.size, offset, handle, flags);
}

absl::Status CudaVmm::Unmap(const AddressRange& range) {
  return Call<Symbol::cuMemUnmap>(table_, range.base, range.size);
}

absl::Status CudaVmm::SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants) {
  // No allocation for as many grants as a large host has devices.
  absl::FixedArray<cuda_abi::CUmemAccessDesc, 16> desc(grants.size());
  if (!grants.empty()) std::memcpy(desc.data(), grants.data(), desc.size() * sizeof(desc[0]));
  return Call<Symbol::cuMemSetAccess>(table_, range.base, range.size,
                                      absl::Span<const cuda_abi::CUmemAccessDesc>(desc),
                                      desc.size());
}

absl::StatusOr<Access> CudaVmm::GetAccess(const Location& location, DeviceAddress address) {
  const cuda_abi::CUmemLocation where = ToAbi(location);
  unsigned long long flags = 0;
  const absl::Status status = Call<Symbol::cuMemGetAccess>(table_, &flags, &where, address);
  if (!status.ok()) return status;
  return static_cast<Access>(flags);
}

// --- Sharing -------------------------------------------------------------------------------------

absl::StatusOr<ShareableHandle> CudaVmm::ExportShareableHandle(AllocationHandle handle,
                                                               HandleType type, uint64_t flags) {
  // The driver writes an int, a pointer or 64 bytes, depending on the type.
  alignas(void*) std::array<uint8_t, 64> output = {};
  const absl::Status status = Call<Symbol::cuMemExportToShareableHandle>(
      table_, output.data(), handle, static_cast<cuda_abi::CUmemAllocationHandleType>(type), flags);
  if (!status.ok()) return status;
  ShareableHandle shareable;
  shareable.type = type;
  if (type == HandleType::kPosixFileDescriptor) {
    std::memcpy(&shareable.file_descriptor, output.data(), sizeof(shareable.file_descriptor));
  } else {
    shareable.fabric = output;
  }
  return shareable;
}

absl::StatusOr<AllocationHandle> CudaVmm::ImportShareableHandle(const ShareableHandle& shareable) {
  // The driver takes the address of a fabric handle, and every other kind as the pointer itself.
  std::array<uint8_t, 64> fabric = shareable.fabric;
  void* os_handle = shareable.type == HandleType::kFabric
                        ? static_cast<void*>(fabric.data())
                        : reinterpret_cast<void*>(static_cast<intptr_t>(shareable.file_descriptor));
  cuda_abi::CUmemGenericAllocationHandle handle = 0;
  const absl::Status status = Call<Symbol::cuMemImportFromShareableHandle>(
      table_, &handle, os_handle, static_cast<cuda_abi::CUmemAllocationHandleType>(shareable.type));
  if (!status.ok()) return status;
  return AllocationHandle(handle);
}

// --- What is at an address -----------------------------------------------------------------------
// The driver answers for the device of the current context.

absl::StatusOr<uint64_t> CudaVmm::GetPointerAttribute(DeviceOrdinal device,
                                                      PointerAttribute attribute,
                                                      DeviceAddress address) {
  // The driver writes 1, 4 or 8 bytes, depending on the attribute; 16 for the pair of tokens.
  std::array<uint64_t, 4> output = {};
  const absl::Status status = CallOn<Symbol::cuPointerGetAttribute>(
      contexts_, device, output.data(), static_cast<cuda_abi::CUpointer_attribute>(attribute),
      address);
  if (!status.ok()) return status;
  return output[0];
}

absl::StatusOr<AddressRange> CudaVmm::GetAddressRange(DeviceOrdinal device, DeviceAddress address) {
  cuda_abi::CUdeviceptr base = 0;
  size_t size = 0;
  const absl::Status status =
      CallOn<Symbol::cuMemGetAddressRange>(contexts_, device, &base, &size, address);
  if (!status.ok()) return status;
  return AddressRange{DeviceAddress(base), Bytes(size), Bytes(0)};
}

absl::StatusOr<int> CudaVmm::GetHandleForAddressRange(DeviceOrdinal device,
                                                      const AddressRange& range,
                                                      RangeHandleType type, uint64_t flags) {
  int descriptor = -1;
  const absl::Status status = CallOn<Symbol::cuMemGetHandleForAddressRange>(
      contexts_, device, static_cast<void*>(&descriptor), range.base, range.size,
      static_cast<cuda_abi::CUmemRangeHandleType>(type), flags);
  if (!status.ok()) return status;
  return descriptor;
}

}  // namespace twinmmu
