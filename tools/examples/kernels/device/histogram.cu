// Counts bytes: a block counts in shared memory, a copy for each warp, and adds to the result once.

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;

extern "C" __global__ void __launch_bounds__(kThreads)
    histogram(const uchar4* __restrict__ bytes, int quads, unsigned int* counts) {
  __shared__ unsigned int mine[kWarps][256];
  for (unsigned int i = threadIdx.x; i < kWarps * 256; i += kThreads) mine[i / 256][i % 256] = 0;
  __syncthreads();
  unsigned int* warp = mine[threadIdx.x / 32];
  const int step = static_cast<int>(gridDim.x * kThreads);
  for (int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x); i < quads; i += step) {
    const uchar4 quad = __ldg(bytes + i);
    atomicAdd(&warp[quad.x], 1u);
    atomicAdd(&warp[quad.y], 1u);
    atomicAdd(&warp[quad.z], 1u);
    atomicAdd(&warp[quad.w], 1u);
  }
  __syncthreads();
  for (unsigned int i = threadIdx.x; i < 256; i += kThreads) {
    unsigned int sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += mine[w][i];
    if (sum != 0) atomicAdd(&counts[i], sum);
  }
}
