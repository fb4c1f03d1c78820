// The machines that the flags of a command name.

#ifndef TWINMMU_TOOLS_COMMANDS_MACHINES_H_
#define TWINMMU_TOOLS_COMMANDS_MACHINES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backend/cuda_driver.h"
#include "conformance/framework/target.h"
#include "sim/profile/profile.h"
#include "tools/command_line/options.h"

namespace twinmmu {

// Those of --backend; `by_default` if there are none. InvalidArgument: one is not in `known`.
absl::StatusOr<std::vector<std::string>> Backends(const MachineOptions& options,
                                                  const std::string& by_default,
                                                  const std::vector<std::string>& known);

CudaDriverOptions CudaOptions(const MachineOptions& options);

// The simulated machine. An error names the flag and its value, and what is nearest.
absl::StatusOr<Profile> ChosenProfile(const MachineOptions& options);

// The same machine for the simulated driver; a flag that is not given leaves the environment as it
// is.
std::vector<std::pair<std::string, std::string>> ProfileVariables(const MachineOptions& options);

// OutOfRange in words: --sim-devices is not a number that a machine can have.
absl::Status CheckDevices(const MachineOptions& options);

// "sim", "cuda" or "cuda_on_sim", on devices that others use too if the flags say so.
absl::StatusOr<conformance::TargetFactory> TargetNamed(const std::string& backend,
                                                       const MachineOptions& options,
                                                       bool allow_multicast = false);

std::vector<std::string> ProfileNames();

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMANDS_MACHINES_H_
