// Atomics, votes, constants, volatile.
__constant__ int scale[4] = {1, 2, 3, 4};
__constant__ double factors[2][2] = {{1.5, 2.5}, {-0.1}};
__device__ unsigned long long total;
__device__ int numbers[5] = {1, -2, 3};
__device__ float4 corner = {1, 2, 3, 4};
__device__ const char* words[3] = {"one", "two", nullptr};
__device__ int* inside = numbers + 2;
struct Mixed {
  char a;
  int b;
  const int* c;
  short d[3];
};
__device__ Mixed mixed[2] = {{1, 2, numbers, {3, 4}}, {5, 6, numbers + 4}};
#pragma pack(push, 1)
struct Packed {
  char a;
  const int* c;
};
#pragma pack(pop)
extern "C" __global__ void Histogram(const unsigned char* data, unsigned* bins, int count) {
  __shared__ unsigned local[256];
  local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) atomicAdd(&local[data[i]], scale[i % 4]);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
extern "C" __global__ void Atomics(int* a, unsigned long long* b, float* f, double* d,
                                   volatile int* v) {
  atomicMin(a, 3);
  atomicMax(a + 1, 4);
  atomicExch(a + 2, 5);
  atomicCAS(a + 3, 6, 7);
  atomicAnd(a + 4, 8);
  atomicInc((unsigned*)a + 5, 9);
  atomicAdd(b, 1ull);
  atomicMax(b + 1, 2ull);
  atomicAdd(f, 1.5f);
  atomicAdd(d, 2.5);
  atomicCAS(b + 3, 4ull, 5ull);
  atomicAdd_system(a, 1);
  atomicAdd_block(a, 1);
  v[0] = v[1] + 1;
  __threadfence();
  __threadfence_block();
  __threadfence_system();
  if (__any_sync(~0u, a[0]))
    total += __popc(__ballot_sync(~0u, a[1])) + __activemask() + __match_any_sync(~0u, a[2]);
  f[1] =
      corner.x + mixed[threadIdx.x].b + words[threadIdx.x][0] + *inside + factors[threadIdx.x][1];
  f[2] = __syncthreads_count(a[7]);
  __nanosleep(100);
  if (a[9] == 77) __trap();
  d[2] = clock64() + clock();
}
