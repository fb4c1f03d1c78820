// One access of one 32-bit word by one thread: to see which accesses a mapping lets through, and
// where an access that it does not let through faults. Launched with one block of one thread.

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
