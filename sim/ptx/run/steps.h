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
// The same of an element of a vector, each of which is changed by itself.
Perform FindVectorAtomic(absl::string_view operation, Type type);
// exch and cas of 128 bits, whose slots of 64 bits lie one behind the other.
Perform FindWideAtomic(absl::string_view operation);
// Strong ld.b128 and st.b128, which atomic operations do not see halves of.
Perform FindWideAccess(bool stores);
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
  kAsync,       // fence.proxy.async
  kOtherProxy,  // none that has accesses here
};
Flow PerformFence(Warp& warp, const Step& step, Lanes lanes);
// A prefetch of memory: it must be there.
Flow PerformCheck(Warp& warp, const Step& step, Lanes lanes);

// --- Asynchronous copies and mbarriers. Addresses have 64 bits. ---

// operands: the state or kNoSlot, the address, the count or kNoSlot, the bytes or kNoSlot; detail:
// MbarrierKind, and what of it holds; memory.space: shared or generic; memory.order: release or
// relaxed.
enum class MbarrierKind : uint8_t { kInit, kInvalidate, kArrive, kExpect, kComplete };
inline constexpr uint8_t kDrops = 0x40;
inline constexpr uint8_t kNoComplete = 0x80;
Flow PerformMbarrier(Warp& warp, const Step& step, Lanes lanes);
// operands: the predicate, the address, the state or parity; detail: whether that is a parity.
Flow PerformMbarrierWait(Warp& warp, const Step& step, Lanes lanes);
// operands: the count, the state.
Flow PerformPendingCount(Warp& warp, const Step& step, Lanes lanes);
// cp.async of memory.bytes. operands: to, from, and by detail: nothing, the bytes that are read, or
// a predicate to read none.
enum class CopySource : uint8_t { kWhole, kSized, kIgnored };
Flow PerformCopyAsync(Warp& warp, const Step& step, Lanes lanes);
// operands: -, the address; detail: whether the pending count is to grow first.
Flow PerformArriveAfterCopies(Warp& warp, const Step& step, Lanes lanes);
// operands: to, from, the bytes, the mbarrier or kNoSlot, the mask of blocks or kNoSlot; detail:
// the spaces.
inline constexpr uint8_t kFromShared = 1;
inline constexpr uint8_t kToShared = 2;
Flow PerformBulkCopy(Warp& warp, const Step& step, Lanes lanes);
// The same. Null: PTX has no such form.
Perform FindBulkReduction(absl::string_view operation, Type type);
// operands: the address in shared memory, that of the tensor map, the mbarrier or kNoSlot, the mask
// of blocks or kNoSlot; target: of FunctionCode::tensors.
Flow PerformTensorCopy(Warp& warp, const Step& step, Lanes lanes);
// operands: the address of the map, the value; detail: the TensorField; target: the dimension.
Flow PerformReplaceInTensorMap(Warp& warp, const Step& step, Lanes lanes);
// operands: to, from.
Flow PerformCopyTensorMap(Warp& warp, const Step& step, Lanes lanes);
// operands: the address, the bytes.
Flow PerformBulkPrefetch(Warp& warp, const Step& step, Lanes lanes);
// Of groups of copies. detail: of what; target: how many may be pending.
inline constexpr uint8_t kOfBulkCopies = 1;
inline constexpr uint8_t kOnlyRead = 2;
Flow PerformCommitCopies(Warp& warp, const Step& step, Lanes lanes);
Flow PerformWaitForCopies(Warp& warp, const Step& step, Lanes lanes);
// st.async, red.async. operands: the address, the mbarrier, the elements; memory: what they are.
Flow PerformStoreAsync(Warp& warp, const Step& step, Lanes lanes);
Perform FindReductionAsync(absl::string_view operation, Type type);

// --- Clusters ---

// detail: whether it arrives, else it waits.
Flow PerformClusterBarrier(Warp& warp, const Step& step, Lanes lanes);
// operands: to, the address, the rank; memory.bytes: of an address; memory.space: shared or
// generic.
Flow PerformMapAddress(Warp& warp, const Step& step, Lanes lanes);
// operands: the rank, the address; memory as above.
Flow PerformRankOf(Warp& warp, const Step& step, Lanes lanes);

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
// kNoSlot; detail: VoteKind, kArrives, and kAligned, where the threads of a warp come together.
inline constexpr uint8_t kArrives = 0x80;
inline constexpr uint8_t kAligned = 0x40;
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
// The least of .f32, or as `detail` says. operands: d, -, a.
enum FloatExtreme : uint8_t { kLargest = 1, kOfMagnitudes = 2, kWithNan = 4 };
Flow PerformFloatExtreme(Warp& warp, const Step& step, Lanes lanes);
// operands: d.
Flow PerformActiveMask(Warp& warp, const Step& step, Lanes lanes);
// operands: d or kNoSlot, p.
Flow PerformElect(Warp& warp, const Step& step, Lanes lanes);

// --- Matrices: all threads of a warp together ---

// target: of FunctionCode::matrices.
Flow PerformMatrixProduct(Warp& warp, const Step& step, Lanes lanes);
// The rows of up to four matrices of 8 by 8 elements of 16 bits, each at the address of a lane:
// where each lane's part of them lies. operands: the addresses, the first of the slots, one behind
// the other, for each matrix one, or two if they are transposed; detail: how many matrices, and
// kTransposes; memory: of a row.
inline constexpr uint8_t kTransposes = 0x80;
Flow PerformMatrixRows(Warp& warp, const Step& step, Lanes lanes);
// operands: to, from; a matrix of 8 by 8 elements of 16 bits.
Flow PerformTranspose(Warp& warp, const Step& step, Lanes lanes);
// Where the elements of a fragment lie. operands: the address, the first of the slots, the number
// of elements from line to line; target: of FunctionCode::matrices.
Flow PerformMatrixPlaces(Warp& warp, const Step& step, Lanes lanes);
// operands: the descriptors of a, or kNoSlot, and of b, the predicate; target: of
// FunctionCode::matrices; detail: which of both are transposed.
inline constexpr uint8_t kTransposesA = 1;
inline constexpr uint8_t kTransposesB = 2;
Flow PerformWarpgroupProduct(Warp& warp, const Step& step, Lanes lanes);
// Of groups of products. target: how many may be pending.
Flow PerformCommitProducts(Warp& warp, const Step& step, Lanes lanes);
Flow PerformWaitForProducts(Warp& warp, const Step& step, Lanes lanes);

// --- Textures and surfaces. target: of FunctionCode::textures. ---

Flow PerformTexture(Warp& warp, const Step& step, Lanes lanes);
// detail: the TextureQuery.
Flow PerformTextureQuery(Warp& warp, const Step& step, Lanes lanes);
Flow PerformSurfaceLoad(Warp& warp, const Step& step, Lanes lanes);
Flow PerformSurfaceStore(Warp& warp, const Step& step, Lanes lanes);
// Null: PTX has no such form.
Perform FindSurfaceReduction(absl::string_view operation, Type type);

// --- The stack: memory that a frame takes as it runs ---

// operands: the address, the size, the alignment; of 64 bits. detail: the bytes of the address.
Flow PerformTakeStack(Warp& warp, const Step& step, Lanes lanes);
// operands: where the stack ends.
Flow PerformSaveStack(Warp& warp, const Step& step, Lanes lanes);
Flow PerformRestoreStack(Warp& warp, const Step& step, Lanes lanes);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_STEPS_H_
