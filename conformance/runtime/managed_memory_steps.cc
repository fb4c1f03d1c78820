// Managed memory: hints, what is told of them, attachment, and the CPU.

#include <algorithm>

#include "conformance/runtime/memory_parts.h"
#include "conformance/runtime/runtime_world.h"

namespace random_runtime {
namespace {

constexpr size_t kPage = 4096;  // of the host: what hints are kept for
constexpr size_t kMiB = size_t{1} << 20;

cudaMemLocation At(int type, int id) { return {static_cast<cudaMemLocationType>(type), id}; }

cudaMemLocation AnyLocation(RuntimeWorld& world) {
  if (world.OneIn(6)) return world.Of({At(0, 0), At(5, 0), At(1, 99), At(3, 99)});
  return world.Of({At(1, 0), At(1, 0), At(1, 0), At(2, 0), At(2, 99), At(3, 0), At(4, 0)});
}

std::vector<Object<char*>> AllManaged(const RuntimeWorld& world) {
  std::vector<Object<char*>> all;
  for (size_t i = 0; i < world.blocks.size(); ++i) {
    if (world.blocks[i].kind == "managed") all.push_back(world.blocks[i]);
  }
  return all;
}

struct Range {
  char* base = nullptr;
  size_t size = 0;
  std::string words;
  bool is_determined = false;  // what is told of its pages: smaller pieces share theirs
};

Range WrongRange(RuntimeWorld& world) {
  if (!world.pinned.empty() && world.OneIn(2)) {
    const Object<char*>& pinned = world.One(world.pinned);
    return {pinned.handle, 1, pinned.name + " 1"};
  }
  return {reinterpret_cast<char*>(0x1234560000), kPage, "nowhere"};
}

// All of an allocation or a part of it, or what takes no hints.
Range AnyRange(RuntimeWorld& world) {
  const std::vector<Object<char*>> all = AllManaged(world);
  if (all.empty() || world.OneIn(12)) return WrongRange(world);
  const Object<char*>& block = all[world.Below(all.size())];
  size_t offset = 0;
  size_t size = block.size;
  if (world.OneIn(3)) {
    offset = world.Below(block.size) / kPage * kPage;
    size = world.Of<size_t>({kPage, 3 * kPage, block.size - offset});
  } else if (world.OneIn(4)) {
    offset = world.Below(block.size);
    size = world.Of<size_t>({1, 100, 0});
  }
  size = std::min(size, block.size - offset);
  std::ostringstream words;
  words << block.name << '+' << offset << ' ' << size;
  return {block.handle + offset, size, words.str(), block.size >= 2 * kMiB};
}

void Allocate(RuntimeWorld& world) {
  if (world.blocks.size() >= 12 || AllManaged(world).size() >= 4) return;
  const size_t size =
      world.Of<size_t>({100, 70000, 2 * kMiB, 4 * kMiB, 5 * kMiB + 1, 3 * kMiB, 2 * kMiB, 0});
  const unsigned flags = world.OneIn(8) ? world.Of({0u, 100u}) : world.Of({1u, 1u, 2u});
  void* memory = nullptr;
  if (!world.Say(cudaMallocManaged(&memory, size, flags), "cudaMallocManaged", size, flags)) return;
  if (memory == nullptr) return world.Gave("nothing");
  world.Gave(world.blocks.Add(static_cast<char*>(memory), "managed", size));
  cudaMemset(memory, static_cast<int>(world.Below(256)), size);
}

void Prefetch(RuntimeWorld& world) {
  if (AllManaged(world).empty() && !world.OneIn(6)) return Allocate(world);
  const Range range = AnyRange(world);
  const cudaMemLocation to = AnyLocation(world);
  if (world.OneIn(3)) {
    void* bases[1] = {range.base};
    size_t sizes[1] = {range.size};
    cudaMemLocation places[1] = {to};
    size_t first[1] = {0};
    const size_t count = world.OneIn(12) ? 0 : 1;
    const cudaStream_t stream = world.OneIn(8) ? nullptr : cudaStreamPerThread;
    world.Say(cudaMemPrefetchBatchAsync(bases, sizes, count, places, first, 1, 0, stream),
              "cudaMemPrefetchBatchAsync", range.words, count, int(to.type), to.id,
              StreamName(world, stream));
    return;
  }
  const cudaStream_t stream = SomeStream(world);
  const unsigned flags = world.OneIn(8) ? 1 : 0;
  world.Say(cudaMemPrefetchAsync(range.base, range.size, to, flags, stream), "cudaMemPrefetchAsync",
            range.words, int(to.type), to.id, flags, StreamName(world, stream));
}

void Advise(RuntimeWorld& world) {
  if (AllManaged(world).empty() && !world.OneIn(6)) return Allocate(world);
  const Range range = AnyRange(world);
  const int advice = world.OneIn(16) ? 100 : 1 + static_cast<int>(world.Below(6));
  const cudaMemLocation location = AnyLocation(world);
  world.Say(cudaMemAdvise(range.base, range.size, static_cast<cudaMemoryAdvise>(advice), location),
            "cudaMemAdvise", range.words, advice, int(location.type), location.id);
}

void AskRange(RuntimeWorld& world) {
  if (AllManaged(world).empty() && !world.OneIn(6)) return Allocate(world);
  const Range range = AnyRange(world);
  const int attribute = world.OneIn(16) ? 100 : 1 + static_cast<int>(world.Below(8));
  int values[4] = {};
  const size_t size = world.OneIn(8)                                 ? world.Of({0, 3, 8, 12})
                      : attribute == cudaMemRangeAttributeAccessedBy ? world.Of({4, 8, 16})
                                                                     : 4;
  if (!world.Say(cudaMemRangeGetAttribute(values, size, cudaMemRangeAttribute(attribute),
                                          range.base, range.size),
                 "cudaMemRangeGetAttribute", attribute, size, range.words) ||
      !range.is_determined) {
    return;
  }
  for (size_t i = 0; i < size / 4; ++i) world.Gave(values[i]);
}

void AskRangeForSeveral(RuntimeWorld& world) {
  if (AllManaged(world).empty() && !world.OneIn(6)) return Allocate(world);
  const Range range = AnyRange(world);
  constexpr size_t kCount = 3;
  int values[kCount][2] = {};
  void* places[kCount];
  size_t sizes[kCount];
  cudaMemRangeAttribute attributes[kCount];
  std::string words;
  for (size_t i = 0; i < kCount; ++i) {
    const int attribute = world.OneIn(16) ? 99 : 1 + static_cast<int>(world.Below(8));
    attributes[i] = static_cast<cudaMemRangeAttribute>(attribute);
    places[i] = values[i];
    sizes[i] = attribute == cudaMemRangeAttributeAccessedBy || world.OneIn(16) ? 8 : 4;
    words += std::to_string(attribute) + ":" + std::to_string(sizes[i]) + " ";
  }
  const size_t count = world.OneIn(10) ? 0 : kCount;
  if (world.Say(cudaMemRangeGetAttributes(places, sizes, attributes, count, range.base, range.size),
                "cudaMemRangeGetAttributes", words, count, range.words) &&
      range.is_determined) {
    for (const auto& value : values) world.Gave(value[0], value[1]);
  }
}

// Back to all streams at once: what is attached elsewhere is not for anybody to use.
void Attach(RuntimeWorld& world) {
  const std::vector<Object<char*>> all = AllManaged(world);
  if (all.empty()) return Allocate(world);
  const Object<char*>& block = all[world.Below(all.size())];
  char* const base = world.OneIn(8) ? reinterpret_cast<char*>(0x1234560000) : block.handle;
  const size_t size = world.OneIn(4) ? 100 : world.Of<size_t>({0, block.size});
  const cudaStream_t stream = world.AnyStream();
  const unsigned flags = world.OneIn(8) ? 100 : world.Of({1u, 2u, 4u});
  const std::string name = base == block.handle ? block.name : "nowhere";
  if (world.Say(cudaStreamAttachMemAsync(stream, base, size, flags), "cudaStreamAttachMemAsync",
                StreamName(world, stream), name, size, flags)) {
    world.Say(cudaStreamAttachMemAsync(stream, base, 0, cudaMemAttachGlobal),
              "cudaStreamAttachMemAsync", StreamName(world, stream), name, "back");
  }
}

// Nothing runs by now, and so the CPU may read and write.
void UseFromCpu(RuntimeWorld& world) {
  const std::vector<Object<char*>> all = AllManaged(world);
  if (all.empty()) return Allocate(world);
  const MemoryPart part = PartOf(world, all[world.Below(all.size())]);
  const size_t size = std::min<size_t>(part.size, 3 * kPage);
  if (world.OneIn(2)) {
    const size_t value = world.Below(256);
    for (size_t i = 0; i < size; ++i) part.base[i] = static_cast<char>(value + i);
    world.Say(cudaSuccess, "the CPU writes", part.words, size, value);
  } else {
    world.Say(cudaSuccess, "the CPU reads", part.words, size);
    world.Gave(HashOf(part.base, size));
  }
}

}  // namespace

Steps ManagedMemorySteps() {
  return {{8, Allocate},           {8, Prefetch}, {10, Advise},   {10, AskRange},
          {4, AskRangeForSeveral}, {4, Attach},   {6, UseFromCpu}};
}

}  // namespace random_runtime
