// GuardedVmm: what holds for every call of SimulatedVmm.

#ifndef TWINMMU_SIM_CALLS_VMM_GUARDED_VMM_H_
#define TWINMMU_SIM_CALLS_VMM_GUARDED_VMM_H_

#include <string>

#include "api/vmm.h"
#include "sim/base/call_guard.h"
#include "sim/calls/vmm/simulated_vmm.h"

namespace twinmmu {

// Without memory a call is OUT_OF_MEMORY, in a forked child NOT_INITIALIZED; on a machine without
// virtual memory management a call of it is NOT_SUPPORTED, whatever is passed. (The documentation
// names that code for each of these calls, and no order of the checks.)
class GuardedVmm : public Vmm {
 public:
  // `machine` must outlive this object.
  explicit GuardedVmm(MachineState* machine)
      : vmm_(machine), supported_(machine->mmu.profile.HasVmm()) {}

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
  absl::StatusOr<uint64_t> GetPointerAttribute(DeviceOrdinal device, PointerAttribute attribute,
                                               DeviceAddress address) override;
  absl::StatusOr<AddressRange> GetAddressRange(DeviceOrdinal device,
                                               DeviceAddress address) override;
  absl::StatusOr<int> GetHandleForAddressRange(DeviceOrdinal device, const AddressRange& range,
                                               RangeHandleType type, uint64_t flags) override;

 private:
  template <typename Body>
  auto Call(const char* call, const Body& body) -> decltype(body()) {
    return guard_.Guard(call, body);
  }
  template <typename Body>
  auto VmmCall(const char* call, const Body& body) -> decltype(body()) {
    return guard_.Guard(call, [&]() -> decltype(body()) {
      if (supported_) return body();
      return Fail(DriverCode::kNotSupported, call, "no device has virtual memory management");
    });
  }

  SimulatedVmm vmm_;
  const CallGuard guard_;
  const bool supported_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_VMM_GUARDED_VMM_H_
