#include "conformance/instances/sim.h"

#include <memory>
#include <utility>

#include "sim/simulator.h"

namespace twinmmu::conformance {

TargetFactory SimTarget(int devices, Bytes granule) {
  const auto open = [devices, granule]() -> absl::StatusOr<Target> {
    Profile profile = Profile::ReferenceH200(devices);
    profile.minimum_granularity = granule;
    profile.recommended_granularity = granule;
    profile.reservation_granularity = granule;
    absl::StatusOr<std::unique_ptr<Simulator>> simulator = Simulator::Create(profile);
    if (!simulator.ok()) return simulator.status();
    Target target;
    target.name = "sim";
    target.traits.cpu_sees_host_memory = (*simulator)->profile().window.claimed;
    target.driver = *std::move(simulator);
    target.traits.runs_kernels = false;
    target.traits.deviations = ReferenceDeviations();
    return target;
  };
  return TargetFactory{"sim", open};
}

}  // namespace twinmmu::conformance
