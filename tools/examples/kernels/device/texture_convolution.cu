// A blur by 5 by 5 points, read through a texture, which repeats the border by itself.

__constant__ float kWeights[5] = {1.0f / 16, 4.0f / 16, 6.0f / 16, 4.0f / 16, 1.0f / 16};

extern "C" __global__ void texture_convolution(cudaTextureObject_t image, float* out, int width,
                                               int height) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= width || y >= height) return;
  float sum = 0;
#pragma unroll
  for (int dy = -2; dy <= 2; ++dy) {
    float line = 0;
#pragma unroll
    for (int dx = -2; dx <= 2; ++dx) {
      // Texels have their values at their middle.
      line += kWeights[dx + 2] * tex2D<float>(image, static_cast<float>(x + dx) + 0.5f,
                                              static_cast<float>(y + dy) + 0.5f);
    }
    sum += kWeights[dy + 2] * line;
  }
  out[y * width + x] = sum;
}
