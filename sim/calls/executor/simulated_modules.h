// SimulatedModules: modules, kernels and launches.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_MODULES_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_MODULES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "api/call_macros.h"
#include "api/diagnostics.h"
#include "api/executor.h"
#include "sim/base/call_guard.h"
#include "sim/base/handle_table.h"
#include "sim/calls/executor/loaded_module.h"
#include "sim/memory/linear_allocation.h"
#include "sim/ptx/program/program.h"
#include "sim/ptx/run/device/device_heap.h"
#include "sim/ptx/run/device/graph_conditions.h"
#include "sim/ptx/run/grid.h"
#include "sim/ptx/text/module.h"
#include "sim/ptx/textures/texture_table.h"

namespace twinmmu {

struct SimulatorState;
struct Mmu;
class SimulatedStreams;

class SimulatedModules {
 public:
  // Both must outlive this object.
  SimulatedModules(SimulatorState* state, SimulatedStreams* streams);

  TWINMMU_EXECUTOR_MODULE_CALLS(TWINMMU_BODY, )

  // What is known of a module and of a kernel, after a fault, too. InvalidArgument
  // (INVALID_HANDLE), for `call`: there is none.
  absl::StatusOr<LoadedModule> FindModule(const char* call, Module module) const;
  absl::Status CheckModule(const char* call, Module module) const;  // the same, and needs no memory
  absl::StatusOr<LoadedKernel> FindKernel(const char* call, Kernel kernel) const;
  // LoadModule, UnloadModule and GetKernel, after a fault, too. `managed`: where its managed
  // variables lie already, if they do.
  absl::StatusOr<Module> Load(DeviceOrdinal device, absl::string_view ptx,
                              const ManagedVariables& managed);
  void Unload(Module module);
  absl::StatusOr<Kernel> GetKernel(Module module, absl::string_view name);
  // A module of PTX that may name what others define. Codes as of Compile.
  absl::StatusOr<ptx::Module> Parse(DeviceOrdinal device, absl::string_view text) const;
  // INVALID_VALUE: no block of this device can have so much shared memory.
  absl::Status Set(Kernel kernel, KernelSetting setting, int value, SettingOf of);
  // Whether a launch of this shape is possible.
  absl::Status CheckLaunch(const LoadedKernel& kernel, const LaunchConfig& config);
  // The blocks of a cluster of a launch, if its grid and its blocks are possible.
  absl::StatusOr<Dim3> CheckShape(const LoadedKernel& kernel, const LaunchConfig& config,
                                  const LaunchForm& form);
  // Of the heap of the device, until the first kernel that may use it is launched.
  void SetHeapSize(DeviceOrdinal device, Bytes size);
  void ForgetHeap(DeviceOrdinal device);
  // What kernels have taken by malloc and not given back, by place. `device`: of that one only.
  std::vector<Diagnostic> HeapLeaks(std::optional<DeviceOrdinal> device);
  // The blocks of a cluster of such a launch, which are more than any device has room for where the
  // kernel lets them be. INVALID_CLUSTER_SIZE: as Launch. INVALID_VALUE: it is no grid.
  absl::StatusOr<Dim3> ClusterOf(const LoadedKernel& kernel, const Dim3& grid,
                                 const LaunchForm& form) const;
  // How many blocks the kernel lets a cluster have, whether or not a device has room for them.
  uint64_t MostBlocksOfCluster(const LoadedKernel& kernel) const;
  // Whether something ended all contexts.
  bool HaveFault() const;
  absl::Status FaultFor(const char* call) const;
  // A launch that is a fault, LAUNCH_FAILED, when its turn comes. `words`: why.
  absl::Status LaunchFault(Stream stream, std::string words);
  // OUT_OF_MEMORY: there is none for a cooperative launch. INVALID_CLUSTER_SIZE: the grid does not
  // consist of such clusters, or the kernel or the device has no such ones.
  absl::Status Launch(Stream stream, Kernel kernel, const LaunchConfig& config,
                      absl::Span<const void* const> arguments, const LaunchForm& form);
  // The objects that kernels read textures and access surfaces by.
  ptx::TextureTable& textures() { return *textures_; }
  // What kernels of graphs decide.
  std::shared_ptr<ptx::GraphConditions> conditions() const { return conditions_; }

 private:
  // The program and its target. INVALID_IMAGE, INVALID_PTX, UNSUPPORTED_PTX_VERSION; NOT_SUPPORTED:
  // it is PTX, and a declaration in it is not covered here.
  absl::StatusOr<LoadedModule> Compile(DeviceOrdinal device, absl::string_view text) const;
  // Memory for the variables of the module, with what they hold at first.
  absl::Status PlaceVariables(LoadedModule* module);
  // Memory for managed variables, all zeros.
  absl::StatusOr<ManagedVariables> PlaceManaged(DeviceOrdinal device,
                                                const std::vector<uint64_t>& sizes);
  void Free(const ManagedVariables& managed);
  // `size` zeros; nothing if that is 0.
  absl::StatusOr<AddressRange> PlaceImage(DeviceOrdinal device, LinearKind kind, uint64_t size);
  void FreeImage(const AddressRange& image);
  ptx::Program::Image ImageAt(const AddressRange& range) const;
  // Whether a module has these. With mutex_ held.
  bool HasManaged(const ManagedVariables& managed) const;
  // For `call`, whose id is `made_by`; with mmu.mutex held alone.
  absl::StatusOr<AddressRange> Allocate(const char* call, uint64_t made_by, DeviceOrdinal device,
                                        LinearKind kind, Bytes size);
  // What the blocks of a cooperative launch synchronise by.
  absl::StatusOr<DeviceAddress> PlaceWorkspace(DeviceOrdinal device, uint64_t call_id);
  void FreeWorkspace(DeviceAddress workspace);
  // Where kernels of the device take memory by malloc; made for the first of them. Null: it has
  // none, and they get none.
  absl::StatusOr<std::shared_ptr<ptx::DeviceHeap>> HeapOf(DeviceOrdinal device, uint64_t call_id);
  // NOT_SUPPORTED: it has, or may call, an instruction that is not covered.
  absl::Status CheckCovered(DeviceOrdinal device, const ptx::KernelInfo& kernel);
  absl::Status CheckBlocks(const LoadedKernel& kernel, const Dim3& block);
  template <typename Visit>
  absl::Status VisitModule(const char* call, Module module, const Visit& visit) const;

  SimulatorState& state_;
  Mmu& mmu_;
  SimulatedStreams& streams_;
  mutable std::mutex mutex_;  // guards what follows; a leaf
  HandleTable<LoadedModule> modules_;
  HandleTable<LoadedKernel> kernels_;
  const std::shared_ptr<ptx::TextureTable> textures_ = std::make_shared<ptx::TextureTable>();
  const std::shared_ptr<ptx::GraphConditions> conditions_ =
      std::make_shared<ptx::GraphConditions>();
  const std::shared_ptr<ptx::IdleBlocks> idle_blocks_ = ptx::MakeIdleBlocks();
  std::mutex heap_mutex_;                                  // guards these; before mmu.mutex
  std::map<int, std::shared_ptr<ptx::DeviceHeap>> heaps_;  // by device
  std::map<int, Bytes> heap_sizes_;                        // that were set
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_MODULES_H_
