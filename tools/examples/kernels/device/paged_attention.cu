// Attention of one new token of each sequence to all earlier ones. A sequence's tokens lie one
// behind the other, whatever pages are mapped there; each has the key and the value of each head.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>

#include <cmath>

namespace cg = cooperative_groups;

constexpr int kSize = 64;  // of a key, of a value; two numbers a lane
constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;

// What a warp, or the block, has seen: the highest score, and relative to it the sum of weights and
// the weighted sum of values.
struct Seen {
  float most;
  float weight;
  float2 sum;
};

__device__ void Add(Seen* seen, float most, float weight, float2 sum) {
  const float higher = fmaxf(seen->most, most);
  const float mine = __expf(seen->most - higher);
  const float theirs = __expf(most - higher);
  seen->most = higher;
  seen->weight = seen->weight * mine + weight * theirs;
  seen->sum.x = seen->sum.x * mine + sum.x * theirs;
  seen->sum.y = seen->sum.y * mine + sum.y * theirs;
}

// A block for each head (x) of each sequence (y).
extern "C" __global__ void __launch_bounds__(kThreads)
    paged_attention(const __half2* const* sequences, const int* lengths, const float2* queries,
                    float2* out) {
  __shared__ Seen of_warps[kWarps][32];
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int lane = static_cast<int>(warp.thread_rank());
  const int heads = static_cast<int>(gridDim.x);
  const int row = (static_cast<int>(blockIdx.y) * heads + static_cast<int>(blockIdx.x)) * 32 + lane;
  const __half2* tokens = sequences[blockIdx.y] + blockIdx.x * kSize + lane;
  const float2 query = queries[row];
  const float scale = rsqrtf(static_cast<float>(kSize));
  Seen seen = {-1e30f, 0, {0, 0}};
  for (int i = static_cast<int>(warp.meta_group_rank()); i < lengths[blockIdx.y]; i += kWarps) {
    const __half2* token = tokens + static_cast<size_t>(i) * heads * kSize;
    const float2 key = __half22float2(token[0]);
    const float score =
        cg::reduce(warp, key.x * query.x + key.y * query.y, cg::plus<float>()) * scale;
    Add(&seen, score, 1, __half22float2(token[kSize / 2]));
  }
  of_warps[warp.meta_group_rank()][lane] = seen;
  __syncthreads();
  if (warp.meta_group_rank() != 0) return;
  for (int w = 1; w < kWarps; ++w) {
    const Seen& other = of_warps[w][lane];
    Add(&seen, other.most, other.weight, other.sum);
  }
  out[row] = {seen.sum.x / seen.weight, seen.sum.y / seen.weight};
}
