// Write through one virtual address, read through another one of the same memory, by two threads
// that take turns: of one block, of two blocks, or of two devices.
//
// The turns are handed over as the memory model wants it: by a barrier inside a block, by a release
// and an acquire of a word of its own, at one address, otherwise. That orders accesses through one
// address. Through two, the model asks for an alias proxy fence on the way as well: `fence` says
// whether the writer executes one after its store, the reader before its load, or nobody. In the
// rest the variants are the same.

#include <cstdint>

#include "kernels/common.h"

namespace {

using twinmmu::AliasFence;
using twinmmu::AliasResult;

// .ca is a weak load that may be served from L1: the one that can be stale.
__device__ __forceinline__ uint32_t LoadCached(const uint32_t* address) {
  uint32_t value;
  asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

__device__ __forceinline__ void Store(uint32_t* address, uint32_t value) {
  asm volatile("st.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

__device__ __forceinline__ void FenceAliases() { asm volatile("fence.proxy.alias;" ::: "memory"); }

// Of the system, so that the partner may be on another device.
__device__ __forceinline__ uint32_t LoadAcquire(const uint32_t* address) {
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

__device__ __forceinline__ void StoreRelease(uint32_t* address, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

struct Tally {
  uint64_t stale = 0;
  uint64_t wrong = 0;

  __device__ __forceinline__ void CheckWarm(uint32_t found, uint32_t current) {
    if (found != current) ++wrong;
  }
  __device__ __forceinline__ void Check(uint32_t found, uint32_t before) {
    if (found == before) {
      ++stale;
    } else if (found != before + 1) {
      ++wrong;
    }
  }
  __device__ __forceinline__ void Leave(uint64_t rounds, AliasResult* result) const {
    result->rounds = rounds;
    result->stale = stale;
    result->wrong = wrong;
  }
};

// False: the partner did not take its turn for as long as a round of two devices never takes.
__device__ __forceinline__ bool AwaitTurn(const uint32_t* turn, uint32_t value) {
  constexpr uint32_t kPatience = 1000000;
#pragma unroll 1
  for (uint32_t i = 0; i < kPatience; ++i) {
    if (LoadAcquire(turn) == value) return true;
  }
  return false;
}

__device__ __forceinline__ void Write(uint32_t* a, uint32_t* turn, uint64_t rounds,
                                      AliasFence fence) {
  uint32_t current = LoadCached(a);
#pragma unroll 1
  for (uint64_t round = 0; round < rounds; ++round) {
    const uint32_t mine = 2 * static_cast<uint32_t>(round) + 1;
    if (!AwaitTurn(turn, mine)) return;
    FenceAliases();  // what the partner has read through `b` comes before this store
    Store(a, ++current);
    if (fence == AliasFence::kWriter) FenceAliases();
    StoreRelease(turn, mine + 1);
  }
}

__device__ __forceinline__ void Read(const uint32_t* b, uint32_t* turn, uint64_t rounds,
                                     uint32_t warm, AliasFence fence, AliasResult* result) {
  Tally tally;
  uint32_t current = LoadCached(b);
  uint64_t round = 0;
#pragma unroll 1
  for (; round < rounds; ++round) {
    FenceAliases();  // closes the round before, as in alias.cu
    if (warm != 0) tally.CheckWarm(LoadCached(b), current);
    const uint32_t theirs = 2 * static_cast<uint32_t>(round) + 1;
    StoreRelease(turn, theirs);
    if (!AwaitTurn(turn, theirs + 1)) break;
    if (fence == AliasFence::kReader) FenceAliases();
    tally.Check(LoadCached(b), current);
    ++current;
  }
  tally.Leave(round, result);
}

}  // namespace

// One block of two warps. `rounds` times: the last thread loads through `b` (if `warm` is not 0);
// the first stores one more than before through `a`; the last loads through `b`. A barrier of the
// block stands between, and the fence on the side of it that an AliasFence says.
extern "C" __global__ void twinmmu_alias_block(uint32_t* a, const uint32_t* b, uint64_t rounds,
                                               uint32_t warm, AliasFence fence,
                                               AliasResult* result) {
  __shared__ uint32_t seen;
  const bool writes = threadIdx.x == 0;
  const bool reads = threadIdx.x == blockDim.x - 1;
  Tally tally;
  uint32_t current = writes ? LoadCached(a) : LoadCached(b);
  __syncthreads();
#pragma unroll 1
  for (uint64_t round = 0; round < rounds; ++round) {
    FenceAliases();  // closes the round before, as in alias.cu
    if (reads) {
      // The written value depends on what the warming load gives, as in alias.cu.
      seen = warm != 0 ? LoadCached(b) : current;
      tally.CheckWarm(seen, current);
    }
    __syncthreads();
    if (writes) {
      Store(a, seen + 1);
      if (fence == AliasFence::kWriter) FenceAliases();
    }
    __syncthreads();
    if (reads) {
      if (fence == AliasFence::kReader) FenceAliases();
      tally.Check(LoadCached(b), current);
    }
    ++current;
    __syncthreads();
  }
  if (reads) tally.Leave(rounds, result);
}

// The same by two blocks of one thread, or by two launches. `role`: 0, the first block of two
// writes and the second reads; 1, this launch writes; 2, it reads. *turn is 0 before the first of
// them. The reader leaves the result; both give up when the partner does not come.
extern "C" __global__ void twinmmu_alias_pair(uint32_t* a, const uint32_t* b, uint32_t* turn,
                                              uint64_t rounds, uint32_t warm, AliasFence fence,
                                              uint32_t role, AliasResult* result) {
  if (role == 1 || (role == 0 && blockIdx.x == 0)) {
    Write(a, turn, rounds, fence);
  } else {
    Read(b, turn, rounds, warm, fence, result);
  }
}
