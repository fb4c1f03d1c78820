#include "tools/views/live_memory.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"

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
  MemoryTotals& of_process = by_process_[object.process];
  AddTo(of_process, object, made);
  if (of_process.empty()) by_process_.erase(object.process);
}

std::string LiveMemory::LeftOut() const {
  if (left_out_ == 0) return "";
  return absl::StrCat(left_out_, " objects: there were more than ", most_objects_, " at once");
}

void LiveMemory::Keep(const LiveObject& object, MemoryChange* change) {
  if (objects_.size() >= most_objects_) {
    ++left_out_;
    return;
  }
  Count(object, true);
  LiveObject& kept = objects_[{object.process, object.kind, object.address}];
  kept = object;
  kept.id = next_id_++;
  change->made.push_back(&kept);
}

void LiveMemory::End(Objects::iterator object, MemoryChange* change) {
  const LiveObject ended = object->second;
  objects_.erase(object);
  Count(ended, false);
  change->ended.push_back(ended);
  if (ended.kind != LiveKind::kMapping) return;
  const auto found = objects_.find({ended.process, LiveKind::kAllocation, ended.allocation});
  if (found == objects_.end()) return;
  if (--found->second.mappings == 0 && found->second.released) End(found, change);
}

void LiveMemory::EndAt(Key key, MemoryChange* change) {
  const auto found = objects_.find(key);
  if (found != objects_.end()) End(found, change);
}

// All that begin there.
void LiveMemory::EndIn(Key key, uint64_t bytes, MemoryChange* change) {
  const auto [process, kind, address] = key;
  for (auto next = objects_.lower_bound(key);
       next != objects_.end() && next->second.process == process && next->second.kind == kind &&
       next->second.address - address < bytes;) {
    End(next++, change);
  }
}

void LiveMemory::Release(uint32_t process, uint64_t allocation, MemoryChange* change) {
  const auto found = objects_.find({process, LiveKind::kAllocation, allocation});
  if (found == objects_.end()) return;
  found->second.released = true;
  if (found->second.mappings == 0) End(found, change);
}

void LiveMemory::FreeBlocks(uint32_t process, uint64_t address, uint64_t bytes,
                            MemoryChange* change) {
  const auto is_block = [&](Objects::iterator found) {
    return found != objects_.end() && found->second.process == process &&
           found->second.kind == LiveKind::kBlock;
  };
  auto next = objects_.upper_bound({process, LiveKind::kBlock, address});
  if (next != objects_.begin() && is_block(std::prev(next))) {
    const LiveObject& before = std::prev(next)->second;
    if (before.address == address || (before.mapped && address - before.address < before.bytes))
      --next;
  }
  const uint64_t size = std::max<uint64_t>(bytes, 1);
  std::vector<LiveObject> left;
  while (is_block(next) &&
         (next->second.address <= address || next->second.address - address < size)) {
    const LiveObject block = next->second;
    End(next++, change);
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
  for (const LiveObject& piece : left) Keep(piece, change);
}

void LiveMemory::Make(LiveKind kind, const Event& event, const record::Stack& stack,
                      MemoryChange* change) {
  LiveObject made;
  made.kind = kind;
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
  EndAt({event.process, kind, made.address}, change);
  const auto of = objects_.find({event.process, LiveKind::kAllocation, event.allocation});
  const bool is_of = kind == LiveKind::kMapping && of != objects_.end();
  if (is_of) made.device = of->second.device;
  Keep(made, change);
  if (is_of && !change->made.empty()) ++of->second.mappings;
}

MemoryChange LiveMemory::Apply(const Event& event, const record::Stack& stack) {
  MemoryChange change;
  if (event.severity == record::Severity::kError) return change;
  const uint32_t process = event.process;
  switch (event.kind) {
    case EventKind::kReserve:
      Make(LiveKind::kReservation, event, stack, &change);
      break;
    case EventKind::kAddressFree:
      EndAt({process, LiveKind::kReservation, event.address}, &change);
      break;
    case EventKind::kImport:
      // The same memory again is the same allocation.
      if (Allocation(process, event.allocation) != nullptr) break;
      [[fallthrough]];
    case EventKind::kCreate:
      Make(LiveKind::kAllocation, event, stack, &change);
      break;
    case EventKind::kRelease:
      Release(process, event.allocation, &change);
      break;
    case EventKind::kMap:
      Make(LiveKind::kMapping, event, stack, &change);
      break;
    case EventKind::kUnmap:
      EndIn({process, LiveKind::kMapping, event.address}, event.bytes, &change);
      break;
    case EventKind::kAllocate:
    case EventKind::kPoolAllocate:
      Make(LiveKind::kBlock, event, stack, &change);
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
  const auto above = objects_.upper_bound({process, LiveKind::kReservation, address});
  if (above == objects_.begin()) return nullptr;
  const LiveObject& found = std::prev(above)->second;
  return found.process == process && found.kind == LiveKind::kReservation &&
                 address - found.address < found.bytes
             ? &found
             : nullptr;
}

const LiveObject* LiveMemory::Allocation(uint32_t process, uint64_t id) const {
  const auto found = objects_.find({process, LiveKind::kAllocation, id});
  return found == objects_.end() ? nullptr : &found->second;
}

}  // namespace twinmmu
