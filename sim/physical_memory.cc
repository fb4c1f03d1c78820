#include "sim/physical_memory.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace twinmmu {

PhysicalMemory::PhysicalMemory(const Profile& profile) : host_sees_memory_(profile.window.claimed) {
  for (const DeviceProfile& device : profile.devices) {
    devices_.push_back(Capacity{device.memory, device.memory_in_use, device.memory_kept_back});
  }
  for (const HostNodeProfile& node : profile.host_nodes) {
    host_nodes_[node.node] = Capacity{node.memory, Bytes(0), Bytes(0)};
  }
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

absl::StatusOr<AllocationHandle> PhysicalMemory::Create(Bytes size,
                                                        const AllocationProperties& properties) {
  const bool on_device = properties.location.type == LocationType::kDevice;
  auto pages = std::make_shared<PhysicalPages>();
  pages->size = size;
  pages->location = properties.location;
  if (properties.requested_handle_types != HandleType::kNone) {
    pages->kind = BackingKind::kMemoryFile;
  } else if (!on_device && host_sees_memory_) {
    pages->kind = BackingKind::kAliased;
  }
  absl::StatusOr<Backing> backing = Backing::Make(pages->kind, size);
  if (!backing.ok()) return backing.status();
  pages->backing = *std::move(backing);
  pages->number = next_number_++;
  if (pages->kind == BackingKind::kMemoryFile) {
    files_[*pages->backing.identity()] = MemoryFile{pages, properties};
  }
  Capacity& capacity = CapacityOf(properties.location);
  capacity.used = capacity.used + size;
  return AllocationHandle(table_.Insert(Allocation{properties, std::move(pages), 1, 0}));
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
  const Allocation& allocation = table_[number];
  if (allocation.references != 0 || allocation.mappings != 0) return;
  const std::shared_ptr<PhysicalPages> pages = allocation.pages;
  table_.Erase(number);
  if (pages->kind != BackingKind::kMemoryFile) {
    FreePages(*pages);
  } else if (pages.use_count() == 2) {  // the table of files has one, this function the other
    orphans_.insert(*pages->backing.identity());
    Collect();
  }
}

void PhysicalMemory::FreePages(const PhysicalPages& pages) {
  Capacity& capacity = CapacityOf(pages.location);
  capacity.used = capacity.used - pages.size;
}

void PhysicalMemory::Collect() {
  for (auto orphan = orphans_.begin(); orphan != orphans_.end();) {
    const PhysicalPages& pages = *files_.at(*orphan).pages;
    if (pages.exported && pages.backing.HasDescriptorElsewhere()) {
      ++orphan;
    } else {
      FreePages(pages);
      files_.erase(*orphan);
      orphan = orphans_.erase(orphan);
    }
  }
}

absl::StatusOr<int> PhysicalMemory::Export(uint32_t number) {
  PhysicalPages& pages = *table_[number].pages;
  const absl::StatusOr<int> descriptor = pages.backing.NewDescriptor();
  if (descriptor.ok()) pages.exported = true;
  return descriptor;
}

std::optional<AllocationHandle> PhysicalMemory::Import(const FileIdentity& identity,
                                                       std::optional<HandleType> types) {
  const auto file = files_.find(identity);
  if (file == files_.end()) return std::nullopt;
  orphans_.erase(identity);
  AllocationProperties properties = file->second.properties;
  if (types.has_value()) properties.requested_handle_types = *types;
  return AllocationHandle(table_.Insert(Allocation{properties, file->second.pages, 1, 0}));
}

MemoryInfo PhysicalMemory::Info(DeviceOrdinal device) {
  Collect();
  const Capacity& capacity = devices_[device.value()];
  return MemoryInfo{capacity.total - capacity.used, capacity.total};
}

}  // namespace twinmmu
