// Copies and fills through mapped addresses, also across the borders of mappings, and what is told
// of memory that is no mapping.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

constexpr size_t kMost = 1 << 16;
unsigned char host[kMost];

// A part of a reservation: near the beginning of a mapping, or across it, or anywhere.
RandomBlock AnyPart(ProgramWorld& world) {
  RandomObject<CUdeviceptr> range = world.One(world.reservations);
  if (!world.OneIn(10)) {
    const RandomMapping& one = world.One(world.mappings);
    for (size_t i = 0; i < world.reservations.size(); ++i) {
      if (world.reservations[i].name == one.reservation) range = world.reservations[i];
    }
  }
  const size_t end = std::stoul(range.kind) * kChunk;
  size_t chunk = world.Below(std::stoul(range.kind));
  std::vector<size_t> mapped;
  for (const RandomMapping& mapping : world.mappings) {
    if (mapping.reservation == range.name) mapped.push_back(mapping.chunk);
  }
  if (!mapped.empty() && !world.OneIn(10)) chunk = mapped[world.Below(mapped.size())];
  size_t offset = chunk * kChunk;
  switch (world.Below(4)) {
    case 0:
      break;
    case 1:
      if (chunk > 0) offset -= 1 + world.Below(kMost);
      break;
    default:
      offset += world.Below(kChunk);
  }
  if (!world.OneIn(6)) offset = offset / 4 * 4;
  const size_t size = std::min(end - offset, 1 + world.Below(kMost));
  return {range.name + "+" + std::to_string(offset), range.handle + offset, size};
}

void Fill(ProgramWorld& world) {
  if (world.mappings.empty()) return;
  const RandomBlock part = AnyPart(world);
  const auto value = static_cast<unsigned>(world.Below(1u << 31));
  const CUstream stream = world.AnyStream();
  const std::string name = world.streams.NameOf(stream);
  const auto say = [&](CUresult result, const char* call, size_t count) {
    world.Say(result, call, part.name, value, count, name);
  };
  switch (world.Below(4)) {
    case 0:
      return say(cuMemsetD8(part.base, static_cast<unsigned char>(value), part.size), "cuMemsetD8",
                 part.size);
    case 1:
      return say(cuMemsetD8Async(part.base, static_cast<unsigned char>(value), part.size, stream),
                 "cuMemsetD8Async", part.size);
    case 2:
      return say(
          cuMemsetD16Async(part.base, static_cast<unsigned short>(value), part.size / 2, stream),
          "cuMemsetD16Async", part.size / 2);
    default:
      return say(cuMemsetD32(part.base, value, part.size / 4), "cuMemsetD32", part.size / 4);
  }
}

// Both ends in mappings would be one memory where an allocation is mapped twice. And no generic
// copies: they take addresses where nothing is mapped for the CPU's.
void Copy(ProgramWorld& world) {
  if (world.mappings.empty()) return;
  const RandomBlock part = AnyPart(world);
  if (world.OneIn(3)) {
    for (size_t i = 0; i < part.size; i += 8)
      host[i] = static_cast<unsigned char>(world.Below(256));
    world.Say(cuMemcpyHtoD(part.base, host, part.size), "cuMemcpyHtoD", part.name, part.size);
    return;
  }
  if (world.blocks.empty()) return;
  const RandomBlock other = world.Part(kMost);
  const size_t size = std::min(part.size, other.size);
  const CUstream stream = world.AnyStream();
  const std::string name = world.streams.NameOf(stream);
  const auto say = [&](CUresult result, const char* call) {
    world.Say(result, call, part.name, other.name, size, name);
  };
  switch (world.Below(4)) {
    case 0:
      return say(cuMemcpyDtoD(part.base, other.base, size), "cuMemcpyDtoD to");
    case 1:
      return say(cuMemcpyDtoD(other.base, part.base, size), "cuMemcpyDtoD from");
    case 2:
      return say(cuMemcpyDtoDAsync(part.base, other.base, size, stream), "cuMemcpyDtoDAsync to");
    default:
      return say(cuMemcpyDtoDAsync(other.base, part.base, size, stream), "cuMemcpyDtoDAsync from");
  }
}

void Read(ProgramWorld& world) {
  if (world.mappings.empty()) return;
  const RandomBlock part = AnyPart(world);
  if (!world.Say(cuMemcpyDtoH(host, part.base, part.size), "cuMemcpyDtoH", part.name, part.size)) {
    return;
  }
  uint64_t hash = 7;
  for (size_t i = 0; i < part.size; ++i) hash = hash * 31 + host[i];
  world.Gave(hash);
}

// Of more than a chunk, so that all of them are about memory that is there.
void MistakeForMapping(ProgramWorld& world) {
  if (world.blocks.empty()) return;
  const RandomBlock& block = world.OneBlock();
  if (block.size <= kChunk) return;
  const bool is_managed = world.managed.count(block.name) != 0;
  const CUmemAccessDesc grant = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READ};
  CUmemGenericAllocationHandle handle = 0;
  unsigned long long access = 9;
  switch (world.Below(is_managed ? 3 : 6)) {
    case 0:
      world.Say(cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(block.base)),
                "cuMemRetainAllocationHandle", block.name);
      return;
    case 1:
      world.Say(cuMemUnmap(block.base, kChunk), "cuMemUnmap", block.name);
      return;
    case 2:
      world.Say(cuMemAddressFree(block.base, block.size), "cuMemAddressFree", block.name);
      return;
    case 3:
      world.Say(cuMemSetAccess(block.base, kChunk, &grant, 1), "cuMemSetAccess", block.name);
      return;
    case 4:
      if (world.allocations.empty()) return;
      handle = world.One(world.allocations).handle;
      world.Say(cuMemMap(block.base, kChunk, 0, handle, 0), "cuMemMap", block.name);
      return;
    default:
      if (world.Say(cuMemGetAccess(&access, &grant.location, block.base), "cuMemGetAccess",
                    block.name)) {
        world.Gave(access);
      }
  }
}

}  // namespace

RandomSteps MappedCopySteps() {
  return {{12, Fill}, {12, Copy}, {10, Read}, {4, MistakeForMapping}};
}

}  // namespace twinmmu::abi
