// How the threads of a litmus test lie on devices: which of them share a block, and how many blocks
// and warps they need.

#ifndef TWINMMU_CONFORMANCE_LITMUS_LITMUS_PLACEMENT_H_
#define TWINMMU_CONFORMANCE_LITMUS_LITMUS_PLACEMENT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sim/coherence/litmus/litmus.h"

namespace twinmmu {

constexpr uint32_t kLanesPerWarp = 32;

struct LitmusPlacement {
  // A block of a group; each thread of the test is a warp of it.
  struct Cta {
    size_t gpu = 0;  // index in GpusOf
    std::vector<int> threads;
    std::map<int, int> barrier_threads;  // of a barrier: how many threads of the block meet there
  };
  std::vector<Cta> ctas;  // GPU after GPU
  uint32_t warps = 1;     // of every block
  int own_barrier = 15;   // one that the test does not use
};

// The numbers of the GPUs on which the program runs, each once, in order.
std::vector<int> GpusOf(const coherence::Program& program);

// How many devices it needs: one for each of those, and for each replica of a multicast address.
size_t CountDevices(const coherence::Program& program);

// The first address that `location` alone has.
size_t UnicastAddressOf(const coherence::Program& program, int location);

// OK, or Unimplemented: why the test cannot run on a device at all.
absl::Status CheckCanRun(const coherence::LitmusTest& test);

// Unimplemented: the threads come to a barrier unequally often, or use them all.
absl::StatusOr<LitmusPlacement> PlaceThreads(const coherence::Program& program);

}  // namespace twinmmu

#endif  // TWINMMU_CONFORMANCE_LITMUS_LITMUS_PLACEMENT_H_
