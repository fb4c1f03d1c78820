#include "sim/calls/multicast/multicast_wait.h"

#include <algorithm>
#include <chrono>

namespace twinmmu {

namespace {

// How often a team is looked at that another process may make complete.
constexpr std::chrono::milliseconds kLook(2);

}  // namespace

absl::Status AwaitTeam(SimulatorState& state, CallRecord& call,
                       std::unique_lock<StripedMutex>& lock, AllocationHandle object) {
  const uint64_t wait = state.mmu.profile.multicast_wait_ms;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait);
  while (true) {
    const AllocationRecord* const record = state.mmu.memory.Find(object);
    if (record == nullptr || !record->is_multicast()) return absl::OkStatus();
    const absl::Status read = state.mmu.EnterTeam(*record->pages).status();
    if (!read.ok()) return Fail(DriverCode::kOperatingSystem, call.name(), read.message());
    const MulticastTeam& team = *record->pages->team;
    if (team.complete()) return absl::OkStatus();
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) {
      return call.RefuseWith(
          DriverCode::kIllegalState,
          {DiagnosticKind::kMulticastTeamIncomplete, std::nullopt, object},
          words::TeamIncomplete(object, team.devices.size(), team.properties.device_count, wait));
    }
    const bool shared = team.file != nullptr;
    state.mmu.team_changed.wait_until(lock, shared ? std::min(deadline, now + kLook) : deadline);
  }
}

}  // namespace twinmmu
