// Memory of the host: allocated and registered, written by the CPU and by devices.

#include <algorithm>
#include <cstring>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

constexpr size_t kPages = 16;
alignas(4096) unsigned char pages[kPages * 4096];  // of our own, to be registered

void* PointerTo(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

uint64_t HashOf(const void* memory, size_t size) {
  uint64_t hash = 7;
  for (size_t i = 0; i < size; ++i) hash = hash * 31 + static_cast<const unsigned char*>(memory)[i];
  return hash;
}

// Its kind is its size: what others have allocated is not written to.
const RandomObject<void*>* AnyOfKnownSize(ProgramWorld& world) {
  std::vector<const RandomObject<void*>*> all;
  for (size_t i = 0; i < world.pinned.size(); ++i) {
    if (!world.pinned[i].kind.empty()) all.push_back(&world.pinned[i]);
  }
  return all.empty() ? nullptr : all[world.Below(all.size())];
}

// A part of what the host shares with devices: allocated, or registered.
RandomBlock PartOfHost(ProgramWorld& world) {
  std::vector<RandomBlock> all;
  for (size_t i = 0; i < world.pinned.size(); ++i) {
    const auto& pinned = world.pinned[i];
    if (!pinned.kind.empty()) {
      all.push_back({pinned.name, AddressOf(pinned.handle), std::stoul(pinned.kind)});
    }
  }
  all.insert(all.end(), world.registered.begin(), world.registered.end());
  if (all.empty()) return {};
  RandomBlock part = all[world.Below(all.size())];
  const size_t offset = world.OneIn(2) ? 0 : world.Below(part.size);
  part.name += "+" + std::to_string(offset);
  part.base += offset;
  part.size = 1 + world.Below(std::min<size_t>(part.size - offset, 8192));
  return part;
}

void Allocate(ProgramWorld& world) {
  if (world.pinned.size() > 6) return;
  const size_t size = world.Of<size_t>({1, 100, 4096, 8192, 70000});
  const unsigned flags = world.Of({0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 0x10u});
  void* memory = nullptr;
  const bool made =
      world.OneIn(2)
          ? world.Say(cuMemAllocHost(&memory, size), "cuMemAllocHost", size)
          : world.Say(cuMemHostAlloc(&memory, size, flags), "cuMemHostAlloc", size, flags);
  if (!made) return;
  // Where in its page is a matter of what else was there.
  world.Gave(AddressOf(memory) % 512, world.pinned.Add(memory, std::to_string(size)));
  std::memset(memory, 0, size);
}

// Frees what is no beginning of what was allocated, or is none of it.
void FreeWrongly(ProgramWorld& world) {
  const auto* const pinned = AnyOfKnownSize(world);
  if (pinned != nullptr && world.OneIn(2)) {
    const size_t offset = 1 + world.Below(std::stoul(pinned->kind));
    if (offset == std::stoul(pinned->kind)) return;
    world.Say(cuMemFreeHost(PointerTo(AddressOf(pinned->handle) + offset)), "cuMemFreeHost",
              pinned->name, offset);
  } else if (pinned != nullptr && world.OneIn(2)) {
    world.Say(cuMemFree(AddressOf(pinned->handle)), "cuMemFree", pinned->name);
  } else if (!world.blocks.empty()) {
    const RandomBlock& block = world.OneBlock();
    world.Say(cuMemFreeHost(PointerTo(block.base)), "cuMemFreeHost", block.name);
  } else if (!world.registered.empty()) {
    const RandomBlock& block = world.registered[world.Below(world.registered.size())];
    world.Say(cuMemFreeHost(PointerTo(block.base)), "cuMemFreeHost", block.name);
  }
}

void Use(ProgramWorld& world) {
  const RandomBlock part = PartOfHost(world);
  if (part.size == 0) return;
  const auto value = static_cast<unsigned char>(world.Below(256));
  const CUstream stream = world.AnyStream();
  const std::string name = world.streams.NameOf(stream);
  if (world.OneIn(5)) {
    std::memset(PointerTo(part.base), value, part.size);
    world.Say(CUDA_SUCCESS, "the CPU writes", part.name, part.size, int(value));
  } else if (world.OneIn(4)) {
    world.Say(CUDA_SUCCESS, "the CPU reads", part.name, part.size);
    world.Gave(HashOf(PointerTo(part.base), part.size));
  } else if (world.OneIn(3)) {
    world.Say(cuMemsetD8(part.base, value, part.size), "cuMemsetD8", part.name, int(value),
              part.size);
  } else if (!world.blocks.empty()) {
    const RandomBlock other = world.Part(8192);
    const size_t size = std::min(part.size, other.size);
    const auto say = [&](CUresult result, const char* call) {
      world.Say(result, call, part.name, other.name, size, name);
    };
    void* const host = PointerTo(part.base);
    switch (world.Below(6)) {
      case 0:
        return say(cuMemcpyHtoD(other.base, host, size), "cuMemcpyHtoD");
      case 1:
        return say(cuMemcpyDtoH(host, other.base, size), "cuMemcpyDtoH");
      case 2:
        return say(cuMemcpyHtoDAsync(other.base, host, size, stream), "cuMemcpyHtoDAsync");
      case 3:
        return say(cuMemcpyDtoHAsync(host, other.base, size, stream), "cuMemcpyDtoHAsync");
      case 4:
        return say(cuMemcpyDtoD(other.base, part.base, size), "cuMemcpyDtoD from the host");
      default:
        return say(cuMemcpy(part.base, other.base, size), "cuMemcpy to the host");
    }
  }
}

// Anything at all, with words for it.
RandomBlock AnyPlace(ProgramWorld& world) {
  if (!world.blocks.empty() && world.OneIn(4)) return world.OneBlock();
  if (!world.registered.empty() && world.OneIn(3)) {
    return world.registered[world.Below(world.registered.size())];
  }
  const auto* const pinned = AnyOfKnownSize(world);
  if (pinned != nullptr && world.OneIn(2)) {
    return {pinned->name, AddressOf(pinned->handle), std::stoul(pinned->kind)};
  }
  const size_t page = world.Below(kPages);
  return {"page " + std::to_string(page), AddressOf(pages + page * 4096), 4096};
}

void Ask(ProgramWorld& world) {
  const RandomBlock place = AnyPlace(world);
  const size_t offset = world.OneIn(2) ? 0 : world.Below(place.size);
  void* const memory = PointerTo(place.base + offset);
  unsigned flags = 0;
  if (world.OneIn(2)) {
    if (world.Say(cuMemHostGetFlags(&flags, memory), "cuMemHostGetFlags", place.name, offset)) {
      world.Gave(flags);
    }
    return;
  }
  flags = world.OneIn(6) ? 1 : 0;
  CUdeviceptr address = 0;
  if (world.Say(cuMemHostGetDevicePointer(&address, memory, flags), "cuMemHostGetDevicePointer",
                place.name, offset, flags)) {
    world.Gave(address - AddressOf(memory));
  }
}

// No bytes, but a page: what becomes of it when one of the two is let go is not known.
bool SharesOnlyAPage(const ProgramWorld& world, CUdeviceptr begin, size_t size) {
  const CUdeviceptr end = begin + size;
  for (const RandomBlock& block : world.registered) {
    const CUdeviceptr block_end = block.base + block.size;
    const bool bytes = begin < block_end && block.base < end;
    const bool pages_too =
        begin / 4096 <= (block_end - 1) / 4096 && block.base / 4096 <= (end - 1) / 4096;
    if (pages_too && !bytes) return true;
  }
  return false;
}

void Register(ProgramWorld& world) {
  const unsigned flags = world.Of({0u, 0u, 1u, 2u, 3u, 3u, 8u, 4u, 0x100u});
  if (world.OneIn(6)) {
    const RandomBlock place = AnyPlace(world);
    if (place.base - AddressOf(pages) < sizeof(pages)) return;
    world.Say(cuMemHostRegister(PointerTo(place.base), place.size, flags & 3), "cuMemHostRegister",
              place.name, flags & 3);
    return;
  }
  // In halves of pages, too, so that some registrations would overlap within one.
  const size_t begin = world.Below(kPages) * 4096 + (world.OneIn(8) ? 2048 : 0);
  const size_t size =
      std::min(sizeof(pages) - begin, world.Of<size_t>({4096, 4096, 8192, 12288, 2048, 100, 0}));
  void* const memory = pages + begin;
  if (size != 0 && SharesOnlyAPage(world, AddressOf(memory), size)) return;
  if (!world.Say(cuMemHostRegister(memory, size, flags), "cuMemHostRegister", begin, size, flags)) {
    return;
  }
  if ((flags & 8) == 0) {
    world.registered.push_back({"pages+" + std::to_string(begin), AddressOf(memory), size});
    return;
  }
  // For reading only: a write of a device would end the process.
  unsigned found = 0;
  if (world.Say(cuMemHostGetFlags(&found, memory), "cuMemHostGetFlags", begin)) world.Gave(found);
  world.Say(cuMemHostUnregister(memory), "cuMemHostUnregister", begin);
}

void Unregister(ProgramWorld& world) {
  if (world.registered.empty() || world.OneIn(4)) {
    const RandomBlock place = AnyPlace(world);
    for (const RandomBlock& block : world.registered) {
      if (block.base == place.base) return;
    }
    world.Say(cuMemHostUnregister(PointerTo(place.base)), "cuMemHostUnregister", place.name);
    return;
  }
  const size_t at = world.Below(world.registered.size());
  const RandomBlock block = world.registered[at];
  const size_t offset = world.OneIn(6) ? 8 : 0;
  if (world.Say(cuMemHostUnregister(PointerTo(block.base + offset)), "cuMemHostUnregister",
                block.name, offset)) {
    world.registered.erase(world.registered.begin() + long(at));
  }
}

}  // namespace

RandomSteps HostSteps() {
  return {{6, Allocate}, {2, FreeWrongly}, {16, Use}, {10, Ask}, {10, Register}, {7, Unregister}};
}

}  // namespace twinmmu::abi
