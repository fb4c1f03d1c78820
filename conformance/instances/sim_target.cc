#include "conformance/instances/sim_target.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "sim/host/owned_folder.h"
#include "sim/simulator.h"

namespace twinmmu::conformance {
namespace {

std::set<Deviation> DeviationsOf(const Profile& profile) {
  std::set<Deviation> shown;
#define TWINMMU_QUIRK(name) profile.quirks.name
#define TWINMMU_WITH(condition) (condition)
#define TWINMMU_DEVIATION(id, rule, quirk, sentence) \
  if (quirk) shown.insert(Deviation::id);
#include "api/deviations.inc"
#undef TWINMMU_DEVIATION
#undef TWINMMU_WITH
#undef TWINMMU_QUIRK
  return shown;
}

// A directory for fabric handles that lead from process to process: the first process of a run
// makes it, and takes it away; those that tests start get its name. Empty: the host gives none.
std::string FabricDomainOfRun() {
  constexpr char kVariable[] = "TWINMMU_FABRIC_DOMAIN_OF_RUN";
  const char* const inherited = std::getenv(kVariable);
  if (inherited != nullptr) return inherited;
  std::error_code error;
  const std::string place = std::filesystem::temp_directory_path(error).string();
  RemoveAbandonedFolders(place);
  absl::StatusOr<std::unique_ptr<OwnedFolder>> made = OwnedFolder::Make(place);
  if (!made.ok()) return "";
  static OwnedFolder* folder;
  folder = made->release();
  std::atexit([] { delete folder; });
  mkdir((folder->path() + "/channel0").c_str(), S_IRWXU);
  setenv(kVariable, folder->path().c_str(), 1);
  return folder->path();
}

WorkTiming TimingOf(StreamPolicy policy) {
  switch (policy) {
    case StreamPolicy::kEager:
      return WorkTiming::kAtTheCall;
    case StreamPolicy::kDeferred:
      return WorkTiming::kAtTheLatestMoment;
    case StreamPolicy::kSeeded:
      break;
  }
  return WorkTiming::kWhenever;
}

}  // namespace

Traits TraitsOf(const Profile& profile) {
  Traits traits;
  traits.interprets_kernels = true;
  traits.loses_aliased_atomics = profile.alias_policy == coherence::Policy::kStale ||
                                 profile.alias_policy == coherence::Policy::kRandom;
  traits.has_vmm = profile.HasVmm();
  traits.multicast_allowed = true;
  traits.multicast_mistakes_answered = true;
  traits.cpu_sees_host_memory = profile.window.claimed;
  traits.work_timing = TimingOf(profile.stream_policy);
  traits.deviations = DeviationsOf(profile);
  return traits;
}

TargetFactory SimTarget(const std::string& name, const Profile& profile) {
  const auto open = [name, profile]() -> absl::StatusOr<Target> {
    Profile machine = profile;
    if (machine.fabric_permitted && machine.fabric_domain.empty()) {
      machine.fabric_domain = FabricDomainOfRun();
    }
    absl::StatusOr<std::unique_ptr<Simulator>> simulator = Simulator::Create(machine);
    if (!simulator.ok()) return simulator.status();
    Target target;
    target.name = name;
    target.driver = *std::move(simulator);
    target.traits = TraitsOf(profile);
    return target;
  };
  return TargetFactory{name, open};
}

std::vector<Diagnostic> DiagnosticsOf(Driver& driver) {
  const auto& simulator = static_cast<const Simulator&>(driver);
  std::vector<Diagnostic> all = simulator.diagnostics();
  for (Diagnostic& leak : simulator.leaks()) all.push_back(std::move(leak));
  return all;
}

}  // namespace twinmmu::conformance
