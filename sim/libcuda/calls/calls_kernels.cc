// What the program asks about kernels, and how many blocks fit.

#include <algorithm>

#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/convert.h"
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
  kRequiredClusterDepth = 13,
  kNonPortableClusterSizeAllowed = 14,
  kClusterSchedulingPolicyPreference = 15,
};

constexpr int kNoCarveout = -1;

// CUdevice_attribute.
constexpr int kThreadsPerBlock = 1;
constexpr int kWarpSize = 10;
constexpr int kMultiprocessors = 16;
constexpr int kThreadsPerMultiprocessor = 39;
constexpr int kSharedPerMultiprocessor = 81;
constexpr int kRegistersPerMultiprocessor = 82;
constexpr int kSharedPerBlockOptin = 97;
constexpr int kBlocksPerMultiprocessor = 106;
constexpr int kReservedSharedPerBlock = 111;

int AttributeOf(Machine& machine, DeviceOrdinal device, int attribute) {
  return machine.vmm.GetDeviceAttribute(static_cast<DeviceAttribute>(attribute), device)
      .value_or(0);
}

// PTX has registers without end; a compiler finds room for some four in one.
int RegistersOf(const ptx::KernelInfo& kernel) {
  return static_cast<int>(std::clamp<uint64_t>((kernel.registers / 4 + 7) / 8 * 8, 16, 255));
}

int Capability(Machine& machine, DeviceOrdinal device) {
  return 10 * AttributeOf(machine, device, 75) + AttributeOf(machine, device, 76);
}

// False: there is no such attribute.
bool Ask(Machine& machine, const LoadedKernel& kernel, int attribute, int* value) {
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
      *value = Capability(machine, device);
      return true;
    case kMaxDynamicSharedSizeBytes:
      *value = static_cast<int>(kernel.most_dynamic_shared_bytes);
      return true;
    case kPreferredSharedMemoryCarveout:
      *value = kNoCarveout;
      return true;
    default:
      *value = 0;
      return attribute == kConstSizeBytes || attribute == kCacheModeCa ||
             (attribute >= kClusterSizeMustBeSet &&
              attribute <= kClusterSchedulingPolicyPreference);
  }
}

bool CanBeSet(int attribute, int value) {
  switch (attribute) {
    case kMaxDynamicSharedSizeBytes:
      return value >= 0;
    case kPreferredSharedMemoryCarveout:
      return value >= kNoCarveout && value <= 100;
    case kNonPortableClusterSizeAllowed:
    case kClusterSchedulingPolicyPreference:
      return true;
    default:
      return false;
  }
}

// Calls body(machine, kernel) with what is known of the function.
template <typename Body>
CUresult EnterWithKernel(const CallSite& site, CUfunction function, const Body& body) {
  return EnterInContext(site, [&](Machine& machine, Context& context) {
    const absl::StatusOr<Kernel> kernel = KernelOf(machine, context, function);
    if (!kernel.ok()) return ToResult(kernel.status());
    const auto found = machine.simulator->kernels().Find(site.name(), *kernel);
    return found.ok() ? ToResult(body(machine, *kernel, *found)) : ToResult(found.status());
  });
}

CUresult GetName(const CallSite& site, const char** name, CUfunction function) {
  return EnterWithKernel(site, function, [&](Machine&, Kernel, const LoadedKernel& kernel) {
    if (name == nullptr) return NullPointer(site);
    *name = kernel.info->name.c_str();  // as long as it is loaded
    return DriverCode::kSuccess;
  });
}

CUresult GetParameter(const CallSite& site, CUfunction function, size_t index, size_t* offset,
                      size_t* size) {
  return EnterWithKernel(site, function, [&](Machine&, Kernel, const LoadedKernel& kernel) {
    if (offset == nullptr) return NullPointer(site);
    if (index >= kernel.info->parameters.size()) return DriverCode::kInvalidValue;
    *offset = kernel.info->parameters[index].offset;
    if (size != nullptr) *size = kernel.info->parameters[index].size;
    return DriverCode::kSuccess;
  });
}

CUresult CountBlocks(const CallSite& site, int* blocks, CUfunction function, int threads,
                     size_t dynamic) {
  return EnterWithKernel(site, function, [&](Machine& machine, Kernel, const LoadedKernel& kernel) {
    if (blocks == nullptr) return NullPointer(site);
    if (threads <= 0) return DriverCode::kInvalidValue;
    *blocks = BlocksThatFit(machine, kernel, threads, dynamic);
    return DriverCode::kSuccess;
  });
}

using SharedForThreads = size_t (*)(int threads);

CUresult ChooseBlock(const CallSite& site, int* grid, int* block, CUfunction function,
                     SharedForThreads shared_for, size_t dynamic, int limit) {
  return EnterWithKernel(site, function, [&](Machine& machine, Kernel, const LoadedKernel& kernel) {
    if (grid == nullptr || block == nullptr) return NullPointer(site);
    if (limit < 0) return DriverCode::kInvalidValue;
    const DeviceOrdinal device = kernel.module.device();
    const int warp = std::max(AttributeOf(machine, device, kWarpSize), 1);
    const int most = static_cast<int>(kernel.info->max_threads);
    int threads = limit == 0 ? most : std::min(limit, most);
    int best = 0;
    *grid = *block = 0;
    for (; threads > 0; threads = (threads - 1) / warp * warp) {
      const size_t shared = shared_for != nullptr ? shared_for(threads) : dynamic;
      const int blocks = BlocksThatFit(machine, kernel, threads, shared);
      if (blocks * threads <= best) continue;
      best = blocks * threads;
      *block = threads;
      *grid = blocks * AttributeOf(machine, device, kMultiprocessors);
    }
    return best != 0 ? DriverCode::kSuccess : DriverCode::kInvalidValue;
  });
}

}  // namespace

int BlocksThatFit(Machine& machine, const LoadedKernel& kernel, int threads, size_t dynamic) {
  const DeviceOrdinal device = kernel.module.device();
  const auto has = [&](int attribute) { return AttributeOf(machine, device, attribute); };
  const int warp = std::max(has(kWarpSize), 1);
  const int rounded = (threads + warp - 1) / warp * warp;
  if (rounded <= 0 || rounded > has(kThreadsPerBlock)) return 0;
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

uint64_t BlocksOnDevice(Machine& machine, const LoadedKernel& kernel, int threads, size_t dynamic) {
  const int multiprocessors = AttributeOf(machine, kernel.module.device(), kMultiprocessors);
  return static_cast<uint64_t>(BlocksThatFit(machine, kernel, threads, dynamic)) *
         static_cast<uint64_t>(multiprocessors);
}

// --- Attributes ----------------------------------------------------------------------------------

extern "C" CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction function) {
  const CallSite site = TWINMMU_HERE(cuFuncGetAttribute);
  return EnterWithKernel(site, function, [&](Machine& machine, Kernel, const LoadedKernel& kernel) {
    if (value == nullptr) return NullPointer(site);
    return Ask(machine, kernel, attribute, value) ? DriverCode::kSuccess
                                                  : DriverCode::kInvalidValue;
  });
}

extern "C" CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  const CallSite site = TWINMMU_HERE(cuFuncSetAttribute);
  return EnterWithKernel(site, function, [&](Machine& machine, Kernel kernel, const LoadedKernel&) {
    if (!CanBeSet(attribute, value)) return ToResult(DriverCode::kInvalidValue);
    if (attribute != kMaxDynamicSharedSizeBytes) return CUDA_SUCCESS;
    return ToResult(
        machine.simulator->kernels().AllowDynamicShared(kernel, static_cast<uint32_t>(value)));
  });
}

// A cache of a size that could be chosen is not simulated.
extern "C" CUresult cuFuncSetCacheConfig(CUfunction function, int /*config*/) {
  return EnterWithKernel(
      TWINMMU_HERE(cuFuncSetCacheConfig), function,
      [&](Machine&, Kernel, const LoadedKernel&) { return DriverCode::kSuccess; });
}

extern "C" CUresult cuKernelGetAttribute(int* value, int attribute, CUkernel kernel, CUdevice dev) {
  const CallSite site = TWINMMU_HERE(cuKernelGetAttribute);
  return Enter(site, [&](Machine& machine) {
    if (value == nullptr) return ToResult(NullPointer(site));
    if (dev < 0 || dev >= machine.simulator->profile().device_count()) {
      return ToResult(DriverCode::kInvalidDevice);
    }
    Context& context = machine.contexts.Primary(DeviceOrdinal(dev));
    const absl::StatusOr<Kernel> found =
        KernelOf(machine, context, ToPointer<CUfunction>(ToNumber(kernel)));
    if (!found.ok()) return ToResult(found.status());
    const auto known = machine.simulator->kernels().Find(site.name(), *found);
    if (!known.ok()) return ToResult(known.status());
    return Ask(machine, *known, attribute, value) ? CUDA_SUCCESS
                                                  : ToResult(DriverCode::kInvalidValue);
  });
}

extern "C" CUresult cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice dev) {
  return Enter(TWINMMU_HERE(cuKernelSetAttribute), [&](Machine& machine) {
    if (dev < 0 || dev >= machine.simulator->profile().device_count()) {
      return DriverCode::kInvalidDevice;
    }
    if (!CanBeSet(attribute, value)) return DriverCode::kInvalidValue;
    if (!machine.modules.kernels.Find(ToNumber(kernel)).has_value()) {
      return DriverCode::kInvalidHandle;
    }
    if (attribute != kMaxDynamicSharedSizeBytes) return DriverCode::kSuccess;
    if (value > AttributeOf(machine, DeviceOrdinal(dev), kSharedPerBlockOptin)) {
      return DriverCode::kInvalidValue;
    }
    machine.modules.kernels.Edit(ToNumber(kernel), [&](KernelRecord& record) {
      record.dynamic_shared = static_cast<uint32_t>(value);
    });
    return DriverCode::kSuccess;
  });
}

// --- Names and parameters ------------------------------------------------------------------------

extern "C" CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  const CallSite site = TWINMMU_HERE(cuFuncGetModule);
  return EnterWithKernel(site, function, [&](Machine&, Kernel, const LoadedKernel& kernel) {
    if (module == nullptr) return NullPointer(site);
    *module = ToPointer<CUmodule>(kernel.module.value());
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuFuncGetName(const char** name, CUfunction function) {
  return GetName(TWINMMU_HERE(cuFuncGetName), name, function);
}

extern "C" CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return GetName(TWINMMU_HERE(cuKernelGetName), name, ToPointer<CUfunction>(ToNumber(kernel)));
}

extern "C" CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset,
                                       size_t* size) {
  return GetParameter(TWINMMU_HERE(cuFuncGetParamInfo), function, index, offset, size);
}

extern "C" CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset,
                                         size_t* size) {
  return GetParameter(TWINMMU_HERE(cuKernelGetParamInfo), ToPointer<CUfunction>(ToNumber(kernel)),
                      index, offset, size);
}

// --- Occupancy -----------------------------------------------------------------------------------

extern "C" CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function,
                                                                int threads, size_t dynamic) {
  return CountBlocks(TWINMMU_HERE(cuOccupancyMaxActiveBlocksPerMultiprocessor), blocks, function,
                     threads, dynamic);
}

extern "C" CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, CUfunction function, int threads, size_t dynamic, unsigned int /*flags*/) {
  return CountBlocks(TWINMMU_HERE(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags), blocks,
                     function, threads, dynamic);
}

extern "C" CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                                     SharedForThreads shared_for, size_t dynamic,
                                                     int limit) {
  return ChooseBlock(TWINMMU_HERE(cuOccupancyMaxPotentialBlockSize), grid, block, function,
                     shared_for, dynamic, limit);
}

extern "C" CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block,
                                                              CUfunction function,
                                                              SharedForThreads shared_for,
                                                              size_t dynamic, int limit,
                                                              unsigned int /*flags*/) {
  return ChooseBlock(TWINMMU_HERE(cuOccupancyMaxPotentialBlockSizeWithFlags), grid, block, function,
                     shared_for, dynamic, limit);
}

extern "C" CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* dynamic, CUfunction function,
                                                            int blocks, int threads) {
  const CallSite site = TWINMMU_HERE(cuOccupancyAvailableDynamicSMemPerBlock);
  return EnterWithKernel(site, function, [&](Machine& machine, Kernel, const LoadedKernel& kernel) {
    if (dynamic == nullptr) return NullPointer(site);
    if (blocks <= 0 || threads <= 0) return DriverCode::kInvalidValue;
    const DeviceOrdinal device = kernel.module.device();
    const int64_t room = AttributeOf(machine, device, kSharedPerMultiprocessor) / blocks -
                         AttributeOf(machine, device, kReservedSharedPerBlock);
    const int64_t most = AttributeOf(machine, device, kSharedPerBlockOptin);
    const int64_t fixed = static_cast<int64_t>(kernel.info->shared_bytes);
    *dynamic = static_cast<size_t>(std::max<int64_t>(std::min(room, most) - fixed, 0));
    return DriverCode::kSuccess;
  });
}

}  // namespace twinmmu::libcuda
