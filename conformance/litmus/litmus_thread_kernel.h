// A litmus test of threads as one kernel, which plays it again and again, in many places at once.
//
// 32 instances share a group of blocks: each thread of the test is a warp, whose lanes play that
// thread in the 32 instances; threads of one CTA are warps of one block, of several CTAs warps of
// several blocks, those of several GPUs in a launch on each. A turn: reset the locations, meet,
// warm the lines that will be read, wait a little, play, meet, count what was seen.

#ifndef TWINMMU_CONFORMANCE_LITMUS_LITMUS_THREAD_KERNEL_H_
#define TWINMMU_CONFORMANCE_LITMUS_LITMUS_THREAD_KERNEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "conformance/litmus/litmus_timing.h"
#include "sim/coherence/litmus/litmus.h"

namespace twinmmu {

// The kernel "litmus" (u64 control, u32 turns, u32 seed, u32 blocks of a group on this device, u32
// the first of them in the group, u64 base of each address of the program).
struct LitmusKernel {
  std::string ptx;
  std::vector<uint32_t> ctas;  // of each GPU in GpusOf: blocks of a group
  uint32_t block_threads = 32;
  int key_bits = 1;  // of each observable; all ones: more than fits
};

// Unimplemented: it cannot run as a kernel, and why.
absl::StatusOr<LitmusKernel> MakeLitmusKernel(const coherence::LitmusTest& test,
                                              LitmusTiming timing);

}  // namespace twinmmu

#endif  // TWINMMU_CONFORMANCE_LITMUS_LITMUS_THREAD_KERNEL_H_
