// EventVmm: tells the record of a run what a program does on any Vmm, even the driver's.
//
//   auto events = record::EventWriter::Create("test.events");
//   CheckedVmm checked(driver->vmm().value());
//   EventVmm vmm(&checked, events->get());
//   RunMyAllocator(vmm);
//
// `twinmmu view test.events` shows it (docs/guide/pictures.md). A simulator tells more of itself:
// SimulatorOptions::events.

#ifndef TWINMMU_API_TESTING_EVENT_VMM_H_
#define TWINMMU_API_TESTING_EVENT_VMM_H_

#include <cstdint>
#include <map>
#include <mutex>

#include "api/record/event.h"
#include "api/record/event_writer.h"
#include "api/testing/forwarding.h"

namespace twinmmu {

// Every call is forwarded unchanged, and its answer returned unchanged. What it does is told when
// it returned, and a call that failed as such. Thread safety: as in api/vmm.h; but where one thread
// gives addresses or a handle back and another gets the same at once, the two may be told the other
// way round.
class EventVmm : public ForwardingVmm {
 public:
  // Both must outlive this object.
  EventVmm(Vmm* target, record::EventWriter* events);

  using Vmm::AddressReserve;
  using Vmm::Create;
  using Vmm::ExportShareableHandle;
  using Vmm::Map;

  absl::StatusOr<AddressRange> AddressReserve(Bytes size, const ReserveOptions& options) override;
  absl::Status AddressFree(const AddressRange& range) override;
  absl::StatusOr<AllocationHandle> Create(Bytes size, const AllocationProperties& properties,
                                          uint64_t flags) override;
  absl::Status Release(AllocationHandle handle) override;
  absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress address) override;
  absl::Status Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                   uint64_t flags) override;
  absl::Status Unmap(const AddressRange& range) override;
  absl::Status SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants) override;
  absl::StatusOr<ShareableHandle> ExportShareableHandle(AllocationHandle handle, HandleType type,
                                                        uint64_t flags) override;
  absl::StatusOr<AllocationHandle> ImportShareableHandle(const ShareableHandle& shareable) override;

 private:
  void Tell(record::Event event, const absl::Status& status);
  void AddReference(AllocationHandle handle);
  bool IsLastReference(AllocationHandle handle);

  record::EventWriter& events_;
  std::mutex mutex_;  // a leaf
  std::map<AllocationHandle, uint64_t> references_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_EVENT_VMM_H_
