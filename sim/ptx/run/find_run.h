// FindRun: where a warp's accesses go, at once, as they most often are.

#ifndef TWINMMU_SIM_PTX_RUN_FIND_RUN_H_
#define TWINMMU_SIM_PTX_RUN_FIND_RUN_H_

#include <algorithm>
#include <cstdint>

#include "sim/ptx/program/code.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/lane_addresses.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {

// The space that a generic address lies in; *address becomes the one there.
inline Space SpaceOf(uint64_t* address) {
  const uint64_t window = *address & ~(kWindowSize - 1);
  Space space = Space::kGlobal;
  if (window == kSharedWindow) space = Space::kShared;
  if (window == kLocalWindow) space = Space::kLocal;
  if (window == kParamWindow) space = Space::kParam;
  if (space != Space::kGlobal) *address -= window;
  return space;
}

// What lies around the address of an access, as far as addition leads to it; none if it may not be
// accessed so, or if that takes more to say. *span: of global memory, else null.
inline AddressWindow FindWindow(Warp& warp, const MemoryAccess& access, uint64_t address,
                                const TranslationCache::Span** span) {
  *span = nullptr;
  const bool generic = access.space == Space::kGeneric;
  uint64_t there = address;
  const Space space = generic ? SpaceOf(&there) : access.space;
  const uint64_t base = address - there;
  Block& block = warp.block();
  if (space == Space::kShared) {
    return {base + block.shared_base(), block.shared().size(), block.shared().data()};
  }
  if (space == Space::kLocal) {
    AddressWindow window = warp.LocalWindow();
    window.base = base;
    return window;
  }
  if (space == Space::kParam) {
    const FunctionCode& function = *warp.frame().function;
    if (!generic && !function.entry) {
      return {0, function.passed_bytes, warp.frame().PassedOf(0), function.passed_bytes};
    }
    if (access.access != Access::kRead) return {};
    const std::vector<char>& given = block.grid().launch->parameters;
    const uint64_t size = generic ? given.size() : function.parameter_bytes;
    return {base, std::min<uint64_t>(size, given.size()), const_cast<char*>(given.data())};
  }
  *span = block.cache().Find(DeviceAddress(address), access.size(), access.access);
  if (*span == nullptr) return {};
  return {(*span)->base.value(), (*span)->size, (*span)->memory};
}

// `span`: of global memory, else null.
template <typename T>
inline LaneRun FindRunAt(Warp& warp, const MemoryAccess& access, const T* addresses,
                         const TranslationCache::Span** span) {
  const T stride = addresses[1] - addresses[0];
  if (!IsEven(addresses, stride)) return {};
  const T first = addresses[0] + static_cast<T>(access.offset);
  const uint64_t size = access.size();
  if (((first | stride) & (size - 1)) != 0 || stride > kWindowSize) return {};
  const AddressWindow window = FindWindow(warp, access, first, span);
  if (!window.Holds(first, size + (kLanes - 1) * uint64_t{stride})) return {};
  return {window.memory + (first - window.base), stride + window.lane_stride};
}

// The memory of an access by `lanes`, if they are all, at even distances in one place, and the
// access is weak. Else none: Warp::Resolve tells.
inline LaneRun FindAnyRun(Warp& warp, const MemoryAccess& access, uint32_t address_slot,
                          Lanes lanes, const TranslationCache::Span** span) {
  if (lanes != kAllLanes || access.order != Order::kWeak || warp.meets_copies()) return {};
  if (access.wide) return FindRunAt(warp, access, warp.Slot<uint64_t>(address_slot), span);
  return FindRunAt(warp, access, warp.Slot<uint32_t>(address_slot), span);
}

// The same if nobody observes it.
inline LaneRun FindRun(Warp& warp, const MemoryAccess& access, uint32_t address_slot, Lanes lanes) {
  const TranslationCache::Span* span;
  const LaneRun run = FindAnyRun(warp, access, address_slot, lanes, &span);
  if (run.memory == nullptr || (span != nullptr ? span->armed : warp.watched())) return {};
  return run;
}

// The same if the alias monitor observes it, and the lanes access what lies side by side.
// *address: whose memory it is; 0: the block's own shared memory.
inline LaneRun FindObservedRun(Warp& warp, const MemoryAccess& access, uint32_t address_slot,
                               Lanes lanes, coherence::AddressId* address) {
  const TranslationCache::Span* span;
  const LaneRun run = FindAnyRun(warp, access, address_slot, lanes, &span);
  if (run.memory == nullptr || run.stride != access.size()) return {};
  *address = span != nullptr ? span->address_id : 0;
  const std::vector<char>& shared = warp.block().shared();
  const uint64_t in_shared =
      reinterpret_cast<uint64_t>(run.memory) - reinterpret_cast<uint64_t>(shared.data());
  const bool observed = span != nullptr ? span->armed : warp.watched() && in_shared < shared.size();
  return observed ? run : LaneRun();
}

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_FIND_RUN_H_
