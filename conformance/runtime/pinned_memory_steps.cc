// Memory of the host that devices reach: allocated, registered, asked about and used by the CPU.

#include <algorithm>
#include <cstring>

#include "conformance/runtime/memory_parts.h"
#include "conformance/runtime/runtime_world.h"

namespace random_runtime {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kPages = 16;
alignas(4096) char pages[kPages * kPage];  // to be registered

void Keep(RuntimeWorld& world, void* memory, size_t size) {
  if (memory == nullptr) return world.Gave("nothing");
  world.Gave(world.pinned.Add(static_cast<char*>(memory), "allocated", size));
  std::memset(memory, static_cast<int>(world.Below(256)), size);
}

void Allocate(RuntimeWorld& world) {
  if (world.pinned.size() >= 7) return;
  const size_t size = world.Of<size_t>({1, 100, 4096, 8192, 70000, 100, 8192, 0});
  void* memory = nullptr;
  if (size != 0 && world.OneIn(20)) {
    world.Say(cudaMallocHost(static_cast<void**>(nullptr), size), "cudaMallocHost to nowhere",
              size);
  } else if (world.OneIn(2)) {
    if (world.Say(cudaMallocHost(&memory, size), "cudaMallocHost", size)) Keep(world, memory, size);
  } else {
    const unsigned flags =
        world.OneIn(6) ? world.Of({8u, 0x10u, 1000u}) : static_cast<unsigned>(world.Below(8));
    const size_t asked = world.OneIn(12) ? size_t{1} << 50 : size;
    if (world.Say(cudaHostAlloc(&memory, asked, flags), "cudaHostAlloc", asked, flags)) {
      Keep(world, memory, size);
    }
  }
}

void Free(RuntimeWorld& world) {
  if (world.pinned.empty() || world.OneIn(12)) {
    const bool is_null = world.OneIn(2);
    world.Say(cudaFreeHost(is_null ? nullptr : pageable[0]), "cudaFreeHost",
              is_null ? "null" : "pageable");
    return;
  }
  const Object<char*> memory = world.One(world.pinned);
  if (memory.kind == "kept") return;
  if (world.OneIn(6)) {
    world.Say(cudaFree(memory.handle), "cudaFree", memory.name);
  } else if (world.Say(cudaFreeHost(memory.handle), "cudaFreeHost", memory.name)) {
    world.pinned.Remove(memory.name);
  }
}

// Whole pages that are ours; those that are registered already are so in part at most.
void Register(RuntimeWorld& world) {
  const size_t first = world.Below(kPages);
  const size_t count = 1 + world.Below(std::min<size_t>(4, kPages - first));
  char* const base = pages + first * kPage;
  const size_t size = world.OneIn(10) ? 0 : count * kPage;
  const unsigned flags =
      world.OneIn(8) ? world.Of({4u, 0x10u, 1000u}) : world.Of({0u, 0u, 1u, 2u, 3u});
  if (world.OneIn(20)) {
    world.Say(cudaHostRegister(nullptr, kPage, flags), "cudaHostRegister", "null", flags);
    return;
  }
  if (world.Say(cudaHostRegister(base, size, flags), "cudaHostRegister", first, size, flags)) {
    world.Gave(world.pinned.Add(base, "registered", size));
  }
}

void Unregister(RuntimeWorld& world) {
  if (world.OneIn(6)) {
    world.Say(cudaHostUnregister(nullptr), "cudaHostUnregister", "null");
    return;
  }
  if (world.pinned.empty()) return;
  const Object<char*> memory = world.One(world.pinned);
  if (memory.kind == "kept") return;
  // What was allocated is no matter of registering; that is for the driver to tell.
  if (memory.kind != "registered" && !world.OneIn(4)) return;
  if (world.Say(cudaHostUnregister(memory.handle), "cudaHostUnregister", memory.name)) {
    world.pinned.Remove(memory.name);
  }
}

void AskFlags(RuntimeWorld& world) {
  unsigned flags = 77;
  if (world.pinned.empty() || world.OneIn(6)) {
    char* const pointer = world.Of<char*>({nullptr, reinterpret_cast<char*>(pageable[0])});
    world.Say(cudaHostGetFlags(&flags, pointer), "cudaHostGetFlags",
              pointer == nullptr ? "null" : "pageable");
    return;
  }
  const MemoryPart part = PartOf(world, world.One(world.pinned));
  const bool is_wrong = world.OneIn(10);
  if (world.Say(cudaHostGetFlags(is_wrong ? nullptr : &flags, part.base), "cudaHostGetFlags",
                part.words, is_wrong)) {
    world.Gave(flags);
  }
}

void AskDevicePointer(RuntimeWorld& world) {
  void* device = nullptr;
  if (world.pinned.empty() || world.OneIn(6)) {
    char* const pointer = world.Of<char*>({nullptr, reinterpret_cast<char*>(pageable[0])});
    world.Say(cudaHostGetDevicePointer(&device, pointer, 0), "cudaHostGetDevicePointer",
              pointer == nullptr ? "null" : "pageable");
    return;
  }
  const MemoryPart part = PartOf(world, world.One(world.pinned));
  const bool is_wrong = world.OneIn(10);
  const unsigned flags = world.OneIn(8) ? 1 : 0;
  if (world.Say(cudaHostGetDevicePointer(is_wrong ? nullptr : &device, part.base, flags),
                "cudaHostGetDevicePointer", part.words, flags, is_wrong)) {
    world.Gave(device == part.base);
  }
}

// Nothing runs by now, and so the CPU may read and write.
void UseFromCpu(RuntimeWorld& world) {
  if (world.pinned.empty()) return;
  const MemoryPart part = PartOf(world, world.One(world.pinned));
  const size_t size = std::min<size_t>(part.size, 10000);
  if (world.OneIn(3)) {
    const int value = static_cast<int>(world.Below(256));
    std::memset(part.base, value, size);
    world.Say(cudaSuccess, "the CPU writes", part.words, size, value);
  } else {
    world.Say(cudaSuccess, "the CPU reads", part.words, size);
    world.Gave(HashOf(part.base, size));
  }
}

}  // namespace

Steps PinnedMemorySteps() {
  return {{10, Allocate},        {4, Free},      {7, Register}, {4, Unregister}, {6, AskFlags},
          {6, AskDevicePointer}, {8, UseFromCpu}};
}

}  // namespace random_runtime
