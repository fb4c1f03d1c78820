#include "conformance/instances/replay/replay_sim.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "conformance/recordings/known_content.h"
#include "conformance/recordings/masks.h"
#include "sim/simulator.h"

namespace twinmmu::conformance {
namespace {

void Adopt(const Json& header, Profile& profile) {
  const Json& devices = header.at("devices");
  profile.SetDeviceCount(static_cast<int>(devices.size()));
  for (size_t i = 0; i < devices.size(); ++i) {
    const Bytes memory(Whole(devices.at(i).at("memory")).get<uint64_t>());
    const Bytes free(Whole(devices.at(i).at("free")).get<uint64_t>());
    profile.devices[i].memory = memory;
    profile.devices[i].memory_in_use = memory - free;
  }
  const Json& peers = header.at("peers");
  for (size_t i = 0; i < devices.size(); ++i) {
    for (size_t k = 0; k < devices.size(); ++k) {
      profile.peers[i][k] = peers.at(i).at(k).get<bool>();
    }
  }
}

absl::StatusOr<PlayerTarget> Open(const Json& header) {
  const absl::StatusOr<Profile> profile = ProfileOf(header);
  if (!profile.ok()) return profile.status();
  absl::StatusOr<std::unique_ptr<Simulator>> simulator = Simulator::Create(*profile);
  if (!simulator.ok()) return simulator.status();
  Simulator* const placed = simulator->get();
  return PlayerTarget{*std::move(simulator),
                      [placed](DeviceAddress base) { placed->PlaceNextReservation(base); }};
}

}  // namespace

absl::StatusOr<Profile> ProfileOf(const Json& header) {
  absl::StatusOr<Profile> profile = Profile::Named("full-address-space");
  if (!profile.ok()) return profile;
  try {
    Adopt(header, *profile);
  } catch (const std::exception& wrong) {
    return absl::InvalidArgumentError(
        absl::StrCat("the first line of the recording does not tell the machine: ", wrong.what()));
  }
  return profile;
}

ReplayOptions SimReplayOptions() { return {Open, SimulatorMasks(), SuiteContent()}; }

}  // namespace twinmmu::conformance
