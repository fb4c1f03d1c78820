#include "conformance/campaign/small_scope_sides.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "api/driver.h"
#include "api/testing/checked_vmm.h"
#include "conformance/framework/target.h"
#include "conformance/instances/cuda_on_sim_target.h"
#include "conformance/instances/random/random_sim.h"
#include "sim/simulator.h"

namespace twinmmu::conformance::small_scope {
namespace {

// Of which any kind is told in full: more than one is asked for.
constexpr size_t kKept = 2 * kNoticedByOne;

// What both can know: CheckedVmm sees neither copies nor what is left at the end.
bool IsOfVmm(DiagnosticKind kind) { return kind < DiagnosticKind::kUseAfterUnmap; }

using Notes = std::shared_ptr<std::vector<Diagnostic>>;

template <typename Options>
Options WithNotes(const Notes& notes) {
  Options options;
  options.diagnostics_kept = kKept;
  options.at_once = [notes](DiagnosticKind kind, const Diagnostic* diagnostic) {
    if (!IsOfVmm(kind)) return;
    Diagnostic only_counted;
    only_counted.kind = kind;
    notes->push_back(diagnostic != nullptr ? *diagnostic : only_counted);
  };
  return options;
}

// `driver` stays with the side.
absl::StatusOr<Side> SideOf(std::string name, std::shared_ptr<Driver> driver,
                            const Profile& profile, const Notes& notes) {
  const absl::StatusOr<Vmm*> vmm = driver->vmm();
  if (!vmm.ok()) return vmm.status();
  const absl::StatusOr<Executor*> executor = driver->executor();
  if (!executor.ok()) return executor.status();
  Side side;
  side.name = std::move(name);
  side.vmm = *vmm;
  side.executor = *executor;
  side.parameters = random::ParametersOf(profile);
  side.noticed = [notes] { return std::exchange(*notes, {}); };
  side.owner = std::move(driver);
  return side;
}

}  // namespace

OpenSide SimSide(const Profile& profile) {
  return [profile]() -> absl::StatusOr<Side> {
    const auto notes = std::make_shared<std::vector<Diagnostic>>();
    absl::StatusOr<std::unique_ptr<Simulator>> simulator =
        Simulator::Create(profile, WithNotes<SimulatorOptions>(notes));
    if (!simulator.ok()) return simulator.status();
    return SideOf("sim", *std::move(simulator), profile, notes);
  };
}

OpenSide CudaOnSimSide(const std::string& library, const Profile& profile) {
  return [library, profile]() -> absl::StatusOr<Side> {
    const auto notes = std::make_shared<std::vector<Diagnostic>>();
    absl::StatusOr<Target> target = CudaOnSimTarget(library, profile).open();
    if (!target.ok()) return target.status();
    absl::StatusOr<Side> side = SideOf("cuda_on_sim", std::move(target->driver), profile, notes);
    if (!side.ok()) return side;
    CheckedVmmOptions options = WithNotes<CheckedVmmOptions>(notes);
    options.refuse_undefined = false;  // so that the library sees all calls
    const auto checked = std::make_shared<CheckedVmm>(side->vmm, options);
    side->vmm = checked.get();
    // It does not know a machine that refuses more than the reference. Where that has two reasons,
    // it tells the one that every driver has.
    if (side->parameters.deviations != ReferenceDeviations()) side->noticed = nullptr;
    side->owner = std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(
        side->owner, checked);
    return side;
  };
}

}  // namespace twinmmu::conformance::small_scope
