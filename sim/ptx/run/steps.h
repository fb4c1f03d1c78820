// Steps: what an instruction does to memory, to the flow of control, and between lanes. The decoder
// chooses the Perform of a step by the functions here; what `operands` are is said with each.

#ifndef TWINMMU_SIM_PTX_RUN_STEPS_H_
#define TWINMMU_SIM_PTX_RUN_STEPS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "sim/ptx/operations/operation.h"
#include "sim/ptx/program/code.h"
#include "sim/ptx/text/type.h"

namespace twinmmu::ptx {

// Calls visit(lane) for each of `lanes`.
template <typename Visit>
inline void ForEachLane(Lanes lanes, const Visit& visit) {
  if (lanes == kAllLanes) {
    for (int lane = 0; lane < kLanes; ++lane) visit(lane);
    return;
  }
  for (; lanes != 0; lanes &= lanes - 1) visit(__builtin_ctz(lanes));
}

// Those of `lanes`, of which there are some, that have the value of the first.
template <typename T>
Lanes LanesLikeFirst(const T* values, Lanes lanes) {
  const T first = values[__builtin_ctz(lanes)];
  Lanes alike = 0;
  ForEachLane(lanes, [&](int lane) { alike |= Lanes{values[lane] == first} << lane; });
  return alike;
}

// --- Memory. operands: the address, then the elements; step.memory: where. ---

// Elements of `type` to or from registers of `width` bytes. Null: there is no such form.
Perform FindLoad(Type type, int width);
Perform FindStore(Type type, int width);
// operands: the old value, the address, the operand, and of cas the value to store. Null: PTX has
// no such form.
Perform FindAtomic(absl::string_view operation, Type type);
// Accesses of multicast addresses. operands: the address, then the first slot of the elements,
// whose slots lie one behind the other. `wide_sums`: those of f16 and bf16 are f32. Null: no such
// form.
Perform FindMulticastLoad(absl::string_view operation, Type type, bool wide_sums);
Perform FindMulticastStore(Type type);
Perform FindMulticastChange(absl::string_view operation, Type type);
// detail: FenceKind; memory.order and .strength: of kMemory.
enum class FenceKind : uint8_t {
  kMemory,        // fence, membar
  kAlias,         // fence.proxy.alias
  kAliasAcquire,  // its halves, fence.proxy.alias.acquire.sys
  kAliasRelease,
  kOtherProxy,  // none that has accesses here
};
Flow PerformFence(Warp& warp, const Step& step, Lanes lanes);
// A prefetch of memory: it must be there.
Flow PerformCheck(Warp& warp, const Step& step, Lanes lanes);

// --- The flow of control ---

Flow PerformBranch(Warp& warp, const Step& step, Lanes lanes);
// operands: the index; target: of FunctionCode::target_lists.
Flow PerformIndexedBranch(Warp& warp, const Step& step, Lanes lanes);
// target: of FunctionCode::calls; operands[0]: the address, if there is one.
Flow PerformCall(Warp& warp, const Step& step, Lanes lanes);
Flow PerformReturn(Warp& warp, const Step& step, Lanes lanes);
Flow PerformExit(Warp& warp, const Step& step, Lanes lanes);
Flow PerformTrap(Warp& warp, const Step& step, Lanes lanes);
Flow PerformSleep(Warp& warp, const Step& step, Lanes lanes);
// griddepcontrol.launch_dependents, .wait
Flow PerformLetNextStart(Warp& warp, const Step& step, Lanes lanes);
Flow PerformGridWait(Warp& warp, const Step& step, Lanes lanes);
Flow PerformNothing(Warp& warp, const Step& step, Lanes lanes);
// operands: the slot; detail: the Special.
Flow PerformReadSpecial(Warp& warp, const Step& step, Lanes lanes);

// --- Between lanes ---

// What a step of barrier gives, by detail.
enum class VoteKind : uint8_t { kNone, kCount, kAll, kAny };
// operands: the barrier, the number of threads or kNoSlot, the result or kNoSlot, the predicate or
// kNoSlot; detail: VoteKind, and kArrives.
inline constexpr uint8_t kArrives = 0x80;
Flow PerformBarrier(Warp& warp, const Step& step, Lanes lanes);
// Stores the result of a barrier whose votes were counted.
void TakeVotes(const Step& step, uint32_t count, bool all, Lanes lanes, char* registers);
// operands: the mask.
Flow PerformWarpBarrier(Warp& warp, const Step& step, Lanes lanes);

// The lanes that take part: operands[5], or kNoSlot: those that are there.
// operands: d, p or kNoSlot, a, b, c; b and c as in shfl.
enum class ShuffleMode : uint8_t { kUp, kDown, kButterfly, kIndex };
Flow PerformShuffle(Warp& warp, const Step& step, Lanes lanes);
// operands: d, -, a, which is a predicate.
enum class VoteMode : uint8_t { kAll, kAny, kUniform, kBallot };
Flow PerformVote(Warp& warp, const Step& step, Lanes lanes);
// operands: d, p or kNoSlot, a.
Perform FindMatch(bool all, int width);
// operands: d, -, a.
Perform FindReduction(absl::string_view operation, Type type);
// operands: d.
Flow PerformActiveMask(Warp& warp, const Step& step, Lanes lanes);
// operands: d or kNoSlot, p.
Flow PerformElect(Warp& warp, const Step& step, Lanes lanes);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_STEPS_H_
