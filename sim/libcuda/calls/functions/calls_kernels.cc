// What the program asks about kernels, and how many blocks fit.

#include <algorithm>
#include <utility>

#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/device_attributes.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
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
      *value = static_cast<int>(kernel.most_dynamic_shared_bytes);
      return true;
    case kPreferredSharedMemoryCarveout:
      *value = kernel.carveout;
      return true;
    case kClusterSizeMustBeSet:
      *value = info.explicit_cluster && info.cluster[0] == 0;
      return true;
    case kRequiredClusterWidth:
    case kRequiredClusterHeight:
    case kRequiredClusterDepth:
      *value =
          static_cast<int>(info.cluster[static_cast<size_t>(attribute - kRequiredClusterWidth)]);
      return true;
    case kNonPortableClusterSizeAllowed:
      *value = kernel.non_portable_cluster;
      return true;
    default:
      *value = 0;
      return attribute == kConstSizeBytes || attribute == kCacheModeCa ||
             attribute == kClusterSchedulingPolicyPreference;
  }
}

bool CanBeSet(int attribute, int value) {
  switch (attribute) {
    case kMaxDynamicSharedSizeBytes:
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

// The dimensions of a cluster that a launch would have; those that do not matter are left out.
LaunchForm FormOf(const CUlaunchConfig& config) {
  LaunchForm form;
  for (unsigned int i = 0; config.attrs != nullptr && i < config.numAttrs; ++i) {
    if (config.attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    const auto& cluster = config.attrs[i].value.clusterDim;
    form.cluster = Dim3{cluster.x, cluster.y, cluster.z};
  }
  return form;
}

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

CUresult ChooseBlock(const CallSite& site, int* grid, int* block, CUfunction function,
                     SharedForThreads shared_for, size_t dynamic, int limit) {
  const Needed needed = {grid, block};
  const Handle either = Handle::kEither;
  return EnterKernel(site, function, either, needed, [&](DriverState& driver, const Found& kernel) {
    if (limit < 0) return DriverCode::kInvalidValue;
    const DeviceOrdinal device = kernel.module.device();
    const int warp = std::max(AttributeOf(driver, device, kWarpSize), 1);
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
      const int blocks = BlocksThatFit(driver, kernel, threads, shared);
      if (blocks * threads <= best) continue;
      best = blocks * threads;
      *block = threads;
      *grid = blocks * AttributeOf(driver, device, kAttributeMultiprocessors);
    }
    return DriverCode::kSuccess;  // and 0, if no block fits
  });
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
  const uint64_t shared = kernel.info->shared_bytes + dynamic;
  if (dynamic > kernel.most_dynamic_shared_bytes) return 0;
  const uint64_t each = shared + static_cast<uint64_t>(has(kReservedSharedPerBlock));
  if (each == 0) return blocks;
  const uint64_t room = static_cast<uint64_t>(has(kSharedPerMultiprocessor)) / each;
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
        if (attribute == kNonPortableClusterSizeAllowed) {
          return ToResult(
              driver.simulator->kernels().AllowLargeClusters(kernel.handle, value != 0));
        }
        if (attribute == kPreferredSharedMemoryCarveout) {
          return ToResult(driver.simulator->kernels().SetCarveout(kernel.handle, value));
        }
        if (attribute != kMaxDynamicSharedSizeBytes) return CUDA_SUCCESS;
        return ToResult(driver.simulator->kernels().AllowDynamicShared(
            kernel.handle, static_cast<uint32_t>(value)));
      });
}

// A cache of a size that could be chosen is not simulated.
extern "C" CUresult cuFuncSetCacheConfig(CUfunction function, int config) {
  return EnterKernel(TWINMMU_HERE, function, Handle::kFunction, {},
                     [&](DriverState&, const Found&) {
                       const bool exists = config >= 0 && config <= CU_FUNC_CACHE_PREFER_EQUAL;
                       return exists ? DriverCode::kSuccess : DriverCode::kInvalidValue;
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

// Calls body(driver, context) with the primary context of the device.
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
    return ToResult(body(driver, driver.contexts.Primary(DeviceOrdinal(dev))));
  });
}

extern "C" CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev) {
  const CallSite site = TWINMMU_HERE;
  return EnterOfLibrary(site, kernel, dev, {}, [&](DriverState& driver, Context& context) {
    if (config < 0 || config > CU_FUNC_CACHE_PREFER_EQUAL) {
      return ToResult(DriverCode::kInvalidValue);
    }
    const auto function = ToPointer<CUfunction>(ToNumber(kernel));
    return ToResult(FindKernel(site, driver, context, function, Handle::kOfLibrary).status());
  });
}

extern "C" CUresult cuKernelGetAttribute(int* value, int attribute, CUkernel kernel, CUdevice dev) {
  const CallSite site = TWINMMU_HERE;
  return EnterOfLibrary(site, kernel, dev, {value}, [&](DriverState& driver, Context& context) {
    const auto function = ToPointer<CUfunction>(ToNumber(kernel));
    const absl::StatusOr<Found> found =
        FindKernel(site, driver, context, function, Handle::kOfLibrary);
    if (!found.ok()) return ToResult(found.status());
    return Ask(driver, *found, attribute, value) ? CUDA_SUCCESS
                                                 : ToResult(DriverCode::kInvalidValue);
  });
}

extern "C" CUresult cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice dev) {
  return EnterOfLibrary(TWINMMU_HERE, kernel, dev, {}, [&](DriverState& driver, Context& context) {
    if (!CanBeSet(attribute, value)) return DriverCode::kInvalidValue;
    if (attribute != kMaxDynamicSharedSizeBytes) return DriverCode::kSuccess;
    if (value > AttributeOf(driver, context.device, kAttributeSharedPerBlockOptin)) {
      return DriverCode::kInvalidValue;
    }
    driver.modules.kernels.Edit(ToNumber(kernel), [&](KernelRecord& record) {
      record.dynamic_shared = static_cast<uint32_t>(value);
    });
    return DriverCode::kSuccess;
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

// As an H100 says, whatever the kernel needs.
extern "C" CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction function,
                                                       const CUlaunchConfig* config) {
  return EnterKernel(TWINMMU_HERE, function, Handle::kEither, {size, config},
                     [&](DriverState& driver, const Found& kernel) {
                       const absl::StatusOr<Dim3> cluster = driver.simulator->kernels().ClusterOf(
                           kernel, {config->gridDimX, config->gridDimY, config->gridDimZ},
                           FormOf(*config));
                       if (!cluster.ok()) return ToResult(cluster.status());
                       *size = kernel.non_portable_cluster ? 16 : 8;
                       return CUDA_SUCCESS;
                     });
}

// Any blocks make a cluster here; on a device only those of one group of multiprocessors, so that
// an H100 has somewhat fewer of the larger ones.
extern "C" CUresult cuOccupancyMaxActiveClusters(int* count, CUfunction function,
                                                 const CUlaunchConfig* config) {
  const CallSite site = TWINMMU_HERE;
  return EnterInContext(site, {count, config}, [&](DriverState& driver, Context& context) {
    const absl::StatusOr<Found> kernel =
        FindKernel(site, driver, context, function, Handle::kEither);
    if (!kernel.ok()) return ToResult(kernel.status());
    const LaunchForm form = FormOf(*config);
    const absl::StatusOr<Dim3> cluster = driver.simulator->kernels().ClusterOf(
        *kernel, {config->gridDimX, config->gridDimY, config->gridDimZ}, form);
    if (!cluster.ok()) return ToResult(cluster.status());
    const uint64_t threads = uint64_t{config->blockDimX} * config->blockDimY * config->blockDimZ;
    const bool fits = threads != 0 && threads <= kernel->info->max_threads;
    const bool said = form.cluster.has_value() || kernel->info->cluster[0] != 0;
    const uint64_t blocks =
        fits && said
            ? BlocksOnDevice(driver, *kernel, static_cast<int>(threads), config->sharedMemBytes)
            : 0;
    *count = static_cast<int>(blocks / (uint64_t{cluster->x} * cluster->y * cluster->z));
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* dynamic, CUfunction function,
                                                            int blocks, int threads) {
  return EnterKernel(TWINMMU_HERE, function, Handle::kEither, {dynamic},
                     [&](DriverState& driver, const Found& kernel) {
                       if (blocks <= 0 || threads <= 0) return DriverCode::kInvalidValue;
                       if (blocks > BlocksThatFit(driver, kernel, threads, 0))
                         return DriverCode::kInvalidValue;
                       const DeviceOrdinal device = kernel.module.device();
                       const int64_t room =
                           AttributeOf(driver, device, kSharedPerMultiprocessor) / blocks -
                           static_cast<int64_t>(kernel.info->shared_bytes);
                       const int64_t most = kernel.most_dynamic_shared_bytes;
                       *dynamic = static_cast<size_t>(std::max<int64_t>(std::min(room, most), 0));
                       return DriverCode::kSuccess;
                     });
}

}  // namespace twinmmu::libcuda
