#include "conformance/instances/random/random_sim.h"

#include <memory>
#include <utility>

#include "conformance/instances/sim_target.h"
#include "sim/simulator.h"

namespace twinmmu::conformance::random {

ModelledMachine MachineOf(const Profile& profile) {
  ModelledMachine machine;
  machine.granularity = profile.minimum_granularity;
  machine.recommended_granularity = profile.recommended_granularity;
  machine.reservation_granularity = profile.reservation_granularity;
  machine.address_bits = profile.address_bits;
  for (const DeviceProfile& device : profile.devices) {
    machine.devices.push_back({device.memory - device.memory_in_use, device.memory});
  }
  machine.peers = profile.peers;
  machine.host_nodes.clear();
  for (const HostNodeProfile& node : profile.host_nodes) machine.host_nodes.push_back(node.node);
  machine.cpu_sees_host_memory = profile.window.claimed;
  if (profile.fabric_permitted) machine.fabric = DriverCode::kSuccess;
  if (!profile.host_memory_permitted) machine.host_memory = DriverCode::kNotPermitted;
  machine.grants_compression = profile.compression_granted;
  machine.deviations = TraitsOf(profile).deviations;
  return machine;
}

OpenSubject SimSubject(const Profile& profile) {
  return [profile]() -> absl::StatusOr<Subject> {
    absl::StatusOr<std::unique_ptr<Simulator>> simulator = Simulator::Create(profile);
    if (!simulator.ok()) return simulator.status();
    return Subject{*std::move(simulator), MachineOf(profile), false};
  };
}

}  // namespace twinmmu::conformance::random
