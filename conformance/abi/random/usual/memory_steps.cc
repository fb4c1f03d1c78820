// Memory of devices and of the host, and what pointers say of themselves.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

constexpr size_t kMostBlocks = 12;

void New(ProgramWorld& world, CUdeviceptr base, size_t size) {
  world.Gave(world.AddBlock(base, size));
  cuMemsetD8(base, 0, size);  // what it holds is nobody's business
}

void Allocate(ProgramWorld& world) {
  if (world.blocks.size() >= kMostBlocks) return;
  const size_t size = world.Of<size_t>({1, 255, 256, 513, 4096, 65537, 1 << 20, (2 << 20) + 1,
                                        5 << 20, 0, size_t{1} << 50, ~size_t{0}});
  CUdeviceptr base = 0;
  if (world.Say(cuMemAlloc(&base, size), "cuMemAlloc", size)) New(world, base, size);
}

void AllocatePitch(ProgramWorld& world) {
  if (world.blocks.size() >= kMostBlocks) return;
  const size_t width = world.Of<size_t>({1, 16, 100, 512, 1000, 0});
  const size_t height = world.Of<size_t>({1, 3, 64, 1000, 0});
  const unsigned element = world.Of({4u, 8u, 16u, 1u, 3u, 32u});
  CUdeviceptr base = 0;
  size_t pitch = 0;
  if (!world.Say(cuMemAllocPitch(&base, &pitch, width, height, element), "cuMemAllocPitch", width,
                 height, element)) {
    return;
  }
  world.Gave("pitch", pitch);
  New(world, base, pitch * height);
}

void Free(ProgramWorld& world) {
  if (world.blocks.empty() || world.OneIn(8)) {
    world.Say(cuMemFree(world.OneIn(2) ? 0 : 4096), "cuMemFree", "small");
    return;
  }
  const RandomBlock block = world.OneBlock();
  if (block.in_graph) return;
  const bool inside = world.OneIn(5) && block.size > 1;
  const CUdeviceptr address = block.base + (inside ? 1 : 0);
  if (world.Say(cuMemFree(address), "cuMemFree", world.NameOf(address))) {
    world.RemoveBlock(block.name);
  }
}

CUdeviceptr AnyAddress(ProgramWorld& world) {
  if (world.blocks.empty() || world.OneIn(8)) return world.OneIn(2) ? 0 : 4096;
  const RandomBlock& block = world.OneBlock();
  return block.base + (world.OneIn(2) ? 0 : world.Below(block.size));
}

void GetRange(ProgramWorld& world) {
  const CUdeviceptr address = AnyAddress(world);
  CUdeviceptr base = 0;
  size_t size = 0;
  if (world.Say(cuMemGetAddressRange(&base, &size, address), "cuMemGetAddressRange",
                world.NameOf(address))) {
    world.Gave(world.NameOf(base), size);
  }
}

void AskPointer(ProgramWorld& world) {
  struct Asked {
    CUpointer_attribute attribute;
    const char* name;
    bool is_address;
  };
  const Asked asked =
      world.Of<Asked>({{CU_POINTER_ATTRIBUTE_MEMORY_TYPE, "MEMORY_TYPE", false},
                       {CU_POINTER_ATTRIBUTE_DEVICE_POINTER, "DEVICE_POINTER", true},
                       {CU_POINTER_ATTRIBUTE_IS_MANAGED, "IS_MANAGED", false},
                       {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, "ORDINAL", false},
                       {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, "START", true},
                       {CU_POINTER_ATTRIBUTE_RANGE_SIZE, "SIZE", false},
                       {CU_POINTER_ATTRIBUTE_MAPPED, "MAPPED", false}});
  const bool of_host = !world.pinned.empty() && world.OneIn(3);
  const auto* pinned = of_host ? &world.One(world.pinned) : nullptr;
  const CUdeviceptr address = of_host ? AddressOf(pinned->handle) : AnyAddress(world);
  uint64_t value = 0;
  if (!world.Say(cuPointerGetAttribute(&value, asked.attribute, address), "cuPointerGetAttribute",
                 asked.name, of_host ? pinned->name : world.NameOf(address))) {
    return;
  }
  if (asked.is_address && of_host) return world.Gave(value - address);
  if (asked.is_address) return world.Gave(world.NameOf(value));
  world.Gave(value);
}

void AllocateHost(ProgramWorld& world) {
  if (world.pinned.size() > 6) return;
  const size_t size = world.Of<size_t>({1, 100, 4096, 70000, 0});
  const unsigned flags = world.Of({0u, 1u, 2u, 3u, 4u, 7u, 8u, 16u});
  void* memory = nullptr;
  if (world.Say(cuMemHostAlloc(&memory, size, flags), "cuMemHostAlloc", size, flags)) {
    world.Gave(world.pinned.Add(memory));
  }
}

void FreeHost(ProgramWorld& world) {
  if (world.pinned.empty()) return;
  const auto pinned = world.One(world.pinned);
  const size_t offset = world.OneIn(5) ? 1 : 0;
  if (world.Say(cuMemFreeHost(reinterpret_cast<void*>(AddressOf(pinned.handle) + offset)),
                "cuMemFreeHost", pinned.name, offset)) {
    world.pinned.Remove(pinned.name);
  }
}

void AskHost(ProgramWorld& world) {
  if (world.pinned.empty()) return;
  const auto& pinned = world.One(world.pinned);
  unsigned flags = 0;
  if (world.OneIn(2)) {
    if (world.Say(cuMemHostGetFlags(&flags, pinned.handle), "cuMemHostGetFlags", pinned.name)) {
      world.Gave(flags);
    }
    return;
  }
  flags = world.OneIn(4) ? 1 : 0;
  CUdeviceptr address = 0;
  if (world.Say(cuMemHostGetDevicePointer(&address, pinned.handle, flags),
                "cuMemHostGetDevicePointer", pinned.name, flags)) {
    world.Gave(address - AddressOf(pinned.handle));
  }
}

// Pages of our own, registered and let go.
void RegisterHost(ProgramWorld& world) {
  alignas(4096) static char pages[4][4096];
  const size_t page = world.Below(4);
  const unsigned flags = world.Of({0u, 1u, 2u, 3u, 4u, 8u, 16u});
  if (world.OneIn(2)) {
    world.Say(cuMemHostRegister(pages[page], sizeof(pages[page]), flags), "cuMemHostRegister", page,
              flags);
  } else {
    world.Say(cuMemHostUnregister(pages[page]), "cuMemHostUnregister", page);
  }
}

}  // namespace

RandomSteps MemorySteps() {
  return {{14, Allocate},    {4, AllocatePitch}, {8, Free},    {6, GetRange},    {10, AskPointer},
          {4, AllocateHost}, {3, FreeHost},      {5, AskHost}, {4, RegisterHost}};
}

}  // namespace twinmmu::abi
