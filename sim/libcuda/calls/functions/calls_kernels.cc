// What the program asks of kernels, and sets of them.

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/device_attributes.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/functions/found_kernel.h"
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
    case kCacheModeCa:
      *value = 0;
      return true;
    default:
      return false;
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

// The same for calls that need no context, and to which null is INVALID_VALUE. Those that take a
// kernel of a library fail after a fault whatever they are given, or go on: `of_kernel`.
enum class AfterFault { kFails, kGoesOn };
template <typename Body>
CUresult EnterGiven(const CallSite& site, CUfunction function, Handle handle, AfterFault of_kernel,
                    Needed needed, const Body& body) {
  return Enter(site, [&](DriverState& driver) {
    if (function == nullptr) return ToResult(DriverCode::kInvalidValue);
    const DriverCode there = CheckNeeded(site, needed);
    if (there != DriverCode::kSuccess) return ToResult(there);
    CUresult fault = CUDA_SUCCESS;
    if (handle == Handle::kFunction) {
      fault = FaultOfKernel(site, driver, function, handle);
    } else if (of_kernel == AfterFault::kFails) {
      fault = FaultOf(site, driver);
    }
    if (fault != CUDA_SUCCESS) return fault;
    Context& context = driver.contexts.Primary(DeviceOrdinal(0));
    return WithKernel(site, driver, context, function, handle, {}, body);
  });
}

CUresult GetName(const CallSite& site, const char** name, CUfunction function, Handle handle) {
  return EnterGiven(site, function, handle, AfterFault::kGoesOn, {name},
                    [&](DriverState&, const Found& kernel) {
                      *name = kernel.info->name.c_str();  // as long as it is loaded
                      return DriverCode::kSuccess;
                    });
}

// Of a kernel of a library an H200 needs the current context.
CUresult GetParameter(const CallSite& site, CUfunction function, Handle handle, size_t index,
                      size_t* offset, size_t* size) {
  return EnterGiven(
      site, function, handle, AfterFault::kFails, {offset}, [&](DriverState&, const Found& kernel) {
        Context* context = nullptr;
        const DriverCode current =
            handle == Handle::kOfLibrary ? CurrentContext(site, &context) : DriverCode::kSuccess;
        if (current != DriverCode::kSuccess) return current;
        const auto& parameters = kernel.info->parameters;
        if (index >= parameters.size()) return DriverCode::kInvalidValue;
        *offset = parameters[index].offset;
        if (size != nullptr) *size = parameters[index].size;
        return DriverCode::kSuccess;
      });
}

}  // namespace

CUresult FaultOfKernel(const CallSite& site, DriverState& driver, CUfunction function,
                       Handle handle) {
  const CUresult fault = FaultOf(site, driver);
  if (fault == CUDA_SUCCESS || handle == Handle::kEither) return fault;
  const bool of_library = driver.modules.kernels.Find(ToNumber(function)).has_value();
  const bool is_one = function != nullptr && of_library == (handle == Handle::kOfLibrary);
  return is_one ? fault : ToResult(DriverCode::kInvalidHandle);
}

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

// --- Attributes ----------------------------------------------------------------------------------

extern "C" CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction function) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {value}, [&](DriverState& driver) {
    const CUresult fault = FaultOfKernel(site, driver, function, Handle::kFunction);
    if (fault != CUDA_SUCCESS) return fault;
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
  return Enter(site, [&](DriverState& driver) {
    if (kernel == nullptr) return ToResult(DriverCode::kInvalidHandle);
    const DriverCode there = CheckNeeded(site, needed);
    if (there != DriverCode::kSuccess) return ToResult(there);
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
  return EnterGiven(TWINMMU_HERE, function, Handle::kFunction, AfterFault::kFails, {module},
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

}  // namespace twinmmu::libcuda
