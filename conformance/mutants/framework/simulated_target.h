// Simulated machines for the suite to run on, right ones and wrong ones.

#ifndef TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_SIMULATED_TARGET_H_
#define TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_SIMULATED_TARGET_H_

#include <functional>
#include <memory>
#include <string>

#include "conformance/framework/target.h"
#include "conformance/mutants/framework/real.h"

namespace twinmmu::conformance {

using MakeReal = std::function<std::unique_ptr<Real>(Vmm* vmm, Executor* executor)>;

// The machine whose kernels its interpreter runs: the reference.
inline constexpr char kInterpreter[] = "interpreter";

// The simulator behind what `make` gives. `name`: a profile's, and HostKernels stand in for the
// interpreter; or kInterpreter. `quirk`: one that it has the other way round, while its traits say
// that it has not; or empty.
TargetFactory SimulatedTarget(const std::string& name, MakeReal make,
                              const std::string& quirk = "");

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_SIMULATED_TARGET_H_
