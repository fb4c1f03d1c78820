// GraphMemory: what lay at the addresses of a graph when it was made, and what lies there now.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_GRAPH_MEMORY_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_GRAPH_MEMORY_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "sim/calls/executor/copy_operation.h"

namespace twinmmu {

struct SimulatorState;

// A part of what a node of a graph uses, in one mapping or one linear allocation.
struct RememberedMemory {
  AddressRange range;
  // Which memory it was: of a mapping its pages and where in them, of linear memory its number.
  bool mapped = false;
  uint64_t memory = 0;
  uint64_t offset = 0;
  uint64_t made_by = 0;  // the id of the call that mapped or allocated it
  // Whether the node uses it in any case. Else it is an argument of a kernel that points there.
  bool certain = true;
};

// A graph keeps addresses, not memory. Nothing here changes what a call does; where there is no
// memory it throws std::bad_alloc. Thread-safe.
class GraphMemory {
 public:
  // `state` must outlive this object.
  explicit GraphMemory(SimulatorState* state) : state_(*state) {}

  // Adds what a copy or a fill uses now.
  void Remember(const CopyOperation& operation, std::vector<RememberedMemory>* memory) const;
  // Adds what the arguments of a kernel point to now: each of their words, at a multiple of 8
  // bytes, that is an address of memory of a device.
  void RememberPointers(absl::Span<const char> arguments,
                        std::vector<RememberedMemory>* memory) const;

  // Another one, larger, after each change that may have taken memory away.
  uint64_t generation() const;
  // Whether all of it is there as it was.
  bool IsFresh(absl::Span<const RememberedMemory> memory) const;
  // Warns of what is no longer there, or is other memory now. `node`: "the kernel node add".
  void Warn(DeviceOrdinal device, absl::string_view node,
            absl::Span<const RememberedMemory> memory) const;

 private:
  // What lies in `range`, in order of addresses. With Mmu::mutex held, as what follows.
  void Find(const AddressRange& range, std::vector<RememberedMemory>* memory) const;
  // What lies at the start of `range`, up to its end; false: nothing.
  bool FindFirst(const AddressRange& range, RememberedMemory* found) const;
  // Whether it is the same memory; else `now` is what is there, if anything is: then `there`.
  bool IsSame(const RememberedMemory& was, RememberedMemory* now, bool* there) const;

  SimulatorState& state_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_GRAPH_MEMORY_H_
