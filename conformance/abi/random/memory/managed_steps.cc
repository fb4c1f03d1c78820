// Managed memory: hints, what is told of them, attachment, and the CPU.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

constexpr size_t kMostManaged = 5;
constexpr size_t kPage = 4096;  // of the host: what hints are kept for
constexpr size_t kMiB = size_t{1} << 20;

inline constexpr Function<CUresult(CUdeviceptr, size_t, CUmemLocation, unsigned, CUstream)>
    prefetch_to("cuMemPrefetchAsync_v2");
inline constexpr Function<CUresult(CUdeviceptr, size_t, CUmem_advise, CUmemLocation)> advise_for(
    "cuMemAdvise_v2");

CUmemLocation At(int type, int id) { return {static_cast<CUmemLocationType>(type), id}; }

CUmemLocation AnyLocation(ProgramWorld& world) {
  if (world.OneIn(6)) return world.Of({At(0, 0), At(5, 0), At(1, 99), At(3, 99)});
  return world.Of({At(1, 0), At(1, 0), At(1, 0), At(2, 0), At(2, 99), At(3, 0), At(4, 0)});
}

int AnyDevice(ProgramWorld& world) {
  return world.OneIn(8) ? world.Of({-2, 99}) : world.Of({0, 0, -1});
}

// Smaller pieces share pages, and so the hints of their neighbours, wherever those lie.
bool HasItsOwnPages(const RandomBlock& block) { return block.size >= kChunk; }

std::vector<RandomBlock> AllManaged(const ProgramWorld& world) {
  std::vector<RandomBlock> all;
  for (const RandomBlock& block : world.blocks) {
    if (world.managed.count(block.name) != 0) all.push_back(block);
  }
  return all;
}

struct Range {
  CUdeviceptr base = 0;
  size_t size = 0;
  std::string words;
  bool is_determined = false;  // what is told of its pages
};

Range WrongRange(ProgramWorld& world) {
  if (!world.pinned.empty() && world.OneIn(3)) {
    const auto& pinned = world.One(world.pinned);
    return {AddressOf(pinned.handle), 1, pinned.name + " 1"};
  }
  if (!world.blocks.empty() && world.OneIn(2)) {
    const RandomBlock& block = world.OneBlock();
    // Behind memory that fills its chunks other memory may lie.
    if (block.size % kChunk != 0) {
      return {block.base, block.size + 1, block.name + " and a byte"};
    }
  }
  const CUdeviceptr address = world.Of<CUdeviceptr>({0, kPage});
  return {address, kPage, std::to_string(address) + " a page"};
}

// What hints are for: all of an allocation or a part of it, or what takes none.
Range AnyRange(ProgramWorld& world) {
  const std::vector<RandomBlock> all = AllManaged(world);
  if (all.empty() || world.OneIn(12)) return WrongRange(world);
  const RandomBlock& block = all[world.Below(all.size())];
  size_t offset = 0;
  size_t size = block.size;
  switch (world.Below(5)) {
    case 0:
      offset = world.Below(block.size) / kPage * kPage;
      size = world.Of<size_t>({kPage, 3 * kPage, block.size - offset});
      break;
    case 1:
      offset = world.Below(block.size);
      size = world.Of<size_t>({1, 100, 0});
      break;
    case 2:
      size = 1 + world.Below(block.size);
      break;
    default:
      break;
  }
  size = std::min(size, block.size - offset);
  std::ostringstream words;
  words << block.name << '+' << offset << ' ' << size;
  return {block.base + offset, size, words.str(), HasItsOwnPages(block)};
}

void Allocate(ProgramWorld& world) {
  if (world.blocks.size() >= 12 || AllManaged(world).size() >= kMostManaged) return;
  const size_t size = world.Of<size_t>({1, 100, 70000, kMiB + 1, 2 * kMiB, 4 * kMiB, 5 * kMiB + 1,
                                        2 * kMiB, 3 * kMiB, 0, size_t{1} << 47, ~size_t{0}});
  const unsigned flags = world.OneIn(8) ? world.Of({0u, 3u, 4u}) : world.Of({1u, 1u, 2u});
  CUdeviceptr base = 0;
  if (!world.Say(cuMemAllocManaged(&base, size, flags), "cuMemAllocManaged", size, flags)) return;
  const std::string name = world.AddBlock(base, size);
  world.managed.insert(name);
  world.Gave(name);
  cuMemsetD8(base, 0, size);
}

void Prefetch(ProgramWorld& world) {
  if (AllManaged(world).empty() && !world.OneIn(6)) return Allocate(world);
  const Range range = AnyRange(world);
  const CUstream stream = world.AnyStream();
  const std::string name = world.streams.NameOf(stream);
  if (world.OneIn(2)) {
    const int device = AnyDevice(world);
    world.Say(cuMemPrefetchAsync(range.base, range.size, device, stream), "cuMemPrefetchAsync",
              range.words, device, name);
    return;
  }
  const CUmemLocation to = AnyLocation(world);
  const unsigned flags = world.OneIn(8) ? 1 : 0;
  world.Say(prefetch_to(range.base, range.size, to, flags, stream), "cuMemPrefetchAsync_v2",
            range.words, int(to.type), to.id, flags, name);
}

void Advise(ProgramWorld& world) {
  if (AllManaged(world).empty() && !world.OneIn(6)) return Allocate(world);
  const Range range = AnyRange(world);
  const int advice = world.OneIn(20) ? world.Of({0, 7}) : world.Of({1, 1, 2, 3, 3, 3, 4, 5, 5, 6});
  const auto which = static_cast<CUmem_advise>(advice);
  if (world.OneIn(2)) {
    const int device = AnyDevice(world);
    world.Say(cuMemAdvise(range.base, range.size, which, device), "cuMemAdvise", range.words,
              advice, device);
    return;
  }
  const CUmemLocation location = AnyLocation(world);
  if (advice == 0 || advice == 7) return;
  world.Say(advise_for(range.base, range.size, which, location), "cuMemAdvise_v2", range.words,
            advice, int(location.type), location.id);
}

void AskRange(ProgramWorld& world) {
  if (AllManaged(world).empty() && !world.OneIn(6)) return Allocate(world);
  const Range range = AnyRange(world);
  const int attribute = world.OneIn(16) ? world.Of({0, 9}) : 1 + int(world.Below(8));
  int values[8] = {};
  const size_t size = world.OneIn(6)                                    ? world.Of({0, 3, 8, 12})
                      : attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY ? world.Of({4, 8, 16})
                                                                        : 4;
  if (!world.Say(cuMemRangeGetAttribute(values, size, static_cast<CUmem_range_attribute>(attribute),
                                        range.base, range.size),
                 "cuMemRangeGetAttribute", attribute, size, range.words)) {
    return;
  }
  if (!range.is_determined) return;
  for (size_t i = 0; i < size / 4; ++i) world.Gave(values[i]);
}

void AskRangeForSeveral(ProgramWorld& world) {
  if (AllManaged(world).empty() && !world.OneIn(6)) return Allocate(world);
  const Range range = AnyRange(world);
  constexpr size_t kCount = 3;
  int values[kCount][2] = {};
  void* places[kCount];
  size_t sizes[kCount];
  CUmem_range_attribute attributes[kCount];
  std::string words;
  for (size_t i = 0; i < kCount; ++i) {
    const int attribute = world.OneIn(16) ? 99 : 1 + int(world.Below(8));
    attributes[i] = static_cast<CUmem_range_attribute>(attribute);
    places[i] = values[i];
    sizes[i] = attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY || world.OneIn(16) ? 8 : 4;
    words += std::to_string(attribute) + ":" + std::to_string(sizes[i]) + " ";
  }
  const size_t count = world.OneIn(10) ? 0 : kCount;
  if (world.Say(cuMemRangeGetAttributes(places, sizes, attributes, count, range.base, range.size),
                "cuMemRangeGetAttributes", words, count, range.words) &&
      range.is_determined) {
    for (const auto& value : values) world.Gave(value[0], value[1]);
  }
}

// Back to all streams at once: what is attached elsewhere is not for anybody to use.
void Attach(ProgramWorld& world) {
  const std::vector<RandomBlock> all = AllManaged(world);
  const bool right = !all.empty() && !world.OneIn(5);
  Range range = WrongRange(world);
  if (right) {
    const RandomBlock& block = all[world.Below(all.size())];
    const size_t size = world.Of<size_t>({0, block.size, block.size, block.size + 1});
    range = {block.base, size, block.name + " " + std::to_string(size)};
  }
  const CUstream stream = world.AnyStream();
  const std::string name = world.streams.NameOf(stream);
  const unsigned flags = stream == nullptr ? world.Of({1u, 2u}) : world.Of({1u, 2u, 4u});
  if (world.Say(cuStreamAttachMemAsync(stream, range.base, range.size, flags),
                "cuStreamAttachMemAsync", name, range.words, flags)) {
    world.Say(cuStreamAttachMemAsync(stream, range.base, 0, CU_MEM_ATTACH_GLOBAL),
              "cuStreamAttachMemAsync", name, range.words, "back");
  }
}

// Nothing runs by now, and so the CPU may read and write.
void UseFromCpu(ProgramWorld& world) {
  const std::vector<RandomBlock> all = AllManaged(world);
  if (all.empty()) return;
  const RandomBlock& block = all[world.Below(all.size())];
  auto* const bytes = reinterpret_cast<unsigned char*>(block.base);
  const size_t offset = world.Below(block.size);
  const size_t size = 1 + world.Below(std::min<size_t>(block.size - offset, 3 * kPage));
  if (world.OneIn(2)) {
    const auto value = static_cast<unsigned char>(world.Below(256));
    for (size_t i = 0; i < size; ++i) bytes[offset + i] = static_cast<unsigned char>(value + i);
    world.Say(CUDA_SUCCESS, "the CPU writes", block.name, offset, size, int(value));
    return;
  }
  uint64_t hash = 7;
  for (size_t i = 0; i < size; ++i) hash = hash * 31 + bytes[offset + i];
  world.Say(CUDA_SUCCESS, "the CPU reads", block.name, offset, size);
  world.Gave(hash);
}

}  // namespace

RandomSteps ManagedSteps() {
  return {{16, Allocate},          {12, Prefetch}, {14, Advise},    {18, AskRange},
          {6, AskRangeForSeveral}, {5, Attach},    {10, UseFromCpu}};
}

}  // namespace twinmmu::abi
