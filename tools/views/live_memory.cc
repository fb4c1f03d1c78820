#include "tools/views/live_memory.h"

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
      return Add(totals.allocated, object.bytes, made);
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
      change.made = Make(LiveKind::kReservation, event, stack, &change);
      break;
    case EventKind::kAddressFree:
      EndAt({process, LiveKind::kReservation}, event.address, &change);
      break;
    case EventKind::kImport:
      // The same memory again is the same allocation.
      if (Allocation(process, event.allocation) != nullptr) break;
      [[fallthrough]];
    case EventKind::kCreate:
      change.made = Make(LiveKind::kAllocation, event, stack, &change);
      break;
    case EventKind::kRelease:
      Release(process, event.allocation, &change);
      break;
    case EventKind::kMap:
      change.made = Make(LiveKind::kMapping, event, stack, &change);
      break;
    case EventKind::kUnmap:
      EndIn({process, LiveKind::kMapping}, event.address, event.bytes, &change);
      break;
    case EventKind::kAllocate:
    case EventKind::kPoolAllocate:
      change.made = Make(LiveKind::kBlock, event, stack, &change);
      break;
    case EventKind::kFree:
    case EventKind::kPoolFree:
      EndAt({process, LiveKind::kBlock}, event.address, &change);
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
