// The kernels of random programs of the runtime.

#ifndef TWINMMU_CONFORMANCE_RUNTIME_RUNTIME_KERNELS_H_
#define TWINMMU_CONFORMANCE_RUNTIME_RUNTIME_KERNELS_H_

#include <string>

#include "conformance/runtime/runtime_world.h"

namespace random_runtime {

#ifdef __CUDACC__
// Each writes no more than the words that it is told of: no two threads write the same one.
__global__ void FillWords(unsigned* to, unsigned count, unsigned value);
__global__ void __launch_bounds__(64) FewThreads(unsigned* to, unsigned count, unsigned value);
__global__ void __cluster_dims__(2, 1, 1)
    PairOfBlocks(unsigned* to, unsigned count, unsigned value);
#endif

struct Kernel {
  const char* name;
  const void* function;
};

// Rarely one that is none.
Kernel AnyKernel(RuntimeWorld& world);
Kernel AnyRealKernel(RuntimeWorld& world);

// What a kernel is given. The words lie within a block, or are none.
struct Arguments {
  char* to = nullptr;
  unsigned count = 0;
  unsigned value = 0;
  void* pointers[3] = {&to, &count, &value};
  std::string words;  // what they are, for writing down
};
void FindArguments(RuntimeWorld& world, Arguments* arguments);

// A default stream, one of those made, or one of the two that have names.
cudaStream_t StreamFor(RuntimeWorld& world, std::string* name);

}  // namespace random_runtime

#endif  // TWINMMU_CONFORMANCE_RUNTIME_RUNTIME_KERNELS_H_
