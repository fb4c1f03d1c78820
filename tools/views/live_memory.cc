#include "tools/views/live_memory.h"

#include <algorithm>
#include <iterator>

namespace twinmmu {
namespace {

using record::Event;
using record::EventKind;

void Add(uint64_t& sum, uint64_t bytes, bool made) { sum = made ? sum + bytes : sum - bytes; }

void AddTo(MemoryTotals& totals, const LiveObject& object, bool made) {
  switch (object.kind) {
    case LiveKind::kReservation:
      return Add(totals.reserved, object.bytes, made);
    case LiveKind::kMapping:
      return Add(totals.mapped, object.bytes, made);
    case LiveKind::kAllocation:
      if (!object.imported) Add(totals.created, object.bytes, made);
      return;
    case LiveKind::kBlock:
      if (!object.mapped) Add(totals.allocated, object.bytes, made);
      return;
  }
}

}  // namespace

void LiveMemory::Count(const LiveObject& object, bool made) {
  AddTo(totals_, object, made);
  AddTo(by_process_[object.process], object, made);
}

void LiveMemory::End(Key key, Objects::iterator object, MemoryChange* change) {
  const LiveObject ended = object->second;
  objects_[key].erase(object);
  Count(ended, false);
  change->ended.push_back(ended);
  if (ended.kind != LiveKind::kMapping) return;
  Objects& allocations = objects_[{ended.process, LiveKind::kAllocation}];
  const auto found = allocations.find(ended.allocation);
  if (found == allocations.end()) return;
  if (--found->second.mappings == 0 && found->second.released)
    End({ended.process, LiveKind::kAllocation}, found, change);
}

void LiveMemory::EndAt(Key key, uint64_t address, MemoryChange* change) {
  const auto found = objects_[key].find(address);
  if (found != objects_[key].end()) End(key, found, change);
}

// All that begin there.
void LiveMemory::EndIn(Key key, uint64_t address, uint64_t bytes, MemoryChange* change) {
  Objects& objects = objects_[key];
  for (auto next = objects.lower_bound(address);
       next != objects.end() && next->first - address < bytes;) {
    End(key, next++, change);
  }
}

void LiveMemory::Release(uint32_t process, uint64_t allocation, MemoryChange* change) {
  const Key key{process, LiveKind::kAllocation};
  const auto found = objects_[key].find(allocation);
  if (found == objects_[key].end()) return;
  found->second.released = true;
  if (found->second.mappings == 0) End(key, found, change);
}

void LiveMemory::FreeBlocks(uint32_t process, uint64_t address, uint64_t bytes,
                            MemoryChange* change) {
  const Key key{process, LiveKind::kBlock};
  Objects& blocks = objects_[key];
  auto next = blocks.upper_bound(address);
  if (next != blocks.begin()) {
    const LiveObject& before = std::prev(next)->second;
    if (before.address == address || (before.mapped && address - before.address < before.bytes))
      --next;
  }
  const uint64_t size = std::max<uint64_t>(bytes, 1);
  std::vector<LiveObject> left;
  while (next != blocks.end() && (next->first <= address || next->first - address < size)) {
    const LiveObject block = next->second;
    End(key, next++, change);
    if (!block.mapped) continue;
    const uint64_t skipped = address - std::min(address, block.address);
    if (skipped != 0) {
      left.push_back(block);
      left.back().bytes = skipped;
    }
    const uint64_t freed = address - block.address + size;  // from its begin on; may wrap back
    if (freed >= block.bytes) continue;
    left.push_back(block);
    left.back().address = block.address + freed;
    left.back().bytes = block.bytes - freed;
  }
  for (LiveObject& piece : left) {
    piece.id = next_id_++;
    Count(piece, true);
    change->made.push_back(&(blocks[piece.address] = piece));
  }
}

const LiveObject* LiveMemory::Make(LiveKind kind, const Event& event, const record::Stack& stack,
                                   MemoryChange* change) {
  LiveObject made;
  made.kind = kind;
  made.id = next_id_++;
  made.process = event.process;
  made.device = event.device;
  made.stream = event.stream;
  made.address = kind == LiveKind::kAllocation ? event.allocation : event.address;
  made.bytes = event.bytes;
  made.allocation = event.allocation;
  made.offset = event.offset;
  made.made_ns = event.time_ns;
  made.imported = event.kind == EventKind::kImport;
  made.mapped = kind == LiveKind::kBlock && ReservationAt(event.process, event.address) != nullptr;
  made.stack = &stack;
  const Key key{event.process, kind};
  EndAt(key, made.address, change);
  if (kind == LiveKind::kMapping) {
    Objects& allocations = objects_[{event.process, LiveKind::kAllocation}];
    const auto of = allocations.find(event.allocation);
    if (of != allocations.end()) {
      ++of->second.mappings;
      made.device = of->second.device;
    }
  }
  Count(made, true);
  return &(objects_[key][made.address] = made);
}

MemoryChange LiveMemory::Apply(const Event& event, const record::Stack& stack) {
  MemoryChange change;
  if (event.severity == record::Severity::kError) return change;
  const uint32_t process = event.process;
  switch (event.kind) {
    case EventKind::kReserve:
      change.made.push_back(Make(LiveKind::kReservation, event, stack, &change));
      break;
    case EventKind::kAddressFree:
      EndAt({process, LiveKind::kReservation}, event.address, &change);
      break;
    case EventKind::kImport:
      // The same memory again is the same allocation.
      if (Allocation(process, event.allocation) != nullptr) break;
      [[fallthrough]];
    case EventKind::kCreate:
      change.made.push_back(Make(LiveKind::kAllocation, event, stack, &change));
      break;
    case EventKind::kRelease:
      Release(process, event.allocation, &change);
      break;
    case EventKind::kMap:
      change.made.push_back(Make(LiveKind::kMapping, event, stack, &change));
      break;
    case EventKind::kUnmap:
      EndIn({process, LiveKind::kMapping}, event.address, event.bytes, &change);
      break;
    case EventKind::kAllocate:
    case EventKind::kPoolAllocate:
      change.made.push_back(Make(LiveKind::kBlock, event, stack, &change));
      break;
    case EventKind::kFree:
    case EventKind::kPoolFree:
      FreeBlocks(process, event.address, event.bytes, &change);
      break;
    default:
      break;
  }
  return change;
}

MemoryTotals LiveMemory::TotalsOf(uint32_t process) const {
  const auto found = by_process_.find(process);
  return found == by_process_.end() ? MemoryTotals() : found->second;
}

const LiveObject* LiveMemory::ReservationAt(uint32_t process, uint64_t address) const {
  const auto objects = objects_.find({process, LiveKind::kReservation});
  if (objects == objects_.end()) return nullptr;
  const auto above = objects->second.upper_bound(address);
  if (above == objects->second.begin()) return nullptr;
  const LiveObject& found = std::prev(above)->second;
  return address - found.address < found.bytes ? &found : nullptr;
}

const LiveObject* LiveMemory::Allocation(uint32_t process, uint64_t id) const {
  const auto objects = objects_.find({process, LiveKind::kAllocation});
  if (objects == objects_.end()) return nullptr;
  const auto found = objects->second.find(id);
  return found == objects->second.end() ? nullptr : &found->second;
}

}  // namespace twinmmu
