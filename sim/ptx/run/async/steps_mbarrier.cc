// Operations of mbarriers.

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/ptx/run/async/async_copies.h"
#include "sim/ptx/run/async/mbarriers.h"
#include "sim/ptx/run/async/shared_words.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {
namespace {

constexpr uint8_t kKindMask = 0x0f;

uint32_t ValueAt(Warp& warp, uint32_t slot, int lane, uint32_t unsaid) {
  return slot == kNoSlot ? unsaid : warp.Slot<uint32_t>(slot)[lane];
}

// What is wrong, or null.
const char* Change(Warp& warp, const Step& step, int lane, Mbarriers::Object* object,
                   char* memory) {
  const uint32_t bytes = ValueAt(warp, step.operands[3], lane, 0);
  switch (static_cast<MbarrierKind>(step.detail & kKindMask)) {
    case MbarrierKind::kExpect:
      return Mbarriers::ExpectBytes(object, memory, bytes);
    case MbarrierKind::kComplete:
      return Mbarriers::CompleteBytes(object, memory, bytes);
    default:
      break;
  }
  Mbarriers::Arrival arrival;
  arrival.count = ValueAt(warp, step.operands[2], lane, 1);
  arrival.bytes = bytes;
  arrival.drops = (step.detail & kDrops) != 0;
  arrival.may_complete = (step.detail & kNoComplete) == 0;
  if (step.memory.order == Order::kRelease && warp.block().aliases().active()) {
    warp.block().threads().Arrive(&object->meeting, warp.number(), Lanes{1} << lane);
  }
  return Mbarriers::Arrive(object, memory, arrival);
}

Flow ChangeOne(Warp& warp, const Step& step, int lane) {
  SharedWord word;
  if (!FindSharedWord(warp, step, warp.Slot<uint64_t>(step.operands[1])[lane], lane, &word)) {
    return Flow::kFault;
  }
  Mbarriers& mbarriers = word.owner->mbarriers();
  const char* wrong = nullptr;
  const MbarrierKind kind = static_cast<MbarrierKind>(step.detail & kKindMask);
  if (kind == MbarrierKind::kInit) {
    wrong = mbarriers.Init(word.address, word.memory, ValueAt(warp, step.operands[2], lane, 0));
  } else if (kind == MbarrierKind::kInvalidate) {
    wrong = mbarriers.Invalidate(word.address, word.memory);
  } else if (Mbarriers::Object* const object = mbarriers.Find(word.address, word.memory, &wrong)) {
    const uint64_t before = object->bits;
    wrong = Change(warp, step, lane, object, word.memory);
    if (step.operands[0] != kNoSlot) warp.Slot<uint64_t>(step.operands[0])[lane] = before;
  }
  if (wrong == nullptr) return Flow::kNext;
  return warp.Fault(GridFault::kUndefined, Lanes{1} << lane,
                    absl::StrCat(wrong, " (shared address 0x", absl::Hex(word.address), ")"));
}

}  // namespace

bool FindSharedWord(Warp& warp, const Step& step, uint64_t address, int lane, SharedWord* word) {
  MemoryAccess access = step.memory;
  access.bytes = sizeof(uint64_t);
  access.count = 1;
  access.access = Access::kReadWrite;
  uint64_t inside = address;
  // A small one is of shared memory, too: as to an H200, and as the toolkit's own headers pass it.
  if (access.space == Space::kGeneric && address >= kWindowSize) inside -= kSharedWindow;
  if (address % sizeof(uint64_t) != 0) {
    warp.FaultAt(GridFault::kMisalignedAddress, lane, access, address);
    return false;
  }
  if (inside >= kWindowSize) {
    warp.FaultAt(GridFault::kIllegalInstruction, lane, access, address);
    warp.block().fault().words = "an mbarrier lies in shared memory";
    return false;
  }
  word->owner = warp.block().OwnerOf(inside);
  word->memory = warp.block().SharedAt(inside, sizeof(uint64_t));
  word->address = static_cast<uint32_t>(inside);
  if (word->memory != nullptr) return true;
  warp.NoteNoMemory(access, address, lane);
  return false;
}

Flow PerformMbarrier(Warp& warp, const Step& step, Lanes lanes) {
  Flow flow = Flow::kNext;
  warp.changes += lanes != 0;
  for (; lanes != 0 && flow == Flow::kNext; lanes &= lanes - 1) {
    flow = ChangeOne(warp, step, __builtin_ctz(lanes));
  }
  return flow;
}

// In vain, it is the turn of others.
Flow PerformMbarrierWait(Warp& warp, const Step& step, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  Lanes done = 0;
  for (Lanes rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    SharedWord word;
    if (!FindSharedWord(warp, step, warp.Slot<uint64_t>(step.operands[1])[lane], lane, &word)) {
      return Flow::kFault;
    }
    if (word.owner != &warp.block()) {
      return warp.Fault(GridFault::kIllegalInstruction, Lanes{1} << lane,
                        "it waits for an mbarrier of another block");
    }
    const char* wrong = nullptr;
    Mbarriers::Object* const object =
        word.owner->mbarriers().Find(word.address, word.memory, &wrong);
    if (object == nullptr) {
      return warp.Fault(GridFault::kUndefined, Lanes{1} << lane,
                        absl::StrCat(wrong, " (shared address 0x", absl::Hex(word.address), ")"));
    }
    const bool odd = step.detail != 0
                         ? (warp.Slot<uint32_t>(step.operands[2])[lane] & 1) != 0
                         : MbarrierState::Of(warp.Slot<uint64_t>(step.operands[2])[lane]).odd;
    const auto is_over = [&] { return MbarrierState::Of(object->bits).odd != odd; };
    // The second time at the latest, what can come has come.
    if (!is_over() && object->failed_waits++ != 0 && !word.owner->DriveCopies(word.address)) {
      return Flow::kFault;
    }
    if (!is_over()) continue;
    done |= Lanes{1} << lane;
    if (ProxyWrites* const proxy = warp.block().proxy_writes()) {
      proxy->Synchronize();
      proxy->EndAtMbarrier(word.address);
    }
    if (UnwaitedCopies* const unwaited = warp.block().unwaited_copies())
      unwaited->EndAtMbarrier(word.address);
    if (step.memory.order == Order::kAcquire && warp.block().aliases().active()) {
      warp.block().threads().Leave(&object->completed, warp.number(), Lanes{1} << lane);
    }
  }
  Lanes* const to = warp.Slot<Lanes>(step.operands[0]);
  *to = (*to & ~lanes) | done;
  if (done == lanes) return Flow::kNext;
  ++warp.polls;
  ++warp.running().pc;
  return Flow::kYield;
}

Flow PerformPendingCount(Warp& warp, const Step& step, Lanes lanes) {
  uint32_t* const to = warp.Slot<uint32_t>(step.operands[0]);
  const uint64_t* const states = warp.Slot<uint64_t>(step.operands[1]);
  ForEachLane(lanes, [&](int lane) { to[lane] = MbarrierState::Of(states[lane]).pending; });
  return Flow::kNext;
}

Flow PerformArriveAfterCopies(Warp& warp, const Step& step, Lanes lanes) {
  warp.changes += lanes != 0;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    SharedWord word;
    if (!FindSharedWord(warp, step, warp.Slot<uint64_t>(step.operands[1])[lane], lane, &word)) {
      return Flow::kFault;
    }
    if (step.detail != 0) {
      const char* wrong = nullptr;
      Mbarriers::Object* const object =
          word.owner->mbarriers().Find(word.address, word.memory, &wrong);
      if (object != nullptr) wrong = Mbarriers::AddPending(object, word.memory);
      if (wrong != nullptr) {
        return warp.Fault(GridFault::kUndefined, Lanes{1} << lane, wrong);
      }
    }
    if (UnwaitedCopies* const unwaited = warp.block().unwaited_copies())
      unwaited->ArriveAt(warp.number(), Lanes{1} << lane, word.address);
    AsyncOperation operation = OperationOf(warp, step, lane);
    operation.kind = AsyncOperation::kArrive;
    operation.has_barrier = true;
    operation.barrier = word.address;
    if (!warp.block().copies().Add(std::move(operation))) return Flow::kFault;
  }
  return Flow::kNext;
}

}  // namespace twinmmu::ptx
