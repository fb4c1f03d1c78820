// The stack: alloca, stacksave, stackrestore.

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {

// Each lane has a stack of its own.
Flow PerformTakeStack(Warp& warp, const Step& step, Lanes lanes) {
  Frame& frame = warp.frame();
  const uint64_t* const sizes = warp.Slot<uint64_t>(step.operands[1]);
  const uint64_t* const alignments = warp.Slot<uint64_t>(step.operands[2]);
  for (Lanes rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const uint64_t alignment = alignments[lane];
    const uint64_t begin = (frame.stack_ends[lane] + alignment - 1) / alignment * alignment;
    // Compared before it is added, as sizes may be of any kind.
    if (sizes[lane] > kWindowSize || !warp.GrowLocal(begin + sizes[lane])) {
      return warp.Fault(GridFault::kStackOverflow, Lanes{1} << lane,
                        absl::StrCat("no room for ", sizes[lane], " bytes of alloca"));
    }
    frame.stack_ends[lane] = static_cast<uint32_t>(begin + sizes[lane]);
    frame.local_end = std::max(frame.local_end, frame.stack_ends[lane]);
    if (step.detail == 8) {
      warp.Slot<uint64_t>(step.operands[0])[lane] = begin;
    } else {
      warp.Slot<uint32_t>(step.operands[0])[lane] = static_cast<uint32_t>(begin);
    }
  }
  return Flow::kNext;
}

Flow PerformSaveStack(Warp& warp, const Step& step, Lanes lanes) {
  uint64_t* const to = warp.Slot<uint64_t>(step.operands[0]);
  const Frame& frame = warp.frame();
  ForEachLane(lanes, [&](int lane) { to[lane] = frame.stack_ends[lane]; });
  return Flow::kNext;
}

Flow PerformRestoreStack(Warp& warp, const Step& step, Lanes lanes) {
  Frame& frame = warp.frame();
  const uint64_t* const ends = warp.Slot<uint64_t>(step.operands[0]);
  const uint64_t least = uint64_t{frame.local_base} + frame.function->local_bytes;
  for (Lanes rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    if (ends[lane] < least || ends[lane] > frame.stack_ends[lane]) {
      return warp.Fault(GridFault::kIllegalInstruction, Lanes{1} << lane,
                        absl::StrCat("the stack never ended at ", ends[lane]));
    }
    frame.stack_ends[lane] = static_cast<uint32_t>(ends[lane]);
  }
  frame.local_end = *std::max_element(frame.stack_ends.begin(), frame.stack_ends.end());
  return Flow::kNext;
}

}  // namespace twinmmu::ptx
