// Launches.

#include <string>
#include <vector>

#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/launches.h"
#include "sim/libcuda/modules.h"
#include "sim/ptx/program/program.h"

namespace twinmmu::libcuda {
namespace {

// The list that says where the arguments are, if there is no array of pointers to them.
constexpr uint64_t kEnd = 0;            // CU_LAUNCH_PARAM_END
constexpr uint64_t kBufferPointer = 1;  // CU_LAUNCH_PARAM_BUFFER_POINTER
constexpr uint64_t kBufferSize = 2;     // CU_LAUNCH_PARAM_BUFFER_SIZE

// Whether all blocks can be on the device at once. Sizes that no launch may have are left to
// Executor::Launch.
bool FitsAtOnce(DriverState& driver, const LoadedKernel& kernel, const LaunchConfig& config) {
  const uint64_t threads = uint64_t{config.block.x} * config.block.y * config.block.z;
  const uint64_t blocks = uint64_t{config.grid.x} * config.grid.y * config.grid.z;
  if (threads == 0 || threads > kernel.info->max_threads) return true;
  return blocks <=
         BlocksOnDevice(driver, kernel, static_cast<int>(threads), config.dynamic_shared_bytes);
}

}  // namespace

DriverCode FindArguments(const ptx::KernelInfo& kernel, void** parameters, void** extra,
                         std::vector<char>* whole, std::vector<const void*>* arguments) {
  if (kernel.parameters.empty()) return DriverCode::kSuccess;
  if (parameters != nullptr) {
    arguments->assign(parameters, parameters + kernel.parameters.size());
    return extra == nullptr ? DriverCode::kSuccess : DriverCode::kInvalidValue;
  }
  if (extra == nullptr) return DriverCode::kInvalidValue;
  const char* buffer = nullptr;
  uint64_t size = 0;
  for (; ToNumber(*extra) != kEnd; extra += 2) {
    if (ToNumber(*extra) == kBufferPointer) {
      buffer = static_cast<const char*>(extra[1]);
    } else if (ToNumber(*extra) == kBufferSize && extra[1] != nullptr) {
      size = *static_cast<const size_t*>(extra[1]);
    } else {
      return DriverCode::kInvalidValue;
    }
  }
  if (buffer == nullptr) return DriverCode::kInvalidValue;
  if (size > kernel.parameter_bytes) return DriverCode::kLaunchOutOfResources;
  if (size < kernel.parameter_bytes) {
    whole->assign(buffer, buffer + size);
    whole->resize(kernel.parameter_bytes);
    buffer = whole->data();
  }
  for (const ptx::KernelInfo::Parameter& parameter : kernel.parameters) {
    arguments->push_back(buffer + parameter.offset);
  }
  return DriverCode::kSuccess;
}

CUresult LaunchOn(DriverState& driver, Stream stream, Kernel kernel, const LoadedKernel& loaded,
                  const LaunchConfig& config, const LaunchForm& form,
                  const std::vector<const void*>& arguments) {
  if (!form.cooperative && !form.cluster.has_value() && !form.of_graph) {
    return ToResult(driver.executor.Launch(stream, kernel, config, arguments));
  }
  if (form.cooperative && !FitsAtOnce(driver, loaded, config)) {
    return ToResult(DriverCode::kCooperativeLaunchTooLarge);
  }
  return ToResult(driver.simulator->kernels().Launch(stream, kernel, config, arguments, form));
}

namespace {

CUDA_KERNEL_NODE_PARAMS ParamsOf(CUfunction function, const LaunchConfig& config, void** parameters,
                                 void** extra) {
  return {function,       config.grid.x,  config.grid.y,  config.grid.z,
          config.block.x, config.block.y, config.block.z, config.dynamic_shared_bytes,
          parameters,     extra,          nullptr,        nullptr};
}

CUresult Launch(const CallSite& site, CUfunction function, const LaunchConfig& config,
                CUstream stream, const LaunchForm& form, void** parameters, void** extra) {
  return EnterInContext(site, [&](DriverState& driver, Context& context) {
    return LaunchIn(site, driver, context, function, config, stream, form, parameters, extra);
  });
}

// A kernel of a library runs in the context of its stream, whatever context is current.
Context& ContextOfStream(DriverState& driver, Context& current, CUstream stream) {
  const std::optional<StreamRecord> record = driver.streams.streams.Find(ToNumber(stream));
  return record.has_value() ? *record->context : current;
}

// Those that say how fast something is to be done mean nothing here.
DriverCode CheckAttributes(const CUlaunchAttribute* attributes, unsigned int count) {
  if (count != 0 && attributes == nullptr) return DriverCode::kInvalidValue;
  for (unsigned int i = 0; i < count; ++i) {
    switch (attributes[i].id) {
      case CU_LAUNCH_ATTRIBUTE_IGNORE:
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
        continue;
      default:
        return DriverCode::kNotSupported;
    }
  }
  return DriverCode::kSuccess;
}

}  // namespace

CUresult LaunchIn(const CallSite& site, DriverState& driver, Context& context, CUfunction function,
                  const LaunchConfig& config, CUstream stream, const LaunchForm& form,
                  void** parameters, void** extra) {
  if (driver.captures.MayMatter()) {
    CapturedLaunch launch{ParamsOf(function, config, parameters, extra), form,
                          config.programmatic_stream_serialization};
    const Captured captured = CaptureLaunch(site, driver, context, launch, stream);
    if (captured.has_value()) return *captured;
  }
  const absl::StatusOr<Kernel> kernel =
      KernelOf(driver, ContextOfStream(driver, context, stream), function);
  if (!kernel.ok()) return ToResult(kernel.status());
  const absl::StatusOr<LoadedKernel> found = driver.simulator->kernels().Find(site.name(), *kernel);
  if (!found.ok()) return ToResult(found.status());
  std::vector<char> whole;
  std::vector<const void*> arguments;
  const DriverCode there = FindArguments(*found->info, parameters, extra, &whole, &arguments);
  if (there != DriverCode::kSuccess) return ToResult(there);
  const CUresult launched =
      LaunchOn(driver, WorkOf(driver, context, stream), *kernel, *found, config, form, arguments);
  if (launched == CUDA_SUCCESS && found->info->uses_heap) {
    ContextOfStream(driver, context, stream).uses_heap = true;
  }
  return launched;
}

absl::StatusOr<Kernel> KernelOf(DriverState& driver, Context& context, CUfunction function) {
  const uint64_t id = ToNumber(function);
  const std::optional<KernelRecord> record = driver.modules.kernels.Find(id);
  if (!record.has_value()) {
    const std::optional<FunctionRecord> known = driver.modules.functions.Find(id);
    return Kernel(known.has_value() ? known->context->device : context.device, id);
  }
  const absl::StatusOr<Module> module = LoadOn(driver, context, record->library);
  if (!module.ok()) return module.status();
  const absl::StatusOr<Kernel> kernel = driver.executor.GetKernel(*module, record->name);
  if (kernel.ok() && record->dynamic_shared.has_value()) {
    const absl::Status allowed =
        driver.simulator->kernels().AllowDynamicShared(*kernel, *record->dynamic_shared);
    if (!allowed.ok()) return allowed;
  }
  return kernel;
}

extern "C" CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                   unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                                   void** parameters, void** extra) {
  const LaunchConfig config{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
  return Launch(TWINMMU_HERE, function, config, stream, LaunchForm(), parameters, extra);
}
TWINMMU_ALIAS(cuLaunchKernel_ptsz, cuLaunchKernel);

extern "C" CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x,
                                              unsigned int grid_y, unsigned int grid_z,
                                              unsigned int block_x, unsigned int block_y,
                                              unsigned int block_z, unsigned int shared_bytes,
                                              CUstream stream, void** parameters) {
  const LaunchConfig config{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
  return Launch(TWINMMU_HERE, function, config, stream, LaunchForm{true, {}}, parameters, nullptr);
}
TWINMMU_ALIAS(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel);

extern "C" CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                                     void** parameters, void** extra) {
  const CallSite site = TWINMMU_HERE;
  if (config == nullptr) {
    return EnterInContext(site, [&](DriverState&, Context&) { return NullPointer(site); });
  }
  const DriverCode attributes = CheckAttributes(config->attrs, config->numAttrs);
  if (attributes != DriverCode::kSuccess) {
    return EnterInContext(site, [&](DriverState&, Context&) { return attributes; });
  }
  LaunchConfig launch{{config->gridDimX, config->gridDimY, config->gridDimZ},
                      {config->blockDimX, config->blockDimY, config->blockDimZ},
                      config->sharedMemBytes};
  LaunchForm form;
  for (unsigned int i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttributeValue& value = config->attrs[i].value;
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
      form.cooperative |= value.cooperative != 0;
    } else if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
      launch.programmatic_stream_serialization = value.programmaticStreamSerializationAllowed != 0;
    } else if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      form.cluster = Dim3{value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
    }
  }
  return Launch(site, function, launch, config->hStream, form, parameters, extra);
}
TWINMMU_ALIAS(cuLaunchKernelEx_ptsz, cuLaunchKernelEx);

}  // namespace twinmmu::libcuda
