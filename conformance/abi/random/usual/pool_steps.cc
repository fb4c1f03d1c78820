// Stream-ordered memory.

#include "conformance/abi/pools/pool_test.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

CUmemoryPool AnyPool(ProgramWorld& world) {
  CUmemoryPool pool = nullptr;
  if (world.pools.empty() || world.OneIn(3)) {
    default_pool_of(&pool, 0);
    return pool;
  }
  return world.One(world.pools).handle;
}

std::string NameOf(ProgramWorld& world, CUmemoryPool pool) {
  CUmemoryPool of_device = nullptr;
  default_pool_of(&of_device, 0);
  return pool == of_device ? "default" : world.pools.NameOf(pool);
}

void Create(ProgramWorld& world) {
  if (world.pools.size() > 2) return;
  PoolProps props;
  props.type = world.Of({1, 1, 1, 0, 3});
  props.handle_types = world.Of({0, 0, 1, 16});
  props.location.id = world.Of({0, 0, 0, -1, 64});
  props.most = world.Of<size_t>({0, 0, 1, 40 << 20});
  CUmemoryPool pool = nullptr;
  if (world.Say(create_pool(&pool, &props), "cuMemPoolCreate", props.type, props.handle_types,
                props.location.id, props.most)) {
    world.Gave(world.pools.Add(pool));
  }
}

void Destroy(ProgramWorld& world) {
  if (world.pools.empty()) return;
  const auto pool = world.One(world.pools);
  if (world.Say(destroy_pool(pool.handle), "cuMemPoolDestroy", pool.name)) {
    world.pools.Remove(pool.name);
  }
}

void Allocate(ProgramWorld& world) {
  if (world.pieces.size() > 8) return;
  const CUstream stream = world.AnyStream();
  const std::string name = world.streams.NameOf(stream);
  const size_t size = world.Of<size_t>({1, 512, 4096, 1 << 20, 33 << 20, 0, size_t{1} << 50});
  CUdeviceptr address = 0;
  if (world.OneIn(2)) {
    if (!world.Say(allocate_async(&address, size, stream), "cuMemAllocAsync", size, name)) return;
  } else {
    const CUmemoryPool pool = AnyPool(world);
    const std::string of = NameOf(world, pool);
    if (!world.Say(allocate_from(&address, size, pool, stream), "cuMemAllocFromPoolAsync", size, of,
                   name)) {
      return;
    }
  }
  if (address != 0) world.Gave(world.pieces.Add(address));
}

void Free(ProgramWorld& world) {
  if (world.pieces.empty()) return;
  const auto piece = world.One(world.pieces);
  const CUstream stream = world.AnyStream();
  const std::string name = world.streams.NameOf(stream);
  const bool freed = world.OneIn(4) ? world.Say(cuMemFree(piece.handle), "cuMemFree", piece.name)
                                    : world.Say(free_async(piece.handle, stream), "cuMemFreeAsync",
                                                piece.name, name);
  if (freed) world.pieces.Remove(piece.name);
}

void GetAttribute(ProgramWorld& world) {
  const CUmemoryPool pool = AnyPool(world);
  const int attribute = world.Of({1, 2, 3, 4, 7, 8});  // not where pieces lie
  uint64_t value = 0;
  if (world.Say(get_attribute(pool, attribute, &value), "cuMemPoolGetAttribute",
                NameOf(world, pool), attribute)) {
    world.Gave(value);
  }
}

void SetAttribute(ProgramWorld& world) {
  const CUmemoryPool pool = AnyPool(world);
  const int attribute = world.Of({1, 2, 3, 4, 4, 4, 5, 6, 7, 8});
  uint64_t value = attribute <= 3 ? world.Below(2) : world.Of<uint64_t>({0, 1 << 20, 1 << 30});
  world.Say(set_attribute(pool, attribute, &value), "cuMemPoolSetAttribute", NameOf(world, pool),
            attribute, value);
}

void Trim(ProgramWorld& world) {
  const CUmemoryPool pool = AnyPool(world);
  const size_t keep = world.Of<size_t>({0, 1, 32 << 20, 100 << 20});
  world.Say(trim_pool(pool, keep), "cuMemPoolTrimTo", NameOf(world, pool), keep);
}

void SetCurrent(ProgramWorld& world) {
  CUmemoryPool pool = nullptr;
  if (world.OneIn(2)) {
    if (world.Say(pool_of(&pool, 0), "cuDeviceGetMemPool")) world.Gave(NameOf(world, pool));
    return;
  }
  pool = AnyPool(world);
  world.Say(set_pool_of(0, pool), "cuDeviceSetMemPool", NameOf(world, pool));
}

}  // namespace

RandomSteps PoolSteps() {
  return {{4, Create},       {2, Destroy},      {10, Allocate}, {6, Free},
          {8, GetAttribute}, {4, SetAttribute}, {2, Trim},      {2, SetCurrent}};
}

}  // namespace twinmmu::abi
