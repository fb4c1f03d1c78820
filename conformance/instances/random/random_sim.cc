#include "conformance/instances/random/random_sim.h"

#include <memory>
#include <utility>

#include "conformance/instances/sim_target.h"
#include "sim/simulator.h"

namespace twinmmu::conformance::random {

ModelParameters ParametersOf(const Profile& profile) {
  ModelParameters parameters;
  parameters.granularity = profile.minimum_granularity;
  parameters.recommended_granularity = profile.recommended_granularity;
  parameters.reservation_granularity = profile.reservation_granularity;
  parameters.address_bits = profile.address_bits;
  for (const DeviceProfile& device : profile.devices) {
    parameters.devices.push_back({device.memory - device.memory_in_use, device.memory});
  }
  parameters.peers = profile.peers;
  parameters.host_nodes.clear();
  for (const HostNodeProfile& node : profile.host_nodes) parameters.host_nodes.push_back(node.node);
  parameters.cpu_sees_host_memory = profile.window.claimed;
  if (profile.fabric_permitted) parameters.fabric = DriverCode::kSuccess;
  if (!profile.host_memory_permitted) parameters.host_memory = DriverCode::kNotPermitted;
  parameters.grants_compression = profile.compression_granted;
  parameters.deviations = TraitsOf(profile).deviations;
  return parameters;
}

OpenSubject SimSubject(const Profile& profile) {
  return [profile]() -> absl::StatusOr<Subject> {
    absl::StatusOr<std::unique_ptr<Simulator>> simulator = Simulator::Create(profile);
    if (!simulator.ok()) return simulator.status();
    return Subject{*std::move(simulator), ParametersOf(profile), false};
  };
}

}  // namespace twinmmu::conformance::random
