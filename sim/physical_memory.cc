#include "sim/physical_memory.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace twinmmu {

namespace {

constexpr uint64_t kFabricMark = 0x554d4d6e697754;  // "TwinMMU"

}  // namespace

PhysicalMemory::PhysicalMemory(const Profile& profile) : host_sees_memory_(profile.window.claimed) {
  for (const DeviceProfile& device : profile.devices) {
    devices_.push_back(Capacity{device.memory, device.memory_in_use, device.memory_kept_back});
  }
  for (const HostNodeProfile& node : profile.host_nodes) {
    host_nodes_[node.node] = Capacity{node.memory, Bytes(0), Bytes(0)};
  }
}

PhysicalMemory::~PhysicalMemory() {
  // One by one: a list of these would be destroyed by a recursion of its length.
  while (unfreed_ != nullptr) unfreed_ = std::exchange(unfreed_->next_unfreed, nullptr);
}

PhysicalMemory::Capacity& PhysicalMemory::CapacityOf(const Location& location) {
  return location.type == LocationType::kDevice ? devices_[location.id] : host_nodes_[location.id];
}

absl::Status PhysicalMemory::CheckRoom(Bytes size, const Location& location) {
  Collect();
  const Capacity& capacity = CapacityOf(location);
  const Bytes free = capacity.total - capacity.used;
  if (capacity.kept_back <= free && size <= free - capacity.kept_back) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("size ", ToString(size), " is more than what is left of the ",
                   ToString(capacity.total), " of ", ToString(location), ": ", ToString(free),
                   ", of which ", ToString(capacity.kept_back), " are kept back"));
}

void PhysicalMemory::Occupy(Bytes size, const Location& location) {
  Capacity& capacity = CapacityOf(location);
  capacity.used = capacity.used + size;
}

void PhysicalMemory::Vacate(Bytes size, const Location& location) {
  Capacity& capacity = CapacityOf(location);
  capacity.used = capacity.used - size;
}

absl::StatusOr<AllocationHandle> PhysicalMemory::Create(Bytes size,
                                                        const AllocationProperties& properties,
                                                        uint64_t call) {
  const HandleType types = properties.requested_handle_types;
  auto pages = std::make_shared<PhysicalPages>();
  pages->size = size;
  pages->location = properties.location;
  pages->properties = properties;
  pages->number = next_number_;
  if ((types & HandleType::kPosixFileDescriptor) != HandleType::kNone) {
    pages->kind = BackingKind::kMemoryFile;
  } else if (properties.location.type != LocationType::kDevice && host_sees_memory_) {
    pages->kind = BackingKind::kAliased;
  }
  absl::StatusOr<Backing> backing = Backing::Make(pages->kind, size);
  if (!backing.ok()) return backing.status();
  pages->backing = *std::move(backing);
  const AllocationHandle handle = Insert(std::move(pages), call);
  Occupy(size, properties.location);
  return handle;
}

absl::StatusOr<AllocationHandle> PhysicalMemory::CreateMulticast(
    const MulticastProperties& properties, uint64_t call) {
  auto pages = std::make_shared<PhysicalPages>();
  pages->size = properties.size;
  pages->location.type = LocationType::kInvalid;
  pages->properties.location = pages->location;
  pages->properties.requested_handle_types = properties.handle_types;
  pages->number = next_number_;
  pages->team = std::make_unique<MulticastTeam>();
  pages->team->properties = properties;
  if ((properties.handle_types & HandleType::kPosixFileDescriptor) != HandleType::kNone) {
    pages->kind = BackingKind::kMemoryFile;
    // Only a name for descriptors.
    absl::StatusOr<Backing> backing = Backing::Make(pages->kind, KiB(4));
    if (!backing.ok()) return backing.status();
    pages->backing = *std::move(backing);
  }
  return Insert(std::move(pages), call);
}

AllocationHandle PhysicalMemory::Insert(std::shared_ptr<PhysicalPages> pages, uint64_t call) {
  const AllocationProperties properties = pages->properties;
  // What can fail comes first. A name that leads to no pages does no harm.
  table_.Prepare();
  if ((properties.requested_handle_types & HandleType::kFabric) != HandleType::kNone) {
    fabric_[pages->number] = pages;
  }
  if (pages->kind == BackingKind::kMemoryFile) files_.emplace(pages->backing.identity(), pages);
  ++next_number_;
  return AllocationHandle(
      table_.Insert(AllocationRecord{properties, std::move(pages), 1, 0, call, false, {}}));
}

AllocationHandle PhysicalMemory::Retain(uint32_t number) {
  ++table_[number].references;
  return AllocationHandle(table_.ValueOf(number));
}

void PhysicalMemory::Release(uint32_t number) {
  --table_[number].references;
  FreeIfUnused(number);
}

void PhysicalMemory::RemoveMapping(uint32_t number) {
  --table_[number].mappings;
  FreeIfUnused(number);
}

void PhysicalMemory::FreeIfUnused(uint32_t number) {
  const AllocationRecord& allocation = table_[number];
  if (allocation.references != 0 || allocation.mappings != 0) return;
  std::shared_ptr<PhysicalPages> pages = allocation.pages;
  table_.Erase(number);
  FreePagesIfUnused(std::move(pages));
}

void PhysicalMemory::FreePagesIfUnused(std::shared_ptr<PhysicalPages> pages) {
  // This function holds the pages, and the table of files.
  const bool in_file = pages->kind == BackingKind::kMemoryFile;
  if (pages.use_count() != (in_file ? 2 : 1)) return;
  if (in_file) {
    orphans_.insert(files_.extract(pages->backing.identity()));
    pages.reset();
    Collect();
  } else {
    FreePages(std::move(pages));
  }
}

void PhysicalMemory::FreePages(std::shared_ptr<PhysicalPages> pages) {
  fabric_.erase(pages->number);
  if (pages->team != nullptr) {
    for (MulticastBinding& bound : pages->team->bindings) Unbind(std::move(bound.pages));
    pages->team->bindings.clear();
  } else {
    Vacate(pages->size, pages->location);
  }
  if (pages->backing.Free()) return;
  pages->next_unfreed = std::move(unfreed_);
  unfreed_ = std::move(pages);
}

void PhysicalMemory::Collect() {
  while (unfreed_ != nullptr && unfreed_->backing.Free()) {
    unfreed_ = std::exchange(unfreed_->next_unfreed, nullptr);
  }
  for (auto orphan = orphans_.begin(); orphan != orphans_.end();) {
    if (orphan->second->exported && orphan->second->backing.HasDescriptorElsewhere()) {
      ++orphan;
      continue;
    }
    std::shared_ptr<PhysicalPages> pages = std::move(orphan->second);
    orphan = orphans_.erase(orphan);
    const bool binds = pages->team != nullptr;
    FreePages(std::move(pages));
    if (binds) orphan = orphans_.begin();  // what was bound became an orphan, and others are gone
  }
}

absl::StatusOr<int> PhysicalMemory::Export(uint32_t number, uint64_t call) {
  PhysicalPages& pages = *table_[number].pages;
  const absl::StatusOr<int> descriptor = pages.backing.NewDescriptor();
  if (!descriptor.ok()) return descriptor;
  pages.exported = true;
  pages.exported_by = call;
  return descriptor;
}

FabricHandle PhysicalMemory::ExportFabric(uint32_t number) const {
  const uint64_t words[] = {kFabricMark, reinterpret_cast<uint64_t>(this),
                            table_[number].pages->number};
  FabricHandle handle = {};
  std::memcpy(handle.data(), words, sizeof(words));
  return handle;
}

AllocationHandle PhysicalMemory::InsertImport(const std::shared_ptr<PhysicalPages>& pages,
                                              uint64_t call) {
  AllocationProperties properties = pages->properties;
  properties.requested_handle_types = HandleType::kNone;
  properties.gpu_direct_rdma = 0;
  return AllocationHandle(table_.Insert(AllocationRecord{properties, pages, 1, 0, call, true, {}}));
}

// Pages that only descriptors kept are about to be used again.
void PhysicalMemory::Adopt(const FileIdentity& identity) {
  const auto orphan = orphans_.find(identity);
  if (orphan != orphans_.end()) files_.insert(orphans_.extract(orphan));
}

std::optional<AllocationHandle> PhysicalMemory::Import(const FileIdentity& identity,
                                                       uint64_t call) {
  table_.Prepare();
  Adopt(identity);
  const auto file = files_.find(identity);
  // A descriptor that nobody exported is the simulator's own, known by its number only.
  if (file == files_.end() || !file->second->exported) return std::nullopt;
  return InsertImport(file->second, call);
}

std::optional<AllocationHandle> PhysicalMemory::ImportFabric(const FabricHandle& handle,
                                                             uint64_t call) {
  table_.Prepare();
  uint64_t words[3];
  std::memcpy(words, handle.data(), sizeof(words));
  const bool ours = words[0] == kFabricMark && words[1] == reinterpret_cast<uint64_t>(this);
  const auto found = fabric_.find(words[2]);
  if (!ours || found == fabric_.end()) return std::nullopt;
  const std::shared_ptr<PhysicalPages> pages = found->second.lock();
  if (pages == nullptr) return std::nullopt;
  if (pages->kind == BackingKind::kMemoryFile) Adopt(pages->backing.identity());
  return InsertImport(pages, call);
}

MemoryInfo PhysicalMemory::Info(DeviceOrdinal device) {
  Collect();
  const Capacity& capacity = devices_[device.value()];
  return MemoryInfo{capacity.total - capacity.used, capacity.total};
}

}  // namespace twinmmu
