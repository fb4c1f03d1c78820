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
void ChangeTold(Warp& warp, const Step& step, Lanes lanes, const LaneMemory& memory,
                U (*next)(U, U, U), bool compares) {
  U* const results = warp.Slot<U>(step.operands[0]);
  const U* const b = warp.Slot<U>(step.operands[2]);
  const U* const c = warp.Slot<U>(step.operands[3]);
  Telling telling(&warp, step);
  ForEachLane(lanes, [&](int lane) {
    U* const word = reinterpret_cast<U*>(memory[lane]);
    U older = 0;
    const char* const from =
        telling.BeforeAtomic(lane, memory[lane], reinterpret_cast<char*>(&older));
    const bool newest = from == memory[lane];
    const Changed<U> value = newest ? Change(word, b[lane], c[lane], next)
                                    : Changed<U>{older, next(older, b[lane], c[lane])};
    const bool wrote = !compares || value.old == b[lane];
    if (!newest && wrote) __atomic_store_n(word, value.next, __ATOMIC_SEQ_CST);
    warp.changes += value.next != value.old;
    telling.AfterAtomic(lane, memory[lane], wrote);
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
  if (found == Found::kTold) {
    ChangeTold<U>(warp, step, lanes, memory, Operation::Next, kCompares<Operation>);
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

template <typename U>
Perform FindBitwise(absl::string_view operation) {
  if (operation == "and") return Atomic<U, And<U>>;
  if (operation == "or") return Atomic<U, Or<U>>;
  if (operation == "xor") return Atomic<U, Xor<U>>;
  if (operation == "exch") return Atomic<U, Exchange<U>>;
  if (operation == "cas") return Atomic<U, Compare<U>>;
  return nullptr;
}

template <typename U, typename As>
Perform FindArithmetic(absl::string_view operation) {
  if (operation == "add") return Atomic<U, Add<U>>;
  if (operation == "min") return Atomic<U, Minimum<U, As>>;
  if (operation == "max") return Atomic<U, Maximum<U, As>>;
  return nullptr;
}

Perform FindUnsigned32(absl::string_view operation) {
  if (operation == "inc") return Atomic<uint32_t, Increment<uint32_t>>;
  if (operation == "dec") return Atomic<uint32_t, Decrement<uint32_t>>;
  return FindArithmetic<uint32_t, uint32_t>(operation);
}

}  // namespace

Perform FindAtomic(absl::string_view operation, Type type) {
  const bool add = operation == "add";
  switch (type) {
    case Type::kB16:
      return operation == "cas" || operation == "exch" ? FindBitwise<uint16_t>(operation) : nullptr;
    case Type::kB32:
      return FindBitwise<uint32_t>(operation);
    case Type::kB64:
      return FindBitwise<uint64_t>(operation);
    case Type::kU32:
      return FindUnsigned32(operation);
    case Type::kS32:
      return FindArithmetic<uint32_t, int32_t>(operation);
    case Type::kU64:
      return FindArithmetic<uint64_t, uint64_t>(operation);
    case Type::kS64:
      return FindArithmetic<uint64_t, int64_t>(operation);
    case Type::kF16:
      return add ? Atomic<uint16_t, HalfAdd> : nullptr;
    case Type::kBf16:
      return add ? Atomic<uint16_t, BfloatAdd> : nullptr;
    case Type::kF16x2:
      return add ? Atomic<uint32_t, PairOf<HalfAdd>> : nullptr;
    case Type::kBf16x2:
      return add ? Atomic<uint32_t, PairOf<BfloatAdd>> : nullptr;
    case Type::kF32:
      return add ? Atomic<uint32_t, FloatAdd<uint32_t, float>> : nullptr;
    case Type::kF64:
      return add ? Atomic<uint64_t, FloatAdd<uint64_t, double>> : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace twinmmu::ptx
