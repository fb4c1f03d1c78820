// MulticastCalls: Multicast on a software MMU.

#ifndef TWINMMU_SIM_CALLS_MULTICAST_MULTICAST_CALLS_H_
#define TWINMMU_SIM_CALLS_MULTICAST_MULTICAST_CALLS_H_

#include <mutex>

#include "api/multicast.h"
#include "sim/base/call_guard.h"
#include "sim/diagnostics/call_record.h"
#include "sim/machine/machine_state.h"

namespace twinmmu {

// Nothing of this was compared with a driver: it is what the documentation says, and where that is
// silent, what docs/contract.md says that we chose. Without memory a call is OUT_OF_MEMORY, in a
// forked child NOT_INITIALIZED; where no device has multicast it is NOT_SUPPORTED.
class MulticastCalls : public Multicast {
 public:
  // `machine` must outlive this object.
  explicit MulticastCalls(MachineState* machine) : machine_(*machine) {}

  using Multicast::BindAddress;
  using Multicast::BindMemory;

  absl::StatusOr<Bytes> GetGranularity(const MulticastProperties& properties,
                                       Granularity option) override;
  absl::StatusOr<AllocationHandle> Create(const MulticastProperties& properties) override;
  absl::Status AddDevice(AllocationHandle object, DeviceOrdinal device) override;
  absl::Status BindMemory(AllocationHandle object, Bytes offset, AllocationHandle memory,
                          Bytes memory_offset, Bytes size, uint64_t flags) override;
  absl::Status BindAddress(AllocationHandle object, Bytes offset, const AddressRange& range,
                           uint64_t flags) override;
  absl::Status Unbind(AllocationHandle object, DeviceOrdinal device, Bytes offset,
                      Bytes size) override;

 private:
  // What a bind call names of memory.
  struct Part {
    std::shared_ptr<PhysicalPages> pages;
    Bytes offset;
  };

  template <typename Body>
  auto Guarded(Call call, const Body& body) -> decltype(body());
  bool IsGranular(Bytes bytes) const { return mmu_.IsMulticastGranular(bytes.value()); }
  absl::Status CheckProperties(const char* call, const MulticastProperties& properties) const;
  absl::StatusOr<PhysicalPages*> FindObject(CallRecord& call, AllocationHandle object) const;
  absl::Status CheckSpan(const char* call, const PhysicalPages& object, Bytes offset,
                         Bytes size) const;
  absl::StatusOr<Part> PartOf(CallRecord& call, AllocationHandle memory, Bytes offset,
                              Bytes size) const;
  absl::StatusOr<Part> PartAt(const char* call, const AddressRange& range) const;
  absl::StatusOr<TeamFile::Turn> Enter(const char* call, PhysicalPages& object) const;
  absl::Status Publish(const char* call, PhysicalPages& object, MulticastBinding& binding);
  absl::Status Bind(const char* call, PhysicalPages& object, MulticastBinding binding);

  MachineState& machine_;
  Mmu& mmu_ = machine_.mmu;
  const CallGuard guard_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_MULTICAST_MULTICAST_CALLS_H_
