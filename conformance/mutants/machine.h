// Simulated machines for the suite to run on, right ones and wrong ones.

#ifndef TWINMMU_CONFORMANCE_MUTANTS_MACHINE_H_
#define TWINMMU_CONFORMANCE_MUTANTS_MACHINE_H_

#include <functional>
#include <memory>
#include <string>

#include "conformance/mutants/real.h"
#include "conformance/target.h"

namespace twinmmu::conformance {

using MakeReal = std::function<std::unique_ptr<Real>(Vmm* vmm, Executor* executor)>;

// The simulator with the profile of this name, and kernels, behind what `make` gives.
TargetFactory Machine(const std::string& profile, MakeReal make);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_MUTANTS_MACHINE_H_
