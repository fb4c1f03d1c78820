// Asynchronous copies as the toolkit's headers write them.

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>

namespace cg = cooperative_groups;

constexpr int kTile = 256;

// cooperative_groups::memcpy_async, and its wait.
extern "C" __global__ void group_copy(const int* from, int* to) {
  __shared__ alignas(16) int tile[kTile];
  cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, tile, from + blockIdx.x * kTile, sizeof(tile));
  cg::wait(block);
  to[blockIdx.x * kTile + threadIdx.x] = 2 * tile[kTile - 1 - threadIdx.x];
}

// cuda::barrier, to which the copies arrive.
extern "C" __global__ void barrier_copy(const int* from, int* to) {
  __shared__ alignas(16) int tile[kTile];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  cg::thread_block block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  block.sync();
  for (int i = 0; i < 3; ++i) {
    cuda::memcpy_async(block, tile, from + i * kTile, sizeof(tile), barrier);
    barrier.arrive_and_wait();
    to[i * kTile + threadIdx.x] = tile[threadIdx.x ^ 1];
    barrier.arrive_and_wait();
  }
}

// cuda::pipeline with two stages.
extern "C" __global__ void pipeline_sum(const int* from, int* to, int tiles) {
  __shared__ alignas(16) int stage[2][kTile];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  cg::thread_block block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int next = 0, now = 0; now < tiles; ++now) {
    for (; next < tiles && next < now + 2; ++next) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, stage[next % 2], from + next * kTile, sizeof(stage[0]), pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    sum += stage[now % 2][(threadIdx.x + now) % kTile];
    pipeline.consumer_release();
  }
  to[threadIdx.x] = sum;
}

// A pipeline of one thread.
extern "C" __global__ void thread_pipeline(const int4* from, int4* to) {
  __shared__ int4 tile[kTile];
  auto pipeline = cuda::make_pipeline();
  pipeline.producer_acquire();
  cuda::memcpy_async(&tile[threadIdx.x], &from[threadIdx.x], cuda::aligned_size_t<16>(sizeof(int4)),
                     pipeline);
  pipeline.producer_commit();
  pipeline.consumer_wait();
  to[threadIdx.x] = tile[threadIdx.x];
  pipeline.consumer_release();
}

// Bulk copies there and back, by cuda::ptx.
extern "C" __global__ void bulk_increment(int* data) {
  __shared__ alignas(128) int tile[kTile];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
  }
  __syncthreads();
  cuda::barrier<cuda::thread_scope_block>::arrival_token token;
  int* const own = data + blockIdx.x * kTile;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(tile, own, cuda::aligned_size_t<16>(sizeof(tile)), barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof(tile));
  } else {
    token = barrier.arrive();
  }
  barrier.wait(std::move(token));
  tile[threadIdx.x] += 1;
  cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, own, tile,
                             sizeof(tile));
    cuda::ptx::cp_async_bulk_commit_group();
    cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>());
  }
}

// A histogram over the shared memory of a cluster.
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_count(const int* from, int* to) {
  __shared__ int bins[8];
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  cluster.sync();
  const int value = from[blockIdx.x * blockDim.x + threadIdx.x] & 15;
  int* const remote = cluster.map_shared_rank(bins, value / 8);
  atomicAdd(remote + value % 8, 1);
  cluster.sync();
  if (threadIdx.x < 8) atomicAdd(&to[cluster.block_rank() * 8 + threadIdx.x], bins[threadIdx.x]);
}

// Tiles of a product of matrices, copied by cp.async three stages ahead. `n` is a multiple of 16.
extern "C" __global__ void staged_gemm(const float* a, const float* b, float* c, int n) {
  constexpr int kSide = 16, kStages = 3;
  __shared__ float tiles[kStages][2][kSide][kSide];
  const int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  const int column = blockIdx.x * kSide + x, row = blockIdx.y * kSide + y;
  const int steps = n / kSide;
  const auto fetch = [&](int step) {
    if (step < steps) {
      float* const to = &tiles[step % kStages][0][y][x];
      __pipeline_memcpy_async(to, &a[row * n + step * kSide + x], sizeof(float));
      __pipeline_memcpy_async(to + kSide * kSide, &b[(step * kSide + y) * n + column],
                              sizeof(float));
    }
    __pipeline_commit();
  };
  for (int step = 0; step < kStages - 1; ++step) fetch(step);
  float sum = 0;
  for (int step = 0; step < steps; ++step) {
    fetch(step + kStages - 1);
    __pipeline_wait_prior(kStages - 1);
    __syncthreads();
    for (int i = 0; i < kSide; ++i)
      sum += tiles[step % kStages][0][y][i] * tiles[step % kStages][1][i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// A warp that fetches in bulk, and the other ones, which work, with two mbarriers for each stage.
extern "C" __global__ void bulk_pipeline(const int* from, int* to, int tiles) {
  namespace ptx = cuda::ptx;
  constexpr int kStages = 3;
  __shared__ alignas(128) int stage[kStages][kTile];
  __shared__ uint64_t full[kStages], empty[kStages];
  const int workers = blockDim.x - 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      ptx::mbarrier_init(&full[i], 1);
      ptx::mbarrier_init(&empty[i], workers);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    if (threadIdx.x != 0) return;
    for (int i = 0; i < tiles; ++i) {
      const int at = i % kStages;
      while (!ptx::mbarrier_try_wait_parity(&empty[at], (i / kStages + 1) & 1)) {
      }
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[at],
                                     sizeof(stage[at]));
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, stage[at], from + i * kTile,
                         sizeof(stage[at]), &full[at]);
    }
    return;
  }
  const int own = threadIdx.x - 32;
  int sum = 0;
  for (int i = 0; i < tiles; ++i) {
    const int at = i % kStages;
    while (!ptx::mbarrier_try_wait_parity(&full[at], (i / kStages) & 1)) {
    }
    for (int j = own; j < kTile; j += workers) sum += stage[at][j];
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &empty[at]);
  }
  to[own] = sum;
}
