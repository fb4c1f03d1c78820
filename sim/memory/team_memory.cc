// What PhysicalMemory has of multicast objects whose team is in several simulators.

#include <algorithm>
#include <utility>

#include "api/sharing/owned_descriptor.h"
#include "sim/host/foreign_file.h"
#include "sim/host/memory_label.h"
#include "sim/memory/physical_memory.h"

namespace twinmmu {
namespace {

// A descriptor of the memory file of an entry, which must be one of a kind with `team`.
absl::StatusOr<OwnedDescriptor> OpenMemory(const TeamEntry& entry, const FileIdentity& team) {
  if (entry.memory.first != team.first) return absl::NotFoundError("it is not there");
  return OpenForeignFile(entry.process, entry.descriptor, entry.memory);
}

bool Fits(const PhysicalPages& pages, const TeamEntry& entry) {
  return pages.team == nullptr && pages.id == entry.memory_id &&
         pages.location == Location::Device(entry.device) && entry.memory_offset <= pages.size &&
         entry.size <= pages.size - entry.memory_offset;
}

}  // namespace

absl::Status PhysicalMemory::StartTeam(PhysicalPages& pages,
                                       const MulticastProperties& properties) {
  pages.team = std::make_unique<MulticastTeam>();
  pages.team->properties = properties;
  if (pages.kind != BackingKind::kMemoryFile) return absl::OkStatus();
  pages.team->file =
      std::make_unique<TeamFile>(&pages.backing, properties, profile_.device_count());
  shared_teams_.reserve(shared_teams_.size() + 1);
  return pages.team->file->Join();
}

void PhysicalMemory::AddSharedTeam(PhysicalPages* pages) {
  if (pages->team->file == nullptr) return;
  shared_teams_.push_back(pages);
  shared_team_count_ = shared_teams_.size();
}

void PhysicalMemory::EndTeam(PhysicalPages& pages) {
  if (pages.team->file != nullptr) {
    pages.team->file->Leave();
    const auto team = std::find(shared_teams_.begin(), shared_teams_.end(), &pages);
    if (team != shared_teams_.end()) shared_teams_.erase(team);
    shared_team_count_ = shared_teams_.size();
  }
  for (MulticastBinding& bound : pages.team->bindings) Unbind(std::move(bound.pages));
  pages.team->bindings.clear();
}

absl::StatusOr<AllocationHandle> PhysicalMemory::ImportTeam(int file_descriptor,
                                                            const FileIdentity& identity,
                                                            const MemoryLabel& label,
                                                            uint64_t call) {
  absl::StatusOr<Backing> backing = Backing::Open(file_descriptor, identity, label.size);
  if (!backing.ok()) return backing.status();
  table_.Prepare();
  const std::shared_ptr<PhysicalPages> pages = PagesOf(label, *std::move(backing));
  pages->size = label.object_size;
  const HandleType types = label.properties.requested_handle_types;
  const absl::Status started = StartTeam(*pages, {label.team_devices, label.object_size, types, 0});
  if (!started.ok()) return started;
  files_.emplace(identity, pages);
  AddSharedTeam(pages.get());
  return InsertImport(pages, call);
}

absl::StatusOr<SharedBinding> PhysicalMemory::Announce(const PhysicalPages& pages) const {
  SharedBinding found;
  found.memory_id = pages.id;
  if (pages.kind == BackingKind::kMemoryFile) found.memory = pages.backing.identity();
  if (pages.kind != BackingKind::kMemoryFile || pages.imported) return found;
  const absl::Status labelled = Label(pages);
  if (!labelled.ok()) return labelled;
  found.descriptor = pages.backing.file_descriptor();
  return found;
}

absl::StatusOr<std::shared_ptr<PhysicalPages>> PhysicalMemory::Reach(const TeamEntry& entry,
                                                                     const PhysicalPages& object) {
  if (const PhysicalPages* const known = FindFile(entry.memory)) {
    if (!(known->exported || known->published || known->imported) || !Fits(*known, entry)) {
      return absl::NotFoundError("it is not what was bound");
    }
    Adopt(entry.memory);
    return files_.at(entry.memory);
  }
  if (entry.descriptor < 0) {
    return absl::NotFoundError("that process has no descriptor of it");
  }
  if (entry.processes != object.team->file->processes()) {
    return absl::NotFoundError("it is a process of another namespace");
  }
  const absl::StatusOr<OwnedDescriptor> file = OpenMemory(entry, object.backing.identity());
  if (!file.ok()) return file.status();
  const absl::StatusOr<MemoryLabel> label = ReadLabel(file->get());
  if (absl::IsResourceExhausted(label.status())) return label.status();
  if (!label.ok() || label->team_devices != 0) {
    return absl::NotFoundError("it is not what was bound");
  }
  const Location location = label->properties.location.whole();
  if (location != Location::Device(entry.device) ||
      !DifferenceOf(label->traits, SharingTraits::Of(profile_, location)).empty()) {
    return absl::NotFoundError("it is of another machine");
  }
  absl::StatusOr<Backing> backing = Backing::OfFile(file->get(), entry.memory, label->size);
  if (!backing.ok()) return backing.status();
  const std::shared_ptr<PhysicalPages> pages = PagesOf(*label, *std::move(backing));
  if (!Fits(*pages, entry)) return absl::NotFoundError("it is not what was bound");
  files_.emplace(entry.memory, pages);
  Occupy(pages->size, pages->location);
  return pages;
}

}  // namespace twinmmu
