// Sums, prefix sums, products of matrices: shared memory, barriers, shuffles.
extern __shared__ float partial[];
extern "C" __global__ void Reduce(const float* values, float* sums, int count) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    sum += values[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 32; step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x < 32) {
    float value = partial[threadIdx.x] + partial[threadIdx.x + 32];
    for (int lane = 16; lane > 0; lane /= 2) value += __shfl_down_sync(~0u, value, lane);
    if (threadIdx.x == 0) sums[blockIdx.x] = value;
  }
}
extern "C" __global__ void Scan(int* values, int count) {
  __shared__ int warps[32];
  int value = threadIdx.x < count ? values[threadIdx.x] : 0;
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(~0u, value, step);
    if (threadIdx.x % 32 >= step) value += other;
  }
  if (threadIdx.x % 32 == 31) warps[threadIdx.x / 32] = value;
  __syncthreads();
  for (int i = 0; i < threadIdx.x / 32; ++i) value += warps[i];
  if (threadIdx.x < count) values[threadIdx.x] = value;
}
template <int kTile, typename T>
__device__ void Multiply(const T* a, const T* b, T* c, int n) {
  __shared__ T left[kTile][kTile], right[kTile][kTile + 1];
  T sum = 0;
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  for (int tile = 0; tile < n / kTile; ++tile) {
    left[threadIdx.y][threadIdx.x] = a[row * n + tile * kTile + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(tile * kTile + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
extern "C" __global__ void __launch_bounds__(256, 2)
    MultiplyFloat(const float* a, const float* b, float* c, int n) {
  Multiply<16>(a, b, c, n);
}
extern "C" __global__ void __launch_bounds__(64)
    MultiplyDouble(const double* a, const double* b, double* c, int n) {
  Multiply<8>(a, b, c, n);
}
