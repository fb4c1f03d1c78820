#include <sstream>

#include "conformance/runtime/runtime_kernels.h"

namespace random_runtime {

// The number of a thread among all of its grid.
__device__ unsigned Number() {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  return block * (blockDim.x * blockDim.y * blockDim.z) + thread;
}

__global__ void FillWords(unsigned* to, unsigned count, unsigned value) {
  const unsigned i = Number();
  if (i < count) to[i] = value + i;
}

__global__ void AddToWords(unsigned* to, unsigned count, unsigned value) {
  const unsigned i = Number();
  if (i < count) to[i] += value;
}

__global__ void __launch_bounds__(64) FewThreads(unsigned* to, unsigned count, unsigned value) {
  const unsigned i = Number();
  if (i < count) to[i] ^= value;
}

// A word of dynamic shared memory, where there is one.
__global__ void ShareWords(unsigned* to, unsigned count, unsigned value) {
  extern __shared__ unsigned words[];
  unsigned size;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
  const unsigned i = Number();
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned found = 1;
  if (4 * thread + 4 <= size) {
    words[thread] = value + thread;
    found = words[thread];
  }
  if (i < count) to[i] = found;
}

__global__ void ReverseWords(unsigned* to, unsigned count, unsigned value) {
  __shared__ unsigned words[1024];
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  words[thread] = thread * value;
  __syncthreads();
  const unsigned i = Number();
  if (i < count) to[i] = words[threads - 1 - thread];
}

__global__ void __cluster_dims__(2, 1, 1)
    PairOfBlocks(unsigned* to, unsigned count, unsigned value) {
  const unsigned i = Number();
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (i < count) to[i] = value + rank;
}

namespace {

const void* NoKernel() { return reinterpret_cast<const void*>(&NoKernel); }

const Kernel kKernels[] = {
    {"fill", reinterpret_cast<const void*>(&FillWords)},
    {"add", reinterpret_cast<const void*>(&AddToWords)},
    {"few", reinterpret_cast<const void*>(&FewThreads)},
    {"share", reinterpret_cast<const void*>(&ShareWords)},
    {"reverse", reinterpret_cast<const void*>(&ReverseWords)},
    {"pair", reinterpret_cast<const void*>(&PairOfBlocks)},
};

}  // namespace

Kernel AnyKernel(RuntimeWorld& world) {
  if (!world.OneIn(20)) return AnyRealKernel(world);
  return world.OneIn(2) ? Kernel{"null", nullptr} : Kernel{"none", NoKernel()};
}

Kernel AnyRealKernel(RuntimeWorld& world) { return kKernels[world.Below(std::size(kKernels))]; }

void FindArguments(RuntimeWorld& world, Arguments* arguments) {
  arguments->value = static_cast<unsigned>(world.Below(1000));
  std::ostringstream text;
  if (world.blocks.empty()) {
    text << "nothing";
  } else {
    const Object<char*>& block = world.One(world.blocks);
    const size_t words = block.size / 4;
    const size_t first = words == 0 ? 0 : world.Below(words);
    arguments->to = block.handle + 4 * first;
    arguments->count = static_cast<unsigned>(words - first);
    text << block.name << '+' << 4 * first;
  }
  text << ' ' << arguments->count << ' ' << arguments->value;
  arguments->words = text.str();
}

}  // namespace random_runtime
