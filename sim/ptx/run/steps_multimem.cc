// Accesses of multicast addresses. Each goes to one replica after the other, in the order of their
// devices; they are not atomic as a set.

#include <cstdint>
#include <cstring>
#include <optional>

#include "sim/ptx/operations/half.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/observed_step.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/warp.h"
#include "sim/ptx/run/word_changes.h"

namespace twinmmu::ptx {
namespace {

constexpr int kMostElements = 8;

// Sums, minima and maxima of elements as they are: Operation makes a new one of two.
template <typename U, typename Operation>
struct Fold {
  using Element = U;
  using Sum = U;
  static Sum Begin(U element) { return element; }
  static Sum Add(Sum sum, U element) { return Operation::Next(sum, element, 0); }
  static U End(Sum sum) { return sum; }
};

// Sums of f16 or bf16, rounded once at the end.
template <float (*kWiden)(uint16_t), uint16_t (*kNarrow)(float)>
struct Wide {
  using Element = uint16_t;
  using Sum = float;
  static Sum Begin(Element element) { return kWiden(element); }
  static Sum Add(Sum sum, Element element) { return sum + kWiden(element); }
  static Element End(Sum sum) { return kNarrow(sum); }
};
template <typename One>
struct WidePair {
  struct Sum {
    float low;
    float high;
  };
  using Element = uint32_t;
  static uint16_t Low(Element pair) { return static_cast<uint16_t>(pair); }
  static uint16_t High(Element pair) { return static_cast<uint16_t>(pair >> 16); }
  static Sum Begin(Element pair) { return {One::Begin(Low(pair)), One::Begin(High(pair))}; }
  static Sum Add(Sum sum, Element pair) {
    return {One::Add(sum.low, Low(pair)), One::Add(sum.high, High(pair))};
  }
  static Element End(Sum sum) { return uint32_t{One::End(sum.high)} << 16 | One::End(sum.low); }
};

// A NaN loses; -0 is less than +0.
template <float (*kToFloat)(uint16_t), bool kMax>
struct HalfExtreme {
  static uint16_t Next(uint16_t a, uint16_t b, uint16_t) {
    constexpr uint16_t kNan = 0x7fff;
    if (std::isnan(kToFloat(a))) return std::isnan(kToFloat(b)) ? kNan : b;
    if (std::isnan(kToFloat(b))) return a;
    // In the order of sign and magnitude.
    const auto rank = [](uint16_t x) { return (x & 0x8000) != 0 ? -(x & 0x7fff) - 1 : x; };
    return (rank(a) < rank(b)) == kMax ? b : a;
  }
};

// The lock of the alias monitor, if it observes this replica.
void BeginObserving(Warp& warp, const Step& step, const ReplicaLanes& replica,
                    std::optional<ObservedStep>* observed) {
  if (replica.observed.lanes != 0) observed->emplace(&warp, step, replica.observed);
}

template <typename F>
Flow LoadReduced(Warp& warp, const Step& step, Lanes lanes) {
  using Element = typename F::Element;
  if (lanes == 0) return Flow::kNext;
  const auto& replicas = warp.ResolveMulticast(step.memory, step.operands[0], lanes);
  if (replicas.empty()) return Flow::kFault;
  if (step.memory.order != Order::kWeak) ++warp.polls;
  const int count = step.memory.count;
  typename F::Sum sums[kLanes][kMostElements];
  Lanes begun = 0;
  for (const ReplicaLanes& replica : replicas) {
    std::optional<ObservedStep> observed;
    BeginObserving(warp, step, replica, &observed);
    ForEachLane(replica.lanes, [&](int lane) {
      alignas(kMaxAccess) char older[kMaxAccess];
      const char* from = replica.memory[lane];
      if (observed) from = observed->Load(lane, replica.memory[lane], older);
      for (int i = 0; i < count; ++i) {
        const Element element =
            __atomic_load_n(reinterpret_cast<const Element*>(from) + i, __ATOMIC_ACQUIRE);
        auto& sum = sums[lane][i];
        sum = (begun >> lane & 1) != 0 ? F::Add(sum, element) : F::Begin(element);
      }
    });
    begun |= replica.lanes;
  }
  Element* const to = warp.Slot<Element>(step.operands[1]);
  ForEachLane(lanes, [&](int lane) {
    for (int i = 0; i < count; ++i) to[i * kLanes + lane] = F::End(sums[lane][i]);
  });
  return Flow::kNext;
}

template <typename U>
Flow StoreToAll(Warp& warp, const Step& step, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  const auto& replicas = warp.ResolveMulticast(step.memory, step.operands[0], lanes);
  if (replicas.empty()) return Flow::kFault;
  warp.NoteStore(Space::kGlobal);
  const U* const value = warp.Slot<U>(step.operands[1]);
  for (const ReplicaLanes& replica : replicas) {
    std::optional<ObservedStep> observed;
    BeginObserving(warp, step, replica, &observed);
    ForEachLane(replica.lanes, [&](int lane) {
      char* const memory = replica.memory[lane];
      if (observed) observed->BeforeStore(lane, memory);
      for (int i = 0; i < step.memory.count; ++i) {
        __atomic_store_n(reinterpret_cast<U*>(memory) + i, value[i * kLanes + lane],
                         __ATOMIC_RELEASE);
      }
      if (observed) observed->AfterStore(lane, memory);
    });
  }
  return Flow::kNext;
}

// Each element by itself. The monitor of aliases may have it done on an older value.
template <typename U, typename Operation>
void ChangeOne(Warp& warp, const Step& step, const U* values, int lane, char* memory,
               ObservedStep* observed) {
  alignas(kMaxAccess) char older[kMaxAccess];
  const char* const from =
      observed != nullptr ? observed->BeforeAtomic(lane, memory, older) : memory;
  for (int i = 0; i < step.memory.count; ++i) {
    U* const word = reinterpret_cast<U*>(memory) + i;
    const U value = values[i * kLanes + lane];
    if (from == memory) {
      const auto next = [](U old, U with, U or_with) {
        return Operation::Next(old, with, or_with);
      };
      const Changed<U> changed = Change(word, value, U{0}, next);
      warp.changes += changed.next != changed.old;
      continue;
    }
    U old;
    std::memcpy(&old, from + static_cast<size_t>(i) * sizeof(U), sizeof(U));
    __atomic_store_n(word, Operation::Next(old, value, 0), __ATOMIC_SEQ_CST);
    ++warp.changes;
  }
  if (observed != nullptr) observed->AfterAtomic(lane, memory, /*wrote=*/true);
}

template <typename U, typename Operation>
Flow ChangeAll(Warp& warp, const Step& step, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  const auto& replicas = warp.ResolveMulticast(step.memory, step.operands[0], lanes);
  if (replicas.empty()) return Flow::kFault;
  ++warp.polls;
  const U* const values = warp.Slot<U>(step.operands[1]);
  for (const ReplicaLanes& replica : replicas) {
    std::optional<ObservedStep> observed;
    BeginObserving(warp, step, replica, &observed);
    ForEachLane(replica.lanes, [&](int lane) {
      ChangeOne<U, Operation>(warp, step, values, lane, replica.memory[lane],
                              observed ? &*observed : nullptr);
    });
  }
  return Flow::kNext;
}

// For FindForm: an instruction that loads all elements U, and one that changes them all. Neither
// has the minima and maxima of f16 and bf16; multimem.ld_reduce adds them.
struct Loads {
  using Function = Perform;
  template <typename U, typename Operation>
  static constexpr Perform kPerform = LoadReduced<Fold<U, Operation>>;
};
struct Changes {
  using Function = Perform;
  template <typename U, typename Operation>
  static constexpr Perform kPerform = ChangeAll<U, Operation>;
};

template <typename Half, typename Bfloat, typename HalfPair, typename BfloatPair>
Perform FindHalves(Type type) {
  switch (type) {
    case Type::kF16:
      return LoadReduced<Half>;
    case Type::kBf16:
      return LoadReduced<Bfloat>;
    case Type::kF16x2:
      return LoadReduced<HalfPair>;
    case Type::kBf16x2:
      return LoadReduced<BfloatPair>;
    default:
      return nullptr;
  }
}

template <bool kMax>
Perform FindExtreme(Type type) {
  using Half = HalfExtreme<FloatOfHalf, kMax>;
  using Bfloat = HalfExtreme<FloatOfBfloat, kMax>;
  return FindHalves<Fold<uint16_t, Half>, Fold<uint16_t, Bfloat>, Fold<uint32_t, PairOf<Half>>,
                    Fold<uint32_t, PairOf<Bfloat>>>(type);
}

Perform FindWideSum(Type type) {
  using Half = Wide<FloatOfHalf, HalfOf>;
  using Bfloat = Wide<FloatOfBfloat, BfloatOf>;
  return FindHalves<Half, Bfloat, WidePair<Half>, WidePair<Bfloat>>(type);
}

}  // namespace

Perform FindMulticastLoad(absl::string_view operation, Type type, bool wide_sums) {
  if (wide_sums) return operation == "add" ? FindWideSum(type) : nullptr;
  const Perform extreme = operation == "min"   ? FindExtreme<false>(type)
                          : operation == "max" ? FindExtreme<true>(type)
                                               : nullptr;
  return extreme != nullptr ? extreme : FindForm<Loads>(operation, type);
}

Perform FindMulticastChange(absl::string_view operation, Type type) {
  return FindForm<Changes>(operation, type);
}

Perform FindMulticastStore(Type type) {
  const bool is_bits = type == Type::kB32 || type == Type::kB64;
  // What can be added, or is bits, can be stored.
  if (!is_bits && FindForm<Changes>("add", type) == nullptr) return nullptr;
  switch (BytesOf(type)) {
    case 2:
      return StoreToAll<uint16_t>;
    case 4:
      return StoreToAll<uint32_t>;
    default:
      return StoreToAll<uint64_t>;
  }
}

}  // namespace twinmmu::ptx
