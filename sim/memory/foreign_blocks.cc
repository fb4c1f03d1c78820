// Blocks of linear memory that several processes have.

#include <optional>
#include <utility>

#include "sim/host/memory_label.h"
#include "sim/memory/linear_memory.h"

namespace twinmmu {

absl::StatusOr<LinearMemory::BlockFile> LinearMemory::PutInFile(DeviceAddress base) {
  const LinearAllocation& allocation = allocations_.find(base.value())->second;
  Block& block = blocks_.find(allocation.block.base.value())->second;
  if (block.backing.file_descriptor() < 0) {
    const absl::Status moved = block.backing.MoveToFile();
    if (!moved.ok()) return moved;
    for (auto at = allocations_.lower_bound(block.range.base.value());
         at != allocations_.end() && block.range.contains(at->second.range.base); ++at) {
      at->second.shared = true;
    }
  }
  return BlockFile{block.backing.file_descriptor(), block.backing.identity(), block.range.size,
                   base - block.range.base};
}

absl::StatusOr<AddressRange> LinearMemory::AddForeign(const BlockFile& file, Bytes size,
                                                      const LinearAllocation& wanted) {
  const bool whole = file.size.value() % kBlock == 0;
  if (!whole || size == Bytes(0) || file.offset > file.size || size > file.size - file.offset) {
    return absl::InvalidArgumentError("it is no part of a block");
  }
  Collect();
  absl::StatusOr<Backing> backing = Backing::OfFile(file.descriptor, file.identity, file.size);
  if (!backing.ok()) return backing.status();
  Blocks blocks;
  Allocations allocations;
  Block& block = blocks[0];
  LinearAllocation& allocation = allocations.emplace(0, wanted).first->second;
  const std::optional<uint32_t> id = space_.Reserve(file.size, Bytes(0), DeviceAddress(0));
  if (!id.has_value()) return absl::ResourceExhaustedError("no addresses are left for it");
  // Nothing fails any more.
  block.range = AddressRange{space_[*id].base, file.size, Bytes(0)};
  block.id = ++last_block_id_;
  block.place = PlaceOf(wanted);
  block.device = wanted.device;
  block.memory = backing->data();
  block.backing = *std::move(backing);
  allocation.range = block.range.subrange(file.offset, size);
  allocation.block = block.range;
  allocation.block_id = block.id;
  allocation.memory = block.memory + file.offset.value();
  allocation.shared = true;
  const AddressRange range = allocation.range;
  physical_.Occupy(file.size, *LocationOf(block.place));
  auto made_block = blocks.extract(blocks.begin());
  made_block.key() = block.range.base.value();
  blocks_.insert(std::move(made_block));
  auto made = allocations.extract(allocations.begin());
  made.key() = range.base.value();
  allocations_.insert(std::move(made));
  return range;
}

absl::StatusOr<LinearMemory::LoggedBytes> LinearMemory::OpenLogOfBlock(DeviceAddress base,
                                                                       int descriptor) {
  const LinearAllocation& allocation = allocations_.find(base.value())->second;
  Block& block = blocks_.find(allocation.block.base.value())->second;
  const auto log = block.backing.OpenLog(descriptor, block.range.size + kLogOffset);
  if (!log.ok()) return log.status();
  return LoggedBytes{block.memory, block.range.size, *log};
}

}  // namespace twinmmu
