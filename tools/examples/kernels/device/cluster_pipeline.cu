// Two blocks of a cluster: one brings tiles of numbers and squares them, and copies each into the
// other's shared memory, which adds them up. A ring of places, with two mbarriers each in the
// memory of the one that waits: `full` at the consumer's, `empty` at the producer's.

#include <cooperative_groups.h>

#include <cstdint>

namespace cg = cooperative_groups;

constexpr int kThreads = 64;
constexpr int kPlaces = 2;

__device__ uint32_t InShared(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ uint32_t InBlock(uint32_t address, unsigned int rank) {
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

__device__ void Wait(uint64_t* barrier, int parity) {
  asm volatile(
      "{\n.reg .pred done;\n"
      "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n}" ::"r"(InShared(barrier)),
      "r"(parity)
      : "memory");
}

__device__ void Produce(const unsigned int* in, int tiles, unsigned int (*ring)[kThreads],
                        uint64_t* full, uint64_t* empty) {
  for (int tile = 0; tile < tiles; ++tile) {
    const int place = tile % kPlaces;
    if (tile >= kPlaces) Wait(&empty[place], (tile / kPlaces - 1) % 2);
    const unsigned int number = in[tile * kThreads + static_cast<int>(threadIdx.x)];
    ring[place][threadIdx.x] = number * number;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile(
          "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, "
          "[%3];" ::"r"(InBlock(InShared(ring[place]), 1)),
          "r"(InShared(ring[place])), "n"(sizeof(*ring)), "r"(InBlock(InShared(&full[place]), 1))
          : "memory");
    }
  }
}

__device__ unsigned int Consume(int tiles, unsigned int (*ring)[kThreads], uint64_t* full,
                                uint64_t* empty) {
  unsigned int sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    const int place = tile % kPlaces;
    if (threadIdx.x == 0) {
      asm volatile(
          "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(InShared(&full[place])),
          "n"(sizeof(*ring))
          : "memory");
    }
    Wait(&full[place], tile / kPlaces % 2);
    sum += ring[place][threadIdx.x];
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                     InBlock(InShared(&empty[place]), 0))
                 : "memory");
  }
  return sum;
}

extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(kThreads)
    cluster_pipeline(const unsigned int* in, unsigned int* sums, int tiles) {
  __shared__ alignas(16) unsigned int ring[kPlaces][kThreads];
  __shared__ uint64_t full[kPlaces];
  __shared__ uint64_t empty[kPlaces];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned int pair = blockIdx.x / 2;
  if (threadIdx.x == 0) {
    for (int place = 0; place < kPlaces; ++place) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(InShared(&full[place])));
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(InShared(&empty[place])),
                   "n"(kThreads));
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster.sync();
  if (cluster.block_rank() == 0) {
    Produce(in + pair * tiles * kThreads, tiles, ring, full, empty);
  } else {
    sums[pair * kThreads + threadIdx.x] = Consume(tiles, ring, full, empty);
  }
  cluster.sync();  // nobody leaves while the other may still reach its memory
}
