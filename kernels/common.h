// What device and host code share: the words that fill writes, and the results that kernels leave
// in device memory. Needs no CUDA: the .cu files and kernels.h both include it.

#ifndef TWINMMU_KERNELS_COMMON_H_
#define TWINMMU_KERNELS_COMMON_H_

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define TWINMMU_HOST_DEVICE __host__ __device__
#else
#define TWINMMU_HOST_DEVICE
#endif

namespace twinmmu {

// A seed, mixed once to keep the work per word small.
struct FillKey {
  uint32_t low;
  uint32_t high;
};

// Different seeds give different keys: every step can be undone.
TWINMMU_HOST_DEVICE constexpr FillKey MakeFillKey(uint64_t seed) {
  uint64_t mixed = seed + 0x6A09E667F3BCC909u;  // seed 0 must not stay 0
  mixed = (mixed ^ (mixed >> 32)) * 0xD1342543DE82EF95u;
  mixed = (mixed ^ (mixed >> 29)) * 0x9FB21C651E98DF25u;
  mixed ^= mixed >> 32;
  return FillKey{static_cast<uint32_t>(mixed), static_cast<uint32_t>(mixed >> 32)};
}

// The word that fill writes at `index`, counted in 4-byte words from the start of the range.
// Under one seed, no two indices with equal upper or equal lower halves give the same word. So a
// page in the place of another is always detected within 16 GiB, not just probably. Two
// multiplications, because at full memory bandwidth an H200 has about a dozen integer instructions
// of each pipe to spend on a word.
TWINMMU_HOST_DEVICE constexpr uint32_t FillWord(FillKey key, uint64_t index) {
  uint32_t word = (static_cast<uint32_t>(index) ^ key.low) * 0x9E3779B1u;
  word ^= word >> 15;
  word = word * 0x85EBCA77u + (key.high + static_cast<uint32_t>(index >> 32) * 0xC2B2AE3Du);
  return word ^ (word >> 16);
}

TWINMMU_HOST_DEVICE constexpr uint32_t FillWord(uint64_t seed, uint64_t index) {
  return FillWord(MakeFillKey(seed), index);
}

// What verify leaves in device memory.
struct VerifyResult {
  uint64_t mismatches;   // number of words that differ from what fill writes
  uint64_t first_index;  // the smallest index of such a word, or kNoMismatch
};
constexpr uint64_t kNoMismatch = ~uint64_t{0};

// What an alias write-then-read leaves in device memory.
struct AliasResult {
  uint64_t rounds;  // rounds done: all that were requested
  uint64_t stale;   // rounds in which the read returned the value from before the write
  uint64_t wrong;   // reads, including warming ones, of a value that could not have been there
};

// Who executes the fence between a store through one address and a load through another.
enum class AliasFence : uint32_t {
  kNone,
  kWriter,  // after its store
  kReader,  // before its load
};

// What a running kernel does next, until the order changes.
enum class Order : uint32_t {
  kWait,
  kLoad,        // past the L1 cache
  kLoadCached,  // through it
  kStore,       // the number of rounds before this one
  kAdd,         // 1, atomically
  kStop,
};

// Shared by the host and a running kernel, in device memory.
struct OrderBoard {
  uint32_t order;   // an Order; written by the host
  uint32_t rounds;  // done so far; the rest is written by the kernel
  uint32_t obeyed;  // the Order of the last round
  uint32_t seen;    // the result of its load or atomic addition; 0 for other orders
};

// The launchers take addresses of these; a caller may copy them as bytes.
static_assert(sizeof(VerifyResult) == 16 && alignof(VerifyResult) == 8, "layout on the device");
static_assert(offsetof(VerifyResult, mismatches) == 0, "layout on the device");
static_assert(offsetof(VerifyResult, first_index) == 8, "layout on the device");
static_assert(sizeof(AliasResult) == 24 && alignof(AliasResult) == 8, "layout on the device");
static_assert(offsetof(AliasResult, rounds) == 0, "layout on the device");
static_assert(offsetof(AliasResult, stale) == 8, "layout on the device");
static_assert(offsetof(AliasResult, wrong) == 16, "layout on the device");
static_assert(sizeof(OrderBoard) == 16 && alignof(OrderBoard) == 4, "layout on the device");
static_assert(offsetof(OrderBoard, order) == 0, "layout on the device");
static_assert(offsetof(OrderBoard, rounds) == 4, "layout on the device");
static_assert(offsetof(OrderBoard, obeyed) == 8, "layout on the device");
static_assert(offsetof(OrderBoard, seen) == 12, "layout on the device");

}  // namespace twinmmu

#endif  // TWINMMU_KERNELS_COMMON_H_
