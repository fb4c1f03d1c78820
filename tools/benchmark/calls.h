// The same calls in two ways: through the interface, and straight through the driver's functions.
//
// Both classes have the same members, and every call must succeed. Neither is virtual, so that what
// is compared is the interface and not this.

#ifndef TWINMMU_TOOLS_BENCHMARK_CALLS_H_
#define TWINMMU_TOOLS_BENCHMARK_CALLS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "api/driver.h"
#include "backend/driver_table.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu {

inline constexpr DeviceOrdinal kDevice(0);
inline constexpr Bytes kGranule = MiB(2);

inline void Require(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << status.message() << "\n";
  std::exit(1);
}

class InterfaceCalls {
 public:
  explicit InterfaceCalls(Driver& driver) : vmm_(**driver.vmm()), executor_(**driver.executor()) {}

  AddressRange Reserve(Bytes size) { return Checked(vmm_.AddressReserve(size)); }
  AllocationHandle Create(Bytes size) { return Checked(vmm_.Create(size, properties_)); }
  void Map(const AddressRange& range, AllocationHandle handle) { Require(vmm_.Map(range, handle)); }
  void SetAccess(const AddressRange& range) { Require(vmm_.SetAccess(range, grants_)); }
  Access GetAccess(DeviceAddress address) {
    return Checked(vmm_.GetAccess(grants_[0].location, address));
  }
  AllocationHandle Retain(DeviceAddress address) {
    return Checked(vmm_.RetainAllocationHandle(address));
  }
  AddressRange GetAddressRange(DeviceAddress address) {
    return Checked(vmm_.GetAddressRange(kDevice, address));
  }
  uint64_t GetPointerAttribute(DeviceAddress address) {
    return Checked(vmm_.GetPointerAttribute(kDevice, PointerAttribute::kDeviceOrdinal, address));
  }
  MemoryInfo GetMemoryInfo() { return Checked(vmm_.GetMemoryInfo(kDevice)); }
  void CopyHostToDevice(DeviceAddress to, const void* from, Bytes size) {
    Require(executor_.CopyHostToDevice(kDevice, to, from, size));
  }
  void CopyDeviceToHost(void* to, DeviceAddress from, Bytes size) {
    Require(executor_.CopyDeviceToHost(kDevice, to, from, size));
  }
  void Unmap(const AddressRange& range) { Require(vmm_.Unmap(range)); }
  void Release(AllocationHandle handle) { Require(vmm_.Release(handle)); }
  void AddressFree(const AddressRange& range) { Require(vmm_.AddressFree(range)); }

 private:
  template <typename T>
  static T Checked(const absl::StatusOr<T>& result) {
    Require(result.status());
    return *result;
  }

  Vmm& vmm_;
  Executor& executor_;
  const AllocationProperties properties_;
  const std::array<AccessGrant, 1> grants_ = {{{Location::Device(kDevice), Access::kReadWrite}}};
};

// Makes the primary context of the device current, and leaves it so.
class RawCalls {
 public:
  explicit RawCalls(const DriverTable& table) : table_(table) {
    cuda_abi::CUcontext context = nullptr;
    Require(table_.cuDevicePrimaryCtxRetain(&context, kDevice.value()));
    Require(table_.cuCtxPushCurrent(context));
    const AllocationProperties plain;
    properties_.type = static_cast<int>(plain.type);
    properties_.location =
        grant_.location = {static_cast<int>(plain.location.type), kDevice.value()};
    grant_.flags = static_cast<int>(Access::kReadWrite);
  }

  AddressRange Reserve(Bytes size) {
    cuda_abi::CUdeviceptr base = 0;
    Require(table_.cuMemAddressReserve(&base, size.value(), 0, 0, 0));
    return AddressRange{DeviceAddress(base), size, Bytes(0)};
  }
  AllocationHandle Create(Bytes size) {
    cuda_abi::CUmemGenericAllocationHandle handle = 0;
    Require(table_.cuMemCreate(&handle, size.value(), &properties_, 0));
    return AllocationHandle(handle);
  }
  void Map(const AddressRange& range, AllocationHandle handle) {
    Require(table_.cuMemMap(range.base.value(), range.size.value(), 0, handle.value(), 0));
  }
  void SetAccess(const AddressRange& range) {
    Require(table_.cuMemSetAccess(range.base.value(), range.size.value(), &grant_, 1));
  }
  Access GetAccess(DeviceAddress address) {
    unsigned long long flags = 0;
    Require(table_.cuMemGetAccess(&flags, &grant_.location, address.value()));
    return static_cast<Access>(flags);
  }
  AllocationHandle Retain(DeviceAddress address) {
    cuda_abi::CUmemGenericAllocationHandle handle = 0;
    Require(table_.cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(address.value())));
    return AllocationHandle(handle);
  }
  AddressRange GetAddressRange(DeviceAddress address) {
    cuda_abi::CUdeviceptr base = 0;
    size_t size = 0;
    Require(table_.cuMemGetAddressRange(&base, &size, address.value()));
    return AddressRange{DeviceAddress(base), Bytes(size), Bytes(0)};
  }
  uint64_t GetPointerAttribute(DeviceAddress address) {
    uint64_t value = 0;
    Require(table_.cuPointerGetAttribute(&value, static_cast<int>(PointerAttribute::kDeviceOrdinal),
                                         address.value()));
    return value;
  }
  MemoryInfo GetMemoryInfo() {
    size_t free = 0;
    size_t total = 0;
    Require(table_.cuMemGetInfo(&free, &total));
    return MemoryInfo{Bytes(free), Bytes(total)};
  }
  void CopyHostToDevice(DeviceAddress to, const void* from, Bytes size) {
    Require(table_.cuMemcpyHtoD(to.value(), from, size.value()));
  }
  void CopyDeviceToHost(void* to, DeviceAddress from, Bytes size) {
    Require(table_.cuMemcpyDtoH(to, from.value(), size.value()));
  }
  void Unmap(const AddressRange& range) {
    Require(table_.cuMemUnmap(range.base.value(), range.size.value()));
  }
  void Release(AllocationHandle handle) { Require(table_.cuMemRelease(handle.value())); }
  void AddressFree(const AddressRange& range) {
    Require(table_.cuMemAddressFree(range.base.value(), range.size.value()));
  }

 private:
  static void Require(cuda_abi::CUresult result) {
    if (result == cuda_abi::CUDA_SUCCESS) return;
    std::cerr << "a direct call gave " << result << "\n";
    std::exit(1);
  }

  const DriverTable& table_;
  cuda_abi::CUmemAllocationProp properties_ = {};
  cuda_abi::CUmemAccessDesc grant_ = {};
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_BENCHMARK_CALLS_H_
