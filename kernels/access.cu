// Accesses of one 32-bit word. By one thread: to see which accesses a mapping lets through, and
// where an access that it does not let through faults. By many: to see that none is lost.

#include <cstdint>

// Loads *address and stores what it found to *out.
extern "C" __global__ void twinmmu_load32(const uint32_t* address, uint32_t* out) {
  *out = *address;
}

// Stores `value` to *address.
extern "C" __global__ void twinmmu_store32(uint32_t* address, uint32_t value) { *address = value; }

// Adds `value` to *address in one atomic step, and stores what was there before to *out.
extern "C" __global__ void twinmmu_atomic_add32(uint32_t* address, uint32_t value, uint32_t* out) {
  *out = atomicAdd(address, value);
}

// Each thread adds 1 to a word `rounds` times, in atomic steps of the whole system: threads of even
// index to *a, the others to *b.
extern "C" __global__ void twinmmu_count(uint32_t* a, uint32_t* b, uint32_t rounds) {
  uint32_t* const word = threadIdx.x % 2 == 0 ? a : b;
#pragma unroll 1
  for (uint32_t round = 0; round < rounds; ++round) atomicAdd_system(word, 1u);
}
