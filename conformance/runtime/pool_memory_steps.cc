// Memory from pools, in the order of streams.

#include <algorithm>

#include "conformance/runtime/memory_parts.h"
#include "conformance/runtime/runtime_world.h"

namespace random_runtime {
namespace {

cudaMemPool_t DefaultPool() {
  cudaMemPool_t pool = nullptr;
  cudaDeviceGetDefaultMemPool(&pool, 0);
  return pool;
}

cudaMemPool_t AnyPool(RuntimeWorld& world) {
  return world.pools.empty() || world.OneIn(3) ? DefaultPool() : world.One(world.pools).handle;
}

std::string NameOf(const RuntimeWorld& world, cudaMemPool_t pool) {
  return pool == DefaultPool() ? "default" : world.pools.NameOf(pool);
}

void Create(RuntimeWorld& world) {
  if (world.pools.size() > 2) return;
  cudaMemPoolProps props = {};
  props.allocType = static_cast<cudaMemAllocationType>(world.OneIn(8) ? 100 : 1);
  props.handleTypes = world.Of({cudaMemHandleTypeNone, cudaMemHandleTypePosixFileDescriptor});
  props.location = {cudaMemLocationTypeDevice, world.OneIn(8) ? 100 : 0};
  props.maxSize = world.Of<size_t>({0, 0, 1, 256 << 20});
  cudaMemPool_t pool = nullptr;
  const size_t wrong = world.OneIn(12) ? world.Below(2) : 2;
  if (world.Say(cudaMemPoolCreate(wrong == 0 ? nullptr : &pool, wrong == 1 ? nullptr : &props),
                "cudaMemPoolCreate", int(props.allocType), int(props.handleTypes),
                props.location.id, props.maxSize, wrong)) {
    world.Gave(world.pools.Add(pool));
  }
}

void Destroy(RuntimeWorld& world) {
  if (world.OneIn(6)) {
    const bool is_null = world.OneIn(2);
    world.Say(cudaMemPoolDestroy(is_null ? nullptr : DefaultPool()), "cudaMemPoolDestroy",
              is_null ? "null" : "default");
    return;
  }
  if (world.pools.empty()) return;
  const Object<cudaMemPool_t> pool = world.One(world.pools);
  if (world.Say(cudaMemPoolDestroy(pool.handle), "cudaMemPoolDestroy", pool.name)) {
    world.pools.Remove(pool.name);
  }
}

void Allocate(RuntimeWorld& world) {
  if (world.blocks.size() >= 12) return;
  const cudaStream_t stream = SomeStream(world);
  const std::string name = StreamName(world, stream);
  const size_t size = world.OneIn(5) ? world.Of<size_t>({0, size_t{1} << 50})
                                     : world.Of<size_t>({1, 512, 4096, 1 << 20, 9 << 20});
  void* memory = nullptr;
  if (world.OneIn(2)) {
    const bool is_wrong = size != 0 && world.OneIn(12);
    if (!world.Say(cudaMallocAsync(is_wrong ? nullptr : &memory, size, stream), "cudaMallocAsync",
                   size, name, is_wrong)) {
      return;
    }
  } else {
    const cudaMemPool_t pool = world.OneIn(12) ? nullptr : AnyPool(world);
    if (!world.Say(cudaMallocFromPoolAsync(&memory, size, pool, stream), "cudaMallocFromPoolAsync",
                   size, NameOf(world, pool), name)) {
      return;
    }
  }
  if (memory == nullptr) return world.Gave("nothing");
  world.Gave(world.blocks.Add(static_cast<char*>(memory), "pool", size));
  cudaMemsetAsync(memory, static_cast<int>(world.Below(256)), size, stream);
}

void Free(RuntimeWorld& world) {
  const cudaStream_t stream = SomeStream(world);
  const std::string name = StreamName(world, stream);
  if (world.blocks.empty() || world.OneIn(10)) {
    char* const memory = world.Of<char*>({nullptr, reinterpret_cast<char*>(0x1234560000)});
    world.Say(cudaFreeAsync(memory, stream), "cudaFreeAsync",
              memory == nullptr ? "null" : "nowhere", name);
    return;
  }
  const Object<char*> block = world.One(world.blocks);
  // What was allocated otherwise may be freed so, but not what is managed.
  if (block.kind == "managed" || block.kind == "kept") return;
  if (block.kind != "pool" && !world.OneIn(4)) return;
  for (size_t i = 0; i < world.textures.size(); ++i) {
    if (world.textures[i].kind == block.name) return;
  }
  if (world.Say(cudaFreeAsync(block.handle, stream), "cudaFreeAsync", block.name, name)) {
    world.blocks.Remove(block.name);
  }
}

// Not how much is reserved: that is a matter of where pieces lie.
void GetAttribute(RuntimeWorld& world) {
  const cudaMemPool_t pool = world.OneIn(12) ? nullptr : AnyPool(world);
  const int attribute = world.OneIn(10) ? 100 : world.Of({1, 2, 3, 4, 7, 8});
  uint64_t value = 0;
  if (world.Say(cudaMemPoolGetAttribute(pool, static_cast<cudaMemPoolAttr>(attribute), &value),
                "cudaMemPoolGetAttribute", NameOf(world, pool), attribute)) {
    world.Gave(value);
  }
}

void SetAttribute(RuntimeWorld& world) {
  const cudaMemPool_t pool = AnyPool(world);
  const int attribute = world.OneIn(10) ? 100 : world.Of({1, 2, 3, 4, 4, 4, 5, 6, 7, 8, 8});
  uint64_t value = attribute <= 3 ? world.Below(2) : world.Of<uint64_t>({0, 0, 1 << 20, 1 << 30});
  world.Say(cudaMemPoolSetAttribute(pool, static_cast<cudaMemPoolAttr>(attribute), &value),
            "cudaMemPoolSetAttribute", NameOf(world, pool), attribute, value);
}

void SetAccess(RuntimeWorld& world) {
  const cudaMemPool_t pool = AnyPool(world);
  cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, world.OneIn(6) ? 100 : 0},
                              world.Of({cudaMemAccessFlagsProtNone, cudaMemAccessFlagsProtReadWrite,
                                        cudaMemAccessFlagsProtReadWrite})};
  if (world.OneIn(2)) {
    const size_t count = world.OneIn(6) ? 0 : 1;
    world.Say(cudaMemPoolSetAccess(pool, &access, count), "cudaMemPoolSetAccess",
              NameOf(world, pool), access.location.id, int(access.flags), count);
    return;
  }
  cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
  const bool is_wrong = world.OneIn(8);
  if (world.Say(cudaMemPoolGetAccess(&flags, pool, is_wrong ? nullptr : &access.location),
                "cudaMemPoolGetAccess", NameOf(world, pool), access.location.id, is_wrong)) {
    world.Gave(int(flags));
  }
}

void Trim(RuntimeWorld& world) {
  const cudaMemPool_t pool = world.OneIn(6) ? nullptr : AnyPool(world);
  const size_t keep = world.Of<size_t>({0, 1, 32 << 20, 100 << 20});
  world.Say(cudaMemPoolTrimTo(pool, keep), "cudaMemPoolTrimTo", NameOf(world, pool), keep);
}

void AskCurrent(RuntimeWorld& world) {
  cudaMemPool_t pool = nullptr;
  const int device = world.OneIn(6) ? 100 : 0;
  cudaMemLocation place = {cudaMemLocationTypeDevice, device};
  bool done = false;
  switch (world.Below(4)) {
    case 0:
      done = world.Say(cudaDeviceGetMemPool(&pool, device), "cudaDeviceGetMemPool", device);
      break;
    case 1:
      done = world.Say(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool",
                       device);
      break;
    case 2:
      done = world.Say(cudaMemGetMemPool(&pool, &place, cudaMemAllocationTypePinned),
                       "cudaMemGetMemPool", device);
      break;
    default:
      done = world.Say(cudaMemGetDefaultMemPool(&pool, &place, cudaMemAllocationTypePinned),
                       "cudaMemGetDefaultMemPool", device);
  }
  if (done) world.Gave(NameOf(world, pool));
}

void SetCurrent(RuntimeWorld& world) {
  const cudaMemPool_t pool = world.OneIn(8) ? nullptr : AnyPool(world);
  const int device = world.OneIn(8) ? 100 : 0;
  cudaMemLocation place = {cudaMemLocationTypeDevice, device};
  if (world.OneIn(2)) {
    world.Say(cudaDeviceSetMemPool(device, pool), "cudaDeviceSetMemPool", device,
              NameOf(world, pool));
  } else {
    world.Say(cudaMemSetMemPool(&place, cudaMemAllocationTypePinned, pool), "cudaMemSetMemPool",
              device, NameOf(world, pool));
  }
}

}  // namespace

Steps PoolMemorySteps() {
  return {{5, Create},       {2, Destroy},   {10, Allocate}, {6, Free},       {8, GetAttribute},
          {5, SetAttribute}, {4, SetAccess}, {2, Trim},      {3, AskCurrent}, {2, SetCurrent}};
}

}  // namespace random_runtime
