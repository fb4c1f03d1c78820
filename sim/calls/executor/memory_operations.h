// MemoryOperations: work of streams that waits for a word of memory, or writes one.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_MEMORY_OPERATIONS_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_MEMORY_OPERATIONS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/executor.h"
#include "sim/base/call_guard.h"
#include "sim/calls/executor/simulated_streams.h"
#include "sim/coherence/monitor/site_table.h"

namespace twinmmu {

struct SimulatorState;

struct MemoryOperation {
  enum Kind { kWait, kWrite };
  // Of a wait: what has to hold of the word.
  enum Condition {
    kGreaterOrEqual,  // word - value, which wraps, is not negative
    kEqual,
    kAnd,  // word & value is not 0
    kNor,  // ~(word | value) is not 0
  };
  Kind kind = kWait;
  DeviceAddress address;
  Bytes width;  // 4 or 8
  uint64_t value = 0;
  Condition condition = kGreaterOrEqual;
  // Of a write: whoever sees it sees what the stream did before.
  bool releases = true;

  AddressRange range() const { return AddressRange{address, width, Bytes(0)}; }
  // Whether a wait is over when the word is `word`.
  bool HoldsFor(uint64_t word) const;
};

// A wait looks at its word again and again: it does not matter who writes it. One that nothing will
// end is LAUNCH_TIMEOUT, as a kernel that never ends is: at once if this is certain, otherwise when
// the program has waited for it for as long as the profile says.
class MemoryOperations {
 public:
  // Both must outlive this object.
  MemoryOperations(SimulatorState* state, SimulatedStreams* streams);

  // All of them, one behind the other, or none. INVALID_VALUE: a word is not aligned, or the device
  // of the stream has no access to it. Where it has, but not to write, that is a fault,
  // LAUNCH_FAILED, as on an H100: when the turn of a write comes, and when a wait is over.
  absl::Status Submit(const char* call, Stream stream,
                      absl::Span<const MemoryOperation> operations);

 private:
  absl::Status Check(const char* call, Stream stream, const MemoryOperation& operation);
  StreamScheduler::Work WorkOf(const char* call, Stream stream,
                               const SimulatedStreams::Queue& queue,
                               const MemoryOperation& operation);

  SimulatorState& state_;
  SimulatedStreams& streams_;
  const std::shared_ptr<const SiteSource> call_sites_;
  const CallGuard guard_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_MEMORY_OPERATIONS_H_
