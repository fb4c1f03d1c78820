// One pass of a radix sort, of four bits: blocks count their digits, one block adds the counts up,
// and each block moves its keys behind those of equal digits that came before.

constexpr int kThreads = 128;
constexpr int kDigits = 16;

// counts[digit][block]
extern "C" __global__ void __launch_bounds__(kThreads)
    count_digits(const unsigned int* keys, int count, int shift, unsigned int* counts) {
  __shared__ unsigned int mine[kDigits];
  if (threadIdx.x < kDigits) mine[threadIdx.x] = 0;
  __syncthreads();
  const int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (i < count) atomicAdd(&mine[keys[i] >> shift & (kDigits - 1)], 1u);
  __syncthreads();
  if (threadIdx.x < kDigits) counts[threadIdx.x * gridDim.x + blockIdx.x] = mine[threadIdx.x];
}

// In place and exclusive, by one block.
extern "C" __global__ void __launch_bounds__(kThreads) add_up(unsigned int* counts, int count) {
  __shared__ unsigned int sums[kThreads];
  unsigned int carry = 0;
  for (int begin = 0; begin < count; begin += kThreads) {
    const int i = begin + static_cast<int>(threadIdx.x);
    const unsigned int own = i < count ? counts[i] : 0;
    unsigned int sum = own;
    for (unsigned int step = 1; step < kThreads; step *= 2) {
      sums[threadIdx.x] = sum;
      __syncthreads();
      if (threadIdx.x >= step) sum += sums[threadIdx.x - step];
      __syncthreads();
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (i < count) counts[i] = carry + sum - own;
    carry += sums[kThreads - 1];
    __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    move_keys(const unsigned int* keys, unsigned int* sorted, int count, int shift,
              const unsigned int* offsets) {
  __shared__ unsigned int of_warp[kThreads / 32][kDigits];
  const unsigned int warp = threadIdx.x / 32;
  const unsigned int lane = threadIdx.x % 32;
  if (lane < kDigits) of_warp[warp][lane] = 0;
  __syncwarp();
  const int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  const unsigned int present = __ballot_sync(~0u, i < count);
  unsigned int digit = 0;
  unsigned int rank = 0;  // among equal digits of the warp
  unsigned int key = 0;
  if (i < count) {
    key = keys[i];
    digit = key >> shift & (kDigits - 1);
    const unsigned int equal = __match_any_sync(present, digit);
    rank = static_cast<unsigned int>(__popc(equal & ((1u << lane) - 1)));
    if (rank == 0) of_warp[warp][digit] = static_cast<unsigned int>(__popc(equal));
  }
  __syncthreads();
  if (i >= count) return;
  unsigned int at = offsets[digit * gridDim.x + blockIdx.x] + rank;
  for (unsigned int w = 0; w < warp; ++w) at += of_warp[w][digit];
  sorted[at] = key;
}
