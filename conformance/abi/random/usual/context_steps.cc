// Contexts, and virtual memory beside all else.

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

void Limit(ProgramWorld& world) {
  const int limit = world.Of({0, 1, 2, 5, 7, 99});
  size_t value = world.Of<size_t>({0, 1, 1024, 4096, 65536});
  const CUlimit which = static_cast<CUlimit>(limit);
  if (world.OneIn(2)) {
    world.Say(cuCtxSetLimit(which, value), "cuCtxSetLimit", limit, value);
  } else if (world.Say(cuCtxGetLimit(&value, which), "cuCtxGetLimit", limit)) {
    world.Gave(value);
  }
}

void Ask(ProgramWorld& world) {
  int device = 0;
  unsigned flags = 0;
  int least = 0;
  int greatest = 0;
  CUfunc_cache config = {};
  CUcontext context = nullptr;
  switch (world.Below(5)) {
    case 0:
      if (world.Say(cuCtxGetDevice(&device), "cuCtxGetDevice")) world.Gave(device);
      return;
    case 1:
      if (world.Say(cuCtxGetFlags(&flags), "cuCtxGetFlags")) world.Gave(flags);
      return;
    case 2:
      if (world.Say(cuCtxGetStreamPriorityRange(&least, &greatest),
                    "cuCtxGetStreamPriorityRange")) {
        world.Gave(least, greatest);
      }
      return;
    case 3:
      if (world.Say(cuCtxGetCurrent(&context), "cuCtxGetCurrent")) {
        world.Gave(context == world.context);
      }
      return;
    default:
      if (world.Say(cuCtxGetCacheConfig(&config), "cuCtxGetCacheConfig")) world.Gave(int(config));
  }
}

void SetCacheConfig(ProgramWorld& world) {
  const int config = world.Of({0, 1, 2, 3, 4});
  world.Say(cuCtxSetCacheConfig(static_cast<CUfunc_cache>(config)), "cuCtxSetCacheConfig", config);
}

// The context off the stack and on again: what calls say without one.
void Pop(ProgramWorld& world) {
  CUcontext popped = nullptr;
  world.Say(cuCtxPopCurrent(&popped), "cuCtxPopCurrent");
  world.Gave(popped == world.context);
  CUdeviceptr address = 0;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  switch (world.Below(5)) {
    case 0:
      world.Say(cuMemAlloc(&address, 16), "cuMemAlloc", 16);
      break;
    case 1:
      world.Say(cuStreamCreate(&stream, 0), "cuStreamCreate", 0);
      break;
    case 2:
      world.Say(cuEventCreate(&event, 0), "cuEventCreate", 0);
      break;
    case 3:
      world.Say(cuCtxSynchronize(), "cuCtxSynchronize");
      break;
    default:
      if (!world.blocks.empty()) {
        world.Say(cuMemsetD8(world.OneBlock().base, 1, 1), "cuMemsetD8");
      }
  }
  world.Say(cuCtxPushCurrent(world.context), "cuCtxPushCurrent");
}

// A chunk that is mapped, asked of, and gone again.
void Map(ProgramWorld& world) {
  const CUmemAllocationProp props = PinnedOn(0);
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  const size_t size = world.Of<size_t>({kChunk, 2 * kChunk, 4096, 0});
  if (!world.Say(cuMemCreate(&handle, size, &props, 0), "cuMemCreate", size)) return;
  world.Say(cuMemAddressReserve(&address, size, 0, 0, 0), "cuMemAddressReserve", size);
  world.Say(cuMemMap(address, size, 0, handle, world.OneIn(4) ? 1 : 0), "cuMemMap");
  CUmemAccessDesc access = {};
  access.location = props.location;
  access.flags = world.Of({CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_ACCESS_FLAGS_PROT_READ});
  if (!world.OneIn(3)) world.Say(cuMemSetAccess(address, size, &access, 1), "cuMemSetAccess");
  unsigned type = 0;
  if (world.Say(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address),
                "cuPointerGetAttribute", "mapped")) {
    world.Gave(type);
  }
  if (!world.OneIn(3)) world.Say(cuMemRelease(handle), "cuMemRelease");
  CUdeviceptr base = 0;
  size_t range = 0;
  if (world.Say(cuMemGetAddressRange(&base, &range, address + 1), "cuMemGetAddressRange",
                "mapped")) {
    world.Gave(address - base, range);
  }
  world.Say(cuMemUnmap(address, size), "cuMemUnmap");
  world.Say(cuMemAddressFree(address, size), "cuMemAddressFree");
}

}  // namespace

RandomSteps ContextSteps() {
  return {{6, Limit}, {6, Ask}, {1, SetCacheConfig}, {3, Pop}, {4, Map}};
}

}  // namespace twinmmu::abi
