// How many blocks of a kernel fit.

#include <algorithm>
#include <climits>
#include <numeric>
#include <optional>
#include <vector>

#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/device_attributes.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/functions/found_kernel.h"
#include "sim/libcuda/calls/launches.h"
#include "sim/libcuda/modules.h"
#include "sim/profile/device_limits.h"

namespace twinmmu::libcuda {
namespace {

// CUdevice_attribute.
constexpr int kThreadsPerBlock = 1;
constexpr int kSharedPerBlock = 8;
constexpr int kWarpSize = 10;
constexpr int kThreadsPerMultiprocessor = 39;
constexpr int kSharedPerMultiprocessor = 81;
constexpr int kRegistersPerMultiprocessor = 82;
constexpr int kBlocksPerMultiprocessor = 106;
constexpr int kReservedSharedPerBlock = 111;

constexpr unsigned int kDisableCachingOverride = 1;  // the last of the flags

CUresult CountBlocks(const CallSite& site, int* blocks, CUfunction function, int threads,
                     size_t dynamic) {
  const Handle either = Handle::kEither;
  return EnterKernel(site, function, either, {blocks},
                     [&](DriverState& driver, const Found& kernel) {
                       if (threads <= 0) return DriverCode::kInvalidValue;
                       *blocks = BlocksThatFit(driver, kernel, threads, dynamic);
                       return DriverCode::kSuccess;
                     });
}

// INVALID_VALUE, unless there was a fault.
CUresult RefuseFlags(const CallSite& site) {
  return Enter(site, [&](DriverState& driver) {
    const CUresult fault = FaultOf(site, driver);
    return fault != CUDA_SUCCESS ? fault : ToResult(DriverCode::kInvalidValue);
  });
}

using SharedForThreads = size_t (*)(int threads);

// To choose a block, an H200 takes any carveout for the whole, but for none at all.
LoadedKernel WithWholeCarveout(LoadedKernel kernel) {
  constexpr int kWhole = 100;
  std::optional<int>& carveout = kernel.of_function[static_cast<size_t>(KernelSetting::kCarveout)];
  if (kernel.Get(KernelSetting::kCarveout) > 0) carveout = kWhole;
  return kernel;
}

CUresult ChooseBlock(const CallSite& site, int* grid, int* block, CUfunction function,
                     SharedForThreads shared_for, size_t dynamic, int limit) {
  const Needed needed = {grid, block};
  const Handle either = Handle::kEither;
  return EnterKernel(site, function, either, needed, [&](DriverState& driver, const Found& kernel) {
    if (limit < 0) return DriverCode::kInvalidValue;
    const DeviceOrdinal device = kernel.module.device();
    const int warp = std::max(AttributeOf(driver, device, kWarpSize), 1);
    const LoadedKernel counted = WithWholeCarveout(kernel);
    const int most = static_cast<int>(kernel.info->max_threads);
    int threads = limit == 0 ? most : std::min(limit, most);
    int best = 0;
    *grid = *block = 0;
    for (; threads > 0; threads = (threads - 1) / warp * warp) {
      size_t shared = dynamic;
      if (shared_for != nullptr) {
        const DriverCode called = CallBack(site, [&] { shared = shared_for(threads); });
        if (called != DriverCode::kSuccess) return called;
      }
      const int blocks = BlocksThatFit(driver, counted, threads, shared);
      if (blocks * threads <= best) continue;
      best = blocks * threads;
      *block = threads;
      *grid = blocks * AttributeOf(driver, device, kAttributeMultiprocessors);
    }
    return DriverCode::kSuccess;  // and 0, if no block fits
  });
}

// How much of the memory of a multiprocessor is shared memory while a kernel runs: the smallest of
// some sizes that has what it prefers, and a block of it. As an H200 counts.
uint64_t SharedMemoryFor(DriverState& driver, const LoadedKernel& kernel, uint64_t block) {
  constexpr uint64_t kKilobytes[] = {8, 16, 32, 64, 100, 132, 164, 196, 228};
  constexpr int kPreferL1 = 2;
  const auto most =
      static_cast<uint64_t>(AttributeOf(driver, kernel.module.device(), kSharedPerMultiprocessor));
  const int carveout = kernel.Get(KernelSetting::kCarveout);
  const int cache = kernel.Get(KernelSetting::kCache);
  uint64_t wanted = most;
  if (carveout >= 0) {
    wanted = most * static_cast<uint64_t>(carveout) / 100;
  } else if (cache == kPreferL1) {
    wanted = 0;
  } else if (cache == CU_FUNC_CACHE_PREFER_EQUAL) {
    wanted = most / 2;
  }
  for (const uint64_t size : kKilobytes) {
    if (size << 10 >= std::max(wanted, block)) return std::min(size << 10, most);
  }
  return most;
}

// Of a block. Where no more than usual is allowed, an H200 counts in 32 bits.
std::optional<uint64_t> SharedOfBlock(DriverState& driver, const LoadedKernel& kernel,
                                      size_t dynamic) {
  const DeviceOrdinal device = kernel.module.device();
  const auto usual = static_cast<uint64_t>(AttributeOf(driver, device, kSharedPerBlock));
  const auto allowed = static_cast<uint64_t>(kernel.Get(KernelSetting::kDynamicShared));
  const auto all = static_cast<uint32_t>(kernel.info->shared_bytes + dynamic);
  const uint32_t rounded = (all + kSharedMemoryUnit - 1) / kSharedMemoryUnit * kSharedMemoryUnit;
  const bool more = allowed + kernel.info->shared_bytes > usual;
  if (more ? dynamic > allowed : rounded > usual) return std::nullopt;
  return uint64_t{rounded} +
         static_cast<uint64_t>(AttributeOf(driver, device, kReservedSharedPerBlock));
}

// That each of so many blocks which fit may have. There is always room for one.
size_t DynamicSharedFor(DriverState& driver, const LoadedKernel& kernel, int blocks) {
  const uint64_t most =
      static_cast<uint64_t>(AttributeOf(driver, kernel.module.device(), kSharedPerMultiprocessor));
  const uint64_t block = SharedOfBlock(driver, kernel, 0).value_or(0);
  const uint64_t room = blocks == 1 ? most : SharedMemoryFor(driver, kernel, block);
  const uint64_t each =
      room / static_cast<uint64_t>(blocks) / kSharedMemoryUnit * kSharedMemoryUnit;
  const auto allowed = static_cast<uint64_t>(kernel.Get(KernelSetting::kDynamicShared));
  return std::min(each - std::min(each, kernel.info->shared_bytes), allowed);
}

}  // namespace

int BlocksThatFit(DriverState& driver, const LoadedKernel& kernel, int threads, size_t dynamic) {
  const DeviceOrdinal device = kernel.module.device();
  const auto has = [&](int attribute) { return AttributeOf(driver, device, attribute); };
  const int warp = std::max(has(kWarpSize), 1);
  if (threads <= 0 || threads > has(kThreadsPerBlock)) return 0;
  const int rounded = (threads + warp - 1) / warp * warp;
  int blocks = has(kThreadsPerMultiprocessor) / rounded;
  blocks = std::min(blocks, has(kBlocksPerMultiprocessor));
  blocks =
      std::min(blocks, has(kRegistersPerMultiprocessor) / (rounded * RegistersOf(*kernel.info)));
  const std::optional<uint64_t> each = SharedOfBlock(driver, kernel, dynamic);
  if (!each.has_value()) return 0;
  if (*each == 0) return blocks;
  const uint64_t room = SharedMemoryFor(driver, kernel, *each) / *each;
  return static_cast<int>(std::min<uint64_t>(static_cast<uint64_t>(blocks), room));
}

uint64_t BlocksOnDevice(DriverState& driver, const LoadedKernel& kernel, int threads,
                        size_t dynamic) {
  const int multiprocessors =
      AttributeOf(driver, kernel.module.device(), kAttributeMultiprocessors);
  return static_cast<uint64_t>(BlocksThatFit(driver, kernel, threads, dynamic)) *
         static_cast<uint64_t>(multiprocessors);
}

namespace {

// The blocks of a cluster are on multiprocessors of one group. An H200 has groups of these sizes;
// of other devices, which were not measured, each 16 are taken for one.
std::vector<uint64_t> GroupsOf(uint64_t multiprocessors) {
  constexpr uint64_t kUsual = 16;
  std::vector<uint64_t> groups = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};
  if (std::accumulate(groups.begin(), groups.end(), uint64_t{0}) != multiprocessors) {
    groups.assign(multiprocessors / kUsual, kUsual);
    groups.push_back(multiprocessors % kUsual);
  }
  return groups;
}

}  // namespace

// A group has no clusters of more blocks than it has multiprocessors. Source: an H200 with driver
// 580.159, with clusters of 1 to 17 and 32 blocks of 80 sizes.
uint64_t ClustersOnDevice(DriverState& driver, const LoadedKernel& kernel, uint64_t blocks,
                          int threads, size_t dynamic) {
  constexpr uint64_t kMostTogether = 8;  // on one multiprocessor
  const auto fit = static_cast<uint64_t>(BlocksThatFit(driver, kernel, threads, dynamic));
  const int all = AttributeOf(driver, kernel.module.device(), kAttributeMultiprocessors);
  uint64_t clusters = 0;
  for (const uint64_t group : GroupsOf(static_cast<uint64_t>(all))) {
    if (group >= blocks) clusters += group * std::min(fit, kMostTogether) / blocks;
  }
  return clusters;
}

extern "C" CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function,
                                                                int threads, size_t dynamic) {
  return CountBlocks(TWINMMU_HERE, blocks, function, threads, dynamic);
}

extern "C" CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, CUfunction function, int threads, size_t dynamic, unsigned int flags) {
  const CallSite site = TWINMMU_HERE;
  if (flags > kDisableCachingOverride) return RefuseFlags(site);
  return CountBlocks(site, blocks, function, threads, dynamic);
}

extern "C" CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                                     SharedForThreads shared_for, size_t dynamic,
                                                     int limit) {
  return ChooseBlock(TWINMMU_HERE, grid, block, function, shared_for, dynamic, limit);
}

extern "C" CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block,
                                                              CUfunction function,
                                                              SharedForThreads shared_for,
                                                              size_t dynamic, int limit,
                                                              unsigned int flags) {
  const CallSite site = TWINMMU_HERE;
  if (flags > kDisableCachingOverride) return RefuseFlags(site);
  return ChooseBlock(site, grid, block, function, shared_for, dynamic, limit);
}

// What a launch with clusters asks for.
struct Clusters {
  bool are_said;    // see HasClusters()
  uint64_t blocks;  // of each
  int threads;      // of each block
  size_t dynamic;
};

// Calls body(driver, kernel, clusters).
template <typename Body>
CUresult EnterClusters(const CallSite& site, int* result, CUfunction function,
                       const CUlaunchConfig* config, const Body& body) {
  const Needed needed = {result, function, config};
  const NamedObject none = NamedObject::NullFirst({});
  return EnterInContext(site, none, needed, [&](DriverState& driver, Context& context) {
    const absl::StatusOr<Found> kernel =
        FindKernel(site, driver, context, function, Handle::kEither);
    if (!kernel.ok()) return ToResult(kernel.status());
    if (IsOfOther(driver, context, function)) return ToResult(DriverCode::kInvalidHandle);
    LaunchConfig launch;
    LaunchForm form;
    const DriverCode read = ReadAttributes(site, driver, context, *config, &launch, &form);
    if (read != DriverCode::kSuccess) return ToResult(read);
    const absl::StatusOr<Dim3> cluster = driver.simulator->kernels().ClusterOf(
        *kernel, {config->gridDimX, config->gridDimY, config->gridDimZ}, form);
    if (!cluster.ok()) return ToResult(cluster.status());
    const uint64_t threads = uint64_t{config->blockDimX} * config->blockDimY * config->blockDimZ;
    if (threads == 0 || threads > INT_MAX) return ToResult(DriverCode::kInvalidValue);
    body(driver, *kernel,
         Clusters{HasClusters(*kernel, form), Product(*cluster), static_cast<int>(threads),
                  config->sharedMemBytes});
    return CUDA_SUCCESS;
  });
}

// As an H200 says, whatever the kernel needs, if a block of it fits.
extern "C" CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction function,
                                                       const CUlaunchConfig* config) {
  return EnterClusters(TWINMMU_HERE, size, function, config,
                       [&](DriverState& driver, const Found& kernel, const Clusters& clusters) {
                         const int most = kernel.Get(KernelSetting::kLargeClusters) != 0 ? 16 : 8;
                         const bool fits =
                             BlocksThatFit(driver, kernel, clusters.threads, clusters.dynamic) != 0;
                         *size = fits ? most : 0;
                       });
}

extern "C" CUresult cuOccupancyMaxActiveClusters(int* count, CUfunction function,
                                                 const CUlaunchConfig* config) {
  return EnterClusters(TWINMMU_HERE, count, function, config,
                       [&](DriverState& driver, const Found& kernel, const Clusters& clusters) {
                         const uint64_t fit = ClustersOnDevice(driver, kernel, clusters.blocks,
                                                               clusters.threads, clusters.dynamic);
                         *count = clusters.are_said ? static_cast<int>(fit) : 0;
                       });
}

extern "C" CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* dynamic, CUfunction function,
                                                            int blocks, int threads) {
  const CallSite site = TWINMMU_HERE;
  return EnterInContext(site, [&](DriverState& driver, Context& context) {
    if (blocks <= 0) return ToResult(DriverCode::kInvalidValue);
    return WithKernel(site, driver, context, function, Handle::kEither, {dynamic},
                      [&](DriverState&, const Found& kernel) {
                        const bool fit = blocks <= BlocksThatFit(driver, kernel, threads, 0);
                        if (!fit) return DriverCode::kInvalidValue;
                        *dynamic = DynamicSharedFor(driver, kernel, blocks);
                        return DriverCode::kSuccess;
                      });
  });
}

}  // namespace twinmmu::libcuda
