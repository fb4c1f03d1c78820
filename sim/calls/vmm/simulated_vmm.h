// SimulatedVmm: Vmm on a software MMU.

#ifndef TWINMMU_SIM_CALLS_VMM_SIMULATED_VMM_H_
#define TWINMMU_SIM_CALLS_VMM_SIMULATED_VMM_H_

#include <string>
#include <vector>

#include "api/call_macros.h"
#include "api/vmm.h"
#include "sim/base/call_guard.h"
#include "sim/diagnostics/call_record.h"
#include "sim/host/memory_label.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {

// One function per call, its checks in the order in which the reference driver makes them. The
// definitions of their bodies stand by subject: vmm_devices.cc, vmm_reservations.cc,
// vmm_physical.cc, vmm_mappings.cc, vmm_access.cc, vmm_sharing.cc, vmm_pointers.cc,
// vmm_range_handles.cc. vmm_plain_calls.cc has what is done first, beside other calls, where it is
// enough.
class SimulatedVmm : public Vmm {
 public:
  // `state` must outlive this object.
  explicit SimulatedVmm(SimulatorState* state);

  TWINMMU_VMM_CALLS(TWINMMU_SHORT_FORMS, Vmm)
  TWINMMU_VMM_CALLS(TWINMMU_OVERRIDE, )

 private:
  TWINMMU_VMM_DEVICE_CALLS(TWINMMU_BODY, )
  TWINMMU_VMM_MEMORY_CALLS(TWINMMU_BODY, )
  TWINMMU_VMM_POINTER_CALLS(TWINMMU_BODY, )
  absl::StatusOr<std::vector<uint32_t>> AllocationsOf(const char* call,
                                                      const AddressRange& range) const;
  absl::Status CheckDevice(const char* call, DeviceOrdinal device) const;
  absl::Status CheckPlace(const char* call, const Location& place) const;
  absl::Status CheckProperties(const char* call, const AllocationProperties& properties) const;
  absl::Status CheckGranularityOf(const AllocationProperties& properties);
  absl::Status CheckSupport(const char* call, const Location& location) const;
  absl::Status CheckCapabilities(const char* call, const AllocationProperties& properties) const;
  absl::Status CheckFabric(const char* call) const;
  bool HasOnlyUnknownTypesAgainstIt(const AllocationProperties& properties) const;
  AllocationProperties Granted(const AllocationProperties& properties) const;
  const AllocationRecord* FindUsable(AllocationHandle handle) const;
  absl::Status RefuseHandle(CallRecord& call, AllocationHandle handle) const;
  void WarnOfReleasedHandle(CallRecord& call, AllocationHandle handle) const;

  void WatchShared(PhysicalPages* pages, int descriptor);
  absl::Status CheckTeamLabel(const MemoryLabel& label) const;
  absl::Status CheckLabel(const MemoryLabel& label) const;
  absl::StatusOr<AllocationHandle> ImportFile(int descriptor, const FabricName* fabric,
                                              uint64_t call);
  absl::StatusOr<AllocationHandle> ImportFabric(const FabricHandle& handle, uint64_t call);

  absl::StatusOr<uint32_t> CheckMapTarget(CallRecord& call, const AddressRange& range) const;
  absl::Status CheckBorder(CallRecord& call, const AddressRange& range, DeviceAddress border) const;
  absl::Status CheckUnmapTarget(CallRecord& call, const AddressRange& range, bool* regular) const;
  void CheckPendingWork(CallRecord& call, DiagnosticKind kind, const AddressRange& range) const;
  void CheckRunningKernels(CallRecord& call, uint64_t first, uint64_t stop) const;
  void WarnOfUnmap(CallRecord& call, const AddressRange& range) const;
  absl::Status PrepareUnmap(uint64_t first, uint64_t stop);
  void RemoveMapping(uint32_t id);
  absl::Status UnmapPages(CallRecord& call, const AddressRange& range, uint64_t first,
                          uint64_t stop);
  absl::Status UnmapBelow(CallRecord& call, DeviceAddress end);

  bool MapPlainly(CallRecord& call, const AddressRange& range, AllocationHandle handle);
  bool SetAccessPlainly(CallRecord& call, const AddressRange& range,
                        absl::Span<const AccessGrant> grants);
  bool UnmapPlainly(CallRecord& call, const AddressRange& range);
  bool IsPlain(const AllocationRecord& allocation) const;
  bool AreWholeMappings(const PageTable::OwnEntries& entries, uint64_t first, uint64_t end) const;

  absl::Status CheckGrant(const AccessGrant& grant) const;
  absl::StatusOr<AddressRange> CheckAccessRange(CallRecord& call, const AddressRange& range) const;
  absl::StatusOr<uint64_t> AttributeAt(DeviceOrdinal device, PointerAttribute attribute,
                                       DeviceAddress address) const;
  absl::StatusOr<uint64_t> DomainAt(DeviceAddress address) const;
  absl::StatusOr<uint64_t> AttributeOfReserved(PointerAttribute attribute,
                                               DeviceAddress address) const;
  absl::Status CheckReach(const MappingRecord& mapping, const AccessGrant& grant) const;
  // How far a list of grants comes: all of it on `whole`. On the mapping behind that, `part`, a
  // grant is refused; `edit` is what is done there.
  struct Reach {
    AddressRange whole;
    AddressRange part;
    PageEdit edit = PageEdit::AccessBits();
    absl::Status refused;
    bool by_no_peer = false;               // that is why
    std::map<uint32_t, uint32_t> holders;  // of allocations for GPUDirect RDMA, by index
  };
  absl::Status CheckRdma(const MappingRecord& mapping, const AccessGrant& grant, PageEdit& edit,
                         uint32_t& holder) const;
  Reach ReachOf(const AddressRange& range, absl::Span<const AccessGrant> grants) const;
  PageEdit EditOf(absl::Span<const AccessGrant> grants) const;
  void NoteLastChange(const AddressRange& range, absl::Span<const AccessGrant> grants);
  bool Changes(const AddressRange& range, const PageEdit& edit) const;
  void ApplyAccess(const AddressRange& range, const PageEdit& edit);
  absl::Status RefuseAccess(CallRecord& call, const AddressRange& range, const Reach& reach) const;
  void WarnOfRefusal(CallRecord& call, const AddressRange& range,
                     const absl::Status& refused) const;
  void WarnOfHole(CallRecord& call, const AddressRange& range, const AddressRange& granted) const;
  absl::Status ShowToCpu(const AddressRange& range, Access access);

  SimulatorState& state_;
  Mmu& mmu_ = state_.mmu;
  const CallGuard guard_;
  const CallGuard memory_guard_;  // where there is virtual memory management
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_VMM_SIMULATED_VMM_H_
