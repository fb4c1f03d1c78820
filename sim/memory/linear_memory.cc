#include "sim/memory/linear_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace twinmmu {
namespace {

constexpr uint32_t kWriteCombined = 4;  // CU_MEMHOSTALLOC_WRITECOMBINED

// So that pieces of all sizes find a place as long as there is memory.
constexpr uint64_t kAddressesPerByte = 4;

constexpr DeviceAddress kEndOfHost(uint64_t{1} << 47);

std::optional<int> FirstNode(const Profile& profile) {
  if (profile.host_nodes.empty()) return std::nullopt;
  return profile.host_nodes.front().node;
}

}  // namespace

AddressRange LinearMemory::AddressesFor(const Profile& profile) {
  AddressRange range;
  range.size = Bytes(kBlock);  // to align the others
  for (const DeviceProfile& device : profile.devices) {
    range.size = range.size + RoundUp(device.memory, Bytes(kBlock)) * kAddressesPerByte;
  }
  // Behind what is for mappings, or if that is too far, behind all that the host has.
  range.base = profile.window.base + profile.window.size;
  if (range.end() >= profile.address_end()) range.base = kEndOfHost;
  return range;
}

LinearMemory::LinearMemory(const Profile& profile, const AddressRange& addresses,
                           PhysicalMemory* physical)
    : addresses_(addresses),
      devices_(profile.devices.size()),
      host_node_(FirstNode(profile)),
      physical_(*physical),
      space_(addresses, Bytes(kBlock)),
      shared_(devices_ + 2) {}

LinearMemory::~LinearMemory() = default;

// nullopt: a host of which the profile says nothing has room for all.
std::optional<Location> LinearMemory::LocationOf(size_t place) const {
  if (place < devices_) return Location::Device(DeviceOrdinal(static_cast<int>(place)));
  if (!host_node_.has_value()) return std::nullopt;
  return Location::HostNuma(*host_node_);
}

const LinearAllocation* LinearMemory::Find(DeviceAddress address) const {
  const auto above = allocations_.upper_bound(address.value());
  if (above == allocations_.begin()) return nullptr;
  const LinearAllocation& allocation = std::prev(above)->second;
  return allocation.range.contains(address) ? &allocation : nullptr;
}

const LinearAllocation* LinearMemory::FindAny(const AddressRange& range) const {
  const LinearAllocation* const found = Find(range.base);
  if (found != nullptr) return found;
  const auto above = allocations_.lower_bound(range.base.value());
  const bool inside = above != allocations_.end() && range.contains(above->second.range.base);
  return inside ? &above->second : nullptr;
}

std::optional<uint64_t> LinearMemory::Take(Block& block, uint64_t steps) {
  if (block.no_more_than < steps) return std::nullopt;
  uint64_t free = 0;
  for (uint64_t step = 0; step < kSteps; ++step) {
    free = block.taken[step] ? 0 : free + 1;
    if (free < steps) continue;
    for (uint64_t i = 0; i < steps; ++i) block.taken.set(step - i);
    return step + 1 - steps;
  }
  block.no_more_than = steps - 1;
  return std::nullopt;
}

absl::Status LinearMemory::CheckRoom(Bytes size, size_t place) {
  // Beyond all addresses, where the size of a block might wrap.
  if (size > Bytes(kEndOfHost.value())) {
    return absl::ResourceExhaustedError(absl::StrCat("nothing has room for ", ToString(size)));
  }
  const std::optional<Location> location = LocationOf(place);
  if (!location.has_value()) return absl::OkStatus();
  return physical_.CheckRoom(RoundUp(size, Bytes(kBlock)), *location);
}

// A block of whole pages, none of it in use.
absl::StatusOr<LinearMemory::Block*> LinearMemory::AddBlock(Bytes size,
                                                            const LinearAllocation& wanted) {
  Collect();
  const size_t place = PlaceOf(wanted);
  const absl::Status room = CheckRoom(size, place);
  if (!room.ok()) return room;
  const Bytes rounded = RoundUp(size, Bytes(kBlock));
  // Memory of the host is seen where it lies, and blocks are aligned.
  const Bytes spare = wanted.on_device() ? Bytes(0) : Bytes(kBlock);
  absl::StatusOr<Backing> backing = Backing::Make(BackingKind::kPrivate, rounded + spare);
  if (!backing.ok()) return backing.status();
  std::vector<Block*>& shared = shared_[place];
  if (shared.size() == shared.capacity()) shared.reserve(2 * shared.size() + 16);
  Blocks node;
  Block& block = node[0];
  block.place = place;
  block.flags = wanted.flags;
  block.device = wanted.device;
  block.no_more_than = kSteps;
  block.memory = backing->data();
  block.backing = *std::move(backing);
  if (wanted.on_device()) {
    const std::optional<uint32_t> id = space_.Reserve(rounded, Bytes(0), DeviceAddress(0));
    if (!id.has_value()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no free span of ", ToString(rounded), " is left of the addresses"));
    }
    block.range = AddressRange{space_[*id].base, rounded, Bytes(0)};
  } else {
    const Bytes start(reinterpret_cast<uint64_t>(block.memory));
    const Bytes base = RoundUp(start, Bytes(kBlock));
    block.memory += (base - start).value();
    block.range = AddressRange{DeviceAddress(base.value()), rounded, Bytes(0)};
  }
  // Nothing fails any more.
  block.id = ++last_block_id_;
  const std::optional<Location> location = LocationOf(place);
  if (location.has_value()) physical_.Occupy(rounded, *location);
  if (IsShared(size)) shared.push_back(&block);
  auto made = node.extract(node.begin());
  made.key() = block.range.base.value();
  blocks_.insert(std::move(made));
  return &block;
}

LinearMemory::Block* LinearMemory::FindRoom(uint64_t steps, const LinearAllocation& wanted,
                                            uint64_t* first) {
  for (Block* const block : shared_[PlaceOf(wanted)]) {
    if (((block->flags ^ wanted.flags) & kWriteCombined) != 0) continue;
    if (wanted.kind == LinearKind::kPinned && block->device != wanted.device) continue;
    const std::optional<uint64_t> found = Take(*block, steps);
    if (!found.has_value()) continue;
    *first = *found;
    return block;
  }
  return nullptr;
}

absl::StatusOr<AddressRange> LinearMemory::Allocate(Bytes size, const LinearAllocation& wanted) {
  Allocations node;
  node.emplace(0, wanted);  // what can fail comes first
  const uint64_t steps = IsShared(size) ? RoundUp(size, Bytes(kStep)).value() / kStep : 0;
  uint64_t first = 0;
  Block* block = steps != 0 ? FindRoom(steps, wanted, &first) : nullptr;
  if (block == nullptr) {
    const absl::StatusOr<Block*> added = AddBlock(size, wanted);
    if (!added.ok()) return added.status();
    block = *added;
    if (steps != 0) Take(*block, steps);
  }
  auto made = node.extract(node.begin());
  LinearAllocation& allocation = made.mapped();
  allocation.range = block->range.subrange(Bytes(first * kStep), size);
  allocation.block = block->range;
  allocation.block_id = block->id;
  if (!allocation.managed()) allocation.flags = block->flags;
  allocation.memory = block->memory + first * kStep;
  allocation.shared = block->backing.file_descriptor() >= 0;
  made.key() = allocation.range.base.value();
  return allocations_.insert(std::move(made)).position->second.range;
}

void LinearMemory::Register(const LinearAllocation& wanted) {
  constexpr uint64_t kPage = 4096;
  LinearAllocation& allocation =
      allocations_.emplace(wanted.range.base.value(), wanted).first->second;
  const uint64_t first = wanted.range.base.value() / kPage * kPage;
  const uint64_t end = RoundUp(Bytes(wanted.range.end().value()), Bytes(kPage)).value();
  allocation.block = AddressRange{DeviceAddress(first), Bytes(end - first), Bytes(0)};
  allocation.block_id = ++last_block_id_;
  allocation.memory = reinterpret_cast<char*>(wanted.range.base.value());
}

void LinearMemory::SetSyncMemops(DeviceAddress base, bool value) {
  allocations_.find(base.value())->second.sync_memops = value;
}

void LinearMemory::Free(DeviceAddress base) {
  const auto found = allocations_.find(base.value());
  const LinearAllocation allocation = found->second;
  allocations_.erase(found);
  if (allocation.managed()) hints_.Forget(allocation.range);
  ++generation_;
  if (allocation.kind == LinearKind::kRegistered) return;
  const auto block = blocks_.find(allocation.block.base.value());
  if (allocation.kind != LinearKind::kForeign && IsShared(allocation.range.size)) {
    const uint64_t first = (base - allocation.block.base).value() / kStep;
    const uint64_t steps = RoundUp(allocation.range.size, Bytes(kStep)).value() / kStep;
    for (uint64_t i = 0; i < steps; ++i) block->second.taken.reset(first + i);
    block->second.no_more_than = kSteps;
    if (block->second.taken.any()) return;
    std::vector<Block*>& all = shared_[block->second.place];
    all.erase(std::find(all.begin(), all.end(), &block->second));
  }
  RemoveBlock(block);
}

void LinearMemory::RemoveBlock(Blocks::iterator block) {
  const std::optional<Location> location = LocationOf(block->second.place);
  const AddressRange range = block->second.range;
  if (location.has_value()) physical_.VacateBlock(block->second.id, range.size, *location);
  if (block->second.place < devices_) space_.Free(*space_.Find(range.base));
  if (block->second.backing.Free()) {
    blocks_.erase(block);
  } else {
    unfreed_.insert(blocks_.extract(block));
  }
}

// Gives the host what it would not take before.
void LinearMemory::Collect() {
  for (auto block = unfreed_.begin(); block != unfreed_.end();) {
    block = block->second.backing.Free() ? unfreed_.erase(block) : std::next(block);
  }
}

}  // namespace twinmmu
