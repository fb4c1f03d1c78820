#include "sim/memory/physical_memory.h"

#include <unistd.h>

#include <chrono>
#include <iterator>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace twinmmu {

namespace {

// Differs from that of every other machine that there is, or was not long ago.
uint64_t MakeFirstId(const void* machine) {
  const uint64_t now = std::chrono::system_clock::now().time_since_epoch().count();
  const uint64_t parts[] = {static_cast<uint64_t>(getpid()), reinterpret_cast<uint64_t>(machine),
                            now};
  return FingerprintOf({reinterpret_cast<const uint8_t*>(parts), sizeof(parts)});
}

}  // namespace

PhysicalMemory::PhysicalMemory(const Profile& profile)
    : profile_(profile), first_id_(MakeFirstId(this)), domain_(profile) {
  for (const DeviceProfile& device : profile.devices) {
    devices_.push_back(Capacity{device.memory, device.memory_in_use, device.memory_kept_back});
  }
  for (const HostNodeProfile& node : profile.host_nodes) {
    host_nodes_[node.node] = Capacity{node.memory, Bytes(0), Bytes(0)};
  }
}

PhysicalMemory::~PhysicalMemory() {
  for (const auto& [identity, pages] : files_) Withdraw(*pages);
  // One by one: a list of these would be destroyed by a recursion of its length.
  while (unfreed_ != nullptr) unfreed_ = std::exchange(unfreed_->next_unfreed, nullptr);
}

PhysicalMemory::Capacity& PhysicalMemory::CapacityOf(const Location& location) {
  return location.type == LocationType::kDevice ? devices_[location.id] : host_nodes_[location.id];
}

absl::Status PhysicalMemory::CheckRoom(Bytes size, const Location& location) {
  Collect();
  const Capacity& capacity = CapacityOf(location);
  const Bytes free = capacity.free();
  if (capacity.kept_back <= free && size <= free - capacity.kept_back) return absl::OkStatus();
  std::string words =
      absl::StrCat("size ", ToString(size), " is more than what is left of the ",
                   ToString(capacity.total), " of ", ToString(location), ": ", ToString(free),
                   ", of which ", ToString(capacity.kept_back), " are kept back");
  if (capacity.late != Bytes(0)) {
    absl::StrAppend(&words, "; ", ToString(capacity.late),
                    " that were freed come back once the program waits for its work");
  }
  return absl::ResourceExhaustedError(words);
}

void PhysicalMemory::Occupy(Bytes size, const Location& location) {
  if (location.type == LocationType::kInvisible) return;
  Capacity& capacity = CapacityOf(location);
  capacity.used = capacity.used + size;
}

void PhysicalMemory::Vacate(Bytes size, const Location& location) {
  if (location.type == LocationType::kInvisible) return;
  Capacity& capacity = CapacityOf(location);
  if (profile_.memory_returns_late) {
    capacity.late = capacity.late + size;
  } else {
    capacity.used = capacity.used - size;
  }
}

void PhysicalMemory::ReturnFreed() {
  const auto take_back = [](Capacity& capacity) {
    capacity.used = capacity.used - std::exchange(capacity.late, Bytes(0));
  };
  for (Capacity& capacity : devices_) take_back(capacity);
  for (auto& [node, capacity] : host_nodes_) take_back(capacity);
}

void PhysicalMemory::VacateBlock(uint64_t block, Bytes size, const Location& location) {
  for (PinnedRange& range : pinned_ranges_) {
    if (range.linear_block != block) continue;
    range.kept = size;  // until it is found closed
    return;
  }
  Vacate(size, location);
}

// Whether other processes can have what is made for these.
bool PhysicalMemory::IsInFile(HandleType types) const {
  const bool in_domain = (types & HandleType::kFabric) != HandleType::kNone && domain_.exists();
  return (types & HandleType::kPosixFileDescriptor) != HandleType::kNone || in_domain;
}

absl::StatusOr<AllocationHandle> PhysicalMemory::Create(Bytes size,
                                                        const AllocationProperties& properties,
                                                        uint64_t call) {
  const HandleType types = properties.requested_handle_types;
  auto pages = std::make_shared<PhysicalPages>();
  pages->size = size;
  pages->location = properties.location.whole();
  pages->properties = properties;
  pages->serial = next_serial_;
  pages->id = first_id_ + next_serial_;
  if (IsInFile(types)) {
    pages->kind = BackingKind::kMemoryFile;
  } else if (pages->location.type != LocationType::kDevice && profile_.window.claimed) {
    pages->kind = BackingKind::kAliased;
  }
  absl::StatusOr<Backing> backing = Backing::Make(pages->kind, size);
  if (!backing.ok()) return backing.status();
  pages->backing = *std::move(backing);
  const Location location = pages->location;
  const AllocationHandle handle = Insert(std::move(pages), call);
  Occupy(size, location);
  return handle;
}

absl::StatusOr<AllocationHandle> PhysicalMemory::CreateMulticast(
    const MulticastProperties& properties, uint64_t call) {
  auto pages = std::make_shared<PhysicalPages>();
  pages->size = properties.size;
  pages->location.type = LocationType::kInvalid;
  pages->properties.location = pages->location;
  pages->properties.requested_handle_types = properties.handle_types;
  pages->serial = next_serial_;
  pages->id = first_id_ + next_serial_;
  if (IsInFile(properties.handle_types)) {
    pages->kind = BackingKind::kMemoryFile;
    absl::StatusOr<Backing> backing = Backing::Make(pages->kind, TeamFile::kSize);
    if (!backing.ok()) return backing.status();
    pages->backing = *std::move(backing);
  }
  const absl::Status started = StartTeam(*pages, properties);
  if (!started.ok()) return started;
  PhysicalPages* const object = pages.get();
  const AllocationHandle handle = Insert(std::move(pages), call);
  AddSharedTeam(object);
  return handle;
}

AllocationHandle PhysicalMemory::Insert(std::shared_ptr<PhysicalPages> pages, uint64_t call) {
  const AllocationProperties properties = pages->properties;
  // What can fail comes first. A name that leads to no pages does no harm.
  table_.Prepare();
  if ((properties.requested_handle_types & HandleType::kFabric) != HandleType::kNone) {
    fabric_[pages->id] = pages;
  }
  if (pages->kind == BackingKind::kMemoryFile) files_.emplace(pages->backing.identity(), pages);
  ++next_serial_;
  return AllocationHandle(
      table_.Insert(AllocationRecord{properties, std::move(pages), 1, 0, call, false, {}}));
}

AllocationHandle PhysicalMemory::Retain(uint32_t index) {
  ++table_[index].references;
  return AllocationHandle(table_.ValueOf(index));
}

void PhysicalMemory::Release(uint32_t index) {
  --table_[index].references;
  FreeIfUnused(index);
}

void PhysicalMemory::RemoveMapping(uint32_t index) {
  --table_[index].mappings;
  FreeIfUnused(index);
}

void PhysicalMemory::Unpin(uint32_t index) {
  --table_[index].pins;
  FreeIfUnused(index);
}

void PhysicalMemory::FreeIfUnused(uint32_t index) {
  const AllocationRecord& allocation = table_[index];
  if (allocation.references != 0 || allocation.mappings != 0 || allocation.pins != 0) return;
  std::shared_ptr<PhysicalPages> pages = allocation.pages;
  table_.Erase(index);
  FreePagesIfUnused(std::move(pages));
}

void PhysicalMemory::FreePagesIfUnused(std::shared_ptr<PhysicalPages> pages) {
  // This function holds the pages, and the table of files.
  const bool in_file = pages->kind == BackingKind::kMemoryFile;
  if (pages.use_count() != (in_file ? 2 : 1)) return;
  if (in_file) {
    Withdraw(*pages);
    orphans_.insert(files_.extract(pages->backing.identity()));
    pages.reset();
    Collect();
  } else {
    FreePages(std::move(pages));
  }
}

void PhysicalMemory::FreePages(std::shared_ptr<PhysicalPages> pages) {
  fabric_.erase(pages->id);
  if (pages->team != nullptr) {
    EndTeam(*pages);
  } else {
    Vacate(pages->size, pages->location);
  }
  if (pages->backing.Free()) return;
  pages->next_unfreed = std::move(unfreed_);
  unfreed_ = std::move(pages);
}

void PhysicalMemory::Collect() {
  UnpinClosedRanges();
  while (unfreed_ != nullptr && unfreed_->backing.Free()) {
    unfreed_ = std::exchange(unfreed_->next_unfreed, nullptr);
  }
  for (auto orphan = orphans_.begin(); orphan != orphans_.end();) {
    if (orphan->second->IsKeptElsewhere()) {
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

absl::StatusOr<int> PhysicalMemory::PinByDescriptor(PinnedRange range) {
  absl::StatusOr<Backing> file = Backing::Make(BackingKind::kMemoryFile, range.size);
  if (!file.ok()) return file.status();
  range.file = *std::move(file);
  const absl::StatusOr<int> descriptor = range.file.NewDescriptor();
  if (!descriptor.ok()) return descriptor;
  try {
    pinned_ranges_.push_back(std::move(range));
  } catch (const std::bad_alloc&) {
    close(*descriptor);
    throw;
  }
  for (const uint32_t index : pinned_ranges_.back().allocations) Pin(index);
  return descriptor;
}

void PhysicalMemory::UnpinClosedRanges() {
  std::list<PinnedRange> closed;
  for (auto range = pinned_ranges_.begin(); range != pinned_ranges_.end();) {
    const auto next = std::next(range);
    if (!range->file.HasDescriptorElsewhere()) closed.splice(closed.end(), pinned_ranges_, range);
    range = next;
  }
  // Comes back here when an allocation goes; what is closed is no longer in the list.
  for (const PinnedRange& range : closed) {
    for (const uint32_t index : range.allocations) Unpin(index);
    if (range.kept != Bytes(0)) VacateBlock(range.linear_block, range.kept, range.location);
  }
}

MemoryInfo PhysicalMemory::Info(DeviceOrdinal device) {
  Collect();
  const Capacity& capacity = devices_[device.value()];
  return MemoryInfo{capacity.free(), capacity.total};
}

}  // namespace twinmmu
