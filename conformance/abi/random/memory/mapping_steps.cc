// Virtual memory: addresses, allocations, mappings and rights, and copies through them.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

size_t ChunksOf(const RandomObject<CUdeviceptr>& range) { return std::stoul(range.kind); }

CUmemLocation At(int type, int id) { return {static_cast<CUmemLocationType>(type), id}; }

// --- Addresses

void Reserve(ProgramWorld& world) {
  if (world.reservations.size() > 2) return;
  size_t size = world.Of<size_t>({2 * kChunk, 3 * kChunk, 4 * kChunk, 6 * kChunk});
  if (world.OneIn(8)) size = world.Of<size_t>({0, 4096});
  const size_t alignment = world.Of<size_t>({0, 0, 0, 0, kChunk, kChunk, 4 * kChunk, 4096, 3});
  const unsigned long long flags = world.OneIn(10) ? 1 : 0;
  CUdeviceptr hint = 0;  // one that is taken gives another place
  if (!world.reservations.empty() && alignment <= kChunk && world.OneIn(5))
    hint = world.One(world.reservations).handle;
  CUdeviceptr address = 0;
  if (!world.Say(cuMemAddressReserve(&address, size, alignment, hint, flags), "cuMemAddressReserve",
                 size, alignment, hint == 0 ? "anywhere" : "taken", flags)) {
    return;
  }
  const size_t aligned = std::max(alignment, kChunk);
  world.Gave(world.reservations.Add(address, std::to_string(size / kChunk)), address % aligned);
}

void FreeAddresses(ProgramWorld& world) {
  if (world.reservations.empty()) return;
  const auto range = world.One(world.reservations);
  const size_t size = ChunksOf(range) * kChunk;
  size_t offset = 0;
  size_t asked = size;
  for (const RandomMapping& mapping : world.mappings) {
    if (mapping.reservation == range.name && !world.OneIn(8)) return;
  }
  if (world.OneIn(4)) asked = world.Of<size_t>({0, 4096, size - kChunk});
  if (world.OneIn(6)) offset = kChunk;
  if (world.Say(cuMemAddressFree(range.handle + offset, asked), "cuMemAddressFree", range.name,
                offset, asked)) {
    world.reservations.Remove(range.name);
  }
}

// --- Allocations

// New memory is not promised to be empty.
void Clear(CUmemGenericAllocationHandle handle, size_t size) {
  CUmemAccessDesc access = {At(1, 0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUdeviceptr address = 0;
  cuMemAddressReserve(&address, size, 0, 0, 0);
  cuMemMap(address, size, 0, handle, 0);
  cuMemSetAccess(address, size, &access, 1);
  cuMemsetD8(address, 0, size);
  cuCtxSynchronize();
  cuMemUnmap(address, size);
  cuMemAddressFree(address, size);
}

CUmemAllocationProp AnyProperties(ProgramWorld& world, std::string* words) {
  CUmemAllocationProp props = PinnedOn(0);
  if (world.OneIn(10)) props.location.id = world.Of({-1, 99});
  if (world.OneIn(12)) props.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  if (world.OneIn(12)) props.location.type = CU_MEM_LOCATION_TYPE_INVALID;
  props.requestedHandleTypes =
      static_cast<CUmemAllocationHandleType>(world.OneIn(12) ? 2 : world.Of({0, 0, 1}));
  std::ostringstream text;
  text << int(props.type) << ' ' << int(props.location.type) << ' ' << props.location.id << ' '
       << int(props.requestedHandleTypes);
  *words = text.str();
  return props;
}

void Create(ProgramWorld& world) {
  if (world.allocations.size() > 4) return;
  std::string words;
  const CUmemAllocationProp props = AnyProperties(world, &words);
  size_t size = world.Of<size_t>({kChunk, kChunk, 2 * kChunk});
  if (world.OneIn(8)) size = world.Of<size_t>({0, 4096});
  const unsigned long long flags = world.OneIn(15) ? 1 : 0;
  CUmemGenericAllocationHandle handle = 0;
  if (!world.Say(cuMemCreate(&handle, size, &props, flags), "cuMemCreate", size, words, flags)) {
    return;
  }
  world.Gave(world.allocations.Add(handle, std::to_string(size / kChunk)));
  Clear(handle, size);
}

// Mapped memory stays until it is unmapped.
void Release(ProgramWorld& world) {
  if (world.allocations.empty() || world.OneIn(8)) {
    world.Say(cuMemRelease(0), "cuMemRelease", "none");
    return;
  }
  const auto allocation = world.One(world.allocations);
  if (world.Say(cuMemRelease(allocation.handle), "cuMemRelease", allocation.name)) {
    world.allocations.Remove(allocation.name);
  }
}

void AskAllocation(ProgramWorld& world) {
  std::string words;
  if (world.OneIn(2)) {
    const CUmemAllocationProp props = AnyProperties(world, &words);
    const int option = world.Of({0, 0, 1, 77});
    size_t found = 0;
    if (world.Say(cuMemGetAllocationGranularity(
                      &found, &props, static_cast<CUmemAllocationGranularity_flags>(option)),
                  "cuMemGetAllocationGranularity", words, option)) {
      world.Gave(found);
    }
    return;
  }
  const bool none = world.allocations.empty() || world.OneIn(6);
  const RandomObject<CUmemGenericAllocationHandle> allocation =
      none ? RandomObject<CUmemGenericAllocationHandle>{"none", 0, ""}
           : world.One(world.allocations);
  CUmemAllocationProp found = {};
  if (world.Say(cuMemGetAllocationPropertiesFromHandle(&found, allocation.handle),
                "cuMemGetAllocationPropertiesFromHandle", allocation.name)) {
    world.Gave(int(found.type), int(found.location.type), found.location.id,
               int(found.requestedHandleTypes));
  }
}

// --- Mappings

bool IsTaken(const ProgramWorld& world, const std::string& range, size_t chunk, size_t chunks) {
  for (const RandomMapping& mapping : world.mappings) {
    const bool meets = chunk < mapping.chunk + mapping.chunks && mapping.chunk < chunk + chunks;
    if (mapping.reservation == range && meets) return true;
  }
  return false;
}

// Whole allocations within one reservation, and else what is wrong with a map. Behind the end of a
// reservation lies what luck has put there.
void Map(ProgramWorld& world) {
  if (world.reservations.empty() || world.allocations.empty()) return;
  const auto& range = world.One(world.reservations);
  const auto& allocation = world.One(world.allocations);
  const size_t chunks = std::stoul(allocation.kind);
  if (chunks > ChunksOf(range)) return;
  size_t chunk = world.Below(ChunksOf(range) - chunks + 1);
  for (int i = 0; i < 8 && IsTaken(world, range.name, chunk, chunks); ++i) {
    chunk = world.Below(ChunksOf(range) - chunks + 1);
  }
  if (IsTaken(world, range.name, chunk, chunks) && !world.OneIn(4)) return;
  size_t size = chunks * kChunk;
  size_t place = chunk * kChunk;
  size_t offset = 0;
  unsigned long long flags = 0;
  CUmemGenericAllocationHandle handle = allocation.handle;
  const size_t wrong = world.Below(24);
  if (wrong == 0) size = world.Of<size_t>({0, kChunk / 2});
  if (wrong == 1) place += 4096;
  if (wrong == 2) offset = kChunk;
  if (wrong == 3) flags = 1;
  if (wrong == 4) handle = 0;
  if (!world.Say(cuMemMap(range.handle + place, size, offset, handle, flags), "cuMemMap",
                 range.name, place, size, offset, handle == 0 ? "none" : allocation.name, flags)) {
    return;
  }
  world.mappings.push_back({range.name, chunk, chunks, handle, allocation.name});
  if (world.OneIn(3)) return;
  const CUmemAccessDesc grant = {At(1, 0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  world.Say(cuMemSetAccess(range.handle + place, size, &grant, 1), "cuMemSetAccess", range.name,
            chunk, size, "at once");
}

struct Chunks {
  RandomObject<CUdeviceptr> range;
  size_t first = 0;
  size_t count = 0;
};

// Those of one mapping, of one and its neighbours, or any.
Chunks AnyChunks(ProgramWorld& world) {
  Chunks chosen = {world.One(world.reservations)};
  const size_t all = ChunksOf(chosen.range);
  chosen.first = world.Below(all);
  chosen.count = 1 + world.Below(all - chosen.first);
  if (world.mappings.empty() || world.OneIn(6)) return chosen;
  const RandomMapping& mapping = world.mappings[world.Below(world.mappings.size())];
  for (size_t i = 0; i < world.reservations.size(); ++i) {
    if (world.reservations[i].name == mapping.reservation) chosen.range = world.reservations[i];
  }
  chosen.first = mapping.chunk;
  chosen.count = mapping.chunks;
  for (const RandomMapping& next : world.mappings) {
    const bool follows = next.reservation == mapping.reservation &&
                         next.chunk == chosen.first + chosen.count && world.OneIn(2);
    if (follows) chosen.count += next.chunks;
  }
  return chosen;
}

void Unmap(ProgramWorld& world) {
  if (world.reservations.empty()) return;
  if (world.mappings.empty() && !world.OneIn(6)) return;
  const Chunks chosen = AnyChunks(world);
  size_t size = chosen.count * kChunk;
  if (world.OneIn(8)) size = world.Of<size_t>({0, size - 4096});
  if (!world.Say(cuMemUnmap(chosen.range.handle + chosen.first * kChunk, size), "cuMemUnmap",
                 chosen.range.name, chosen.first, size)) {
    return;
  }
  const auto is_gone = [&](const RandomMapping& mapping) {
    return mapping.reservation == chosen.range.name && mapping.chunk >= chosen.first &&
           mapping.chunk < chosen.first + chosen.count;
  };
  auto& all = world.mappings;
  all.erase(std::remove_if(all.begin(), all.end(), is_gone), all.end());
}

void SetAccess(ProgramWorld& world) {
  if (world.reservations.empty()) return;
  if (world.mappings.empty() && !world.OneIn(6)) return;
  const Chunks chosen = AnyChunks(world);
  const size_t size = world.OneIn(10) ? world.Of<size_t>({0, 4096}) : chosen.count * kChunk;
  const size_t count = world.OneIn(12) ? 0 : world.Of<size_t>({1, 1, 2});
  CUmemAccessDesc grants[2] = {};
  std::string words;
  for (size_t i = 0; i < count; ++i) {
    grants[i].flags = static_cast<CUmemAccess_flags>(world.Of({3, 3, 3, 3, 1, 1, 0}));
    grants[i].location = At(1, 0);
    if (world.OneIn(20)) grants[i].location = world.Of({At(1, 99), At(0, 0), At(4, 0)});
    if (world.OneIn(20)) grants[i].flags = static_cast<CUmemAccess_flags>(2);
    // Of the host with this memory: alone, as what comes before it would be applied.
    if (count == 1 && world.OneIn(12)) grants[i].location = At(2, 0);
    words += std::to_string(grants[i].location.type) + ":" + std::to_string(grants[i].location.id) +
             "=" + std::to_string(grants[i].flags) + " ";
  }
  world.Say(cuMemSetAccess(chosen.range.handle + chosen.first * kChunk, size, grants, count),
            "cuMemSetAccess", chosen.range.name, chosen.first, size, words);
}

void AskMapping(ProgramWorld& world) {
  if (world.reservations.empty()) return;
  if (world.mappings.empty() && !world.OneIn(6)) return;
  const Chunks chosen = AnyChunks(world);
  const size_t offset = chosen.first * kChunk + (world.OneIn(2) ? 0 : world.Below(kChunk));
  const CUdeviceptr address = chosen.range.handle + offset;
  if (world.OneIn(2)) {
    const CUmemLocation location = world.Of({At(1, 0), At(1, 0), At(1, 0), At(1, 99), At(0, 0)});
    unsigned long long access = 9;
    if (world.Say(cuMemGetAccess(&access, &location, address), "cuMemGetAccess", chosen.range.name,
                  offset, int(location.type), location.id)) {
      world.Gave(access);
    }
    return;
  }
  CUmemGenericAllocationHandle handle = 0;
  if (!world.Say(cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(address)),
                 "cuMemRetainAllocationHandle", chosen.range.name, offset)) {
    return;
  }
  for (const RandomMapping& mapping : world.mappings) {
    if (mapping.handle == handle) {
      world.Gave(mapping.allocation);
      break;
    }
  }
  world.Say(cuMemRelease(handle), "cuMemRelease", "retained");
}

}  // namespace

RandomSteps MappingSteps() {
  return {{10, Reserve}, {2, FreeAddresses}, {10, Create},    {3, Release},    {6, AskAllocation},
          {20, Map},     {4, Unmap},         {16, SetAccess}, {10, AskMapping}};
}

}  // namespace twinmmu::abi
