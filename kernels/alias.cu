// Write through one virtual address, read through another one of the same memory, by one thread.
//
// The memory model orders such a pair only if an alias proxy fence stands between; without it the
// read may give the older value, and does so on hardware when the line of the second address is in
// the L1 cache. Both kernels do the same but for that one fence, so the fenced one is the control.
//
// Every access is a volatile asm statement with a memory clobber: the compiler can neither drop the
// second load (it sees one address space without aliases) nor move it.

#include <cstdint>

#include "kernels/common.h"

namespace {

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

template <bool kFence>
__device__ __forceinline__ void WriteThenRead(uint32_t* a, const uint32_t* b, uint64_t rounds,
                                              uint32_t warm, AliasResult* result) {
  uint64_t stale = 0;
  uint64_t wrong = 0;
  uint32_t current = LoadCached(a);  // what the word truly holds
#pragma unroll 1
  for (uint64_t round = 0; round < rounds; ++round) {
    // Closes the round before in both kernels: what it wrote through `a` is now what `b` shows, and
    // a line of `b` is gone. So each round is a trial of its own, and one without a warming load
    // starts cold.
    FenceAliases();
    uint32_t before = current;
    if (warm != 0) {
      // The written value depends on what this load gives, so the load is done, and the line
      // there, before the write; and the load cannot give the value of the later write.
      before = LoadCached(b);
      if (before != current) ++wrong;
    }
    const uint32_t after = before + 1;
    Store(a, after);
    if (kFence) FenceAliases();
    const uint32_t found = LoadCached(b);
    if (found == before) {
      ++stale;
    } else if (found != after) {
      ++wrong;
    }
    current = after;
  }
  result->rounds = rounds;
  result->stale = stale;
  result->wrong = wrong;
}

}  // namespace

// `rounds` times: if `warm` is not 0, load through `b`; store a fresh value (one more than before)
// through `a`; load through `b`. Nothing stands between the store and the load.
extern "C" __global__ void twinmmu_alias_unfenced(uint32_t* a, const uint32_t* b, uint64_t rounds,
                                                  uint32_t warm, AliasResult* result) {
  WriteThenRead<false>(a, b, rounds, warm, result);
}

// The same with fence.proxy.alias between the store and the load: it must find nothing stale.
extern "C" __global__ void twinmmu_alias_fenced(uint32_t* a, const uint32_t* b, uint64_t rounds,
                                                uint32_t warm, AliasResult* result) {
  WriteThenRead<true>(a, b, rounds, warm, result);
}
