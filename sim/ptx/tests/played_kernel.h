// PlayedKernel: a litmus test, with its asynchronous operations, as a kernel for each GPU.

#ifndef TWINMMU_SIM_PTX_TESTS_PLAYED_KERNEL_H_
#define TWINMMU_SIM_PTX_TESTS_PLAYED_KERNEL_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "sim/coherence/litmus/litmus.h"

namespace twinmmu::ptx {

// Where the kernel, whose parameters are these addresses, finds and puts things:
//   a location      kLocationBytes for each, in the order of the program, behind `first`; through
//                   its second address, behind `second`
//   a replica       that of GPU 0 or 1 at `replica0` or `replica1`, all of them at `multicast`
//   its registers   a word for each observable, behind `results`
struct PlayedKernel {
  static constexpr uint32_t kLocationBytes = 128;
  std::string ptx;
  uint32_t blocks = 1;
  uint32_t threads = 32;  // of a block: a warp for each thread of the test, of which one lane acts,
                          // or four for the only one, where it has products
};

// How many GPUs the test needs.
int GpusOf(const coherence::LitmusTest& test);

// Locations whose names begin with s or t are in shared memory: that of the last thread's block.
bool IsShared(const coherence::MemoryLocation& location);

// `texture`, `surface`: handles of the location of that name that is read by them. The seed chooses
// which thread waits where. Unimplemented: what of the test is not there.
absl::StatusOr<PlayedKernel> MakePlayedKernel(const coherence::LitmusTest& test, int gpu,
                                              uint64_t texture, uint64_t surface, uint64_t seed);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TESTS_PLAYED_KERNEL_H_
