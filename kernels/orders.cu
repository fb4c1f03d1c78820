// A kernel that runs until it is told to stop, and meanwhile does what the host orders: so that the
// host can change mappings under a kernel that is running, and see what the kernel sees.

#include <cstdint>

#include "kernels/common.h"

namespace {

using twinmmu::Order;
using twinmmu::OrderBoard;

// Accesses that reach memory each time, also in the loop: what another processor wrote is seen.
__device__ __forceinline__ uint32_t Load(const uint32_t* address) {
  uint32_t value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

__device__ __forceinline__ void Store(uint32_t* address, uint32_t value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

__device__ __forceinline__ uint32_t Add(uint32_t* address, uint32_t value) {
  uint32_t before;
  asm volatile("atom.relaxed.sys.global.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(address), "r"(value)
               : "memory");
  return before;
}

// What this thread did before comes first. Unlike a fence, it leaves the L1 cache as it is.
__device__ __forceinline__ void StoreRelease(uint32_t* address, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

// And one that may be served from the L1 cache, which is looked up by virtual address.
__device__ __forceinline__ uint32_t LoadCached(const uint32_t* address) {
  uint32_t value;
  asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

}  // namespace

// By one thread, at most `rounds` times: reads board->order, does it to *word, and says so on the
// board. Ends at Order::kStop.
extern "C" __global__ void twinmmu_obey(uint32_t* word, OrderBoard* board, uint64_t rounds) {
  uint32_t done = 0;
#pragma unroll 1
  for (uint64_t round = 0; round < rounds; ++round) {
    const Order order = static_cast<Order>(Load(&board->order));
    if (order == Order::kStop) break;
    uint32_t seen = 0;
    if (order == Order::kLoad) seen = Load(word);
    if (order == Order::kLoadCached) seen = LoadCached(word);
    if (order == Order::kStore) Store(word, done);
    if (order == Order::kAdd) seen = Add(word, 1);
    // The count after the rest: who sees it sees what belongs to it, or what is newer.
    Store(&board->seen, seen);
    Store(&board->obeyed, static_cast<uint32_t>(order));
    StoreRelease(&board->rounds, ++done);
  }
}
