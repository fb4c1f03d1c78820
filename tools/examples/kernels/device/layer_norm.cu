// Each row less its mean, over its standard deviation, scaled and shifted: a block a row, whose
// values stay in registers; sums go through the warps, then through shared memory.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

constexpr int kThreads = 128;
constexpr int kPairs = 4;  // of a thread

__device__ float SumOfBlock(float value, float* partial) {
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  value = cg::reduce(warp, value, cg::plus<float>());
  if (warp.thread_rank() == 0) partial[warp.meta_group_rank()] = value;
  block.sync();
  value = 0;
  for (int i = 0; i < kThreads / 32; ++i) value += partial[i];
  block.sync();
  return value;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    layer_norm(const __half2* __restrict__ in, const __half2* __restrict__ scale,
               const __half2* __restrict__ shift, __half2* __restrict__ out, int pairs,
               float epsilon) {
  __shared__ float partial[kThreads / 32];
  in += static_cast<size_t>(blockIdx.x) * pairs;
  out += static_cast<size_t>(blockIdx.x) * pairs;
  float2 values[kPairs];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kPairs; ++k) {
    const int i = k * kThreads + static_cast<int>(threadIdx.x);
    values[k] = i < pairs ? __half22float2(in[i]) : float2{0, 0};
    sum += values[k].x + values[k].y;
  }
  const float mean = SumOfBlock(sum, partial) / static_cast<float>(2 * pairs);
  float squares = 0;
#pragma unroll
  for (int k = 0; k < kPairs; ++k) {
    if (k * kThreads + static_cast<int>(threadIdx.x) >= pairs) continue;
    values[k].x -= mean;
    values[k].y -= mean;
    squares += values[k].x * values[k].x + values[k].y * values[k].y;
  }
  const float variance = SumOfBlock(squares, partial) / static_cast<float>(2 * pairs);
  const float factor = rsqrtf(variance + epsilon);
#pragma unroll
  for (int k = 0; k < kPairs; ++k) {
    const int i = k * kThreads + static_cast<int>(threadIdx.x);
    if (i >= pairs) continue;
    const float2 scaled = __half22float2(scale[i]);
    const float2 shifted = __half22float2(shift[i]);
    out[i] = __floats2half2_rn(values[k].x * factor * scaled.x + shifted.x,
                               values[k].y * factor * scaled.y + shifted.y);
  }
}
