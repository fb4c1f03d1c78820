// Devices, their limits and settings, and errors.

#include <cstring>

#include "conformance/runtime/runtime_world.h"

namespace random_runtime {
namespace {

constexpr int kNoDevice = 100;

int AnyDevice(RuntimeWorld& world) { return world.OneIn(6) ? world.Of({kNoDevice, -1}) : 0; }

void UseDevice(RuntimeWorld& world) {
  int value = 0;
  const bool null = world.OneIn(8);
  switch (world.Below(5)) {
    case 0:
      if (world.Say(cudaGetDevice(null ? nullptr : &value), "cudaGetDevice", null)) {
        world.Gave(value);
      }
      return;
    case 1:
      if (world.Say(cudaGetDeviceCount(null ? nullptr : &value), "cudaGetDeviceCount", null)) {
        world.Gave(value > 0);
      }
      return;
    case 2: {
      const int device = AnyDevice(world);
      world.Say(cudaSetDevice(device), "cudaSetDevice", device);
      return;
    }
    case 3: {
      int device = AnyDevice(world);
      const int count = world.Of({1, 1, 0, -1});
      world.Say(cudaSetValidDevices(&device, count), "cudaSetValidDevices", device, count);
      return;
    }
    default: {
      const int device = AnyDevice(world);
      const unsigned flags = world.Of({0u, 1u, 2u, 4u, 1000u});
      const unsigned valid = world.Of({0u, 0u, 1u});
      world.Say(cudaInitDevice(device, flags, valid), "cudaInitDevice", device, flags, valid);
    }
  }
}

// Clocks, places on a bus, and what depends on the machine around a device.
bool IsOfTheMachine(int attribute) {
  for (const int its : {13, 17, 20, 32, 33, 34, 36, 50, 84, 85, 88, 100, 101, 116, 117, 118, 124}) {
    if (attribute == its) return true;
  }
  return attribute >= 127;
}

void AskDevice(RuntimeWorld& world) {
  const int device = world.OneIn(10) ? AnyDevice(world) : 0;
  const int attribute =
      world.OneIn(10) ? world.Of({0, 100000}) : 1 + static_cast<int>(world.Below(126));
  const bool null = world.OneIn(20);
  int value = 0;
  if (world.Say(cudaDeviceGetAttribute(null ? nullptr : &value,
                                       static_cast<cudaDeviceAttr>(attribute), device),
                "cudaDeviceGetAttribute", attribute, device, null)) {
    if (!IsOfTheMachine(attribute)) world.Gave(value);
  }
}

void AskProperties(RuntimeWorld& world) {
  cudaDeviceProp properties = {};
  const int device = AnyDevice(world);
  const bool null = world.OneIn(10);
  if (world.OneIn(4)) {
    properties.major = world.Of({0, 9, 3});
    int chosen = 77;
    if (world.Say(cudaChooseDevice(&chosen, null ? nullptr : &properties), "cudaChooseDevice",
                  properties.major, null)) {
      world.Gave(chosen);
    }
    return;
  }
  if (!world.Say(cudaGetDeviceProperties(null ? nullptr : &properties, device),
                 "cudaGetDeviceProperties", device, null)) {
    return;
  }
  world.Gave(properties.major, properties.minor, properties.warpSize, properties.maxThreadsPerBlock,
             properties.maxThreadsDim[2], properties.maxGridSize[1], properties.sharedMemPerBlock,
             properties.regsPerBlock, properties.totalConstMem, properties.multiProcessorCount,
             properties.maxThreadsPerMultiProcessor, properties.sharedMemPerMultiprocessor,
             properties.sharedMemPerBlockOptin, properties.reservedSharedMemPerBlock,
             properties.maxBlocksPerMultiProcessor, properties.textureAlignment,
             properties.texturePitchAlignment, properties.surfaceAlignment,
             properties.asyncEngineCount, properties.concurrentKernels,
             properties.unifiedAddressing, properties.cooperativeLaunch, properties.clusterLaunch,
             properties.managedMemory, properties.memoryPoolsSupported);
}

void AskOther(RuntimeWorld& world) {
  const int device = AnyDevice(world);
  const int peer = world.Of({0, kNoDevice});
  int value = 0;
  switch (world.Below(6)) {
    case 0:
      if (world.Say(cudaDeviceCanAccessPeer(&value, device, peer), "cudaDeviceCanAccessPeer",
                    device, peer)) {
        world.Gave(value);
      }
      return;
    case 1:
      world.Say(cudaDeviceEnablePeerAccess(peer, 0), "cudaDeviceEnablePeerAccess", peer);
      return;
    case 2:
      world.Say(cudaDeviceDisablePeerAccess(peer), "cudaDeviceDisablePeerAccess", peer);
      return;
    case 3:
      world.Say(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, peer),
                "cudaDeviceGetP2PAttribute", peer);
      return;
    case 4: {
      char id[64] = {};
      const int room = world.Of({64, 64, 13, 5});
      if (world.Say(cudaDeviceGetPCIBusId(id, room, device), "cudaDeviceGetPCIBusId", room,
                    device)) {
        world.Gave(std::strlen(id));
        if (room == 64 &&
            world.Say(cudaDeviceGetByPCIBusId(&value, id), "cudaDeviceGetByPCIBusId")) {
          world.Gave(value);
        }
      }
      return;
    }
    default:
      world.Say(cudaDeviceGetByPCIBusId(&value, "nonsense"), "cudaDeviceGetByPCIBusId", "nonsense");
  }
}

void UseLimit(RuntimeWorld& world) {
  const int limit = world.Of({0, 0, 1, 2, 5, 100});
  const cudaLimit which = static_cast<cudaLimit>(limit);
  size_t value = world.Of<size_t>({0, 1, 1024, 4096, 8192});
  if (world.OneIn(2)) {
    world.Say(cudaDeviceSetLimit(which, value), "cudaDeviceSetLimit", limit, value);
  } else if (const bool null = world.OneIn(10);
             world.Say(cudaDeviceGetLimit(null ? nullptr : &value, which), "cudaDeviceGetLimit",
                       limit, null)) {
    world.Gave(value);
  }
}

void UseConfig(RuntimeWorld& world) {
  cudaFuncCache cache = {};
  cudaSharedMemConfig banks = {};
  const int config = world.Of({0, 1, 2, 3, 4, 100});
  switch (world.Below(4)) {
    case 0:
      if (world.Say(cudaDeviceGetCacheConfig(&cache), "cudaDeviceGetCacheConfig")) {
        world.Gave(int(cache));
      }
      return;
    case 1:
      if (!world.OneIn(6)) return;
      world.cache_config_set = true;
      world.Say(cudaDeviceSetCacheConfig(static_cast<cudaFuncCache>(config)),
                "cudaDeviceSetCacheConfig", config);
      return;
    case 2:
      if (world.Say(cudaDeviceGetSharedMemConfig(&banks), "cudaDeviceGetSharedMemConfig")) {
        world.Gave(int(banks));
      }
      return;
    default:
      world.Say(cudaDeviceSetSharedMemConfig(static_cast<cudaSharedMemConfig>(config)),
                "cudaDeviceSetSharedMemConfig", config);
  }
}

void UseFlags(RuntimeWorld& world) {
  unsigned flags = world.Of({0u, 1u, 2u, 4u, 4u, 8u, 3u, 1000u});
  int least = 0;
  int greatest = 0;
  switch (world.Below(5)) {
    case 0:
    case 1:
      if (world.Say(cudaGetDeviceFlags(&flags), "cudaGetDeviceFlags")) world.Gave(flags);
      return;
    case 2:
      world.Say(cudaSetDeviceFlags(flags), "cudaSetDeviceFlags", flags);
      return;
    case 3:
      if (world.Say(cudaDeviceGetStreamPriorityRange(&least, &greatest),
                    "cudaDeviceGetStreamPriorityRange")) {
        world.Gave(least, greatest);
      }
      return;
    default:
      world.Say(cudaCtxResetPersistingL2Cache(), "cudaCtxResetPersistingL2Cache");
  }
}

// The last of the refusals before, seen once more and then forgotten.
void AskLastError(RuntimeWorld& world) {
  if (world.OneIn(2)) {
    world.Say(cudaPeekAtLastError(), "cudaPeekAtLastError");
    return;
  }
  world.Say(cudaGetLastError(), "cudaGetLastError");
  if (world.OneIn(2)) world.Say(cudaPeekAtLastError(), "cudaPeekAtLastError");
}

void NameError(RuntimeWorld& world) {
  const int code = world.OneIn(8)   ? world.Of({-1, 999, 10000, 12345})
                   : world.OneIn(2) ? static_cast<int>(world.Below(130))
                                    : 200 + static_cast<int>(world.Below(730));
  const cudaError_t error = static_cast<cudaError_t>(code);
  world.lines.push_back("cudaGetErrorName " + std::to_string(code) + " -> " +
                        cudaGetErrorName(error) + ": " + cudaGetErrorString(error));
}

void FindEntryPoint(RuntimeWorld& world) {
  const char* const name =
      world.Of({"cuMemMap", "cuLaunchKernel", "cuInit", "cuStreamBeginCapture", "cuNothing", "",
                "cuGraphAddNode", "cuMemcpyDtoHAsync", "cudaMalloc"});
  const unsigned version = world.Of({5000u, 7000u, 10010u, 11030u, 12000u, 12030u, 13000u, 99000u});
  const unsigned flags = world.Of({0u, 0u, 0u, 1u, 2u, 100u});
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = {};
  const bool null = world.OneIn(8);
  if (world.Say(cudaGetDriverEntryPointByVersion(name, &function, version, flags,
                                                 null ? nullptr : &found),
                "cudaGetDriverEntryPointByVersion", name, version, flags, null)) {
    world.Gave(int(found), function != nullptr);
  }
}

}  // namespace

Steps DeviceSteps() {
  return {{6, UseDevice}, {8, AskDevice}, {2, AskProperties}, {4, AskOther},  {6, UseLimit},
          {4, UseConfig}, {5, UseFlags},  {14, AskLastError}, {4, NameError}, {4, FindEntryPoint}};
}

}  // namespace random_runtime
