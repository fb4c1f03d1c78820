// ManagedCalls: what the driver can be told about managed memory, beside copies and kernels, which
// use it as any other. All of it is remembered, and moves nothing: there is one copy, which the CPU
// and all devices see at its address.

#ifndef TWINMMU_SIM_CALLS_LINEAR_MANAGED_CALLS_H_
#define TWINMMU_SIM_CALLS_LINEAR_MANAGED_CALLS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/executor.h"
#include "sim/base/call_guard.h"
#include "sim/memory/linear_allocation.h"
#include "sim/memory/managed_hints.h"

namespace twinmmu {

struct SimulatorState;
class SimulatedStreams;

// CUmem_advise.
enum class Advice : uint32_t {
  kSetReadMostly = 1,
  kUnsetReadMostly = 2,
  kSetPreferredLocation = 3,
  kUnsetPreferredLocation = 4,
  kSetAccessedBy = 5,
  kUnsetAccessedBy = 6,
};

// A range is all in one allocation, or one managed variable. Hints are of all pages of the host
// that have a byte of it, whatever else lies there, until something in them is freed. Else, and
// where it is empty, InvalidArgument (INVALID_VALUE), with a diagnostic where the memory was freed,
// or ends before the range.
//
// Errors, state after an error, thread safety: as in api/vmm.h.
class ManagedCalls {
 public:
  // Both must outlive this object.
  ManagedCalls(SimulatorState* state, SimulatedStreams* streams)
      : state_(*state), streams_(*streams) {}

  struct Target {
    AddressRange range;
    Location location;
  };
  // Whether memory can be prefetched to `location`: a device whose managed memory the CPU can use
  // at the same time, the host, or a node of it that exists.
  bool CanPrefetchTo(const Location& location) const;

  // cuMemPrefetchAsync, cuMemPrefetchBatchAsync: from now on this is where it was prefetched to
  // last. One after the other: if one fails, those before it are done; but for a host that has no
  // memory, where none is. InvalidArgument (INVALID_VALUE): it cannot be prefetched to that
  // location.
  absl::Status Prefetch(const char* call, Stream stream, absl::Span<const Target> targets);
  // cuMemDiscardBatchAsync: the contents stay, which is one of the values that may be read then.
  absl::Status Discard(const char* call, Stream stream, absl::Span<const AddressRange> ranges);

  // cuMemAdvise. InvalidArgument: there is no such advice or location. An advice that needs no
  // location ignores its number. Measured: an advice for a node of the host changes nothing, and
  // `range` may be anything then.
  absl::Status Advise(const AddressRange& range, Advice advice, const Location& location);
  // What all pages of the range have in common. No misuse: a program may ask.
  absl::StatusOr<ManagedHints> HintsOf(const AddressRange& range) const;

  // Whether there is any now.
  bool HasMemory() const;

  // cuStreamAttachMemAsync: of the allocation that begins there. Nothing follows from it.
  // InvalidArgument: another size than that, or 0; no or several of the flags; single attachment to
  // the default stream.
  absl::Status Attach(Stream stream, DeviceAddress address, Bytes size, uint32_t flags);

 private:
  // The managed allocation that all of `range` is in. With mmu.mutex held.
  absl::StatusOr<const LinearAllocation*> FindManaged(const char* call,
                                                      const AddressRange& range) const;
  // Does visit(allocation) with mmu.mutex held alone, if all of `range` is in it.
  template <typename Visit>
  absl::Status WithManaged(const char* call, const AddressRange& range, const Visit& visit) const;

  SimulatorState& state_;
  SimulatedStreams& streams_;
  const CallGuard guard_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_LINEAR_MANAGED_CALLS_H_
