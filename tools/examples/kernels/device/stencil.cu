// Seven points in three dimensions: a block goes through the planes, with the middle one in shared
// memory and those above and below in registers.

constexpr int kWidth = 32;
constexpr int kHeight = 4;

__device__ float At(const float* in, int x, int y, int z, int nx, int ny, int nz) {
  const bool inside = x >= 0 && x < nx && y >= 0 && y < ny && z >= 0 && z < nz;
  return inside ? in[(static_cast<size_t>(z) * ny + y) * nx + x] : 0;
}

extern "C" __global__ void __launch_bounds__(kWidth* kHeight)
    stencil(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz) {
  __shared__ float plane[kHeight + 2][kWidth + 2];
  const int tx = static_cast<int>(threadIdx.x);
  const int ty = static_cast<int>(threadIdx.y);
  const int x = static_cast<int>(blockIdx.x) * kWidth + tx;
  const int y = static_cast<int>(blockIdx.y) * kHeight + ty;
  float below = 0;
  float here = At(in, x, y, 0, nx, ny, nz);
  for (int z = 0; z < nz; ++z) {
    const float above = At(in, x, y, z + 1, nx, ny, nz);
    plane[ty + 1][tx + 1] = here;
    if (tx == 0) plane[ty + 1][0] = At(in, x - 1, y, z, nx, ny, nz);
    if (tx == kWidth - 1) plane[ty + 1][kWidth + 1] = At(in, x + 1, y, z, nx, ny, nz);
    if (ty == 0) plane[0][tx + 1] = At(in, x, y - 1, z, nx, ny, nz);
    if (ty == kHeight - 1) plane[kHeight + 1][tx + 1] = At(in, x, y + 1, z, nx, ny, nz);
    __syncthreads();
    if (x < nx && y < ny) {
      out[(static_cast<size_t>(z) * ny + y) * nx + x] = plane[ty + 1][tx] + plane[ty + 1][tx + 2] +
                                                        plane[ty][tx + 1] + plane[ty + 2][tx + 1] +
                                                        below + above - 6 * here;
    }
    __syncthreads();
    below = here;
    here = above;
  }
}
