// Fourier transforms of 256 points by Stockham's way, a block each: eight steps, each from one half
// of shared memory to the other, so that nothing is reordered at the end.

constexpr int kPoints = 256;
constexpr int kThreads = kPoints / 2;

extern "C" __global__ void __launch_bounds__(kThreads) fourier(const float2* in, float2* out) {
  __shared__ float2 points[2][kPoints];
  const int thread = static_cast<int>(threadIdx.x);
  in += blockIdx.x * kPoints;
  out += blockIdx.x * kPoints;
  points[0][thread] = in[thread];
  points[0][thread + kThreads] = in[thread + kThreads];
  int from = 0;
  for (int done = 1; done < kPoints; done *= 2) {
    __syncthreads();
    const float2 a = points[from][thread];
    const float2 b = points[from][thread + kThreads];
    const int k = thread % done;
    float sine;
    float cosine;
    sincospif(-static_cast<float>(k) / static_cast<float>(done), &sine, &cosine);
    const float2 turned = {b.x * cosine - b.y * sine, b.x * sine + b.y * cosine};
    float2* to = &points[1 - from][(thread - k) * 2 + k];
    to[0] = {a.x + turned.x, a.y + turned.y};
    to[done] = {a.x - turned.x, a.y - turned.y};
    from = 1 - from;
  }
  __syncthreads();
  out[thread] = points[from][thread];
  out[thread + kThreads] = points[from][thread + kThreads];
}
