#include "sim/multicast_wait.h"

#include <chrono>

namespace twinmmu {

absl::Status AwaitTeam(Mmu& mmu, CallRecord& call, std::unique_lock<FairSharedMutex>& lock,
                       AllocationHandle object) {
  const auto missing = [&]() -> const MulticastTeam* {
    const AllocationRecord* const record = mmu.memory.Find(object);
    if (record == nullptr || !record->is_multicast()) return nullptr;
    const MulticastTeam& team = *record->pages->team;
    return team.complete() ? nullptr : &team;
  };
  if (missing() == nullptr) return absl::OkStatus();
  const uint64_t wait = mmu.profile.multicast_wait_ms;
  mmu.team_changed.wait_for(lock, std::chrono::milliseconds(wait),
                            [&] { return missing() == nullptr; });
  const MulticastTeam* const team = missing();
  if (team == nullptr) return absl::OkStatus();
  return call.RefuseWith(
      DriverCode::kIllegalState, {DiagnosticKind::kMulticastTeamIncomplete, std::nullopt, object},
      words::TeamIncomplete(object, team->devices.size(), team->properties.device_count, wait));
}

}  // namespace twinmmu
