// The stack: alloca, stacksave, stackrestore.

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {

// The lanes of a frame have one stack: what one of them takes, none of the others gets.
Flow PerformTakeStack(Warp& warp, const Step& step, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  Frame& frame = warp.frame();
  const uint64_t* const sizes = warp.Slot<uint64_t>(step.operands[1]);
  const uint64_t alignment = warp.Slot<uint64_t>(step.operands[2])[__builtin_ctz(lanes)];
  uint64_t size = 0;
  ForEachLane(lanes, [&](int lane) { size = std::max(size, sizes[lane]); });
  const uint64_t begin = (uint64_t{frame.local_end()} + alignment - 1) / alignment * alignment;
  // Compared before it is added, as sizes may be of any kind.
  if (size > kWindowSize || !warp.GrowLocal(begin + size)) {
    return warp.Fault(GridFault::kStackOverflow, lanes,
                      absl::StrCat("no room for ", size, " bytes of alloca"));
  }
  frame.stack_bytes += static_cast<uint32_t>(begin + size - frame.local_end());
  if (step.detail == 8) {
    uint64_t* const to = warp.Slot<uint64_t>(step.operands[0]);
    ForEachLane(lanes, [&](int lane) { to[lane] = begin; });
  } else {
    uint32_t* const to = warp.Slot<uint32_t>(step.operands[0]);
    ForEachLane(lanes, [&](int lane) { to[lane] = static_cast<uint32_t>(begin); });
  }
  return Flow::kNext;
}

Flow PerformSaveStack(Warp& warp, const Step& step, Lanes lanes) {
  uint64_t* const to = warp.Slot<uint64_t>(step.operands[0]);
  const uint64_t end = warp.frame().local_end();
  ForEachLane(lanes, [&](int lane) { to[lane] = end; });
  return Flow::kNext;
}

// If some lanes of the frame are elsewhere, they may still use what lies behind: it stays until the
// function returns.
Flow PerformRestoreStack(Warp& warp, const Step& step, Lanes lanes) {
  Frame& frame = warp.frame();
  if (lanes == 0 || lanes != frame.lanes) return Flow::kNext;
  const uint64_t* const ends = warp.Slot<uint64_t>(step.operands[0]);
  uint64_t end = 0;
  ForEachLane(lanes, [&](int lane) { end = std::max(end, ends[lane]); });
  const uint64_t least = uint64_t{frame.local_base} + frame.function->local_bytes;
  if (end < least || end > frame.local_end()) {
    return warp.Fault(GridFault::kIllegalInstruction, lanes,
                      absl::StrCat("the stack never ended at ", end));
  }
  frame.stack_bytes = static_cast<uint32_t>(end - least);
  return Flow::kNext;
}

}  // namespace twinmmu::ptx
