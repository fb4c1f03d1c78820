// Many ranges at once: copied, prefetched, discarded. The functions are newer than our cuda.h.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

struct Attributes {
  int order;
  CUmemLocation from;
  CUmemLocation to;
  unsigned flags;
};

using PrefetchBatch = Function<CUresult(CUdeviceptr*, size_t*, size_t, CUmemLocation*, size_t*,
                                        size_t, unsigned long long, CUstream)>;
inline constexpr PrefetchBatch prefetch("cuMemPrefetchBatchAsync");
inline constexpr PrefetchBatch discard_and_prefetch("cuMemDiscardAndPrefetchBatchAsync");
inline constexpr Function<CUresult(CUdeviceptr*, size_t*, size_t, unsigned long long, CUstream)>
    discard("cuMemDiscardBatchAsync");
inline constexpr Function<CUresult(CUdeviceptr*, CUdeviceptr*, size_t*, size_t, Attributes*,
                                   size_t*, size_t, size_t*, CUstream)>
    copy_12("cuMemcpyBatchAsync");
inline constexpr Function<CUresult(CUdeviceptr*, CUdeviceptr*, size_t*, size_t, Attributes*,
                                   size_t*, size_t, CUstream)>
    copy("cuMemcpyBatchAsync_v2");

constexpr int kFirstVersion = 13000;
constexpr size_t kMost = 3;  // ranges of a batch

// None of them is the legacy default stream, which refuses batches, but for one in ten.
CUstream StreamOfBatch(ProgramWorld& world, std::string* name) {
  if (world.OneIn(15)) {
    *name = "legacy";
    return nullptr;
  }
  if (world.streams.empty()) {
    *name = "of the thread";
    return reinterpret_cast<CUstream>(2);
  }
  const auto& stream = world.One(world.streams);
  *name = stream.name;
  return stream.handle;
}

// Where each part of a batch begins: mostly right.
void ChooseFirst(ProgramWorld& world, size_t (&first)[kMost], size_t count, std::string* words) {
  for (size_t i = 0; i < count; ++i) {
    first[i] = i + (world.OneIn(15) ? 1 : 0);
    *words += std::to_string(first[i]) + " ";
  }
}

// What is discarded has no contents that anybody could name.
void FillWhole(const std::vector<RandomBlock>& blocks) {
  cuCtxSynchronize();
  for (const RandomBlock& block : blocks) cuMemsetD8(block.base, 0xD1, block.size);
}

// Of memory with pages of its own.
void PrefetchOrDiscard(ProgramWorld& world) {
  std::vector<RandomBlock> large;
  for (const RandomBlock& block : world.blocks) {
    if (world.managed.count(block.name) != 0 && block.size >= kChunk) large.push_back(block);
  }
  if (large.empty() || DriverVersion() < kFirstVersion) return;
  const size_t count = 1 + world.Below(kMost);
  CUdeviceptr addresses[kMost] = {};
  size_t sizes[kMost] = {};
  CUmemLocation locations[kMost] = {};
  size_t first[kMost] = {};
  std::string words;
  for (size_t i = 0; i < count; ++i) {
    const RandomBlock& block = large[world.Below(large.size())];
    addresses[i] = block.base;
    sizes[i] =
        world.OneIn(20) ? 0 : block.size + (block.size % kChunk != 0 && world.OneIn(10) ? 1 : 0);
    words += block.name + ":" + std::to_string(sizes[i]) + " ";
  }
  const size_t places = 1 + world.Below(count);
  words += "at ";
  for (size_t i = 0; i < places; ++i) {
    locations[i].type = world.Of({CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_HOST});
    locations[i].id = world.OneIn(12) && locations[i].type == CU_MEM_LOCATION_TYPE_DEVICE ? 99 : 0;
    words += std::to_string(locations[i].type) + ":" + std::to_string(locations[i].id) + " ";
  }
  ChooseFirst(world, first, places, &words);
  const unsigned long long flags = world.OneIn(12) ? 1 : 0;
  std::string name;
  const CUstream stream = StreamOfBatch(world, &name);
  switch (world.Below(3)) {
    case 0:
      world.Say(prefetch(addresses, sizes, count, locations, first, places, flags, stream),
                "cuMemPrefetchBatchAsync", words, flags, name);
      return;
    case 1:
      world.Say(
          discard_and_prefetch(addresses, sizes, count, locations, first, places, flags, stream),
          "cuMemDiscardAndPrefetchBatchAsync", words, flags, name);
      break;
    default:
      world.Say(discard(addresses, sizes, count, flags, stream), "cuMemDiscardBatchAsync", words,
                flags, name);
  }
  FillWhole(large);
}

bool Meet(CUdeviceptr a, CUdeviceptr b, size_t size) { return a < b + size && b < a + size; }

// Copies of one size, none of which writes what another one reads or writes: they have no order.
void Copy(ProgramWorld& world) {
  if (world.blocks.size() < 2 || DriverVersion() < kFirstVersion) return;
  const size_t count = 1 + world.Below(kMost);
  const size_t size = world.Of<size_t>({1, 4, 64, 256, 4096});
  CUdeviceptr to[kMost] = {};
  CUdeviceptr from[kMost] = {};
  size_t sizes[kMost] = {};
  std::string words;
  for (size_t i = 0; i < count; ++i) {
    for (CUdeviceptr* const place : {&to[i], &from[i]}) {
      const RandomBlock& block = world.OneBlock();
      if (block.size < size) return;
      *place = block.base + world.Below(block.size - size + 1);
    }
    sizes[i] = world.OneIn(20) ? 0 : size;
    words += world.NameOf(to[i]) + "<-" + world.NameOf(from[i]) + ":" + std::to_string(sizes[i]);
    words += " ";
  }
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) {
      if (Meet(to[i], from[j], size) || (i != j && Meet(to[i], to[j], size))) return;
    }
  }
  Attributes attributes[kMost] = {};
  size_t first[kMost] = {};
  const size_t kinds = world.OneIn(12) ? 0 : 1 + world.Below(count);
  words += "orders ";
  for (size_t i = 0; i < kinds; ++i) {
    attributes[i].order = world.OneIn(14) ? world.Of({0, 4}) : world.Of({1, 1, 2, 3});
    words += std::to_string(attributes[i].order) + " ";
  }
  ChooseFirst(world, first, kinds, &words);
  std::string name;
  const CUstream stream = StreamOfBatch(world, &name);
  if (world.OneIn(2)) {
    world.Say(copy(to, from, sizes, count, attributes, first, kinds, stream),
              "cuMemcpyBatchAsync_v2", words, name);
    return;
  }
  size_t failed = 77;
  if (!world.Say(copy_12(to, from, sizes, count, attributes, first, kinds, &failed, stream),
                 "cuMemcpyBatchAsync", words, name) &&
      stream != nullptr) {
    world.Gave("failed", static_cast<long>(failed));
  }
}

}  // namespace

RandomSteps BatchSteps() { return {{8, PrefetchOrDiscard}, {16, Copy}}; }

}  // namespace twinmmu::abi
