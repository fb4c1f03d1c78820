// Sums of all that came before, in one pass: a block publishes its own sum, then looks back over
// those of its predecessors until one has the sum of everything before.

#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>

#include <cuda/atomic>

namespace cg = cooperative_groups;

constexpr int kThreads = 128;
constexpr int kItems = 4;  // of a thread

enum Flag : unsigned long long { kNothing = 0, kOwnSum = 1, kAllSum = 2 };

// Flag and sum in one word, so that they are read together.
__device__ unsigned long long Pack(Flag flag, unsigned int sum) {
  return static_cast<unsigned long long>(flag) << 32 | sum;
}

using Status = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;

// By one warp: 32 predecessors at a time.
__device__ unsigned int LookBack(unsigned long long* statuses, int block) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  unsigned int before = 0;
  for (int last = block - 1;; last -= 32) {
    const int at = last - static_cast<int>(warp.thread_rank());
    unsigned long long status = Pack(kAllSum, 0);  // before the first block
    if (at >= 0) {
      do {
        status = Status(statuses[at]).load(cuda::memory_order_acquire);
      } while (status >> 32 == kNothing);
    }
    const unsigned int final = warp.ballot(status >> 32 == kAllSum);
    const int until = final != 0 ? __ffs(static_cast<int>(final)) - 1 : 31;
    unsigned int sum = warp.thread_rank() <= until ? static_cast<unsigned int>(status) : 0;
    for (int step = 16; step > 0; step /= 2) sum += warp.shfl_xor(sum, step);
    before += sum;
    if (final != 0) return before;
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    lookback_scan(const unsigned int* in, unsigned int* out, int count,
                  unsigned long long* statuses, int* next_block) {
  __shared__ int block;
  __shared__ unsigned int before;
  __shared__ unsigned int warp_sums[kThreads / 32];
  // Blocks take numbers in the order in which they start, so that none waits for one that did not.
  if (threadIdx.x == 0) block = atomicAdd(next_block, 1);
  __syncthreads();
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int first = (block * kThreads + static_cast<int>(threadIdx.x)) * kItems;
  unsigned int items[kItems];
  unsigned int own = 0;
  for (int i = 0; i < kItems; ++i) {
    items[i] = first + i < count ? in[first + i] : 0;
    own += items[i];
  }
  const unsigned int inclusive = cg::inclusive_scan(warp, own);
  if (warp.thread_rank() == 31) warp_sums[warp.meta_group_rank()] = inclusive;
  __syncthreads();
  unsigned int sum = inclusive - own;
  unsigned int all = 0;
  for (unsigned int i = 0; i < kThreads / 32; ++i) {
    if (i < warp.meta_group_rank()) sum += warp_sums[i];
    all += warp_sums[i];
  }
  if (warp.meta_group_rank() == 0) {
    if (warp.thread_rank() == 0 && block > 0) {
      Status(statuses[block]).store(Pack(kOwnSum, all), cuda::memory_order_release);
    }
    const unsigned int earlier = LookBack(statuses, block);
    if (warp.thread_rank() == 0) {
      Status(statuses[block]).store(Pack(kAllSum, earlier + all), cuda::memory_order_release);
      before = earlier;
    }
  }
  __syncthreads();
  sum += before;
  for (int i = 0; i < kItems && first + i < count; ++i) {
    out[first + i] = sum;
    sum += items[i];
  }
}
