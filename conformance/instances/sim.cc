#include "conformance/instances/sim.h"

#include <memory>
#include <utility>

#include "sim/simulator.h"

namespace twinmmu::conformance {

TargetFactory SimTarget(int devices) {
  const auto open = [devices]() -> absl::StatusOr<Target> {
    absl::StatusOr<std::unique_ptr<Simulator>> simulator =
        Simulator::Create(Profile::ReferenceH200(devices));
    if (!simulator.ok()) return simulator.status();
    Target target;
    target.name = "sim";
    target.driver = *std::move(simulator);
    target.traits.runs_kernels = false;
    target.traits.deviations = ReferenceDeviations();
    return target;
  };
  return TargetFactory{"sim", open};
}

}  // namespace twinmmu::conformance
