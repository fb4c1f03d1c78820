// The product of two matrices of halves, as kernels for Ampere make it: cp.async fills a ring of
// tiles in shared memory while mma multiplies what came earlier.

#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include <cstdint>

constexpr int kTile = 64;   // rows and columns of the product that a block makes
constexpr int kDepth = 32;  // of a stage
constexpr int kStages = 3;
constexpr int kPitchA = kDepth + 8;  // no two rows of an ldmatrix begin in the same bank
constexpr int kPitchB = kTile + 8;

struct Stage {
  __half a[kTile][kPitchA];
  __half b[kDepth][kPitchB];
};

__device__ uint32_t InShared(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// 16 bytes a copy: four for a row of a, eight for one of b.
__device__ void Load(Stage* stage, const __half* a, const __half* b, int depth, int columns) {
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth / 8; i += 128) {
    __pipeline_memcpy_async(&stage->a[i / 4][i % 4 * 8], a + i / 4 * depth + i % 4 * 8, 16);
    __pipeline_memcpy_async(&stage->b[i / 8][i % 8 * 8], b + i / 8 * columns + i % 8 * 8, 16);
  }
}

__device__ void LoadA(uint32_t (&a)[4], const __half* at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(InShared(at)));
}

__device__ void LoadB(uint32_t (&b)[2], const __half* at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(b[0]), "=r"(b[1])
               : "r"(InShared(at)));
}

__device__ void Multiply(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Each of the four warps makes 32 by 32 of the product. Sizes are multiples of the tiles'.
extern "C" __global__ void __launch_bounds__(128)
    staged_gemm(const __half* a, const __half* b, float* product, int columns, int depth) {
  __shared__ __align__(16) Stage stages[kStages];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = warp / 2 * 32;
  const int column = warp % 2 * 32;
  a += static_cast<size_t>(blockIdx.y) * kTile * depth;
  b += blockIdx.x * kTile;
  product += static_cast<size_t>(blockIdx.y) * kTile * columns + blockIdx.x * kTile;
  const int tiles = depth / kDepth;
  for (int tile = 0; tile < kStages - 1; ++tile) {
    if (tile < tiles)
      Load(&stages[tile], a + tile * kDepth, b + tile * kDepth * columns, depth, columns);
    __pipeline_commit();
  }
  float c[2][4][4] = {};
  for (int tile = 0; tile < tiles; ++tile) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();  // all copies of the tile are there, and its predecessor is read
    const int next = tile + kStages - 1;
    if (next < tiles) {
      Load(&stages[next % kStages], a + next * kDepth, b + next * kDepth * columns, depth, columns);
    }
    __pipeline_commit();
    const Stage& stage = stages[tile % kStages];
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      uint32_t fragments[2][4];
      for (int i = 0; i < 2; ++i) {
        LoadA(fragments[i], &stage.a[row + i * 16 + lane % 16][k + lane / 16 * 8]);
      }
      for (int j = 0; j < 4; ++j) {
        uint32_t fragment[2];
        LoadB(fragment, &stage.b[k + lane % 16][column + j * 8]);
        for (int i = 0; i < 2; ++i) Multiply(c[i][j], fragments[i], fragment);
      }
    }
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 4; ++j) {
      float* at = product + (row + i * 16 + lane / 4) * columns + column + j * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(at) = {c[i][j][0], c[i][j][1]};
      *reinterpret_cast<float2*>(at + 8 * columns) = {c[i][j][2], c[i][j][3]};
    }
  }
}
