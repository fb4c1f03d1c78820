// ForwardingVmm: passes every call on to another Vmm. A wrapper derives from it and overrides only
// the calls that it changes: to record, to count, to fail on purpose.

#ifndef TWINMMU_API_TESTING_FORWARDING_H_
#define TWINMMU_API_TESTING_FORWARDING_H_

#include <cstdint>
#include <string>

#include "api/vmm.h"

namespace twinmmu {

class ForwardingVmm : public Vmm {
 public:
  // `target` must outlive this object.
  explicit ForwardingVmm(Vmm* target) : target_(target) {}

  absl::StatusOr<int> GetDriverVersion() override { return target_->GetDriverVersion(); }
  absl::StatusOr<int> GetDeviceCount() override { return target_->GetDeviceCount(); }
  absl::StatusOr<std::string> GetDeviceName(DeviceOrdinal device) override {
    return target_->GetDeviceName(device);
  }
  absl::StatusOr<int> GetDeviceAttribute(DeviceAttribute attribute, DeviceOrdinal device) override {
    return target_->GetDeviceAttribute(attribute, device);
  }
  absl::StatusOr<bool> CanAccessPeer(DeviceOrdinal device, DeviceOrdinal peer) override {
    return target_->CanAccessPeer(device, peer);
  }
  absl::StatusOr<MemoryInfo> GetMemoryInfo(DeviceOrdinal device) override {
    return target_->GetMemoryInfo(device);
  }
  absl::StatusOr<AddressRange> AddressReserve(Bytes size, const ReserveOptions& options) override {
    return target_->AddressReserve(size, options);
  }
  absl::Status AddressFree(const AddressRange& range) override {
    return target_->AddressFree(range);
  }
  absl::StatusOr<Bytes> GetAllocationGranularity(const AllocationProperties& properties,
                                                 Granularity option) override {
    return target_->GetAllocationGranularity(properties, option);
  }
  absl::StatusOr<AllocationHandle> Create(Bytes size, const AllocationProperties& properties,
                                          uint64_t flags) override {
    return target_->Create(size, properties, flags);
  }
  absl::Status Release(AllocationHandle handle) override { return target_->Release(handle); }
  absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress address) override {
    return target_->RetainAllocationHandle(address);
  }
  absl::StatusOr<AllocationProperties> GetAllocationProperties(AllocationHandle handle) override {
    return target_->GetAllocationProperties(handle);
  }
  absl::Status Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                   uint64_t flags) override {
    return target_->Map(range, handle, offset, flags);
  }
  absl::Status Unmap(const AddressRange& range) override { return target_->Unmap(range); }
  absl::Status SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants) override {
    return target_->SetAccess(range, grants);
  }
  absl::StatusOr<Access> GetAccess(const Location& location, DeviceAddress address) override {
    return target_->GetAccess(location, address);
  }
  absl::StatusOr<ShareableHandle> ExportShareableHandle(AllocationHandle handle, HandleType type,
                                                        uint64_t flags) override {
    return target_->ExportShareableHandle(handle, type, flags);
  }
  absl::StatusOr<AllocationHandle> ImportShareableHandle(
      const ShareableHandle& shareable) override {
    return target_->ImportShareableHandle(shareable);
  }
  absl::StatusOr<uint64_t> GetPointerAttribute(DeviceOrdinal device, PointerAttribute attribute,
                                               DeviceAddress address) override {
    return target_->GetPointerAttribute(device, attribute, address);
  }
  absl::StatusOr<AddressRange> GetAddressRange(DeviceOrdinal device,
                                               DeviceAddress address) override {
    return target_->GetAddressRange(device, address);
  }

 private:
  Vmm* target_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_FORWARDING_H_
