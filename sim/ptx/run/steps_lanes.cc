// What lanes and warps do together.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/warp.h"
#include "sim/ptx/run/word_changes.h"

namespace twinmmu::ptx {
namespace {

constexpr size_t kMask = 5;

// PTX does not say what becomes of a lane whose mask does not name it. As on an H200, whose
// compiler leaves the mask out where it knows that a warp comes there as a whole with one mask:
// then all of them take part. But who looks for races is told of it.
bool TakesPart(const Warp& warp, Lanes lanes, const uint32_t* masks) {
  return lanes == warp.live() && LanesLikeFirst(masks, lanes) == lanes && !warp.watched();
}

Flow FaultOfMask(Warp& warp, Lanes left_out, Lanes mask) {
  return warp.Fault(GridFault::kIllegalInstruction, left_out,
                    absl::StrCat("lane ", __builtin_ctz(left_out),
                                 " is not in its own member mask, ", InHex(mask)));
}

// Does `exchange` for those of `lanes` that name one mask, once all of them are here; each mask is
// an exchange of its own.
template <typename Exchange>
Flow Gather(Warp& warp, const Step& step, Lanes lanes, const Exchange& exchange) {
  if (lanes == 0) return Flow::kNext;
  if (step.operands[kMask] == kNoSlot) {
    exchange(lanes);
    return Flow::kNext;
  }
  const uint32_t* const masks = warp.Slot<uint32_t>(step.operands[kMask]);
  Lanes waiting = 0;
  for (Lanes rest = lanes; rest != 0;) {
    const Lanes mask = masks[__builtin_ctz(rest)];
    const Lanes alike = LanesLikeFirst(masks, rest);
    if ((alike & ~mask) != 0) {
      if (!TakesPart(warp, lanes, masks)) return FaultOfMask(warp, alike & ~mask, mask);
      exchange(lanes);
      return Flow::kNext;
    }
    rest &= ~alike;
    if ((mask & warp.live() & ~alike) != 0) {
      waiting |= alike;
    } else {
      exchange(alike);
    }
  }
  if (waiting == 0) return Flow::kNext;
  warp.KeepOnly(waiting, warp.running().pc + 1);
  warp.WaitForMasks(Group::kGathering, masks);
  return Flow::kMoved;
}

void StorePredicate(Warp& warp, uint32_t slot, Lanes lanes, Lanes value) {
  if (slot == kNoSlot) return;
  Lanes* const to = warp.Slot<Lanes>(slot);
  *to = (*to & ~lanes) | (value & lanes);
}

template <typename T>
void StoreAll(Warp& warp, uint32_t slot, Lanes lanes, T value) {
  T* const to = warp.Slot<T>(slot);
  ForEachLane(lanes, [&](int lane) { to[lane] = value; });
}

// The lane that `lane` reads from, and whether that is in reach.
int SourceOf(ShuffleMode mode, int lane, uint32_t b, uint32_t c, bool* in_reach) {
  const int clamp = static_cast<int>(c & 0x1f);
  const int segment = static_cast<int>(c >> 8 & 0x1f);
  const int distance = static_cast<int>(b & 0x1f);
  const int most = (lane & segment) | (clamp & ~segment);
  const int least = lane & segment;
  int source = 0;
  switch (mode) {
    case ShuffleMode::kUp:
      source = lane - distance;
      *in_reach = source >= most;
      break;
    case ShuffleMode::kDown:
      source = lane + distance;
      *in_reach = source <= most;
      break;
    case ShuffleMode::kButterfly:
      source = lane ^ distance;
      *in_reach = source <= most;
      break;
    case ShuffleMode::kIndex:
      source = least | (distance & ~segment);
      *in_reach = source <= most;
      break;
  }
  return *in_reach ? source : lane;
}

template <typename T>
Flow MatchAny(Warp& warp, const Step& step, Lanes all) {
  return Gather(warp, step, all, [&](Lanes lanes) {
    const T* const values = warp.Slot<T>(step.operands[2]);
    uint32_t result[kLanes] = {};
    ForEachLane(lanes, [&](int lane) {
      ForEachLane(
          lanes, [&](int other) { result[lane] |= Lanes{values[lane] == values[other]} << other; });
    });
    uint32_t* const to = warp.Slot<uint32_t>(step.operands[0]);
    ForEachLane(lanes, [&](int lane) { to[lane] = result[lane]; });
  });
}

template <typename T>
Flow MatchAll(Warp& warp, const Step& step, Lanes all) {
  return Gather(warp, step, all, [&](Lanes lanes) {
    const T* const values = warp.Slot<T>(step.operands[2]);
    const bool same = LanesLikeFirst(values, lanes) == lanes;
    StoreAll<uint32_t>(warp, step.operands[0], lanes, same ? lanes : 0);
    StorePredicate(warp, step.operands[1], lanes, same ? lanes : 0);
  });
}

template <typename Operation>
Flow Reduce(Warp& warp, const Step& step, Lanes all) {
  return Gather(warp, step, all, [&](Lanes lanes) {
    const uint32_t* const values = warp.Slot<uint32_t>(step.operands[2]);
    uint32_t result = values[__builtin_ctz(lanes)];
    ForEachLane(lanes & (lanes - 1),
                [&](int lane) { result = Operation::Next(result, values[lane], 0); });
    StoreAll(warp, step.operands[0], lanes, result);
  });
}

}  // namespace

Flow PerformShuffle(Warp& warp, const Step& step, Lanes all) {
  return Gather(warp, step, all, [&](Lanes lanes) {
    uint32_t values[kLanes];
    std::copy_n(warp.Slot<uint32_t>(step.operands[2]), kLanes, values);
    const uint32_t* const b = warp.Slot<uint32_t>(step.operands[3]);
    const uint32_t* const c = warp.Slot<uint32_t>(step.operands[4]);
    uint32_t result[kLanes];
    Lanes reached = 0;
    ForEachLane(lanes, [&](int lane) {
      bool in_reach = false;
      const int source =
          SourceOf(static_cast<ShuffleMode>(step.detail), lane, b[lane], c[lane], &in_reach);
      result[lane] = values[source];
      reached |= Lanes{in_reach} << lane;
    });
    uint32_t* const to = warp.Slot<uint32_t>(step.operands[0]);
    ForEachLane(lanes, [&](int lane) { to[lane] = result[lane]; });
    StorePredicate(warp, step.operands[1], lanes, reached);
  });
}

Flow PerformVote(Warp& warp, const Step& step, Lanes all) {
  return Gather(warp, step, all, [&](Lanes lanes) {
    const Lanes read = *warp.Slot<Lanes>(step.operands[2]);
    const Lanes holds = read & lanes;
    bool result = false;
    switch (static_cast<VoteMode>(step.detail)) {
      case VoteMode::kAll:
        result = holds == lanes;
        break;
      case VoteMode::kAny:
        result = holds != 0;
        break;
      case VoteMode::kUniform:
        result = holds == lanes || holds == 0;
        break;
      case VoteMode::kBallot:
        return StoreAll<uint32_t>(warp, step.operands[0], lanes, holds);
    }
    StorePredicate(warp, step.operands[0], lanes, result ? lanes : 0);
  });
}

Perform FindMatch(bool all, int width) {
  if (width == 4) return all ? MatchAll<uint32_t> : MatchAny<uint32_t>;
  return all ? MatchAll<uint64_t> : MatchAny<uint64_t>;
}

Perform FindReduction(absl::string_view operation, Type type) {
  using U = uint32_t;
  if (operation == "and") return Reduce<And<U>>;
  if (operation == "or") return Reduce<Or<U>>;
  if (operation == "xor") return Reduce<Xor<U>>;
  if (operation == "add") return Reduce<Add<U>>;
  const bool is_signed = IsSigned(type);
  if (operation == "min") return is_signed ? Reduce<Minimum<U, int32_t>> : Reduce<Minimum<U, U>>;
  if (operation == "max") return is_signed ? Reduce<Maximum<U, int32_t>> : Reduce<Maximum<U, U>>;
  return nullptr;
}

// -0 is less than +0. A NaN is passed over, or with kWithNan is the result.
Flow PerformFloatExtreme(Warp& warp, const Step& step, Lanes all) {
  return Gather(warp, step, all, [&](Lanes lanes) {
    const float* const values = warp.Slot<float>(step.operands[2]);
    float result = std::numeric_limits<float>::quiet_NaN();
    bool has_nan = false;
    ForEachLane(lanes, [&](int lane) {
      float value = values[lane];
      if (std::isnan(value)) {
        has_nan = true;
        return;
      }
      if ((step.detail & kOfMagnitudes) != 0) value = std::fabs(value);
      const bool less =
          value < result || (value == result && std::signbit(value) && !std::signbit(result));
      const bool better = (step.detail & kLargest) != 0 ? !less : less;
      if (std::isnan(result) || better) result = value;
    });
    constexpr uint32_t kCanonicalNan = 0x7fffffff;
    const bool is_nan = std::isnan(result) || (has_nan && (step.detail & kWithNan) != 0);
    StoreAll(warp, step.operands[0], lanes, is_nan ? kCanonicalNan : BitsOf(result));
  });
}

Flow PerformActiveMask(Warp& warp, const Step& step, Lanes lanes) {
  StoreAll<uint32_t>(warp, step.operands[0], lanes, lanes);
  return Flow::kNext;
}

Flow PerformElect(Warp& warp, const Step& step, Lanes all) {
  return Gather(warp, step, all, [&](Lanes lanes) {
    const int leader = __builtin_ctz(lanes);
    if (step.operands[0] != kNoSlot) {
      StoreAll<uint32_t>(warp, step.operands[0], lanes, static_cast<uint32_t>(leader));
    }
    StorePredicate(warp, step.operands[1], lanes, Lanes{1} << leader);
  });
}

// --- Barriers ------------------------------------------------------------------------------------

Flow PerformWarpBarrier(Warp& warp, const Step& step, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  const uint32_t* const masks = warp.Slot<uint32_t>(step.operands[0]);
  for (Lanes rest = lanes; rest != 0;) {
    const Lanes mask = masks[__builtin_ctz(rest)];
    const Lanes alike = LanesLikeFirst(masks, rest);
    if ((alike & ~mask) != 0) {
      if (TakesPart(warp, lanes, masks)) return Flow::kNext;
      return FaultOfMask(warp, alike & ~mask, mask);
    }
    rest &= ~alike;
    if (alike == warp.running().lanes && (mask & warp.live() & ~alike) == 0) {
      warp.NoteWarpBarrier(alike, alike);
      return Flow::kNext;
    }
  }
  warp.KeepOnly(lanes, warp.running().pc + 1);
  warp.WaitForMasks(Group::kWarpBarrier, masks);
  warp.PassWarpBarriers();
  return Flow::kMoved;
}

Flow PerformBarrier(Warp& warp, const Step& step, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  const int first = __builtin_ctz(lanes);
  const uint32_t barrier = warp.Slot<uint32_t>(step.operands[0])[first];
  if (barrier >= kBarriers) {
    return warp.Fault(GridFault::kIllegalInstruction, lanes, absl::StrCat("barrier ", barrier));
  }
  Arrival arrival;
  arrival.barrier = static_cast<int>(barrier);
  arrival.lanes = lanes;
  arrival.waits = (step.detail & kArrives) == 0;
  if (step.operands[1] != kNoSlot) arrival.threads = warp.Slot<uint32_t>(step.operands[1])[first];
  if (step.operands[3] != kNoSlot) {
    const Lanes read = *warp.Slot<Lanes>(step.operands[3]);
    arrival.votes = read & lanes;
  }
  warp.KeepOnly(lanes, warp.running().pc + 1);
  if (arrival.waits) {
    warp.running().wait = Group::kBarrier;
    warp.running().barrier = static_cast<uint8_t>(barrier);
  }
  if (!warp.block().Arrive(warp, arrival)) {
    return warp.Fault(GridFault::kIllegalInstruction, lanes,
                      absl::StrCat("barrier ", barrier, " is for another number of threads"));
  }
  if (!arrival.waits) ++warp.running().pc;
  return Flow::kMoved;
}

void TakeVotes(const Step& step, uint32_t count, bool all, Lanes lanes, char* registers) {
  if (step.operands[2] == kNoSlot) return;
  char* const slot = registers + step.operands[2];
  const VoteKind kind = static_cast<VoteKind>(step.detail & ~(kArrives | kAligned));
  if (kind == VoteKind::kCount) {
    uint32_t* const to = reinterpret_cast<uint32_t*>(slot);
    ForEachLane(lanes, [&](int lane) { to[lane] = count; });
    return;
  }
  const bool holds = kind == VoteKind::kAll ? all : count != 0;
  Lanes* const to = reinterpret_cast<Lanes*>(slot);
  *to = holds ? *to | lanes : *to & ~lanes;
}

}  // namespace twinmmu::ptx
