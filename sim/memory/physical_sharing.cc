// PhysicalMemory: what is shared with other simulators, and comes from them.

#include <utility>

#include "sim/memory/physical_memory.h"

namespace twinmmu {

MemoryLabel PhysicalPages::LabelOn(const Profile& profile) const {
  if (team == nullptr) {
    return {id, size, properties, SharingTraits::Of(profile, location), 0, Bytes(0)};
  }
  return {id,
          TeamFile::kSize,
          properties,
          SharingTraits::OfTeams(profile),
          team->properties.device_count,
          size};
}

absl::Status PhysicalMemory::Label(const PhysicalPages& pages) const {
  if (pages.exported || pages.published) return absl::OkStatus();  // it is there
  return WriteLabel(pages.backing.file_descriptor(), pages.LabelOn(profile_));
}

absl::StatusOr<int> PhysicalMemory::Export(uint32_t index, uint64_t call) {
  PhysicalPages& pages = *table_[index].pages;
  const absl::Status labelled = Label(pages);
  if (!labelled.ok()) return labelled;
  const absl::StatusOr<int> descriptor = pages.backing.NewDescriptor();
  if (!descriptor.ok()) return descriptor;
  pages.exported = true;
  pages.exported_by = call;
  return descriptor;
}

FabricName PhysicalMemory::NameOf(const PhysicalPages& pages) const {
  FabricName name{pages.id, {}, domain_.processes()};
  if (domain_.exists()) name.identity = pages.backing.identity();
  return name;
}

absl::StatusOr<FabricHandle> PhysicalMemory::ExportFabric(uint32_t index) {
  PhysicalPages& pages = *table_[index].pages;
  if (domain_.exists() && !pages.published) {
    absl::Status done = Label(pages);
    if (done.ok()) done = domain_.Publish(NameOf(pages), pages.backing.file_descriptor());
    if (!done.ok()) return done;
    pages.published = true;
  }
  return ToFabricHandle(NameOf(pages));
}

void PhysicalMemory::Withdraw(const PhysicalPages& pages) const {
  if (pages.published) domain_.Withdraw(NameOf(pages));
}

AllocationHandle PhysicalMemory::InsertImport(const std::shared_ptr<PhysicalPages>& pages,
                                              uint64_t call) {
  AllocationProperties properties = pages->properties;
  properties.requested_handle_types = HandleType::kNone;
  properties.gpu_direct_rdma = 0;
  return AllocationHandle(table_.Insert(AllocationRecord{properties, pages, 1, 0, call, true, {}}));
}

const PhysicalPages* PhysicalMemory::FindFile(const FileIdentity& identity) const {
  for (const Files* files : {&files_, &orphans_}) {
    const auto file = files->find(identity);
    if (file != files->end()) return file->second.get();
  }
  return nullptr;
}

// Pages that only descriptors kept are about to be used again.
void PhysicalMemory::Adopt(const FileIdentity& identity) {
  const auto orphan = orphans_.find(identity);
  if (orphan != orphans_.end()) files_.insert(orphans_.extract(orphan));
}

AllocationHandle PhysicalMemory::Import(const FileIdentity& identity, uint64_t call) {
  table_.Prepare();
  Adopt(identity);
  return InsertImport(files_.at(identity), call);
}

absl::StatusOr<AllocationHandle> PhysicalMemory::ImportForeign(int file_descriptor,
                                                               const FileIdentity& identity,
                                                               const MemoryLabel& label,
                                                               uint64_t call) {
  absl::StatusOr<Backing> backing = Backing::OfFile(file_descriptor, identity, label.size);
  if (!backing.ok()) return backing.status();
  table_.Prepare();
  const std::shared_ptr<PhysicalPages> pages = PagesOf(label, *std::move(backing));
  files_.emplace(identity, pages);
  Occupy(pages->size, pages->location);
  return InsertImport(pages, call);
}

std::shared_ptr<PhysicalPages> PhysicalMemory::PagesOf(const MemoryLabel& label, Backing backing) {
  auto pages = std::make_shared<PhysicalPages>();
  pages->size = label.size;
  pages->location = label.properties.location.whole();
  pages->properties = label.properties;
  pages->kind = BackingKind::kMemoryFile;
  pages->backing = std::move(backing);
  pages->imported = true;
  pages->serial = next_serial_++;
  pages->id = label.id;
  return pages;
}

std::optional<AllocationHandle> PhysicalMemory::ImportFabric(const FabricName& name,
                                                             uint64_t call) {
  table_.Prepare();
  const auto found = fabric_.find(name.id);
  if (found == fabric_.end()) return std::nullopt;
  const std::shared_ptr<PhysicalPages> pages = found->second.lock();
  if (pages == nullptr) return std::nullopt;
  if (pages->kind == BackingKind::kMemoryFile) Adopt(pages->backing.identity());
  return InsertImport(pages, call);
}

}  // namespace twinmmu
