// How many blocks fit, and what devices say of themselves.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/kernels/launch_world.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

using SharedForThreads = size_t (*)(int);

inline constexpr Function<CUresult(int*, CUfunction, int, size_t)> count_blocks(
    "cuOccupancyMaxActiveBlocksPerMultiprocessor");
inline constexpr Function<CUresult(int*, CUfunction, int, size_t, unsigned)> count_with_flags(
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags");
inline constexpr Function<CUresult(int*, int*, CUfunction, SharedForThreads, size_t, int)> choose(
    "cuOccupancyMaxPotentialBlockSize");
inline constexpr Function<CUresult(int*, int*, CUfunction, SharedForThreads, size_t, int, unsigned)>
    choose_with_flags("cuOccupancyMaxPotentialBlockSizeWithFlags");
inline constexpr Function<CUresult(size_t*, CUfunction, int, int)> available(
    "cuOccupancyAvailableDynamicSMemPerBlock");

// Called by the driver.
TWINMMU_ANY_TYPES size_t SharedFor(int threads) { return static_cast<size_t>(threads) * 64; }

void CountBlocks(ProgramWorld& world) {
  AnyKernel kernel;
  if (!FindAnyKernel(world, &kernel)) return;
  const int threads = world.Of({1, 32, 33, 64, 100, 128, 256, 512, 1024, 1025, 0, -1});
  const size_t dynamic =
      world.Of<size_t>({0, 0, 1, 1000, 16 << 10, 48 << 10, 64 << 10, 200 << 10, size_t{1} << 40});
  int blocks = 0;
  if (world.OneIn(2)) {
    if (world.Say(count_blocks(&blocks, kernel.handle, threads, dynamic),
                  "cuOccupancyMaxActiveBlocksPerMultiprocessor", kernel.name, threads, dynamic)) {
      world.Gave(blocks);
    }
    return;
  }
  const unsigned flags = world.Of({0u, 1u, 1u, 2u, 77u});
  if (world.Say(count_with_flags(&blocks, kernel.handle, threads, dynamic, flags),
                "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", kernel.name, threads,
                dynamic, flags)) {
    world.Gave(blocks);
  }
}

void ChooseBlock(ProgramWorld& world) {
  AnyKernel kernel;
  if (!FindAnyKernel(world, &kernel)) return;
  const SharedForThreads shared_for = world.OneIn(3) ? SharedFor : nullptr;
  const size_t dynamic = world.Of<size_t>({0, 0, 1000, 16 << 10, 48 << 10, 100 << 10});
  const int limit = world.Of({0, 0, 1, 50, 64, 256, 1024, 2048});
  int grid = 0;
  int block = 0;
  if (world.OneIn(2)) {
    if (world.Say(choose(&grid, &block, kernel.handle, shared_for, dynamic, limit),
                  "cuOccupancyMaxPotentialBlockSize", kernel.name, shared_for != nullptr, dynamic,
                  limit)) {
      world.Gave(grid, block);
    }
    return;
  }
  const unsigned flags = world.Of({0u, 1u, 1u, 2u});
  if (world.Say(choose_with_flags(&grid, &block, kernel.handle, shared_for, dynamic, limit, flags),
                "cuOccupancyMaxPotentialBlockSizeWithFlags", kernel.name, shared_for != nullptr,
                dynamic, limit, flags)) {
    world.Gave(grid, block);
  }
}

void Available(ProgramWorld& world) {
  AnyKernel kernel;
  if (!FindAnyKernel(world, &kernel)) return;
  const int blocks = world.Of({1, 1, 2, 2, 3, 4, 8, 16, 32, 33, 0, -1});
  const int threads = world.Of({1, 32, 32, 64, 64, 64, 128, 256, 1024, 1025, 0});
  size_t size = 0;
  if (world.Say(available(&size, kernel.handle, blocks, threads),
                "cuOccupancyAvailableDynamicSMemPerBlock", kernel.name, blocks, threads)) {
    world.Gave(size);
  }
}

// Clocks, places on a bus, and what depends on the machine around a device.
bool IsOfTheMachine(int attribute) {
  for (const int its : {13, 17, 20, 32, 33, 34, 36, 50, 84, 85, 88, 100, 101, 116, 117, 118, 124}) {
    if (attribute == its) return true;
  }
  return attribute >= 127;
}

void AskDevice(ProgramWorld& world) {
  const CUdevice device = world.OneIn(10) ? world.Of({99, -1}) : 0;
  const int attribute =
      world.OneIn(10) ? world.Of({0, 10000}) : 1 + static_cast<int>(world.Below(140));
  int value = 0;
  if (world.Say(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(attribute), device),
                "cuDeviceGetAttribute", attribute, device)) {
    if (!IsOfTheMachine(attribute)) world.Gave(value);
  }
}

void AskPeer(ProgramWorld& world) {
  const CUdevice device = world.Of({0, 0, 0, 99});
  const CUdevice peer = world.Of({0, 99, -1});
  int value = 0;
  if (world.OneIn(2)) {
    if (world.Say(cuDeviceCanAccessPeer(&value, device, peer), "cuDeviceCanAccessPeer", device,
                  peer)) {
      world.Gave(value);
    }
    return;
  }
  const int attribute = world.Of({0, 1, 2, 3, 4, 6});
  world.Say(
      cuDeviceGetP2PAttribute(&value, static_cast<CUdevice_P2PAttribute>(attribute), device, peer),
      "cuDeviceGetP2PAttribute", attribute, device, peer);
}

}  // namespace

RandomSteps OccupancySteps() {
  return {{10, CountBlocks}, {8, ChooseBlock}, {6, Available}, {10, AskDevice}, {1, AskPeer}};
}

}  // namespace twinmmu::abi
