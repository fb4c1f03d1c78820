// Atomic operations.

#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>

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
  if (warp.meets_copies()) warp.MeetCopies(step, lanes, memory, true);
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

template <bool kMax>
Perform FindHalfExtreme(Type type) {
  using OfF16 = HalfExtreme<kMax, 0x7c00>;
  using OfBf16 = HalfExtreme<kMax, 0x7f80>;
  switch (type) {
    case Type::kF16:
      return Atomic<uint16_t, OfF16>;
    case Type::kBf16:
      return Atomic<uint16_t, OfBf16>;
    case Type::kF16x2:
      return Atomic<uint32_t, PairOf<OfF16>>;
    case Type::kBf16x2:
      return Atomic<uint32_t, PairOf<OfBf16>>;
    default:
      return nullptr;
  }
}

// 16 bytes as one, for all that is strong and has 16 bytes: the lock is for these.
struct Wide {
  uint64_t low = 0;
  uint64_t high = 0;
};

std::mutex& WideMutex() {
  static std::mutex* const mutex = new std::mutex;
  return *mutex;
}

template <bool kStores>
Flow WideAccess(Warp& warp, const Step& step, Lanes lanes) {
  static const Perform access = kStores ? FindStore(Type::kB64, 8) : FindLoad(Type::kB64, 8);
  const std::lock_guard lock(WideMutex());
  return access(warp, step, lanes);
}

template <bool kCompare>
Flow WideAtomic(Warp& warp, const Step& step, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  LaneMemory memory;
  const Found found = warp.Resolve(step.memory, step.operands[1], lanes, &memory);
  if (found == Found::kFault) return Flow::kFault;
  ++warp.polls;
  if (warp.meets_copies()) warp.MeetCopies(step, lanes, memory, true);
  std::optional<ObservedStep> observed;
  if (found == Found::kObserved) observed.emplace(&warp, step);
  const auto at = [&](uint32_t slot, int lane) {
    const uint64_t* const values = warp.Slot<uint64_t>(slot);
    return Wide{values[lane], values[kLanes + lane]};
  };
  ForEachLane(lanes, [&](int lane) {
    const std::lock_guard lock(WideMutex());
    char* const place = memory[static_cast<size_t>(lane)];
    Wide older;
    const char* const from =
        observed ? observed->BeforeAtomic(lane, place, reinterpret_cast<char*>(&older)) : place;
    const auto* const words = reinterpret_cast<const uint64_t*>(from);
    const Wide old{__atomic_load_n(words, __ATOMIC_SEQ_CST),
                   __atomic_load_n(words + 1, __ATOMIC_SEQ_CST)};
    const Wide b = at(step.operands[2], lane);
    const bool writes = !kCompare || (old.low == b.low && old.high == b.high);
    if (writes) {
      const Wide next = kCompare ? at(step.operands[3], lane) : b;
      __atomic_store_n(reinterpret_cast<uint64_t*>(place), next.low, __ATOMIC_SEQ_CST);
      __atomic_store_n(reinterpret_cast<uint64_t*>(place) + 1, next.high, __ATOMIC_SEQ_CST);
      ++warp.changes;
    }
    if (observed) observed->AfterAtomic(lane, place, writes);
    uint64_t* const results = warp.Slot<uint64_t>(step.operands[0]);
    results[lane] = old.low;
    results[kLanes + lane] = old.high;
  });
  return Flow::kNext;
}

}  // namespace

Perform FindVectorAtomic(absl::string_view operation, Type type) {
  if (operation == "min") return FindHalfExtreme<false>(type);
  if (operation == "max") return FindHalfExtreme<true>(type);
  return operation == "add" && IsFloating(type) ? FindForm<Atomics>(operation, type) : nullptr;
}

Perform FindWideAccess(bool stores) { return stores ? WideAccess<true> : WideAccess<false>; }

Perform FindWideAtomic(absl::string_view operation) {
  if (operation == "exch") return WideAtomic<false>;
  return operation == "cas" ? WideAtomic<true> : nullptr;
}

Perform FindAtomic(absl::string_view operation, Type type) {
  const Perform own = FindAtomicOnly(operation, type);
  return own != nullptr ? own : FindForm<Atomics>(operation, type);
}

}  // namespace twinmmu::ptx
