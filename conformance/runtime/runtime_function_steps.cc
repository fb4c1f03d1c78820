// What kernels say of themselves, what is set of them, and how many of their blocks fit.

#include <set>

#include "conformance/runtime/runtime_kernels.h"
#include "conformance/runtime/runtime_world.h"

namespace random_runtime {
namespace {

// Kernels with a wish for how memory is divided: how many of their blocks fit then is known to
// differ.
std::set<std::string> wishes;

bool HasWish(const RuntimeWorld& world, const Kernel& kernel) {
  return world.cache_config_set || wishes.count(kernel.name) != 0;
}

size_t CUDART_CB SharedFor(int threads) { return static_cast<size_t>(threads) * 64; }

void GetAttributes(RuntimeWorld& world) {
  const Kernel kernel = AnyKernel(world);
  cudaFuncAttributes found = {};
  const bool null = world.OneIn(12);
  if (!world.Say(cudaFuncGetAttributes(null ? nullptr : &found, kernel.function),
                 "cudaFuncGetAttributes", kernel.name, null)) {
    return;
  }
  world.Gave(found.maxThreadsPerBlock, found.sharedSizeBytes, found.localSizeBytes,
             found.maxDynamicSharedSizeBytes, found.preferredShmemCarveout,
             found.clusterDimMustBeSet, found.requiredClusterWidth, found.requiredClusterHeight,
             found.requiredClusterDepth, found.clusterSchedulingPolicyPreference,
             found.nonPortableClusterSizeAllowed);
}

int AnyValueOf(RuntimeWorld& world, int attribute) {
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      return world.Of({0, 1000, 48 << 10, 64 << 10, 200 << 10, 227 << 10, 1 << 30, -5});
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      return world.Of({-1, 0, 50, 100, 101, -2});
    default:
      return world.Of({0, 1, 1, 2, 3, -1});
  }
}

void SetAttribute(RuntimeWorld& world) {
  const Kernel kernel = AnyKernel(world);
  const int attribute = world.Of({8, 8, 8, 8, 9, 9, 13, 13, 14, 14, 0, 1, 100});
  const int value = AnyValueOf(world, attribute);
  if (attribute == 9) wishes.insert(kernel.name);
  if (world.OneIn(4)) {
    cudaKernel_t handle = nullptr;
    if (cudaGetKernel(&handle, kernel.function) != cudaSuccess) return;
    const int device = world.OneIn(6) ? 100 : 0;
    world.Say(cudaKernelSetAttributeForDevice(handle, static_cast<cudaFuncAttribute>(attribute),
                                              value, device),
              "cudaKernelSetAttributeForDevice", kernel.name, attribute, value, device);
    return;
  }
  world.Say(cudaFuncSetAttribute(kernel.function, static_cast<cudaFuncAttribute>(attribute), value),
            "cudaFuncSetAttribute", kernel.name, attribute, value);
}

void SetConfig(RuntimeWorld& world) {
  const Kernel kernel = AnyKernel(world);
  const int config = world.Of({0, 1, 2, 3, 4, 100});
  if (world.OneIn(2)) {
    wishes.insert(kernel.name);
    world.Say(cudaFuncSetCacheConfig(kernel.function, static_cast<cudaFuncCache>(config)),
              "cudaFuncSetCacheConfig", kernel.name, config);
  } else {
    world.Say(cudaFuncSetSharedMemConfig(kernel.function, static_cast<cudaSharedMemConfig>(config)),
              "cudaFuncSetSharedMemConfig", kernel.name, config);
  }
}

void AskFunction(RuntimeWorld& world) {
  const Kernel kernel = AnyKernel(world);
  const char* name = nullptr;
  const bool null = world.OneIn(10);
  switch (world.Below(4)) {
    case 0:
      if (world.Say(cudaFuncGetName(null ? nullptr : &name, kernel.function), "cudaFuncGetName",
                    kernel.name, null)) {
        world.Gave(name);
      }
      return;
    case 1: {
      const size_t index = world.Of<size_t>({0, 1, 2, 2, 3, 100});
      size_t offset = 0;
      size_t size = 0;
      if (world.Say(cudaFuncGetParamInfo(kernel.function, index, null ? nullptr : &offset, &size),
                    "cudaFuncGetParamInfo", kernel.name, index, null)) {
        world.Gave(offset, size);
      }
      return;
    }
    case 2: {
      cudaFunction_t function = nullptr;
      cudaFunction_t same = nullptr;
      if (world.Say(cudaGetFuncBySymbol(&function, kernel.function), "cudaGetFuncBySymbol",
                    kernel.name)) {
        cudaGetFuncBySymbol(&same, kernel.function);
        world.Gave(function != nullptr, function == same);
      }
      return;
    }
    default: {
      cudaKernel_t handle = nullptr;
      if (!world.Say(cudaGetKernel(null ? nullptr : &handle, kernel.function), "cudaGetKernel",
                     kernel.name, null)) {
        return;
      }
      const void* const as_function = reinterpret_cast<const void*>(handle);
      if (world.Say(cudaFuncGetName(&name, as_function), "cudaFuncGetName", "handle",
                    kernel.name)) {
        world.Gave(name);
      }
      if (world.OneIn(2)) {
        world.Say(cudaGetKernel(&handle, as_function), "cudaGetKernel", "handle", kernel.name);
      }
    }
  }
}

void CountBlocks(RuntimeWorld& world) {
  const Kernel kernel = AnyKernel(world);
  const int threads = world.Of({1, 32, 33, 64, 100, 128, 256, 512, 1024, 1025, 0, -1});
  const size_t dynamic =
      world.Of<size_t>({0, 0, 1, 1000, 16 << 10, 48 << 10, 64 << 10, 200 << 10, size_t{1} << 40});
  int blocks = 0;
  bool done = false;
  if (world.OneIn(2)) {
    done = world.Say(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel.function, threads, dynamic),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor", kernel.name, threads, dynamic);
  } else {
    const unsigned flags = world.Of({0u, 1u, 1u, 2u, 77u});
    done = world.Say(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                         &blocks, kernel.function, threads, dynamic, flags),
                     "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", kernel.name, threads,
                     dynamic, flags);
  }
  if (done && !HasWish(world, kernel)) world.Gave(blocks);
}

void ChooseBlock(RuntimeWorld& world) {
  const Kernel kernel = AnyKernel(world);
  const size_t dynamic = world.Of<size_t>({0, 0, 1000, 16 << 10, 48 << 10, 100 << 10});
  const int limit = world.Of({0, 0, 1, 50, 64, 256, 1024, 2048});
  int grid = 0;
  int block = 0;
  bool done = false;
  if (world.OneIn(2)) {
    done = world.Say(
        cudaOccupancyMaxPotentialBlockSize(&grid, &block, kernel.function, dynamic, limit),
        "cudaOccupancyMaxPotentialBlockSize", kernel.name, dynamic, limit);
  } else {
    done = world.Say(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, kernel.function,
                                                                    SharedFor, limit),
                     "cudaOccupancyMaxPotentialBlockSizeVariableSMem", kernel.name, limit);
  }
  if (done && !HasWish(world, kernel)) world.Gave(grid, block);
}

void Available(RuntimeWorld& world) {
  const Kernel kernel = AnyKernel(world);
  const int blocks = world.Of({1, 1, 2, 2, 3, 4, 8, 16, 32, 33, 0, -1});
  const int threads = world.Of({1, 32, 32, 64, 64, 64, 128, 256, 1024, 1025, 0});
  size_t size = 0;
  if (world.Say(cudaOccupancyAvailableDynamicSMemPerBlock(&size, kernel.function, blocks, threads),
                "cudaOccupancyAvailableDynamicSMemPerBlock", kernel.name, blocks, threads) &&
      !HasWish(world, kernel)) {
    world.Gave(size);
  }
}

}  // namespace

Steps FunctionSteps() {
  return {{6, GetAttributes}, {7, SetAttribute}, {2, SetConfig}, {7, AskFunction},
          {6, CountBlocks},   {4, ChooseBlock},  {4, Available}};
}

}  // namespace random_runtime
