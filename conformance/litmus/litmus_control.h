// LitmusControl: what the kernels of a litmus test and the host share beside the memory of the
// test.

#ifndef TWINMMU_CONFORMANCE_LITMUS_LITMUS_CONTROL_H_
#define TWINMMU_CONFORMANCE_LITMUS_LITMUS_CONTROL_H_

#include <cstdint>

namespace twinmmu {

constexpr uint64_t kLitmusStride = 128;  // between the instances of a location: a line of the cache

// Where things lie in it. All words are of 32 bits.
struct LitmusControl {
  static constexpr uint64_t kErrors = 0;           // waits that took too long
  static constexpr uint64_t kStarted = 256;        // per task: it runs
  static constexpr uint64_t kZeros = 1024;         // stay 0, which the compiler cannot know
  static constexpr uint64_t kMeetings = 4096;      // per group, 128 bytes apart
  static constexpr uint64_t kRegisters = 1 << 20;  // per observable register, then per instance
  static constexpr uint64_t kCounts = 8 << 20;     // per outcome, by its key
  static constexpr uint64_t kBytes = 16 << 20;
};

}  // namespace twinmmu

#endif  // TWINMMU_CONFORMANCE_LITMUS_LITMUS_CONTROL_H_
