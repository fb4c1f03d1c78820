// Litmus tests as PTX, to run on a GPU.
//
// A test of threads becomes one kernel that plays the test again and again, in many places at once.
// 32 instances share a group of blocks: each thread of the test is a warp, whose lanes play that
// thread in the 32 instances; threads of one CTA are warps of one block, of several CTAs warps of
// several blocks. A turn: reset the locations, meet, warm the lines that will be read, wait a
// little, play, meet, count what was seen.
//
// Of a test of tasks, each launch becomes a kernel; a thread of it is one instance.

#ifndef TWINMMU_TOOLS_LITMUS_PTX_H_
#define TWINMMU_TOOLS_LITMUS_PTX_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "sim/coherence/litmus.h"

namespace twinmmu {

constexpr uint64_t kLitmusStride = 128;  // between the instances of a location: a line of the cache
constexpr uint32_t kLanesPerWarp = 32;

// Where things lie in the memory that the kernels of a test share with the host. All words are of
// 32 bits.
struct LitmusControl {
  static constexpr uint64_t kErrors = 0;           // waits that took too long
  static constexpr uint64_t kStarted = 256;        // per task: it runs
  static constexpr uint64_t kZeros = 1024;         // stay 0, which the compiler cannot know
  static constexpr uint64_t kMeetings = 4096;      // per group, 128 bytes apart
  static constexpr uint64_t kRegisters = 1 << 20;  // per observable register, then per instance
  static constexpr uint64_t kCounts = 8 << 20;     // per outcome, by its key
  static constexpr uint64_t kBytes = 16 << 20;
};

// The kernel "litmus" (u64 control, u32 turns, u32 seed, u64 base of each address of the program).
struct LitmusKernel {
  std::string ptx;
  uint32_t ctas = 1;  // blocks of a group
  uint32_t block_threads = 32;
  int key_bits = 1;  // of each observable; all ones: more than fits
};

// Unimplemented: it cannot run as a kernel, and why.
absl::StatusOr<LitmusKernel> MakeLitmusKernel(const coherence::LitmusTest& test);

// The kernels "task0", "task1", ..., one per launch of the program, by the index of its thread:
// (u64 control, u32 delay in clocks, u64 base of each address). Unimplemented: as above.
absl::StatusOr<std::string> MakeTaskKernels(const coherence::LitmusTest& test, uint32_t instances);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_LITMUS_PTX_H_
