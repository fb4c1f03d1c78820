// MulticastCalls: Multicast on a software MMU.

#ifndef TWINMMU_SIM_CALLS_MULTICAST_MULTICAST_CALLS_H_
#define TWINMMU_SIM_CALLS_MULTICAST_MULTICAST_CALLS_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "api/call_macros.h"
#include "api/multicast.h"
#include "sim/base/call_guard.h"
#include "sim/diagnostics/call_record.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {

// Nothing of this was compared with a driver: it is what the documentation says, and where that is
// silent, our choice, which docs/reference/contract.md lists. Without memory a call is
// OUT_OF_MEMORY, in a forked child NOT_INITIALIZED; where no device has multicast it is
// NOT_SUPPORTED.
class MulticastCalls : public Multicast {
 public:
  // `state` must outlive this object.
  explicit MulticastCalls(SimulatorState* state);

  TWINMMU_MULTICAST_CALLS(TWINMMU_SHORT_FORMS, Multicast)
  TWINMMU_MULTICAST_CALLS(TWINMMU_OVERRIDE, )

 private:
  // What a bind call names of memory, and the device that it is for.
  struct Part {
    std::shared_ptr<PhysicalPages> pages;
    Bytes offset;
    DeviceOrdinal device;
  };

  TWINMMU_MULTICAST_CALLS(TWINMMU_BODY, )
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
  absl::Status Bind(CallRecord& call, AllocationHandle object, Bytes offset, Bytes size,
                    uint64_t flags, absl::FunctionRef<absl::StatusOr<Part>()> find_part);
  absl::Status AddBinding(const char* call, PhysicalPages& object, MulticastBinding binding);

  SimulatorState& state_;
  Mmu& mmu_ = state_.mmu;
  const CallGuard guard_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_MULTICAST_MULTICAST_CALLS_H_
