#include "tools/views/timeline/timeline.h"

#include <algorithm>
#include <iterator>

namespace twinmmu {
namespace {

using record::Event;
using record::EventKind;

// A few calls that each set the access to very many mappings would fill the memory.
constexpr size_t kMostAccessChanges = size_t{1} << 20;
// With more mappings of one memory at once, only the newest are asked whether they overlap.
constexpr size_t kMostAskedForAliases = 256;

// The end of a range, saturated: records are files, which may say anything.
uint64_t EndOf(uint64_t address, uint64_t bytes) {
  return address > UINT64_MAX - bytes ? UINT64_MAX : address + bytes;
}

}  // namespace

bool Timeline::Failed(const Event& event) { return event.severity == record::Severity::kError; }

void Timeline::Add(const Event& event) {
  if (!Failed(event)) {
    switch (event.kind) {
      case EventKind::kReserve:
        End(reservations_, {event.process, event.address});
        reservations_[{event.process, event.address}] = static_cast<uint32_t>(spans_.size());
        Begin(SpanKind::kReservation, event);
        break;
      case EventKind::kAddressFree:
        End(reservations_, {event.process, event.address});
        break;
      case EventKind::kCreate:
        Create(event);
        break;
      case EventKind::kRelease:
        Release(event);
        break;
      case EventKind::kMap:
        Map(event);
        break;
      case EventKind::kUnmap:
        Unmap(event);
        break;
      case EventKind::kSetAccess:
        SetAccess(event);
        break;
      case EventKind::kExport:
      case EventKind::kImport:
        Share(event);
        break;
      case EventKind::kAllocate:
      case EventKind::kPoolAllocate: {
        const bool pool = event.kind == EventKind::kPoolAllocate;
        if (pool && IsReserved(event)) break;  // its mappings show it
        std::map<Key, uint32_t>& live = pool ? pool_ : linear_;
        End(live, {event.process, event.address});
        live[{event.process, event.address}] = static_cast<uint32_t>(spans_.size());
        Begin(pool ? SpanKind::kPool : SpanKind::kLinear, event);
        break;
      }
      case EventKind::kFree:
      case EventKind::kPoolFree:
        Free(event);
        break;
      case EventKind::kLaunch:
      case EventKind::kCopy:
      case EventKind::kFill:
      case EventKind::kFault:
      case EventKind::kDiagnostic:
        break;
    }
  }
  ++events_;
}

bool Timeline::IsReserved(const Event& event) const {
  const auto above = reservations_.upper_bound({event.process, event.address});
  if (above == reservations_.begin()) return false;
  const Span& below = spans_[std::prev(above)->second];
  return below.process == event.process && event.address - below.address < below.bytes;
}

Span& Timeline::Begin(SpanKind kind, const Event& event) {
  Span& span = spans_.emplace_back();
  span.kind = kind;
  span.process = event.process;
  span.device = event.device;
  span.begin = events_;
  span.address = event.address;
  span.bytes = event.bytes;
  return span;
}

bool Timeline::End(std::map<Key, uint32_t>& live, Key key) {
  const auto found = live.find(key);
  if (found == live.end()) return false;
  spans_[found->second].end = events_;
  live.erase(found);
  return true;
}

uint32_t Timeline::MemoryOf(Key allocation) {
  uint32_t& number = memory_of_[allocation];
  if (number == 0) {
    number = static_cast<uint32_t>(memories_.size());
    memories_.emplace_back();
  }
  return number;
}

void Timeline::Create(const Event& event) {
  const uint32_t number = MemoryOf({event.process, event.allocation});
  Memory& memory = memories_[number];
  if (memory.known) return;
  memory.known = true;
  memory.device = event.device;
  ++memory.holders;
  memory.span = static_cast<uint32_t>(spans_.size());
  Span& span = Begin(SpanKind::kMemory, event);
  span.memory = number;
  span.address = 0;
}

void Timeline::Release(const Event& event) {
  const auto found = memory_of_.find({event.process, event.allocation});
  if (found == memory_of_.end()) return;
  Memory& memory = memories_[found->second];
  if (memory.holders > 0) --memory.holders;
  EndIfUnused(memory);
}

// Memory is gone when the last handle is released and the last mapping is undone.
void Timeline::EndIfUnused(Memory& memory) {
  if (!memory.known || memory.holders > 0 || !memory.mappings.empty()) return;
  uint32_t& end = spans_[memory.span].end;
  if (end == kStillThere) end = events_;
}

void Timeline::Share(const Event& event) {
  const Key allocation = {event.process, event.allocation};
  if (event.kind == EventKind::kExport) {
    shared_[event.shared] = MemoryOf(allocation);
    return;
  }
  const auto found = shared_.find(event.shared);
  const uint32_t number = found == shared_.end() ? MemoryOf(allocation) : found->second;
  shared_[event.shared] = number;
  memory_of_[allocation] = number;
  Memory& memory = memories_[number];
  ++memory.holders;
  // What was exported is kept until it is imported, though nobody in the record held it.
  if (memory.known) spans_[memory.span].end = kStillThere;
}

void Timeline::Map(const Event& event) {
  // What lies there lost its end with a part of the record.
  Event there = event;
  there.kind = EventKind::kUnmap;
  Unmap(there);
  const uint32_t index = static_cast<uint32_t>(spans_.size());
  mappings_[{event.process, event.address}] = index;
  Span& span = Begin(SpanKind::kMapping, event);
  span.offset = event.offset;
  span.memory = MemoryOf({event.process, event.allocation});
  if (span.device == record::kHost) span.device = memories_[span.memory].device;
  MarkAliases(index);
}

void Timeline::MarkAliases(uint32_t index) {
  Span& span = spans_[index];
  std::set<uint32_t>& others = memories_[span.memory].mappings;
  size_t asked = 0;
  for (auto other = others.rbegin(); other != others.rend() && asked < kMostAskedForAliases;
       ++other, ++asked) {
    Span& older = spans_[*other];
    if (older.offset < EndOf(span.offset, span.bytes) &&
        span.offset < EndOf(older.offset, older.bytes)) {
      older.aliased = true;
      span.aliased = true;
    }
  }
  others.insert(index);
}

void Timeline::UnmapSpan(uint32_t index) {
  Span& span = spans_[index];
  span.end = events_;
  Memory& memory = memories_[span.memory];
  if (memory.mappings.erase(index) != 0) EndIfUnused(memory);
}

void Timeline::Unmap(const Event& event) {
  const uint64_t end = EndOf(event.address, std::max<uint64_t>(event.bytes, 1));
  auto at = mappings_.lower_bound({event.process, event.address});
  while (at != mappings_.end() && at->first.first == event.process && at->first.second < end) {
    UnmapSpan(at->second);
    at = mappings_.erase(at);
  }
}

void Timeline::SetAccess(const Event& event) {
  const uint64_t end = EndOf(event.address, event.bytes);
  auto at = mappings_.lower_bound({event.process, event.address});
  if (at != mappings_.begin()) {
    const Span& before = spans_[std::prev(at)->second];
    if (before.process == event.process && EndOf(before.address, before.bytes) > event.address)
      --at;
  }
  for (; at != mappings_.end() && at->first.first == event.process && at->first.second < end;
       ++at) {
    if (access_changes_.size() == kMostAccessChanges) return;
    access_changes_.push_back({at->second, events_});
  }
}

// The driver frees memory of pools by either call.
void Timeline::Free(const Event& event) {
  const Key key = {event.process, event.address};
  if (!End(event.kind == EventKind::kFree ? linear_ : pool_, key))
    End(event.kind == EventKind::kFree ? pool_ : linear_, key);
}

}  // namespace twinmmu
