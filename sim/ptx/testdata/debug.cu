// Compiled with -G: debug sections, and calls that were not inlined.

struct Pair {
  int first;
  double second;
};

__device__ double Weigh(Pair pair, const int (&weights)[4]) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += weights[i] * pair.second;
  return sum + pair.first;
}

extern "C" __global__ void Debug(Pair* pairs, double* sums, int count) {
  __shared__ double shared[64];
  int weights[4] = {1, 2, 3, 4};
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) shared[threadIdx.x % 64] = Weigh(pairs[i], weights);
  __syncthreads();
  sums[i] = shared[0];
}
