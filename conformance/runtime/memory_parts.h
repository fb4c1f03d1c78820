// Parts of memory of all kinds, in words, and what is in them.

#ifndef TWINMMU_CONFORMANCE_RUNTIME_MEMORY_PARTS_H_
#define TWINMMU_CONFORMANCE_RUNTIME_MEMORY_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "conformance/runtime/runtime_world.h"

namespace random_runtime {

inline constexpr size_t kPageableBytes = 1 << 16;
inline unsigned char pageable[2][kPageableBytes];  // copied from, and copied to

struct MemoryPart {
  char* base = nullptr;
  size_t size = 0;
  std::string words;
  bool is_pageable = false;
};

inline uint64_t HashOf(const void* memory, size_t size) {
  uint64_t hash = 7;
  for (size_t i = 0; i < size; ++i) hash = hash * 31 + static_cast<const unsigned char*>(memory)[i];
  return hash;
}

// Bytes that differ, from one throw.
inline void FillPageable(RuntimeWorld& world, int which) {
  uint64_t state = world.Below(1 << 20) + 1;
  for (unsigned char& byte : pageable[which]) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<unsigned char>(state >> 56);
  }
}

inline std::string StreamName(const RuntimeWorld& world, cudaStream_t stream) {
  if (stream == cudaStreamPerThread) return "per-thread";
  return stream == cudaStreamLegacy ? "legacy" : world.streams.NameOf(stream);
}

// One that was made, in most cases.
inline cudaStream_t SomeStream(RuntimeWorld& world) {
  return world.OneIn(6) ? world.Of({cudaStreamPerThread, cudaStreamLegacy}) : world.AnyStream();
}

inline MemoryPart PartOf(RuntimeWorld& world, const Object<char*>& object) {
  const size_t offset = world.OneIn(2) ? 0 : world.Below(object.size);
  return {object.handle + offset, object.size - offset, object.name + "+" + std::to_string(offset)};
}

// Of memory of the device or of pinned memory. Empty where there is none.
inline MemoryPart AnyMapped(RuntimeWorld& world) {
  const bool of_host = !world.pinned.empty() && world.OneIn(3);
  if (!of_host && world.blocks.empty()) return {};
  return PartOf(world, world.One(of_host ? world.pinned : world.blocks));
}

// Of anything, also of what is pageable: `which` of those.
inline MemoryPart AnyPart(RuntimeWorld& world, int which) {
  const MemoryPart part = AnyMapped(world);
  if (part.base != nullptr && !world.OneIn(3)) return part;
  return {reinterpret_cast<char*>(pageable[which]), kPageableBytes, "pageable", true};
}

// What a copy between them needs.
inline cudaMemcpyKind RightKind(RuntimeWorld& world, const MemoryPart& to, const MemoryPart& from) {
  if (world.OneIn(4)) return cudaMemcpyDefault;
  const bool to_host = to.is_pageable || to.words[0] == 'h';
  const bool from_host = from.is_pageable || from.words[0] == 'h';
  return to_host     ? from_host ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost
         : from_host ? cudaMemcpyHostToDevice
                     : cudaMemcpyDeviceToDevice;
}

inline cudaMemcpyKind AnyKind(RuntimeWorld& world, const MemoryPart& to, const MemoryPart& from) {
  const cudaMemcpyKind right = RightKind(world, to, from);
  return world.OneIn(5) ? static_cast<cudaMemcpyKind>(world.Of({0, 1, 2, 3, 4, 77})) : right;
}

// As copies of rows and boxes survive it: the CPU does not go where only the device may.
inline cudaMemcpyKind AnyKindOfRows(RuntimeWorld& world, const MemoryPart& to,
                                    const MemoryPart& from) {
  const cudaMemcpyKind kind = AnyKind(world, to, from);
  const bool to_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
  const bool from_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
  const bool is_wrong = (to_host && to.words[0] == 'b') || (from_host && from.words[0] == 'b');
  return is_wrong ? cudaMemcpyDefault : kind;
}

// A copy onto itself has no right answer.
inline bool AreApart(const MemoryPart& to, const MemoryPart& from, size_t size) {
  return to.base + size <= from.base || from.base + size <= to.base;
}

// Whether there is room in both for a copy of many rows.
inline bool HaveRoom(const MemoryPart& to, const MemoryPart& from, size_t size) {
  return to.size >= size && from.size >= size && AreApart(to, from, size);
}

// After a copy that may still run: what came to pageable memory.
inline void GavePageable(RuntimeWorld& world, const MemoryPart& to) {
  cudaDeviceSynchronize();
  if (to.is_pageable) world.Gave(HashOf(to.base, kPageableBytes));
}

}  // namespace random_runtime

#endif  // TWINMMU_CONFORMANCE_RUNTIME_MEMORY_PARTS_H_
