// What the program asks about kernels, and how many blocks fit.

#include <algorithm>
#include <climits>
#include <optional>
#include <utility>

#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/device_attributes.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/launches.h"
#include "sim/libcuda/modules.h"
#include "sim/ptx/program/program.h"

namespace twinmmu::libcuda {
namespace {

// CUfunction_attribute.
enum FunctionAttribute : int {
  kMaxThreadsPerBlock = 0,
  kSharedSizeBytes = 1,
  kConstSizeBytes = 2,
  kLocalSizeBytes = 3,
  kNumRegs = 4,
  kPtxVersion = 5,
  kBinaryVersion = 6,
  kCacheModeCa = 7,
  kMaxDynamicSharedSizeBytes = 8,
  kPreferredSharedMemoryCarveout = 9,
  kClusterSizeMustBeSet = 10,
  kRequiredClusterWidth = 11,
  kRequiredClusterHeight = 12,
  kRequiredClusterDepth = 13,
  kNonPortableClusterSizeAllowed = 14,
  kClusterSchedulingPolicyPreference = 15,
};

constexpr int kNoCarveout = -1;
constexpr int kLoadBalancing = 2;  // the last of the policies by which clusters are scheduled
constexpr unsigned int kDisableCachingOverride = 1;  // the last of the flags of occupancy

// CUdevice_attribute.
constexpr int kThreadsPerBlock = 1;
constexpr int kSharedPerBlock = 8;
constexpr int kWarpSize = 10;
constexpr int kThreadsPerMultiprocessor = 39;
constexpr int kSharedPerMultiprocessor = 81;
constexpr int kRegistersPerMultiprocessor = 82;
constexpr int kBlocksPerMultiprocessor = 106;
constexpr int kReservedSharedPerBlock = 111;

// PTX has registers without end; a compiler finds room for some four in one.
int RegistersOf(const ptx::KernelInfo& kernel) {
  return static_cast<int>(std::clamp<uint64_t>((kernel.registers / 4 + 7) / 8 * 8, 16, 255));
}

int Capability(DriverState& driver, DeviceOrdinal device) {
  return 10 * AttributeOf(driver, device, 75) + AttributeOf(driver, device, 76);
}

std::optional<KernelSetting> SettingBy(int attribute) {
  switch (attribute) {
    case kMaxDynamicSharedSizeBytes:
      return KernelSetting::kDynamicShared;
    case kPreferredSharedMemoryCarveout:
      return KernelSetting::kCarveout;
    case kNonPortableClusterSizeAllowed:
      return KernelSetting::kLargeClusters;
    case kRequiredClusterWidth:
      return KernelSetting::kClusterWidth;
    case kRequiredClusterHeight:
      return KernelSetting::kClusterHeight;
    case kRequiredClusterDepth:
      return KernelSetting::kClusterDepth;
    case kClusterSchedulingPolicyPreference:
      return KernelSetting::kClusterPolicy;
    default:
      return std::nullopt;
  }
}

// False: there is no such attribute.
bool Ask(DriverState& driver, const LoadedKernel& kernel, int attribute, int* value) {
  const ptx::KernelInfo& info = *kernel.info;
  const DeviceOrdinal device = kernel.module.device();
  switch (attribute) {
    case kMaxThreadsPerBlock:
      *value = static_cast<int>(info.max_threads);
      return true;
    case kSharedSizeBytes:
      *value = static_cast<int>(info.shared_bytes);
      return true;
    case kConstSizeBytes:  // of its module, as an H200 has it
      *value = static_cast<int>(kernel.program->constant_bytes());
      return true;
    case kLocalSizeBytes:
      *value = static_cast<int>(info.local_bytes);
      return true;
    case kNumRegs:
      *value = RegistersOf(info);
      return true;
    case kPtxVersion:
      *value = kernel.target;
      return true;
    case kBinaryVersion:
      *value = Capability(driver, device);
      return true;
    case kMaxDynamicSharedSizeBytes:
    case kPreferredSharedMemoryCarveout:
    case kRequiredClusterWidth:
    case kRequiredClusterHeight:
    case kRequiredClusterDepth:
    case kClusterSchedulingPolicyPreference:
      *value = kernel.Get(*SettingBy(attribute));
      return true;
    case kClusterSizeMustBeSet:
      *value = info.explicit_cluster;
      return true;
    case kNonPortableClusterSizeAllowed:
      *value = kernel.Get(KernelSetting::kLargeClusters) != 0;
      return true;
    default:
      *value = 0;
      return attribute == kCacheModeCa;
  }
}

bool CanBeSet(int attribute, int value) {
  switch (attribute) {
    case kMaxDynamicSharedSizeBytes:
    case kRequiredClusterWidth:
    case kRequiredClusterHeight:
    case kRequiredClusterDepth:
      return value >= 0;
    case kPreferredSharedMemoryCarveout:
      return value >= kNoCarveout && value <= 100;
    case kNonPortableClusterSizeAllowed:
      return true;
    case kClusterSchedulingPolicyPreference:
      return value >= 0 && value <= kLoadBalancing;
    default:
      return false;
  }
}

bool IsCache(int config) { return config >= 0 && config <= CU_FUNC_CACHE_PREFER_EQUAL; }

// A kernel, and what is known of it.
struct Found : LoadedKernel {
  Kernel handle;
};

// Some calls take a function of a context, some a kernel of a library, and those of launches both.
enum class Handle { kFunction, kOfLibrary, kEither };

absl::StatusOr<Found> FindKernel(const CallSite& site, DriverState& driver, Context& context,
                                 CUfunction function, Handle handle) {
  const bool of_library = driver.modules.kernels.Find(ToNumber(function)).has_value();
  if (handle != Handle::kEither && of_library != (handle == Handle::kOfLibrary)) {
    return MakeDriverStatus({DriverCode::kInvalidHandle, ErrorOrigin::kSimulator, site.name()},
                            of_library ? "it is a kernel of a library, not a function"
                                       : "it is no kernel of a library");
  }
  const absl::StatusOr<Kernel> kernel = KernelOf(driver, context, function);
  if (!kernel.ok()) return kernel.status();
  absl::StatusOr<LoadedKernel> found = driver.simulator->kernels().Find(site.name(), *kernel);
  if (!found.ok()) return found.status();
  // What the function has no preference for, the context may have.
  std::optional<int>& cache = found->of_function[static_cast<size_t>(KernelSetting::kCache)];
  if (found->Get(KernelSetting::kCache) == 0) cache = context.cache_config;
  return Found{*std::move(found), *kernel};
}

// Calls body(driver, kernel).
template <typename Body>
CUresult WithKernel(const CallSite& site, DriverState& driver, Context& context,
                    CUfunction function, Handle handle, Needed needed, const Body& body) {
  const absl::StatusOr<Found> kernel = FindKernel(site, driver, context, function, handle);
  if (!kernel.ok()) return ToResult(kernel.status());
  const DriverCode code = CheckNeeded(site, needed);
  return code == DriverCode::kSuccess ? ToResult(body(driver, *kernel)) : ToResult(code);
}

template <typename Body>
CUresult EnterKernel(const CallSite& site, CUfunction function, Handle handle, Needed needed,
                     const Body& body) {
  return EnterInContext(site, [&](DriverState& driver, Context& context) {
    return WithKernel(site, driver, context, function, handle, needed, body);
  });
}

// The same for calls that need no context, and to which null is INVALID_VALUE.
template <typename Body>
CUresult EnterGiven(const CallSite& site, CUfunction function, Handle handle, Needed needed,
                    const Body& body) {
  return Enter(site, [&](DriverState& driver) {
    if (function == nullptr) return ToResult(DriverCode::kInvalidValue);
    Context& context = driver.contexts.Primary(DeviceOrdinal(0));
    return WithKernel(site, driver, context, function, handle, needed, body);
  });
}

CUresult GetName(const CallSite& site, const char** name, CUfunction function, Handle handle) {
  return EnterGiven(site, function, handle, {name}, [&](DriverState&, const Found& kernel) {
    *name = kernel.info->name.c_str();  // as long as it is loaded
    return DriverCode::kSuccess;
  });
}

CUresult GetParameter(const CallSite& site, CUfunction function, Handle handle, size_t index,
                      size_t* offset, size_t* size) {
  return EnterGiven(site, function, handle, {offset}, [&](DriverState&, const Found& kernel) {
    if (index >= kernel.info->parameters.size()) return DriverCode::kInvalidValue;
    *offset = kernel.info->parameters[index].offset;
    if (size != nullptr) *size = kernel.info->parameters[index].size;
    return DriverCode::kSuccess;
  });
}

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

constexpr uint32_t kSharedUnit = 128;  // shared memory is given out in units of so many bytes

// Of a block. Where no more than usual is allowed, an H200 counts in 32 bits.
std::optional<uint64_t> SharedOfBlock(DriverState& driver, const LoadedKernel& kernel,
                                      size_t dynamic) {
  const DeviceOrdinal device = kernel.module.device();
  const auto usual = static_cast<uint64_t>(AttributeOf(driver, device, kSharedPerBlock));
  const auto allowed = static_cast<uint64_t>(kernel.Get(KernelSetting::kDynamicShared));
  const auto all = static_cast<uint32_t>(kernel.info->shared_bytes + dynamic);
  const uint32_t rounded = (all + kSharedUnit - 1) / kSharedUnit * kSharedUnit;
  if (allowed > usual ? dynamic > allowed : rounded > usual) return std::nullopt;
  return uint64_t{rounded} +
         static_cast<uint64_t>(AttributeOf(driver, device, kReservedSharedPerBlock));
}

// That each of so many blocks which fit may have. There is always room for one.
size_t DynamicSharedFor(DriverState& driver, const LoadedKernel& kernel, int blocks) {
  const uint64_t most =
      static_cast<uint64_t>(AttributeOf(driver, kernel.module.device(), kSharedPerMultiprocessor));
  const uint64_t block = SharedOfBlock(driver, kernel, 0).value_or(0);
  const uint64_t room = blocks == 1 ? most : SharedMemoryFor(driver, kernel, block);
  const uint64_t each = room / static_cast<uint64_t>(blocks) / kSharedUnit * kSharedUnit;
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
  if (rounded > has(kThreadsPerBlock)) return 0;
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

// --- Attributes ----------------------------------------------------------------------------------

extern "C" CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction function) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {value}, [&](DriverState& driver) {
    Context& context = driver.contexts.Primary(DeviceOrdinal(0));
    return WithKernel(site, driver, context, function, Handle::kFunction, {},
                      [&](DriverState&, const Found& kernel) {
                        return Ask(driver, kernel, attribute, value) ? DriverCode::kSuccess
                                                                     : DriverCode::kInvalidValue;
                      });
  });
}

extern "C" CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  const Handle handle = Handle::kFunction;
  return EnterKernel(
      TWINMMU_HERE, function, handle, {}, [&](DriverState& driver, const Found& kernel) {
        if (!CanBeSet(attribute, value)) return ToResult(DriverCode::kInvalidValue);
        return ToResult(
            driver.simulator->kernels().Set(kernel.handle, *SettingBy(attribute), value));
      });
}

extern "C" CUresult cuFuncSetCacheConfig(CUfunction function, int config) {
  const Handle handle = Handle::kFunction;
  return EnterKernel(
      TWINMMU_HERE, function, handle, {}, [&](DriverState& driver, const Found& kernel) {
        if (!IsCache(config)) return ToResult(DriverCode::kInvalidValue);
        return ToResult(
            driver.simulator->kernels().Set(kernel.handle, KernelSetting::kCache, config));
      });
}

extern "C" CUresult cuFuncSetSharedMemConfig(CUfunction function, int config) {
  constexpr int kEightBytes = 2;
  return EnterKernel(TWINMMU_HERE, function, Handle::kFunction, {},
                     [&](DriverState&, const Found&) {
                       return config < 0 || config > kEightBytes ? DriverCode::kInvalidValue
                                                                 : DriverCode::kSuccess;
                     });
}

// Calls body(driver, kernel) with the kernel of a library on the device.
template <typename Body>
CUresult EnterOfLibrary(const CallSite& site, CUkernel kernel, CUdevice dev, Needed needed,
                        const Body& body) {
  return Enter(site, needed, [&](DriverState& driver) {
    if (!driver.modules.kernels.Find(ToNumber(kernel)).has_value()) {
      return ToResult(DriverCode::kInvalidHandle);
    }
    if (dev < 0 || dev >= driver.simulator->profile().device_count()) {
      return ToResult(DriverCode::kInvalidDevice);
    }
    const auto function = ToPointer<CUfunction>(ToNumber(kernel));
    const absl::StatusOr<Found> found = FindKernel(
        site, driver, driver.contexts.Primary(DeviceOrdinal(dev)), function, Handle::kOfLibrary);
    return found.ok() ? ToResult(body(driver, *found)) : ToResult(found.status());
  });
}

extern "C" CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev) {
  return EnterOfLibrary(TWINMMU_HERE, kernel, dev, {},
                        [&](DriverState& driver, const Found& known) {
                          if (!IsCache(config)) return ToResult(DriverCode::kInvalidValue);
                          return ToResult(driver.simulator->kernels().Set(
                              known.handle, KernelSetting::kCache, config, SettingOf::kLibrary));
                        });
}

// As it was set of the kernel, whatever its function has.
extern "C" CUresult cuKernelGetAttribute(int* value, int attribute, CUkernel kernel, CUdevice dev) {
  const CallSite site = TWINMMU_HERE;
  return EnterOfLibrary(site, kernel, dev, {value}, [&](DriverState& driver, const Found& known) {
    if (const std::optional<KernelSetting> setting = SettingBy(attribute)) {
      *value = known.of_library[static_cast<size_t>(*setting)];
      return DriverCode::kSuccess;
    }
    return Ask(driver, known, attribute, value) ? DriverCode::kSuccess : DriverCode::kInvalidValue;
  });
}

extern "C" CUresult cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice dev) {
  return EnterOfLibrary(TWINMMU_HERE, kernel, dev, {},
                        [&](DriverState& driver, const Found& known) {
                          if (!CanBeSet(attribute, value))
                            return ToResult(DriverCode::kInvalidValue);
                          return ToResult(driver.simulator->kernels().Set(
                              known.handle, *SettingBy(attribute), value, SettingOf::kLibrary));
                        });
}

// --- Names and parameters ------------------------------------------------------------------------

extern "C" CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  return EnterGiven(TWINMMU_HERE, function, Handle::kFunction, {module},
                    [&](DriverState&, const Found& kernel) {
                      *module = ToPointer<CUmodule>(kernel.module.value());
                      return DriverCode::kSuccess;
                    });
}

extern "C" CUresult cuFuncGetName(const char** name, CUfunction function) {
  return GetName(TWINMMU_HERE, name, function, Handle::kFunction);
}

extern "C" CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return GetName(TWINMMU_HERE, name, ToPointer<CUfunction>(ToNumber(kernel)), Handle::kOfLibrary);
}

extern "C" CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset,
                                       size_t* size) {
  return GetParameter(TWINMMU_HERE, function, Handle::kFunction, index, offset, size);
}

extern "C" CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset,
                                         size_t* size) {
  return GetParameter(TWINMMU_HERE, ToPointer<CUfunction>(ToNumber(kernel)), Handle::kOfLibrary,
                      index, offset, size);
}

// --- Occupancy -----------------------------------------------------------------------------------

extern "C" CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function,
                                                                int threads, size_t dynamic) {
  return CountBlocks(TWINMMU_HERE, blocks, function, threads, dynamic);
}

extern "C" CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, CUfunction function, int threads, size_t dynamic, unsigned int flags) {
  constexpr unsigned int kNoCachingOverride = 1;
  const CallSite site = TWINMMU_HERE;
  if (flags > kNoCachingOverride) {
    return Enter(site, [](DriverState&) { return DriverCode::kInvalidValue; });
  }
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
  if (flags > kDisableCachingOverride) {
    return EnterAlways(TWINMMU_HERE, [] { return DriverCode::kInvalidValue; });
  }
  return ChooseBlock(TWINMMU_HERE, grid, block, function, shared_for, dynamic, limit);
}

// Calls body(kernel, form, cluster, blocks) with the form of a launch, its cluster, and how many of
// its blocks there can be at once.
template <typename Body>
CUresult EnterClusters(const CallSite& site, int* result, CUfunction function,
                       const CUlaunchConfig* config, const Body& body) {
  return EnterInContext(site, {result, config}, [&](DriverState& driver, Context& context) {
    const absl::StatusOr<Found> kernel =
        FindKernel(site, driver, context, function, Handle::kEither);
    if (!kernel.ok()) return ToResult(kernel.status());
    LaunchConfig launch;
    LaunchForm form;
    const DriverCode read = ReadAttributes(*config, &launch, &form);
    if (read != DriverCode::kSuccess) return ToResult(read);
    const absl::StatusOr<Dim3> cluster = driver.simulator->kernels().ClusterOf(
        *kernel, {config->gridDimX, config->gridDimY, config->gridDimZ}, form);
    if (!cluster.ok()) return ToResult(cluster.status());
    const uint64_t threads = uint64_t{config->blockDimX} * config->blockDimY * config->blockDimZ;
    if (threads == 0) return ToResult(DriverCode::kInvalidValue);
    body(*kernel, form, *cluster,
         BlocksOnDevice(driver, *kernel, static_cast<int>(std::min<uint64_t>(threads, INT_MAX)),
                        config->sharedMemBytes));
    return CUDA_SUCCESS;
  });
}

// As an H200 says, whatever the kernel needs, if a block of it fits.
extern "C" CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction function,
                                                       const CUlaunchConfig* config) {
  return EnterClusters(TWINMMU_HERE, size, function, config,
                       [&](const Found& kernel, const LaunchForm&, const Dim3&, uint64_t blocks) {
                         const int most = kernel.Get(KernelSetting::kLargeClusters) != 0 ? 16 : 8;
                         *size = blocks != 0 ? most : 0;
                       });
}

// Any blocks make a cluster here; on a device only those of one group of multiprocessors, so that
// an H100 has somewhat fewer of the larger ones.
extern "C" CUresult cuOccupancyMaxActiveClusters(int* count, CUfunction function,
                                                 const CUlaunchConfig* config) {
  return EnterClusters(
      TWINMMU_HERE, count, function, config,
      [&](const Found& kernel, const LaunchForm& form, const Dim3& cluster, uint64_t blocks) {
        const bool said = form.cluster.has_value() || kernel.info->cluster[0] != 0;
        const uint64_t each = uint64_t{cluster.x} * cluster.y * cluster.z;
        *count = said ? static_cast<int>(blocks / each) : 0;
      });
}

extern "C" CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* dynamic, CUfunction function,
                                                            int blocks, int threads) {
  return EnterKernel(TWINMMU_HERE, function, Handle::kEither, {dynamic},
                     [&](DriverState& driver, const Found& kernel) {
                       if (blocks <= 0 || threads <= 0) return DriverCode::kInvalidValue;
                       if (blocks > BlocksThatFit(driver, kernel, threads, 0))
                         return DriverCode::kInvalidValue;
                       *dynamic = DynamicSharedFor(driver, kernel, blocks);
                       return DriverCode::kSuccess;
                     });
}

}  // namespace twinmmu::libcuda
