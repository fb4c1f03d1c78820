#include "tools/commands/machines.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "conformance/instances/cuda_on_sim_target.h"
#include "conformance/instances/cuda_target.h"
#include "conformance/instances/sim_target.h"
#include "sim/profile/profile_json.h"
#include "tools/command_line/nearest_name.h"
#include "tools/run/driver_library.h"

namespace twinmmu {
namespace {

absl::Status Wrong(absl::string_view flag, const std::string& value, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(flag, "=", value, ": ", status.message(), "."));
}

// The same on devices that others use too.
conformance::TargetFactory Shared(conformance::TargetFactory factory) {
  factory.open = [open = factory.open]() -> absl::StatusOr<conformance::Target> {
    absl::StatusOr<conformance::Target> target = open();
    if (target.ok()) target->traits.sole_user = false;
    return target;
  };
  return factory;
}

// The simulated driver takes its machine from the environment.
absl::StatusOr<conformance::TargetFactory> CudaOnSim(const MachineOptions& options) {
  const absl::StatusOr<Profile> profile = ChosenProfile(options);
  if (!profile.ok()) return profile.status();
  for (const auto& [variable, value] : ProfileVariables(options)) {
    setenv(variable.c_str(), value.c_str(), 1);
  }
  const absl::StatusOr<std::string> library = LoadableDriverLibrary();
  if (!library.ok()) return library.status();
  return conformance::CudaOnSimTarget(*library, *profile);
}

absl::StatusOr<conformance::TargetFactory> Make(const std::string& backend,
                                                const MachineOptions& options,
                                                bool allow_multicast) {
  if (backend == "cuda") {
    CudaDriverOptions cuda = CudaOptions(options);
    cuda.allow_multicast_on_hardware = allow_multicast;
    return conformance::CudaTarget(cuda);
  }
  if (backend == "cuda_on_sim") return CudaOnSim(options);
  const absl::StatusOr<Profile> profile = ChosenProfile(options);
  if (!profile.ok()) return profile.status();
  return conformance::SimTarget(backend, *profile);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> Backends(const MachineOptions& options,
                                                  const std::string& by_default,
                                                  const std::vector<std::string>& known) {
  if (options.backends.empty()) return std::vector<std::string>{by_default};
  for (const std::string& name : options.backends) {
    if (std::count(known.begin(), known.end(), name) != 0) continue;
    const std::string near = DidYouMean(name, known);
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no backend \"", name, "\"",
        near.empty() ? absl::StrCat("; there are ", absl::StrJoin(known, ", "), ".") : near));
  }
  return options.backends;
}

CudaDriverOptions CudaOptions(const MachineOptions& options) {
  CudaDriverOptions cuda;
  cuda.library = options.driver;
  return cuda;
}

absl::StatusOr<Profile> ChosenProfile(const MachineOptions& options) {
  const std::string name = options.profile.empty() ? "reference" : options.profile;
  absl::StatusOr<Profile> profile = LoadProfile(name);
  if (!profile.ok()) {
    const std::string near = DidYouMean(name, ProfileNames());
    return absl::Status(profile.status().code(), absl::StrCat(profile.status().message(), near));
  }
  if (options.sim_devices >= 0) profile->SetDeviceCount(options.sim_devices);
  absl::Status known = absl::OkStatus();
  if (!options.stream_policy.empty()) known = profile->SetStreamPolicy(options.stream_policy);
  if (!known.ok()) return Wrong("--stream-policy", options.stream_policy, known);
  if (!options.alias_policy.empty()) known = profile->SetAliasPolicy(options.alias_policy);
  if (!known.ok()) return Wrong("--alias-policy", options.alias_policy, known);
  if (options.race_check) profile->race_check = true;
  if (options.init_check) profile->init_check = true;
  if (options.strict_multicast) profile->alias_multicast = coherence::MulticastMode::kStrict;
  return profile;
}

std::vector<std::pair<std::string, std::string>> ProfileVariables(const MachineOptions& options) {
  std::vector<std::pair<std::string, std::string>> variables;
  const auto set = [&](const char* variable, const std::string& value) {
    if (!value.empty()) variables.emplace_back(variable, value);
  };
  set("TWINMMU_PROFILE", options.profile);
  set("TWINMMU_DEVICES", options.sim_devices < 0 ? "" : absl::StrCat(options.sim_devices));
  set("TWINMMU_STREAM_POLICY", options.stream_policy);
  set("TWINMMU_ALIAS_POLICY", options.alias_policy);
  set("TWINMMU_RACE_CHECK", options.race_check ? "1" : "");
  set("TWINMMU_INIT_CHECK", options.init_check ? "1" : "");
  return variables;
}

absl::Status CheckDevices(const MachineOptions& options) {
  if (options.sim_devices >= -1 && options.sim_devices <= Profile::kMaxDevices) {
    return absl::OkStatus();
  }
  return absl::OutOfRangeError(absl::StrCat("--sim-devices=", options.sim_devices,
                                            ": a simulated machine has from 0 to ",
                                            Profile::kMaxDevices, " devices."));
}

absl::StatusOr<conformance::TargetFactory> TargetNamed(const std::string& backend,
                                                       const MachineOptions& options,
                                                       bool allow_multicast) {
  absl::StatusOr<conformance::TargetFactory> target = Make(backend, options, allow_multicast);
  if (!target.ok() || !options.shared_devices) return target;
  return Shared(*std::move(target));
}

std::vector<std::string> ProfileNames() {
  std::vector<std::string> names;
  for (const NamedProfile& profile : NamedProfiles()) names.emplace_back(profile.name);
  return names;
}

}  // namespace twinmmu
