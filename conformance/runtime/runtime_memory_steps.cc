// Memory of the device: allocated, asked about and freed.

#include <algorithm>

#include "conformance/runtime/memory_parts.h"
#include "conformance/runtime/runtime_world.h"

namespace random_runtime {
namespace {

constexpr size_t kMostBlocks = 10;

void Keep(RuntimeWorld& world, void* memory, size_t size) {
  if (memory == nullptr) return world.Gave("nothing");
  world.Gave(reinterpret_cast<uintptr_t>(memory) % 256,
             world.blocks.Add(static_cast<char*>(memory), "", size));
  cudaMemset(memory, static_cast<int>(world.Below(256)), size);
}

void Allocate(RuntimeWorld& world) {
  if (world.blocks.size() >= kMostBlocks) return;
  const size_t size = world.OneIn(5)
                          ? world.Of<size_t>({0, ~size_t{0}, size_t{1} << 50})
                          : world.Of<size_t>({1, 100, 512, 4096, 65536, 1 << 20, (2 << 20) + 1});
  void* memory = nullptr;
  if (size != 0 && world.OneIn(20)) {
    world.Say(cudaMalloc(static_cast<void**>(nullptr), size), "cudaMalloc", size, "to nowhere");
    return;
  }
  if (world.Say(cudaMalloc(&memory, size), "cudaMalloc", size)) Keep(world, memory, size);
}

void AllocateRows(RuntimeWorld& world) {
  if (world.blocks.size() >= kMostBlocks) return;
  const size_t width = world.Of<size_t>({1, 100, 512, 513, 4000, 0});
  const size_t height = world.Of<size_t>({1, 10, 33, 100, 0});
  void* memory = nullptr;
  size_t pitch = 77;
  const size_t wrong = width * height != 0 && world.OneIn(6) ? world.Below(2) : 2;
  if (!world.Say(cudaMallocPitch(wrong == 0 ? nullptr : &memory, wrong == 1 ? nullptr : &pitch,
                                 width, height),
                 "cudaMallocPitch", width, height, wrong)) {
    return;
  }
  world.Gave(pitch);
  Keep(world, memory, pitch * height);
}

void AllocateBox(RuntimeWorld& world) {
  if (world.blocks.size() >= kMostBlocks) return;
  const cudaExtent extent = {world.Of<size_t>({1, 100, 512, 700, 0}),
                             world.Of<size_t>({1, 10, 33, 0}), world.Of<size_t>({1, 3, 8, 0})};
  cudaPitchedPtr box = {};
  const bool is_wrong = extent.width * extent.height * extent.depth != 0 && world.OneIn(8);
  if (!world.Say(cudaMalloc3D(is_wrong ? nullptr : &box, extent), "cudaMalloc3D", extent.width,
                 extent.height, extent.depth, is_wrong)) {
    return;
  }
  world.Gave(box.pitch, box.xsize, box.ysize);
  Keep(world, box.ptr, box.pitch * extent.height * extent.depth);
}

// What others still use stays.
bool IsInUse(const RuntimeWorld& world, const std::string& name) {
  for (size_t i = 0; i < world.textures.size(); ++i) {
    if (world.textures[i].kind == name) return true;
  }
  return false;
}

void Free(RuntimeWorld& world) {
  if (world.blocks.empty()) return;
  if (world.OneIn(20)) {
    void* const nowhere = world.Of<void*>({nullptr, reinterpret_cast<void*>(0x1234560000)});
    world.Say(cudaFree(nowhere), "cudaFree", nowhere == nullptr ? "null" : "nowhere");
    return;
  }
  const Object<char*> block = world.One(world.blocks);
  const size_t offset = world.OneIn(6) ? 1 : 0;
  if (block.kind == "kept" || IsInUse(world, block.name)) return;
  if (world.Say(cudaFree(block.handle + offset), "cudaFree", block.name, offset)) {
    world.blocks.Remove(block.name);
  }
}

void AskPointer(RuntimeWorld& world) {
  static int of_host = 0;
  MemoryPart part = AnyMapped(world);
  if (world.OneIn(5) || part.base == nullptr) {
    part = world.Of<MemoryPart>({{nullptr, 0, "null"},
                                 {reinterpret_cast<char*>(&of_host), 0, "a variable"},
                                 {reinterpret_cast<char*>(0x1234560000), 0, "nowhere"}});
  }
  if (world.OneIn(12)) {
    world.Say(cudaPointerGetAttributes(nullptr, part.base), "cudaPointerGetAttributes to nowhere",
              part.words);
    return;
  }
  cudaPointerAttributes found = {};
  if (!world.Say(cudaPointerGetAttributes(&found, part.base), "cudaPointerGetAttributes",
                 part.words)) {
    return;
  }
  const auto words = [&](const void* pointer) {
    return pointer == part.base ? "same" : pointer == nullptr ? "none" : "other";
  };
  world.Gave(int(found.type), found.device, words(found.devicePointer), words(found.hostPointer));
}

// How much is free is a matter of who else is there.
void AskHowMuch(RuntimeWorld& world) {
  size_t free = 0;
  size_t all = 0;
  const size_t wanted = world.Below(4);
  if (world.Say(cudaMemGetInfo(wanted & 1 ? &free : nullptr, wanted & 2 ? &all : nullptr),
                "cudaMemGetInfo", wanted) &&
      wanted == 3) {
    world.Gave(free < all);
  }
}

void AskLastError(RuntimeWorld& world) {
  if (world.OneIn(2)) {
    world.Say(cudaGetLastError(), "cudaGetLastError");
  } else {
    world.Say(cudaPeekAtLastError(), "cudaPeekAtLastError");
  }
}

}  // namespace

Steps MemorySteps() {
  return {{12, Allocate},   {6, AllocateRows}, {5, AllocateBox}, {8, Free},
          {12, AskPointer}, {2, AskHowMuch},   {8, AskLastError}};
}

}  // namespace random_runtime
