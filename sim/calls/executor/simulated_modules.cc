#include "sim/calls/executor/simulated_modules.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/cleanup/cleanup.h"
#include "api/record/event_writer.h"
#include "sim/base/errors.h"
#include "sim/calls/executor/kernel_run.h"
#include "sim/calls/executor/simulated_streams.h"
#include "sim/diagnostics/call_record.h"
#include "sim/profile/device_limits.h"
#include "sim/ptx/decode/link.h"
#include "sim/ptx/decode/make_program.h"
#include "sim/ptx/text/module.h"

namespace twinmmu {
namespace {

constexpr char kLoadCall[] = "cuModuleLoadData";
constexpr char kGetCall[] = "cuModuleGetFunction";
constexpr char kLaunchCall[] = "cuLaunchKernel";

// The version of PTX that came with a version of CUDA is greater than what the driver reads, if its
// own is older. Source: the release notes of PTX.
int NewestPtx(int driver_version) {
  const int minor = driver_version / 10 % 10;
  if (driver_version >= 13000) return 90 + minor;
  if (driver_version >= 12000) return 80 + (minor >= 8 ? 7 : minor >= 6 ? 5 : minor);
  return 70 + minor;
}

// Whether the text is meant to be PTX: the first word of it, behind comments, is its version.
bool BeginsAsPtx(absl::string_view text) {
  for (;;) {
    const size_t start = text.find_first_not_of(" \t\r\n\v\f");
    if (start == absl::string_view::npos) return false;
    text.remove_prefix(start);
    const bool line = text.substr(0, 2) == "//";
    if (!line && text.substr(0, 2) != "/*") return text.substr(0, 8) == ".version";
    const size_t end = line ? text.find('\n') : text.find("*/", 2);
    if (end == absl::string_view::npos) return false;
    text.remove_prefix(end + (line ? 1 : 2));
  }
}

// How much memory a byte of PTX takes, about: at most while it is loaded, and then. Of what
// compilers write it is a third of that.
constexpr uint64_t kLoadingCost = 64;
constexpr uint64_t kLoadedCost = 32;

// Of what Parse or MakeProgram does not take.
DriverCode CodeOf(const absl::Status& status) {
  if (absl::IsResourceExhausted(status)) return DriverCode::kOutOfMemory;
  if (absl::IsOutOfRange(status)) return DriverCode::kUnsupportedPtxVersion;
  if (absl::IsNotFound(status)) return DriverCode::kNotFound;
  return absl::IsUnimplemented(status) ? DriverCode::kNotSupported : DriverCode::kInvalidPtx;
}

// One that a message names.
struct Limit {
  DeviceLimit limit;
  const char* name;
};
constexpr DeviceLimit kThreads{1, 1024};
constexpr Limit kBlock[] = {{{2, 1024}, "block.x"}, {{3, 1024}, "block.y"}, {{4, 64}, "block.z"}};
constexpr Limit kGrid[] = {
    {{5, 2147483647}, "grid.x"}, {{6, 65535}, "grid.y"}, {{7, 65535}, "grid.z"}};
constexpr DeviceLimit kShared{8, 49152};
constexpr DeviceLimit kSharedOptin{97, 232448};

// The events of a launch, and what they are to stand for. One of its completion comes after what
// the stream had before, however the kernel is launched, and after nothing that the kernel does.
class EventsOfLaunch {
 public:
  EventsOfLaunch(SimulatedStreams* streams, SimulatedStreams::Queue queue,
                 const std::vector<LaunchEvent>& events)
      : streams_(*streams), queue_(std::move(queue)), events_(events), points_(events.size()) {
    Order(true);
  }

  // Once the kernel has its place in the order of the stream.
  void ComeAfter() { Order(false); }
  // Once it is submitted. Throws nothing.
  void Record(const StreamScheduler::Point& kernel) {
    for (size_t i = 0; i < events_.size(); ++i) {
      points_[i].work = IsOfBegin(events_[i]) ? kernel.WhenBegun() : kernel;
      streams_.Set(events_[i].event, std::move(points_[i]));
    }
  }

 private:
  static bool IsOfBegin(const LaunchEvent& event) {
    return event.kind == LaunchEvent::Kind::kCompletion;
  }
  void Order(bool of_begin) {
    for (size_t i = 0; i < events_.size(); ++i) {
      if (IsOfBegin(events_[i]) == of_begin) points_[i] = streams_.RecordOrder(queue_);
    }
  }

  SimulatedStreams& streams_;
  const SimulatedStreams::Queue queue_;
  const std::vector<LaunchEvent>& events_;
  std::vector<SimulatedStreams::Point> points_;  // by event
};

absl::Status CheckExtent(const Profile& profile, DeviceOrdinal device, const Dim3& extent,
                         const Limit (&limits)[3]) {
  const uint32_t asked[] = {extent.x, extent.y, extent.z};
  for (int i = 0; i < 3; ++i) {
    const uint64_t most = LimitOf(profile, device, limits[i].limit);
    if (asked[i] == 0 || asked[i] > most) {
      return InvalidValue(kLaunchCall, limits[i].name, " is ", asked[i], ", and not in 1 .. ",
                          most);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBlock(const Profile& profile, DeviceOrdinal device, const ptx::KernelInfo& kernel,
                        const Dim3& block) {
  const uint64_t threads = Product(block);
  const uint64_t most = LimitOf(profile, device, kThreads);
  if (threads > most) {
    return InvalidValue(kLaunchCall, "there are ", threads, " threads in a block, and at most ",
                        most, " on this device");
  }
  if (threads > kernel.max_threads) {
    return InvalidValue(kLaunchCall, "there are ", threads, " threads in a block, and at most ",
                        kernel.max_threads, " of kernel ", kernel.name);
  }
  const auto& required = kernel.required_threads;
  const bool any = required[0] == 0 && required[1] == 0 && required[2] == 0;
  const auto differs = [](uint32_t asked, uint32_t wanted) {
    return asked != (wanted == 0 ? 1 : wanted);
  };
  if (!any && (differs(block.x, required[0]) || differs(block.y, required[1]) ||
               differs(block.z, required[2]))) {
    return InvalidValue(kLaunchCall, "block (", block.x, ", ", block.y, ", ", block.z,
                        ") is not what kernel ", kernel.name, " requires: (", required[0], ", ",
                        required[1], ", ", required[2], ")");
  }
  return absl::OkStatus();
}

// What a driver for H100 and H200 gives.
constexpr auto kInvalidClusterSize = static_cast<DriverCode>(912);
constexpr auto kClusterLaunch = static_cast<DeviceAttribute>(120);
constexpr uint64_t kPortableCluster = 8;
constexpr uint64_t kLargestCluster = 16;

// Whether there are devices with room for it.
absl::Status CheckRoomFor(const Dim3& cluster, const LoadedKernel& kernel) {
  if (Product(cluster) <= kLargestCluster) return absl::OkStatus();
  return Fail(kInvalidClusterSize, kLaunchCall, "kernel ", kernel.info->name,
              ": the cluster has more than ", kLargestCluster, " blocks");
}

// A device that does not tell has them.
bool HasClusters(const Profile& profile, DeviceOrdinal device) {
  const auto& attributes = profile.devices[static_cast<size_t>(device.value())].attributes;
  const auto told = attributes.find(kClusterLaunch);
  return told == attributes.end() || told->second != 0;
}

bool IsOfCluster(KernelSetting setting) { return setting >= KernelSetting::kClusterWidth; }

// 0 where it may be any. Nodes of graphs know nothing of what is set, as on an H200.
Dim3 RequiredCluster(const LoadedKernel& kernel, const LaunchForm& form) {
  if (form.of_graph && kernel.info->cluster[0] == 0) return {0, 0, 0};
  const auto get = [&](KernelSetting setting) {
    return static_cast<uint32_t>(kernel.Get(setting));
  };
  return {get(KernelSetting::kClusterWidth), get(KernelSetting::kClusterHeight),
          get(KernelSetting::kClusterDepth)};
}

absl::Status CheckShared(const LoadedKernel& kernel, uint32_t dynamic) {
  const int most = kernel.Get(KernelSetting::kDynamicShared);
  if (dynamic <= static_cast<uint32_t>(most)) return absl::OkStatus();
  return InvalidValue(kLaunchCall, dynamic, " bytes of dynamic shared memory are more than the ",
                      most, " that kernel ", kernel.info->name, " may have");
}

absl::StatusOr<std::vector<char>> Pack(const ptx::KernelInfo& kernel,
                                       absl::Span<const void* const> arguments) {
  if (arguments.size() != kernel.parameters.size()) {
    return InvalidValue(kLaunchCall, "there are ", arguments.size(), " arguments, and kernel ",
                        kernel.name, " has ", kernel.parameters.size(), " parameters");
  }
  std::vector<char> packed(kernel.parameter_bytes);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == nullptr) {
      return InvalidValue(kLaunchCall, "the pointer to argument ", i, " is null");
    }
    const ptx::KernelInfo::Parameter& parameter = kernel.parameters[i];
    std::memcpy(packed.data() + parameter.offset, arguments[i], parameter.size);
  }
  return packed;
}

}  // namespace

bool HasClusters(const LoadedKernel& kernel, const LaunchForm& form) {
  return form.cluster.has_value() || kernel.info->cluster[0] != 0;
}

Dim3 BlockOf(const LoadedKernel& kernel, const Dim3& asked) {
  const auto& required = kernel.info->required_threads;
  if (required[0] == 0 || asked.x != 1 || asked.y != 1 || asked.z != 1) return asked;
  return {required[0], std::max(required[1], 1u), std::max(required[2], 1u)};
}

SimulatedModules::SimulatedModules(SimulatorState* state, SimulatedStreams* streams)
    : state_(*state), mmu_(state->mmu), streams_(*streams) {}

absl::StatusOr<ptx::Module> SimulatedModules::Parse(DeviceOrdinal device,
                                                    absl::string_view text) const {
  if (!BeginsAsPtx(text)) {
    return Fail(DriverCode::kInvalidImage, kLoadCall, "the text does not begin with .version");
  }
  absl::StatusOr<ptx::Module> parsed = ptx::ParseJoined(text);
  if (!parsed.ok()) {
    return Fail(CodeOf(parsed.status()), kLoadCall, parsed.status().message());
  }
  const int newest = NewestPtx(mmu_.profile.driver_version);
  if (parsed->version > newest) {
    return Fail(DriverCode::kUnsupportedPtxVersion, kLoadCall, "PTX ", parsed->version / 10, ".",
                parsed->version % 10, " is newer than what this driver reads, ", newest / 10, ".",
                newest % 10);
  }
  const std::optional<int> capability = ComputeCapabilityOf(mmu_.profile, device);
  if (!capability.has_value()) return parsed;
  if (parsed->target > *capability) {
    return Fail(DriverCode::kInvalidPtx, kLoadCall, "the PTX is for sm_", parsed->target, ", and ",
                ToString(device), " is sm_", *capability);
  }
  // An H200 takes sm_90a alone of these; of other devices it was not measured.
  if (parsed->of_one_target && parsed->target / 10 != *capability / 10) {
    return Fail(DriverCode::kInvalidPtx, kLoadCall, "the PTX is for sm_", parsed->target,
                "a or its family alone, and ", ToString(device), " is sm_", *capability);
  }
  return parsed;
}

absl::StatusOr<LoadedModule> SimulatedModules::Compile(DeviceOrdinal device,
                                                       absl::string_view text) const {
  const auto taken = std::make_shared<HostMemory::Share>(&mmu_.host_memory);
  const Bytes needed(kLoadingCost * text.size());
  if (needed > mmu_.host_memory.limit() - mmu_.host_memory.taken()) {
    return Fail(DriverCode::kOutOfMemory, kLoadCall, "the module needs about ", ToString(needed),
                " of the host's memory, and ", ToString(mmu_.host_memory.taken()), " of ",
                ToString(mmu_.host_memory.limit()),
                ", the host_memory_limit of the profile, are taken");
  }
  taken->Resize(needed.value());
  absl::StatusOr<ptx::Module> parsed = Parse(device, text);
  if (!parsed.ok()) return parsed.status();
  // As an H200 has it: what is declared and nowhere defined is there, and 0.
  for (ptx::Variable& variable : parsed->variables) {
    const bool has_size = variable.space == ptx::Space::kGlobal && variable.count != 0;
    variable.external = variable.external && !has_size;
  }
  const int target = parsed->target;
  absl::StatusOr<std::shared_ptr<const ptx::Program>> program =
      ptx::MakeProgram(*std::move(parsed), mmu_.profile.contraction == Contraction::kDriver);
  taken->Resize(kLoadedCost * text.size());
  if (program.ok()) return LoadedModule{device, *std::move(program), taken, target, {}, {}, {}};
  return Fail(CodeOf(program.status()), kLoadCall, program.status().message());
}

bool SimulatedModules::HasManaged(const ManagedVariables& managed) const {
  bool has = false;
  modules_.ForEach([&](uint64_t, const LoadedModule& module) { has |= module.managed == managed; });
  return has;
}

absl::StatusOr<Module> SimulatedModules::DoLoadModule(DeviceOrdinal device, absl::string_view ptx) {
  const absl::Status usable = state_.CheckContext(kLoadCall, device);
  if (!usable.ok()) return usable;
  return Load(device, ptx, nullptr);
}

absl::StatusOr<Module> SimulatedModules::Load(DeviceOrdinal device, absl::string_view ptx,
                                              const ManagedVariables& managed) {
  const absl::Status exists = state_.CheckDevice(kLoadCall, device);
  if (!exists.ok()) return exists;
  // The driver takes a string that ends at a NUL.
  absl::StatusOr<LoadedModule> compiled = Compile(device, ptx.substr(0, ptx.find('\0')));
  if (!compiled.ok()) return compiled.status();
  LoadedModule module = *std::move(compiled);
  module.managed = managed;
  absl::Cleanup undo = [&] {
    FreeImage(module.image);
    if (managed == nullptr) Free(module.managed);
  };
  const absl::Status placed = PlaceVariables(&module);
  if (!placed.ok()) return placed;
  const std::lock_guard lock(mutex_);
  modules_.Prepare();
  if (managed != nullptr && !HasManaged(managed)) {
    return Fail(DriverCode::kInvalidHandle, kLoadCall, "the module was unloaded");
  }
  std::move(undo).Cancel();
  return Module(device, modules_.Insert(std::move(module)));
}

absl::Status SimulatedModules::DoUnloadModule(Module module) {
  static constexpr char kCall[] = "cuModuleUnload";
  absl::Status usable = state_.CheckContext(kCall, module.device());
  if (usable.ok()) usable = CheckModule(kCall, module);
  if (!usable.ok()) return usable;
  state_.FinishDevice(module.device());
  usable = state_.sticky_error.Check(kCall);
  if (usable.ok()) Unload(module);
  return usable;
}

// Its kernels may still run, and then are waited for.
void SimulatedModules::Unload(Module module) {
  state_.FinishDevice(module.device());
  AddressRange image;
  ManagedVariables managed;
  std::shared_ptr<const ptx::Program> program;
  {
    const std::lock_guard lock(mutex_);
    LoadedModule* const state = modules_.Find(module.value());
    if (state == nullptr) return;  // unloaded meanwhile
    image = state->image;
    program = state->program;
    managed = state->managed;
    for (const auto& [name, kernel] : state->kernels) {
      kernels_.Erase(HandleTable<LoadedKernel>::IndexOf(kernel));
    }
    modules_.Erase(HandleTable<LoadedModule>::IndexOf(module.value()));
    if (HasManaged(managed)) managed = nullptr;
  }
  ptx::Forget(*idle_blocks_, program.get());
  FreeImage(image);
  Free(managed);
}

absl::StatusOr<Kernel> SimulatedModules::DoGetKernel(Module module, absl::string_view name) {
  const absl::Status usable = state_.CheckContext(kGetCall, module.device());
  if (!usable.ok()) return usable;
  return GetKernel(module, name);
}

absl::StatusOr<Kernel> SimulatedModules::GetKernel(Module module, absl::string_view name) {
  const absl::StatusOr<LoadedModule> known = FindModule(kGetCall, module);
  if (!known.ok()) return known.status();
  const ptx::KernelInfo* const info = known->program->FindKernel(name);
  if (info == nullptr) {
    return Fail(DriverCode::kNotFound, kGetCall, "the module has no kernel ", name);
  }
  LoadedKernel kernel{module,         known->program, info, known->image.base,
                      known->managed, known->target};
  const uint64_t usual = LimitOf(mmu_.profile, module.device(), kShared);
  kernel.of_library[static_cast<size_t>(KernelSetting::kDynamicShared)] =
      static_cast<int>(usual - std::min(usual, info->shared_bytes));
  constexpr auto kCluster = static_cast<size_t>(KernelSetting::kClusterWidth);
  for (size_t i = 0; info->cluster[0] != 0 && i < 3; ++i) {
    kernel.of_library[kCluster + i] = static_cast<int>(std::max(info->cluster[i], 1u));
  }
  const std::lock_guard lock(mutex_);
  LoadedModule* const state = modules_.Find(module.value());
  if (state == nullptr)
    return Fail(DriverCode::kInvalidHandle, kGetCall, "the module was unloaded");
  kernels_.Prepare();
  uint64_t& handle = state->kernels[std::string(name)];
  if (handle == 0) handle = kernels_.Insert(std::move(kernel));
  return Kernel(module.device(), handle);
}

absl::Status SimulatedModules::CheckCovered(DeviceOrdinal device, const ptx::KernelInfo& kernel) {
  if (kernel.refusal.empty()) return absl::OkStatus();
  CallRecord call(state_, Call::kLaunch, AddressRange());
  {
    const std::shared_lock lock(mmu_.mutex);
    const Misuse misuse{DiagnosticKind::kKernelNotCovered, std::nullopt, std::nullopt, device};
    call.Warn(misuse, "kernel ", kernel.name, ": PTX ", kernel.refusal);
  }
  return Fail(DriverCode::kNotSupported, kLaunchCall, "kernel ", kernel.name, ": PTX ",
              kernel.refusal);
}

absl::Status SimulatedModules::DoLaunch(Stream stream, Kernel kernel, const LaunchConfig& config,
                                        absl::Span<const void* const> arguments) {
  return Launch(stream, kernel, config, arguments, LaunchForm());
}

absl::Status SimulatedModules::CheckLaunch(const LoadedKernel& kernel, const LaunchConfig& config) {
  absl::Status valid = CheckBlocks(kernel, config.block);
  if (valid.ok()) valid = CheckExtent(mmu_.profile, kernel.module.device(), config.grid, kGrid);
  if (valid.ok()) valid = CheckShared(kernel, config.dynamic_shared_bytes);
  return valid;
}

absl::Status SimulatedModules::CheckBlocks(const LoadedKernel& kernel, const Dim3& block) {
  const DeviceOrdinal device = kernel.module.device();
  absl::Status valid = CheckCovered(device, *kernel.info);
  if (valid.ok()) valid = CheckExtent(mmu_.profile, device, block, kBlock);
  if (valid.ok()) valid = CheckBlock(mmu_.profile, device, *kernel.info, BlockOf(kernel, block));
  return valid;
}

absl::StatusOr<Dim3> SimulatedModules::CheckShape(const LoadedKernel& kernel,
                                                  const LaunchConfig& config,
                                                  const LaunchForm& form) {
  absl::Status valid = CheckBlocks(kernel, config.block);
  if (!valid.ok()) return valid;
  absl::StatusOr<Dim3> cluster = ClusterOf(kernel, config.grid, form);
  if (form.of_graph && cluster.ok()) valid = CheckRoomFor(*cluster, kernel);
  return valid.ok() ? cluster : valid;
}

absl::Status SimulatedModules::Launch(Stream stream, Kernel kernel, const LaunchConfig& config,
                                      absl::Span<const void* const> arguments,
                                      const LaunchForm& form) {
  SimulatedStreams::Queue queue;
  absl::Status valid = streams_.CheckStream(kLaunchCall, stream, &queue);
  if (!valid.ok()) return valid;
  const absl::StatusOr<LoadedKernel> known = FindKernel(kLaunchCall, kernel);
  if (!known.ok()) return known.status();
  if (kernel.device() != stream.device()) {
    return Fail(DriverCode::kInvalidHandle, kLaunchCall, "the kernel is of ",
                ToString(kernel.device()), ", the stream of ", ToString(stream.device()));
  }
  const DeviceOrdinal device = kernel.device();
  const absl::StatusOr<Dim3> cluster = CheckShape(*known, config, form);
  if (!cluster.ok()) return cluster.status();
  // Of a node it was looked at when the node was made, whatever was set since.
  if (!form.of_graph) valid = CheckShared(*known, config.dynamic_shared_bytes);
  if (valid.ok()) valid = CheckRoomFor(*cluster, *known);
  if (!valid.ok()) return valid;
  absl::StatusOr<std::vector<char>> packed = Pack(*known->info, arguments);
  if (!packed.ok()) return packed.status();
  ptx::Launch launch;
  launch.program = known->program;
  launch.kernel = known->info;
  launch.device = device;
  launch.config = config;
  launch.config.block = BlockOf(*known, config.block);
  launch.parameters = *std::move(packed);
  launch.image = known->image;
  launch.managed = known->managed;
  launch.textures = textures_;
  launch.launched = textures_->Now();
  if (form.of_graph) launch.conditions = conditions_;
  launch.cluster = *cluster;
  launch.explicit_cluster = HasClusters(*known, form);
  const uint64_t call_id = RecordCall(state_, kLaunchCall);
  launch.call_id = call_id;
  if (known->info->uses_heap) {
    absl::StatusOr<std::shared_ptr<ptx::DeviceHeap>> heap = HeapOf(device, call_id);
    if (!heap.ok()) return heap.status();
    launch.heap = *std::move(heap);
  }
  if (form.cooperative) {
    const absl::StatusOr<DeviceAddress> workspace = PlaceWorkspace(device, call_id);
    if (!workspace.ok()) return workspace.status();
    launch.workspace = *workspace;
  }
  // Until the run has it.
  absl::Cleanup undo = [this, workspace = launch.workspace] { FreeWorkspace(workspace); };
  using Kind = OperationOrder::Kind;
  const bool early = config.programmatic_stream_serialization;
  EventsOfLaunch events(&streams_, queue, form.events);
  const auto run = std::make_shared<KernelRun>(
      &state_, std::move(launch), call_id,
      state_.order.Submit(queue->order, early ? Kind::kEarlyKernel : Kind::kKernel),
      streams_.Order(queue, call_id), idle_blocks_);
  events.ComeAfter();
  std::move(undo).Cancel();
  if (ABSL_PREDICT_FALSE(state_.events != nullptr)) run->SetTold({stream, state_.events->Stack()});
  StreamScheduler::Work work;
  work.run = [run](Turn turn) { return run->Run(turn); };
  work.has_used = [run](uint32_t mapping) { return run->HasUsed(mapping); };
  work.lets_next_start = [run] { return run->LetsNextStart(); };
  if (early) work.run_early = [run](Turn turn) { return run->RunEarly(turn); };
  work.stream = stream;
  work.call_id = call_id;
  work.kernel = true;
  events.Record(state_.scheduler.Submit(queue->work, std::move(work)));
  return absl::OkStatus();
}

absl::Status SimulatedModules::LaunchFault(Stream stream, std::string words) {
  SimulatedStreams::Queue queue;
  const absl::Status valid = streams_.CheckStream(kLaunchCall, stream, &queue);
  if (!valid.ok()) return valid;
  StreamScheduler::Work work;
  work.stream = stream;
  work.call_id = RecordCall(state_, kLaunchCall);
  work.kernel = true;
  work.run = [&state = state_, device = stream.device(), call_id = work.call_id,
              words = std::move(words)](Turn) {
    if (state.sticky_error.HasFault()) return Progress::kDone;
    const std::shared_lock lock(state.mmu.mutex);
    try {
      const Misuse misuse{DiagnosticKind::kFaultOfKernel, std::nullopt, std::nullopt, device};
      RaiseFault(&state, device, DriverCode::kLaunchFailed, misuse, call_id, words);
    } catch (const std::bad_alloc&) {
      state.sticky_error.Raise(kLaunchCall, DriverCode::kLaunchFailed, "it faulted");
    }
    return Progress::kDone;
  };
  state_.scheduler.Submit(queue->work, std::move(work));
  return absl::OkStatus();
}

bool SimulatedModules::HaveFault() const { return state_.sticky_error.HasFault(); }

absl::Status SimulatedModules::FaultFor(const char* call) const {
  return state_.sticky_error.Check(call);
}

absl::Status SimulatedModules::Set(Kernel kernel, KernelSetting setting, int value, SettingOf of) {
  static constexpr char kCall[] = "cuFuncSetAttribute";
  const absl::StatusOr<LoadedKernel> known = FindKernel(kCall, kernel);
  if (!known.ok()) return known.status();
  const uint64_t most = LimitOf(mmu_.profile, kernel.device(), kSharedOptin);
  if (setting == KernelSetting::kDynamicShared &&
      known->info->shared_bytes + static_cast<uint64_t>(value) > most) {
    return InvalidValue(kCall, value, " bytes of dynamic shared memory, and ",
                        known->info->shared_bytes, " of static, are more than ", most);
  }
  const auto index = static_cast<size_t>(setting);
  if (IsOfCluster(setting) && known->info->cluster[0] != 0 && value != known->Get(setting)) {
    return InvalidValue(kCall, "kernel ", known->info->name, " requires a cluster of its own");
  }
  const std::lock_guard lock(mutex_);
  LoadedKernel* const state = kernels_.Find(kernel.value());
  if (state == nullptr) return absl::OkStatus();  // unloaded meanwhile
  if (of == SettingOf::kFunction) {
    state->of_function[index] = value;
  } else {
    state->of_library[index] = value;
  }
  return absl::OkStatus();
}

uint64_t SimulatedModules::MostBlocksOfCluster(const LoadedKernel& kernel) const {
  if (!HasClusters(mmu_.profile, kernel.module.device())) return 1;
  const bool large = kernel.Get(KernelSetting::kLargeClusters) != 0;
  const uint64_t most = large ? std::numeric_limits<uint64_t>::max() : kPortableCluster;
  const uint64_t own = kernel.info->max_cluster_blocks;
  return own != 0 ? std::min(own, most) : most;
}

absl::StatusOr<Dim3> SimulatedModules::ClusterOf(const LoadedKernel& kernel, const Dim3& grid,
                                                 const LaunchForm& form) const {
  const ptx::KernelInfo& info = *kernel.info;
  const Dim3 required = RequiredCluster(kernel, form);
  const bool has_required = required.x != 0 || required.y != 0 || required.z != 0;
  const auto fail = [&](const auto&... words) {
    return Fail(kInvalidClusterSize, kLaunchCall, "kernel ", info.name, ": ", words...);
  };
  Dim3 cluster = form.cluster.value_or(Dim3());
  if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0) return fail("a cluster without blocks");
  const absl::Status grid_fits = CheckExtent(mmu_.profile, kernel.module.device(), grid, kGrid);
  if (!grid_fits.ok()) return grid_fits;
  if (!form.cluster.has_value()) {
    if (info.explicit_cluster && !has_required) {
      return fail("it must be launched with the dimensions of a cluster");
    }
    if (has_required) cluster = required;
  }
  const auto differs = [](uint32_t has, uint32_t needs) { return needs != 0 && has != needs; };
  if (differs(cluster.x, required.x) || differs(cluster.y, required.y) ||
      differs(cluster.z, required.z)) {
    return fail("the cluster is not the one that it requires");
  }
  if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0) {
    return fail("only a part of the cluster that it requires is set");
  }
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
    return fail("the grid does not consist of whole clusters");
  }
  const uint64_t most = MostBlocksOfCluster(kernel);
  if (Product(cluster) > most) return fail("the cluster has more than ", most, " blocks");
  if (form.preferred_cluster.has_value()) {
    const Dim3& preferred = *form.preferred_cluster;
    const auto is_multiple = [](uint32_t of, uint32_t each) { return of != 0 && of % each == 0; };
    if (!form.cluster.has_value() || !is_multiple(preferred.x, cluster.x) ||
        !is_multiple(preferred.y, cluster.y) || !is_multiple(preferred.z, cluster.z)) {
      return fail("the preferred cluster does not consist of whole clusters");
    }
  }
  return cluster;
}

template <typename Visit>
absl::Status SimulatedModules::VisitModule(const char* call, Module module,
                                           const Visit& visit) const {
  const absl::Status exists = state_.CheckDevice(call, module.device());
  if (!exists.ok()) return exists;
  {
    const std::lock_guard lock(mutex_);
    const LoadedModule* const state = modules_.Find(module.value());
    if (state != nullptr && state->device == module.device()) {
      visit(*state);
      return absl::OkStatus();
    }
  }
  return RefuseUnknown(state_, call, DiagnosticKind::kUseOfUnknownModule, "module ", module.value(),
                       module.device());
}

absl::Status SimulatedModules::CheckModule(const char* call, Module module) const {
  return VisitModule(call, module, [](const LoadedModule&) {});
}

absl::StatusOr<LoadedModule> SimulatedModules::FindModule(const char* call, Module module) const {
  LoadedModule found;
  const absl::Status known =
      VisitModule(call, module, [&](const LoadedModule& state) { found = state; });
  if (!known.ok()) return known;
  return found;
}

absl::StatusOr<LoadedKernel> SimulatedModules::FindKernel(const char* call, Kernel kernel) const {
  const absl::Status exists = state_.CheckDevice(call, kernel.device());
  if (!exists.ok()) return exists;
  {
    const std::lock_guard lock(mutex_);
    const LoadedKernel* const state = kernels_.Find(kernel.value());
    if (state != nullptr && state->module.device() == kernel.device()) return *state;
  }
  return RefuseUnknown(state_, call, DiagnosticKind::kUseOfUnknownKernel, "kernel ", kernel.value(),
                       kernel.device());
}

}  // namespace twinmmu
