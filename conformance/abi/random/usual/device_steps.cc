// Two devices: what each may do with the other's objects.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/pools/pool_test.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

size_t CurrentDevice(const ProgramWorld& world) {
  return world.context == world.contexts[0] ? 0 : 1;
}

void Switch(ProgramWorld& world) {
  const size_t device = world.Below(world.contexts.size());
  world.context = world.contexts[device];
  world.Say(cuCtxSetCurrent(world.context), "cuCtxSetCurrent", device);
}

void Reach(ProgramWorld& world) {
  const size_t peer = world.OneIn(5) ? CurrentDevice(world) : 1 - CurrentDevice(world);
  if (world.OneIn(2)) {
    const unsigned flags = world.Of({0u, 0u, 0u, 1u});
    world.Say(cuCtxEnablePeerAccess(world.contexts[peer], flags), "cuCtxEnablePeerAccess", peer,
              flags);
  } else {
    world.Say(cuCtxDisablePeerAccess(world.contexts[peer]), "cuCtxDisablePeerAccess", peer);
  }
}

void CopyToPeer(ProgramWorld& world) {
  if (world.blocks.empty()) return;
  const RandomBlock to = world.Part();
  const RandomBlock from = world.Part();
  const size_t size = std::min(to.size, from.size);
  if (to.base + size > from.base && from.base + size > to.base) return;
  const size_t at = world.Below(2);
  const size_t of = world.Below(2);
  const CUstream stream = world.AnyStream();
  const std::string name = world.streams.NameOf(stream);
  if (world.OneIn(2)) {
    world.Say(cuMemcpyPeer(to.base, world.contexts[at], from.base, world.contexts[of], size),
              "cuMemcpyPeer", to.name, at, from.name, of, size);
  } else {
    world.Say(
        cuMemcpyPeerAsync(to.base, world.contexts[at], from.base, world.contexts[of], size, stream),
        "cuMemcpyPeerAsync", to.name, at, from.name, of, size, name);
  }
}

void AskPointer(ProgramWorld& world) {
  if (world.blocks.empty()) return;
  const RandomBlock& block = world.OneBlock();
  int device = -1;
  if (world.Say(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, block.base),
                "ordinal of", block.name)) {
    world.Gave(device);
  }
  CUcontext context = nullptr;
  if (world.Say(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, block.base),
                "context of", block.name)) {
    world.Gave(context == world.contexts[0], context == world.contexts[1]);
  }
}

void AskState(ProgramWorld& world) {
  const int device = world.Of({0, 1, 1, 2, -1});
  unsigned flags = 0;
  int active = -1;
  if (world.Say(cuDevicePrimaryCtxGetState(device, &flags, &active), "cuDevicePrimaryCtxGetState",
                device)) {
    world.Gave(flags, active);
  }
  int can = -1;
  const int other = world.Of({0, 1, 2});
  if (world.Say(cuDeviceCanAccessPeer(&can, device, other), "cuDeviceCanAccessPeer", device,
                other)) {
    world.Gave(can);
  }
}

CUmemoryPool DefaultPool(int device) {
  CUmemoryPool pool = nullptr;
  default_pool_of(&pool, device);
  return pool;
}

void Share(ProgramWorld& world) {
  const int of = static_cast<int>(world.Below(2));
  const bool own = !world.pools.empty() && world.OneIn(2);
  const CUmemoryPool pool = own ? world.One(world.pools).handle : DefaultPool(of);
  const std::string name = own ? world.pools.NameOf(pool) : "default of " + std::to_string(of);
  CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, world.Of({0, 1, 1, 2})};
  int flags = -1;
  if (world.OneIn(2)) {
    if (world.Say(get_access(&flags, pool, &location), "cuMemPoolGetAccess", name, location.id)) {
      world.Gave(flags);
    }
    return;
  }
  CUmemAccessDesc access = {};
  access.location = location;
  flags = world.Of({0, 3, 3, 1});
  access.flags = static_cast<CUmemAccess_flags>(flags);
  world.Say(set_access(pool, &access, 1), "cuMemPoolSetAccess", name, location.id, flags);
}

void CreatePool(ProgramWorld& world) {
  if (world.pools.size() > 2) return;
  PoolProps props;
  props.location.id = 1;
  CUmemoryPool pool = nullptr;
  if (world.Say(create_pool(&pool, &props), "cuMemPoolCreate", "on 1")) {
    world.Gave(world.pools.Add(pool));
  }
}

void AllocateFrom(ProgramWorld& world) {
  if (world.pieces.size() > 8) return;
  const int of = static_cast<int>(world.Below(2));
  const CUstream stream = world.AnyStream();
  const std::string name = world.streams.NameOf(stream);
  const size_t size = world.Of<size_t>({1, 4096, 3 << 20});
  CUdeviceptr address = 0;
  if (!world.Say(allocate_from(&address, size, DefaultPool(of), stream), "cuMemAllocFromPoolAsync",
                 size, "default of", of, name)) {
    return;
  }
  int device = -1;
  cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
  world.Gave(world.pieces.Add(address), device);
}

void SetCurrentPool(ProgramWorld& world) {
  const int device = static_cast<int>(world.Below(2));
  const int of = static_cast<int>(world.Below(2));
  world.Say(set_pool_of(device, DefaultPool(of)), "cuDeviceSetMemPool", device, "default of", of);
}

// A chunk of either device, mapped for either, filled through the current one.
void MapForBoth(ProgramWorld& world) {
  const int of = static_cast<int>(world.Below(2));
  const CUmemAllocationProp props = PinnedOn(of);
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  if (!world.Say(cuMemCreate(&handle, kChunk, &props, 0), "cuMemCreate", "on", of)) return;
  world.Say(cuMemAddressReserve(&address, kChunk, 0, 0, 0), "cuMemAddressReserve");
  world.Say(cuMemMap(address, kChunk, 0, handle, 0), "cuMemMap");
  CUmemAccessDesc access[2] = {};
  for (size_t i = 0; i < 2; ++i) {
    access[i].location = {CU_MEM_LOCATION_TYPE_DEVICE, world.Of({0, 1, 1, 0, 2})};
    access[i].flags = world.Of({CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_ACCESS_FLAGS_PROT_READ});
  }
  const size_t count = 1 + world.Below(2);
  world.Say(cuMemSetAccess(address, kChunk, access, count), "cuMemSetAccess", access[0].location.id,
            int(access[0].flags), access[1].location.id, int(access[1].flags), count);
  for (int device = 0; device < 2; ++device) {
    const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    unsigned long long flags = 99;
    if (world.Say(cuMemGetAccess(&flags, &location, address), "cuMemGetAccess", device)) {
      world.Gave(flags);
    }
  }
  world.Say(cuMemUnmap(address, kChunk), "cuMemUnmap");
  world.Say(cuMemAddressFree(address, kChunk), "cuMemAddressFree");
  world.Say(cuMemRelease(handle), "cuMemRelease");
}

}  // namespace

RandomSteps DeviceSteps() {
  return {{16, Switch}, {6, Reach},      {12, CopyToPeer},  {6, AskPointer},     {4, AskState},
          {8, Share},   {3, CreatePool}, {6, AllocateFrom}, {2, SetCurrentPool}, {3, MapForBoth}};
}

}  // namespace twinmmu::abi
