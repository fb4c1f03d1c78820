// KernelCalls: the driver's calls for modules and kernels that Executor does not have.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_KERNEL_CALLS_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_KERNEL_CALLS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/diagnostics.h"
#include "api/executor.h"
#include "sim/base/call_guard.h"
#include "sim/calls/executor/loaded_module.h"
#include "sim/ptx/run/device/graph_conditions.h"
#include "sim/ptx/text/module.h"

namespace twinmmu {

struct Mmu;
class SimulatedModules;

// Errors, state after an error, thread safety: as in api/vmm.h.
class KernelCalls {
 public:
  // Both must outlive this object.
  KernelCalls(const Mmu* mmu, SimulatedModules* modules) : mmu_(*mmu), modules_(*modules) {}

  // The PTX that Executor::LoadModule of `device` takes, out of an image: PTX, or a fat binary;
  // trusted as far as sim/ptx/text/fat_binary.h says. NO_BINARY_FOR_GPU: there is only machine
  // code, or nothing for this device. INVALID_IMAGE: it is no image, or damaged.
  absl::StatusOr<std::string> PtxAt(DeviceOrdinal device, const void* image) const;
  // The same, of the content of a file.
  absl::StatusOr<std::string> PtxIn(DeviceOrdinal device, absl::string_view image) const;

  // A module for a link, which may name what others define. Codes as of Executor::LoadModule.
  absl::StatusOr<ptx::Module> Parse(const char* call, DeviceOrdinal device,
                                    absl::string_view ptx) const;

  // LoadModule, UnloadModule and GetKernel of Executor, for libraries, which go on after a fault.
  // `other`: the same PTX is loaded already, and stays so until this call returns; the managed
  // variables are the same.
  absl::StatusOr<Module> Load(DeviceOrdinal device, absl::string_view ptx,
                              std::optional<Module> other = std::nullopt);
  absl::Status Unload(Module module);
  absl::StatusOr<Kernel> GetKernel(Module module, absl::string_view name);

  // What is known of them. INVALID_HANDLE, for `call`: there is none.
  absl::StatusOr<LoadedModule> Find(const char* call, Module module) const;
  absl::StatusOr<LoadedKernel> Find(const char* call, Kernel kernel) const;
  // Where a variable of a module lies. NotFound (NOT_FOUND): it has none of that name.
  absl::StatusOr<AddressRange> FindGlobal(const char* call, Module module,
                                          absl::string_view name) const;

  // InvalidArgument (INVALID_VALUE): no block of its device can have so much shared memory.
  absl::Status Set(Kernel kernel, KernelSetting setting, int value,
                   SettingOf of = SettingOf::kFunction);

  // Whether Executor::Launch would take a launch of this shape.
  absl::Status CheckLaunch(const LoadedKernel& kernel, const LaunchConfig& config);
  // The same in a form of its own, but for shared memory: the blocks of a cluster.
  absl::StatusOr<Dim3> CheckShape(const LoadedKernel& kernel, const LaunchConfig& config,
                                  const LaunchForm& form);

  // What malloc of kernels of the device takes from, until the first of them is launched; then it
  // stays as it is.
  absl::Status SetHeapSize(DeviceOrdinal device, Bytes size);
  // It has its first size again, and nothing in it.
  absl::Status ForgetHeap(DeviceOrdinal device);
  // What is left in it, by the place in code that asked for it. Of all devices if none is said.
  std::vector<Diagnostic> HeapLeaks(std::optional<DeviceOrdinal> device = std::nullopt) const;

  // The blocks of a cluster of a launch, which are more than any device has room for where the
  // kernel lets them be. Internal (INVALID_CLUSTER_SIZE), or InvalidArgument (INVALID_VALUE) for a
  // grid that no launch may have: it would be refused.
  absl::StatusOr<Dim3> ClusterOf(const LoadedKernel& kernel, const Dim3& grid,
                                 const LaunchForm& form) const;

  // What kernels of graphs decide.
  std::shared_ptr<ptx::GraphConditions> conditions() const;

  // Whether something has ended all contexts; the error that every call of one gives since.
  bool HaveFault() const;
  absl::Status FaultFor(const char* call) const;
  // A launch that ends them when its turn comes, with LAUNCH_FAILED. `words`: why.
  absl::Status LaunchFault(Stream stream, const std::string& words);

  // Executor::Launch in a form of its own. The blocks of a cooperative one must fit onto the device
  // at once.
  absl::Status Launch(Stream stream, Kernel kernel, const LaunchConfig& config,
                      absl::Span<const void* const> arguments, const LaunchForm& form);

 private:
  const Mmu& mmu_;
  SimulatedModules& modules_;
  const CallGuard guard_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_KERNEL_CALLS_H_
