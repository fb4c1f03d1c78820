// The suite on a simulator that watches all memory: its kernels, copies and fills do not race, and
// nothing else changes.

#include <atomic>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "api/diagnostics.h"
#include "conformance/instances/sim_target.h"
#include "conformance/runner.h"
#include "sim/profile/profile.h"
#include "sim/simulator.h"

namespace twinmmu::conformance {
namespace {

std::atomic<int> g_races{0};

bool IsOfCheck(DiagnosticKind kind) {
  return kind == DiagnosticKind::kDataRace || kind == DiagnosticKind::kDivergentBarrier;
}

SimulatorOptions CountingRaces() {
  SimulatorOptions options;
  options.at_once = [](DiagnosticKind kind, const Diagnostic* diagnostic) {
    if (!IsOfCheck(kind)) return;
    ++g_races;
    if (diagnostic != nullptr) std::cout << ToString(*diagnostic) << std::endl;
  };
  return options;
}

TargetFactory Watched(const Profile& profile) {
  const auto open = [profile]() -> absl::StatusOr<Target> {
    absl::StatusOr<std::unique_ptr<Simulator>> simulator =
        Simulator::Create(profile, CountingRaces());
    if (!simulator.ok()) return simulator.status();
    Target target;
    target.name = "sim_races";
    target.driver = *std::move(simulator);
    target.traits = TraitsOf(profile);
    return target;
  };
  return TargetFactory{"sim_races", open};
}

}  // namespace
}  // namespace twinmmu::conformance

int main(int argc, char** argv) {
  twinmmu::Profile profile = twinmmu::Profile::ReferenceH200(2);
  profile.race_check = true;
  std::vector<twinmmu::conformance::TargetFactory> targets;
  targets.push_back(twinmmu::conformance::Watched(profile));
  const int failed = twinmmu::conformance::RunConformance(argc, argv, std::move(targets), {});
  if (twinmmu::conformance::g_races != 0) {
    std::cout << twinmmu::conformance::g_races << " races that are none" << std::endl;
    return 1;
  }
  return failed;
}
