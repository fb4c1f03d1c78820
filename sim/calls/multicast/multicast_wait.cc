#include "sim/calls/multicast/multicast_wait.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"

namespace twinmmu {

namespace {

// How often a team is looked at that another process may make complete.
constexpr std::chrono::milliseconds kLook(2);

bool OthersMayHave(const PhysicalPages& object) {
  return object.imported || object.exported || object.published;
}

// "device 1": the devices of the machine that are in the team, or those that are not.
std::string DevicesOf(const Profile& profile, const MulticastTeam& team, bool added) {
  std::string words;
  for (int i = 0; i < profile.device_count(); ++i) {
    const DeviceOrdinal device(i);
    if (team.Has(device) != added) continue;
    absl::StrAppend(&words, words.empty() ? "" : ", ", ToString(device));
  }
  return words.empty() ? "none" : words;
}

}  // namespace

absl::Status AwaitTeam(SimulatorState& state, CallRecord& call,
                       std::unique_lock<StripedMutex>& lock, AllocationHandle object) {
  const Profile& profile = state.mmu.profile;
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    const AllocationRecord* const record = state.mmu.memory.Find(object);
    if (record == nullptr || !record->is_multicast()) return absl::OkStatus();
    const absl::Status read = state.mmu.EnterTeam(*record->pages).status();
    if (!read.ok()) return Fail(DriverCode::kOperatingSystem, call.name(), read.message());
    const MulticastTeam& team = *record->pages->team;
    if (team.complete()) return absl::OkStatus();
    const uint64_t wait = OthersMayHave(*record->pages) ? profile.multicast_wait_ms : 0;
    const auto deadline = begin + std::chrono::milliseconds(wait);
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) {
      return call.RefuseWith(DriverCode::kIllegalState,
                             {DiagnosticKind::kMulticastTeamIncomplete, std::nullopt, object},
                             words::TeamIncomplete(object, team.properties.device_count,
                                                   DevicesOf(profile, team, true),
                                                   DevicesOf(profile, team, false), wait));
    }
    state.mmu.team_changed.wait_until(lock, std::min(deadline, now + kLook));
  }
}

}  // namespace twinmmu
