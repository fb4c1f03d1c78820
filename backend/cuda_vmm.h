// Vmm on the CUDA driver.

#ifndef TWINMMU_BACKEND_CUDA_VMM_H_
#define TWINMMU_BACKEND_CUDA_VMM_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/vmm.h"
#include "backend/driver_table.h"
#include "backend/primary_contexts.h"

namespace twinmmu {

// Passes every argument on as it came, and every result back. Holds no state of its own, so it is
// as thread-safe as the driver.
class CudaVmm final : public Vmm {
 public:
  // Both must outlive it.
  CudaVmm(const DriverTable& table, PrimaryContexts& contexts)
      : table_(table), contexts_(contexts) {}

  absl::StatusOr<int> GetDriverVersion() override;
  absl::StatusOr<int> GetDeviceCount() override;
  absl::StatusOr<std::string> GetDeviceName(DeviceOrdinal device) override;
  absl::StatusOr<int> GetDeviceAttribute(DeviceAttribute attribute, DeviceOrdinal device) override;
  absl::StatusOr<bool> CanAccessPeer(DeviceOrdinal device, DeviceOrdinal peer) override;
  absl::StatusOr<MemoryInfo> GetMemoryInfo(DeviceOrdinal device) override;

  absl::StatusOr<AddressRange> AddressReserve(Bytes size, const ReserveOptions& options) override;
  absl::Status AddressFree(const AddressRange& range) override;

  absl::StatusOr<Bytes> GetAllocationGranularity(const AllocationProperties& properties,
                                                 Granularity option) override;
  absl::StatusOr<AllocationHandle> Create(Bytes size, const AllocationProperties& properties,
                                          uint64_t flags) override;
  absl::Status Release(AllocationHandle handle) override;
  absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress address) override;
  absl::StatusOr<AllocationProperties> GetAllocationProperties(AllocationHandle handle) override;

  absl::Status Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                   uint64_t flags) override;
  absl::Status Unmap(const AddressRange& range) override;
  absl::Status SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants) override;
  absl::StatusOr<Access> GetAccess(const Location& location, DeviceAddress address) override;
  absl::StatusOr<ShareableHandle> ExportShareableHandle(AllocationHandle handle, HandleType type,
                                                        uint64_t flags) override;
  absl::StatusOr<AllocationHandle> ImportShareableHandle(const ShareableHandle& shareable) override;

  // What the driver writes, extended with zeros to 64 bits.
  absl::StatusOr<uint64_t> GetPointerAttribute(DeviceOrdinal device, PointerAttribute attribute,
                                               DeviceAddress address) override;
  absl::StatusOr<AddressRange> GetAddressRange(DeviceOrdinal device,
                                               DeviceAddress address) override;
  absl::StatusOr<int> GetHandleForAddressRange(DeviceOrdinal device, const AddressRange& range,
                                               RangeHandleType type, uint64_t flags) override;

 private:
  absl::StatusOr<cuda_abi::CUdevice> GetDevice(DeviceOrdinal device);

  const DriverTable& table_;
  PrimaryContexts& contexts_;
};

}  // namespace twinmmu

#endif  // TWINMMU_BACKEND_CUDA_VMM_H_
