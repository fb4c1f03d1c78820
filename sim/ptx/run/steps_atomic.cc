// Atomic operations.

#include <cstdint>

#include "sim/ptx/run/block.h"
#include "sim/ptx/run/observed_step.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/warp.h"
#include "sim/ptx/run/word_changes.h"

namespace twinmmu::ptx {
namespace {

// The monitor of aliases may have some lanes work on older values. `compares`: the operation writes
// if the old value is its first operand, else always.
template <typename U>
void ChangeObserved(Warp& warp, const Step& step, Lanes lanes, const LaneMemory& memory,
                    U (*next)(U, U, U), bool compares) {
  U* const results = warp.Slot<U>(step.operands[0]);
  const U* const b = warp.Slot<U>(step.operands[2]);
  const U* const c = warp.Slot<U>(step.operands[3]);
  ObservedStep observed(&warp, step);
  ForEachLane(lanes, [&](int lane) {
    U* const word = reinterpret_cast<U*>(memory[lane]);
    U older = 0;
    const char* const from =
        observed.BeforeAtomic(lane, memory[lane], reinterpret_cast<char*>(&older));
    const bool newest = from == memory[lane];
    const Changed<U> value = newest ? Change(word, b[lane], c[lane], next)
                                    : Changed<U>{older, next(older, b[lane], c[lane])};
    const bool wrote = !compares || value.old == b[lane];
    if (!newest && wrote) __atomic_store_n(word, value.next, __ATOMIC_SEQ_CST);
    warp.changes += value.next != value.old;
    observed.AfterAtomic(lane, memory[lane], wrote);
    results[lane] = value.old;
  });
}

template <typename Operation>
constexpr bool kCompares = false;
template <typename U>
constexpr bool kCompares<Compare<U>> = true;

template <typename U, typename Operation>
Flow Atomic(Warp& warp, const Step& step, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  LaneMemory memory;
  const Found found = warp.Resolve(step.memory, step.operands[1], lanes, &memory);
  if (found == Found::kFault) return Flow::kFault;
  ++warp.polls;
  if (warp.block().proxy_writes() != nullptr) warp.MeetCopies(step, lanes, memory, true);
  if (found == Found::kObserved) {
    ChangeObserved<U>(warp, step, lanes, memory, Operation::Next, kCompares<Operation>);
    return Flow::kNext;
  }
  U* const results = warp.Slot<U>(step.operands[0]);
  const U* const b = warp.Slot<U>(step.operands[2]);
  const U* const c = warp.Slot<U>(step.operands[3]);
  ForEachLane(lanes, [&](int lane) {
    U* const word = reinterpret_cast<U*>(memory[lane]);
    const Changed<U> value = Change(word, b[lane], c[lane], [](U old, U with, U or_with) {
      return Operation::Next(old, with, or_with);
    });
    warp.changes += value.next != value.old;
    results[lane] = value.old;
  });
  return Flow::kNext;
}

// For FindForm.
struct Atomics {
  using Function = Perform;
  template <typename U, typename Operation>
  static constexpr Perform kPerform = Atomic<U, Operation>;
};

template <typename U>
Perform FindExchange(absl::string_view operation) {
  if (operation == "exch") return Atomic<U, Exchange<U>>;
  if (operation == "cas") return Atomic<U, Compare<U>>;
  return nullptr;
}

// What no other form has.
Perform FindAtomicOnly(absl::string_view operation, Type type) {
  switch (type) {
    case Type::kB16:
      return FindExchange<uint16_t>(operation);
    case Type::kB32:
      return FindExchange<uint32_t>(operation);
    case Type::kB64:
      return FindExchange<uint64_t>(operation);
    case Type::kU32:
      if (operation == "inc") return Atomic<uint32_t, Increment<uint32_t>>;
      if (operation == "dec") return Atomic<uint32_t, Decrement<uint32_t>>;
      return nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

Perform FindAtomic(absl::string_view operation, Type type) {
  const Perform own = FindAtomicOnly(operation, type);
  return own != nullptr ? own : FindForm<Atomics>(operation, type);
}

}  // namespace twinmmu::ptx
