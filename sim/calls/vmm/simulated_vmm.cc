#include "sim/calls/vmm/simulated_vmm.h"

namespace twinmmu {

SimulatedVmm::SimulatedVmm(SimulatorState* state)
    : state_(*state), memory_guard_(mmu_.profile.HasVmm() ? "" : "virtual memory management") {}

// Answers in a child made by fork as well.
absl::StatusOr<int> SimulatedVmm::GetDriverVersion() { return mmu_.profile.driver_version; }

#define TWINMMU_GUARDED_MEMORY(type, id, result, method, ...) \
  TWINMMU_GUARDED_BY(memory_guard_, type, Do##method, result, method, __VA_ARGS__)
TWINMMU_VMM_DEVICE_CALLS(TWINMMU_GUARDED, SimulatedVmm)
TWINMMU_VMM_MEMORY_CALLS(TWINMMU_GUARDED_MEMORY, SimulatedVmm)
TWINMMU_VMM_POINTER_CALLS(TWINMMU_GUARDED, SimulatedVmm)
#undef TWINMMU_GUARDED_MEMORY

}  // namespace twinmmu
