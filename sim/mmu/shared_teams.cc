// Multicast objects whose team is in several simulators.

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "sim/mmu/mmu.h"

namespace twinmmu {
namespace {

bool IsThis(const MulticastBinding& bound, const TeamEntry& entry) {
  return bound.stamp == entry.stamp && bound.device == entry.device &&
         bound.offset == entry.offset && bound.size == entry.size &&
         bound.memory_offset == entry.memory_offset && bound.pages->id == entry.memory_id;
}

}  // namespace

// A binding of another simulator that is new here. False: it may be reached the next time.
bool Mmu::AddForeign(PhysicalPages& object, const TeamEntry& entry) {
  MulticastTeam& team = *object.team;
  if (entry.left) {
    team.missing.push_back({entry, true,
                            absl::StrCat("process ", entry.process, ", which had bound memory of ",
                                         ToString(entry.device), " there, has ended")});
    return true;
  }
  team.bindings.reserve(team.bindings.size() + 1);  // so that nothing fails once it is here
  absl::StatusOr<std::shared_ptr<PhysicalPages>> pages = memory.Reach(entry, object);
  if (pages.ok()) {
    AddBinding(object, {entry.device, entry.offset, entry.size, *std::move(pages),
                        entry.memory_offset, 0, entry.stamp});
    return true;
  }
  team.missing.push_back(
      {entry, false,
       absl::StrCat("memory of ", ToString(entry.device), " that process ", entry.process,
                    " has bound there cannot be reached: ", pages.status().message())});
  return !absl::IsResourceExhausted(pages.status());
}

absl::Status Mmu::ReadTeam(PhysicalPages& object) {
  MulticastTeam& team = *object.team;
  const absl::StatusOr<TeamState> state = team.file->Read();
  if (!state.ok()) return state.status();
  auto read_again = absl::MakeCleanup([&] { team.file->Forget(); });
  team.devices = state->devices;
  team.missing.clear();
  const auto entry_of = [&](const MulticastBinding& bound) {
    return std::find_if(state->entries.begin(), state->entries.end(), [&](const TeamEntry& entry) {
      return !entry.left && IsThis(bound, entry);
    });
  };
  for (size_t i = team.bindings.size(); i-- > 0;) {
    const MulticastBinding& bound = team.bindings[i];
    if (!bound.is_own() && entry_of(bound) == state->entries.end()) RemoveBinding(object, bound);
  }
  bool all_added = true;
  for (const TeamEntry& entry : state->entries) {
    const bool known =
        std::any_of(team.bindings.begin(), team.bindings.end(),
                    [&](const MulticastBinding& bound) { return IsThis(bound, entry); });
    if (!entry.own && (entry.left || !known)) all_added &= AddForeign(object, entry);
  }
  if (all_added) std::move(read_again).Cancel();
  return absl::OkStatus();
}

absl::StatusOr<TeamFile::Turn> Mmu::EnterTeam(PhysicalPages& object) {
  MulticastTeam& team = *object.team;
  if (team.file == nullptr) return TeamFile::Turn();
  absl::StatusOr<TeamFile::Turn> turn = team.file->TakeTurn();
  absl::Status read = turn.status();
  if (turn.ok() && team.file->HasChanged()) read = ReadTeam(object);
  team.trouble = std::string(read.message());
  if (read.ok()) return turn;
  team.file->Forget();  // and look again the next time
  table.Invalidate();
  return read;
}

void Mmu::FollowTeams() {
  if (!memory.has_shared_teams()) return;
  const auto has_changed = [](const PhysicalPages* object) {
    return object->mappings != 0 && object->team->file->HasChanged();
  };
  std::vector<PhysicalPages*> changed;
  {
    const std::shared_lock lock(mutex);
    const std::vector<PhysicalPages*>& all = memory.shared_teams();
    if (std::none_of(all.begin(), all.end(), has_changed)) return;
  }
  const std::unique_lock lock(mutex);
  for (PhysicalPages* const object : memory.shared_teams()) {
    if (has_changed(object)) changed.push_back(object);
  }
  // What is mapped stays, whatever goes with the bindings of another one.
  for (PhysicalPages* const object : changed) EnterTeam(*object).IgnoreError();
}

std::string Mmu::WhyNoReplicas(DeviceAddress address, uint64_t size) const {
  const MappingRecord& mapping = *MappingAt(address);
  const MulticastTeam& team = *AllocationOf(mapping).pages->team;
  if (!team.trouble.empty()) return team.trouble;
  const Bytes offset = SizeOf(mapping.offset) + (address - AddressOf(mapping.first_page));
  for (const MissingReplica& missing : team.missing) {
    const SharedBinding& lost = missing.binding;
    if (team.Find(lost.device, offset, Bytes(size)) != nullptr) continue;
    if (lost.Overlaps(lost.device, offset, Bytes(size))) return missing.why;
  }
  return "a device of the team has bound no memory there";
}

}  // namespace twinmmu
