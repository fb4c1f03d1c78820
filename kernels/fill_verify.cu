// Fill a range with words that can be recomputed, and count the words that are not what they should
// be. The range is one run of addresses; how many mappings lie behind it makes no difference here.
//
// Both kernels take any grid of at least three threads, one-dimensional: a range is a head of up to
// three words, 16-byte vectors from the first aligned address on, and a tail of up to three words.
// No barrier, no shared memory: a simulator can run the threads one after another.

#include <cstdint>

#include "kernels/common.h"

namespace {

using twinmmu::FillKey;
using twinmmu::FillWord;
using twinmmu::MakeFillKey;
using twinmmu::VerifyResult;

// Vectors that a thread of verify loads before it looks at the first: one 16-byte load a thread in
// flight does not saturate the memory of a large GPU.
constexpr int kBatch = 4;

struct Parts {
  uint64_t head;     // words before the first 16-byte boundary
  uint64_t vectors;  // whole vectors of four words
  uint64_t tail;     // words after them
};

__device__ __forceinline__ Parts Split(const uint32_t* words, uint64_t count) {
  const uint64_t to_boundary = (0 - reinterpret_cast<uint64_t>(words) / 4) % 4;
  const uint64_t head = to_boundary < count ? to_boundary : count;
  return Parts{head, (count - head) / 4, (count - head) % 4};
}

__device__ __forceinline__ uint64_t ThreadIndex() {
  return static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ uint64_t ThreadCount() {
  return static_cast<uint64_t>(gridDim.x) * blockDim.x;
}

__device__ __forceinline__ uint4 FillVector(FillKey key, uint64_t index) {
  return uint4{FillWord(key, index), FillWord(key, index + 1), FillWord(key, index + 2),
               FillWord(key, index + 3)};
}

// What one thread found. It looks at its words in ascending order, so its first is its smallest.
struct Tally {
  uint64_t mismatches = 0;
  uint64_t first_index = twinmmu::kNoMismatch;

  __device__ __forceinline__ void Check(uint32_t found, FillKey key, uint64_t index) {
    if (found != FillWord(key, index) && mismatches++ == 0) first_index = index;
  }

  __device__ __forceinline__ void Check(uint4 found, FillKey key, uint64_t index) {
    const uint4 expected = FillVector(key, index);
    if (found.x == expected.x && found.y == expected.y && found.z == expected.z &&
        found.w == expected.w) {
      return;
    }
    Check(found.x, key, index);
    Check(found.y, key, index + 1);
    Check(found.z, key, index + 2);
    Check(found.w, key, index + 3);
  }
};

}  // namespace

// Writes FillWord(seed, i) to words[i] for each i < count.
extern "C" __global__ void twinmmu_fill(uint32_t* words, uint64_t count, uint64_t seed) {
  const Parts parts = Split(words, count);
  const FillKey key = MakeFillKey(seed);
  const uint64_t thread = ThreadIndex();
  const uint64_t stride = ThreadCount();
  if (thread < parts.head) words[thread] = FillWord(key, thread);
  uint4* const vectors = reinterpret_cast<uint4*>(words + parts.head);
#pragma unroll 1
  for (uint64_t v = thread; v < parts.vectors; v += stride) {
    vectors[v] = FillVector(key, parts.head + 4 * v);
  }
  if (thread < parts.tail) {
    const uint64_t index = count - parts.tail + thread;
    words[index] = FillWord(key, index);
  }
}

// Makes *result say that nothing differs. Runs before twinmmu_verify, by one thread.
extern "C" __global__ void twinmmu_verify_reset(VerifyResult* result) {
  result->mismatches = 0;
  result->first_index = twinmmu::kNoMismatch;
}

// Adds to *result the words[i], i < count, that are not FillWord(seed, i). A thread that finds
// nothing wrong touches *result not at all, so the usual case costs no atomic operation.
extern "C" __global__ void twinmmu_verify(const uint32_t* words, uint64_t count, uint64_t seed,
                                          VerifyResult* result) {
  const Parts parts = Split(words, count);
  const FillKey key = MakeFillKey(seed);
  const uint64_t thread = ThreadIndex();
  const uint64_t stride = ThreadCount();
  Tally tally;
  if (thread < parts.head) tally.Check(words[thread], key, thread);
  const uint4* const vectors = reinterpret_cast<const uint4*>(words + parts.head);
  uint64_t v = thread;
#pragma unroll 1
  for (; v + (kBatch - 1) * stride < parts.vectors; v += kBatch * stride) {
    uint4 found[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) found[i] = vectors[v + i * stride];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      tally.Check(found[i], key, parts.head + 4 * (v + i * stride));
    }
  }
#pragma unroll 1
  for (; v < parts.vectors; v += stride) {
    const uint4 found = vectors[v];
    tally.Check(found, key, parts.head + 4 * v);
  }
  if (thread < parts.tail) {
    const uint64_t index = count - parts.tail + thread;
    tally.Check(words[index], key, index);
  }
  if (tally.mismatches == 0) return;
  // The atomic functions take unsigned long long, which uint64_t is not on Linux.
  atomicAdd(reinterpret_cast<unsigned long long*>(&result->mismatches),
            static_cast<unsigned long long>(tally.mismatches));
  atomicMin(reinterpret_cast<unsigned long long*>(&result->first_index),
            static_cast<unsigned long long>(tally.first_index));
}
