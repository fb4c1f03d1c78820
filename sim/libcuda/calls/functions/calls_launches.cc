// Launches.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/launches.h"
#include "sim/libcuda/calls/of_thread.h"
#include "sim/libcuda/modules.h"
#include "sim/libcuda/sharing/shared_events.h"
#include "sim/ptx/program/program.h"

namespace twinmmu::libcuda {
namespace {

// The list that says where the arguments are, if there is no array of pointers to them.
constexpr uint64_t kEnd = 0;            // CU_LAUNCH_PARAM_END
constexpr uint64_t kBufferPointer = 1;  // CU_LAUNCH_PARAM_BUFFER_POINTER
constexpr uint64_t kBufferSize = 2;     // CU_LAUNCH_PARAM_BUFFER_SIZE

constexpr int kExternal = 1;  // CU_EVENT_RECORD_EXTERNAL

// Whether all blocks can be on the device at once.
bool FitsAtOnce(DriverState& driver, const LoadedKernel& kernel, const LaunchConfig& config,
                const LaunchForm& form, const Dim3& cluster) {
  const int threads = static_cast<int>(Product(BlockOf(kernel, config.block)));
  const size_t dynamic = config.dynamic_shared_bytes;
  const uint64_t each = Product(cluster);
  const uint64_t most = each != 1 || HasClusters(kernel, form)
                            ? ClustersOnDevice(driver, kernel, each, threads, dynamic)
                            : BlocksOnDevice(driver, kernel, threads, dynamic);
  return Product(config.grid) / each <= most;
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
  const bool has_clusters = form.cluster.has_value() || form.preferred_cluster.has_value();
  if (!form.cooperative && !has_clusters && !form.of_graph && form.events.empty()) {
    return ToResult(driver.executor.Launch(stream, kernel, config, arguments));
  }
  if (form.cooperative) {
    const absl::StatusOr<Dim3> cluster =
        driver.simulator->kernels().CheckShape(loaded, config, form);
    if (!cluster.ok()) return ToResult(cluster.status());
    if (!FitsAtOnce(driver, loaded, config, form, *cluster)) {
      return ToResult(DriverCode::kCooperativeLaunchTooLarge);
    }
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
  return EnterOnStream(site, stream, [&](DriverState& driver, Context& context) {
    return LaunchIn(site, driver, context, function, config, stream, form, parameters, extra);
  });
}

}  // namespace

bool IsLaunchValue(CUlaunchAttributeID id, const CUlaunchAttributeValue& value) {
  constexpr int kDomains = 4;
  const auto is_up_to = [](int most, int number) { return number >= 0 && number <= most; };
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return is_up_to(2, value.clusterSchedulingPolicyPreference);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      return value.memSyncDomainMap.default_ < kDomains && value.memSyncDomainMap.remote < kDomains;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:  // a number in the same place
      return is_up_to(1, value.memSyncDomain);
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return is_up_to(100, static_cast<int>(value.sharedMemCarveout));
    default:
      return true;
  }
}

namespace {

// None: all of them are 0.
std::optional<Dim3> ClusterIn(const CUlaunchAttributeValue& value) {
  const Dim3 cluster{value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
  const bool is_said = cluster.x != 0 || cluster.y != 0 || cluster.z != 0;
  return is_said ? std::optional<Dim3>(cluster) : std::nullopt;
}

bool HasBlocks(const Dim3& cluster) { return cluster.x != 0 && cluster.y != 0 && cluster.z != 0; }

bool IsCaptured(DriverState& driver, const Context& context, CUstream stream) {
  return RefuseCaptured(driver, context, stream, /*invalidates=*/false).has_value();
}

// An event that the launch is to record. Codes, and their order: as an H200 with driver 580.159 has
// them. (It crashes on an event that was destroyed.)
DriverCode ReadEvent(const CallSite& site, DriverState& driver, Context& context, CUstream stream,
                     CUevent event, int flags, LaunchEvent::Kind kind, LaunchForm* form) {
  const std::optional<EventRecord> record = FindEvent(site, driver, event);
  if (!record.has_value()) return DriverCode::kInvalidHandle;
  if ((flags & ~kExternal) != 0) return DriverCode::kInvalidValue;
  if (flags != 0) {
    return IsCaptured(driver, context, stream) ? DriverCode::kNotSupported
                                               : DriverCode::kIllegalState;
  }
  if (record->context != &OwnerOf(driver, stream, context)) {
    return DriverCode::kInvalidHandle;
  }
  const bool is_timed = (record->flags & cuda_abi::CU_EVENT_DISABLE_TIMING) == 0;
  if (is_timed || record->shared != nullptr) return DriverCode::kNotSupported;
  // Of one attribute the last counts.
  std::vector<LaunchEvent>& events = form->events;
  const bool completes = kind == LaunchEvent::Kind::kCompletion;
  events.erase(std::remove_if(events.begin(), events.end(),
                              [&](const LaunchEvent& other) {
                                return (other.kind == LaunchEvent::Kind::kCompletion) == completes;
                              }),
               events.end());
  events.push_back({Event(record->context->device, ToNumber(event)), kind});
  return DriverCode::kSuccess;
}

}  // namespace

DriverCode ReadAttributes(const CallSite& site, DriverState& driver, Context& context,
                          const CUlaunchConfig& config, LaunchConfig* launch, LaunchForm* form) {
  if (config.numAttrs != 0 && config.attrs == nullptr) return DriverCode::kInvalidValue;
  const auto read_event = [&](CUevent event, int flags, LaunchEvent::Kind kind) {
    return ReadEvent(site, driver, context, config.hStream, event, flags, kind, form);
  };
  for (unsigned int i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttributeValue& value = config.attrs[i].value;
    DriverCode read = DriverCode::kSuccess;
    switch (config.attrs[i].id) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        form->cooperative |= value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        launch->programmatic_stream_serialization =
            value.programmaticStreamSerializationAllowed != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        form->cluster = ClusterIn(value);
        if (form->cluster.has_value() && !HasBlocks(*form->cluster)) return DriverCode::kSuccess;
        break;
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
        form->preferred_cluster = ClusterIn(value);
        break;
      case CU_LAUNCH_ATTRIBUTE_IGNORE:
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
        if (!IsLaunchValue(config.attrs[i].id, value)) return DriverCode::kInvalidValue;
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        read = read_event(value.programmaticEvent.event, value.programmaticEvent.flags,
                          value.programmaticEvent.triggerAtBlockStart != 0
                              ? LaunchEvent::Kind::kProgrammaticAtStart
                              : LaunchEvent::Kind::kProgrammatic);
        break;
      case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        read = read_event(value.launchCompletionEvent.event, value.launchCompletionEvent.flags,
                          LaunchEvent::Kind::kCompletion);
        break;
      case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        // Of nodes alone, and an H200 makes such a node; here nothing updates nodes from a device.
        if (!IsCaptured(driver, context, config.hStream)) return DriverCode::kNotSupported;
        if (value.deviceUpdatableKernelNode.deviceUpdatable == 0) break;
        return NotSimulated(site, "nodes that devices update");
      default:
        return DriverCode::kInvalidValue;
    }
    if (read != DriverCode::kSuccess) return read;
  }
  return DriverCode::kSuccess;
}

CUresult LaunchIn(const CallSite& site, DriverState& driver, Context& context, CUfunction function,
                  const LaunchConfig& config, CUstream stream, const LaunchForm& form,
                  void** parameters, void** extra) {
  Context& owner = OwnerOf(driver, stream, context);
  if (IsOfOther(driver, owner, function)) return ToResult(DriverCode::kInvalidHandle);
  if (driver.captures.MayMatter()) {
    CapturedLaunch launch{ParamsOf(function, config, parameters, extra), form,
                          config.programmatic_stream_serialization};
    const Captured captured = CaptureLaunch(site, driver, context, launch, stream);
    if (captured.has_value()) return *captured;
  }
  const absl::StatusOr<Kernel> kernel = KernelOf(driver, owner, function);
  if (!kernel.ok()) return ToResult(kernel.status());
  const absl::StatusOr<LoadedKernel> found = driver.simulator->kernels().Find(site.name(), *kernel);
  if (!found.ok()) return ToResult(found.status());
  std::vector<char> whole;
  std::vector<const void*> arguments;
  const DriverCode there = FindArguments(*found->info, parameters, extra, &whole, &arguments);
  if (there == DriverCode::kLaunchOutOfResources) {
    // An H200 looks at the shape before it sees that a buffer is too long.
    const absl::StatusOr<Dim3> possible =
        driver.simulator->kernels().CheckShape(*found, config, form);
    if (!possible.ok()) return ToResult(possible.status());
  }
  if (there != DriverCode::kSuccess) return ToResult(there);
  const CUresult launched =
      LaunchOn(driver, WorkOf(driver, context, stream), *kernel, *found, config, form, arguments);
  if (launched != CUDA_SUCCESS) return launched;
  if (found->info->uses_heap) owner.uses_heap = true;
  for (const LaunchEvent& recorded : form.events) {
    ForgetCaptured(driver, ToPointer<CUevent>(recorded.event.value()));
    NoteRecorded(driver, recorded.event);
  }
  return CUDA_SUCCESS;
}

bool IsOfOther(DriverState& driver, const Context& context, CUfunction function) {
  const std::optional<FunctionRecord> record = driver.modules.functions.Find(ToNumber(function));
  if (!record.has_value()) return false;
  const std::optional<ModuleRecord> module = driver.modules.modules.Find(record->module);
  return module.has_value() ? module->context != &context
                            : record->context->device != context.device;
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
  return driver.simulator->kernels().GetKernel(*module, record->name);
}

extern "C" CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                   unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                                   void** parameters, void** extra) {
  const LaunchConfig config{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
  return Launch(TWINMMU_HERE, function, config, stream, LaunchForm(), parameters, extra);
}
TWINMMU_OF_THREAD(cuLaunchKernel_ptsz, cuLaunchKernel,
                  (CUfunction function, unsigned int grid_x, unsigned int grid_y,
                   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                   unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                   void** parameters, void** extra),
                  function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                  OfThread(stream), parameters, extra)

extern "C" CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x,
                                              unsigned int grid_y, unsigned int grid_z,
                                              unsigned int block_x, unsigned int block_y,
                                              unsigned int block_z, unsigned int shared_bytes,
                                              CUstream stream, void** parameters) {
  const LaunchConfig config{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
  return Launch(TWINMMU_HERE, function, config, stream, LaunchForm{true, {}}, parameters, nullptr);
}
TWINMMU_OF_THREAD(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel,
                  (CUfunction function, unsigned int grid_x, unsigned int grid_y,
                   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                   unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                   void** parameters),
                  function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                  OfThread(stream), parameters)

extern "C" CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                                     void** parameters, void** extra) {
  const CallSite site = TWINMMU_HERE;
  if (config == nullptr) {
    return Enter(site, [&](DriverState&) { return NullPointer(site); });
  }
  LaunchConfig launch{{config->gridDimX, config->gridDimY, config->gridDimZ},
                      {config->blockDimX, config->blockDimY, config->blockDimZ},
                      config->sharedMemBytes};
  return EnterOnStream(site, config->hStream, [&](DriverState& driver, Context& context) {
    LaunchForm form;
    const DriverCode read = ReadAttributes(site, driver, context, *config, &launch, &form);
    if (read != DriverCode::kSuccess) return ToResult(read);
    return LaunchIn(site, driver, context, function, launch, config->hStream, form, parameters,
                    extra);
  });
}

extern "C" CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function,
                                          void** parameters, void** extra) {
  const PassedOn passed_on(__builtin_return_address(0));
  if (config == nullptr) return cuLaunchKernelEx(config, function, parameters, extra);
  CUlaunchConfig of_thread = *config;
  of_thread.hStream = OfThread(config->hStream);
  return cuLaunchKernelEx(&of_thread, function, parameters, extra);
}

}  // namespace twinmmu::libcuda
