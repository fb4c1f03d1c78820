// SimulatedModules: modules, kernels and launches.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_MODULES_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_MODULES_H_

#include <cstdint>
#include <mutex>

#include "api/call_macros.h"
#include "api/executor.h"
#include "sim/base/call_guard.h"
#include "sim/base/handle_table.h"
#include "sim/calls/executor/loaded_module.h"

namespace twinmmu {

struct SimulatorState;
struct Mmu;
class SimulatedStreams;

class SimulatedModules {
 public:
  // Both must outlive this object.
  SimulatedModules(SimulatorState* state, SimulatedStreams* streams);

  TWINMMU_EXECUTOR_MODULE_CALLS(TWINMMU_BODY, )

  // What is known of a module and of a kernel. InvalidArgument (INVALID_HANDLE), for `call`: there
  // is none.
  absl::StatusOr<LoadedModule> FindModule(const char* call, Module module) const;
  absl::StatusOr<LoadedKernel> FindKernel(const char* call, Kernel kernel) const;
  // From now on a launch of the kernel may ask for `bytes` of dynamic shared memory.
  // InvalidArgument (INVALID_VALUE): no block of this device can have that.
  absl::Status AllowDynamicShared(Kernel kernel, uint32_t bytes);

 private:
  // The program and its target. INVALID_IMAGE, INVALID_PTX, UNSUPPORTED_PTX_VERSION; NOT_SUPPORTED:
  // it is PTX, and something in it is not covered here.
  absl::StatusOr<LoadedModule> Compile(DeviceOrdinal device, absl::string_view text) const;
  // Memory for the variables of the program, with what they hold at first.
  absl::StatusOr<AddressRange> PlaceImage(DeviceOrdinal device, const ptx::Program& program);
  void FreeImage(const AddressRange& image);

  SimulatorState& state_;
  Mmu& mmu_;
  SimulatedStreams& streams_;
  mutable std::mutex mutex_;  // guards what follows; a leaf
  HandleTable<LoadedModule> modules_;
  HandleTable<LoadedKernel> kernels_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_MODULES_H_
