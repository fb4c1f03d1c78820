#include "tools/views/memory_snapshot.h"

#include <algorithm>
#include <string_view>

namespace twinmmu {
namespace {

using record::Event;
using record::EventKind;
using record::Stack;

constexpr int32_t kMaxDevices = 1024;

int64_t Signed(uint64_t value) { return static_cast<int64_t>(value); }

void Put(Pickle& pickle, const char* key, int64_t value) {
  pickle.Text(key);
  pickle.Integer(value);
}
void Put(Pickle& pickle, const char* key, const char* value) {
  pickle.Text(key);
  pickle.Text(value);
}

void PutFrames(Pickle& pickle, const Stack& stack) {
  pickle.Text("frames");
  pickle.BeginList();
  for (const record::Frame& frame : stack) {
    pickle.BeginDict();
    pickle.Text("filename");
    pickle.Text(frame.file.empty() ? "??" : frame.file);
    Put(pickle, "line", frame.line);
    pickle.Text("name");
    pickle.Text(frame.function.empty() ? "??" : frame.function);
    pickle.EndDict();
  }
  pickle.EndList();
}

}  // namespace

size_t MemorySnapshot::PlaceOf(uint32_t process, int32_t device) {
  if (first_process_ == 0) first_process_ = process;
  const auto known = places_.find({process, device});
  if (known != places_.end()) return known->second;
  const bool is_first = process == first_process_ && device >= 0 && device < kMaxDevices;
  const auto ordinal = static_cast<size_t>(device);
  const auto is_taken = [&](size_t place) {
    return std::any_of(places_.begin(), places_.end(),
                       [place](const auto& entry) { return entry.second == place; });
  };
  const size_t place = is_first && !is_taken(ordinal) ? ordinal : traces_.size();
  if (traces_.size() <= place) traces_.resize(place + 1);
  return places_[{process, device}] = place;
}

void MemorySnapshot::Tell(const char* action, const LiveObject& object, const Event& event,
                          const Stack& stack) {
  const bool of_segment = std::string_view(action).substr(0, 7) == "segment";
  const LiveObject* const in = memory_.ReservationAt(object.process, object.address);
  const uint64_t unless =
      object.kind == LiveKind::kMapping && !of_segment && in != nullptr ? in->id : 0;
  std::vector<DeviceTrace::Part>& parts = traces_[PlaceOf(object.process, object.device)].parts;
  if (parts.empty() || parts.back().unless_pooled != unless) parts.push_back({unless, {}});
  Pickle& trace = parts.back().entries;
  trace.BeginDict();
  Put(trace, "action", action);
  Put(trace, "addr", Signed(object.address));
  Put(trace, "size", Signed(object.bytes));
  Put(trace, "stream", Signed(object.stream));
  Put(trace, "time_us", Signed(event.time_ns / 1000));
  PutFrames(trace, stack);
  trace.EndDict();
}

// A mapping is both: memory that the allocator got, and that it uses.
void MemorySnapshot::Add(const Event& event, const Stack& stack) {
  const auto is_shown = [](const LiveObject& object) {
    return object.device >= 0 &&
           (object.kind == LiveKind::kMapping || object.kind == LiveKind::kBlock);
  };
  const MemoryChange change = memory_.Apply(event, stack);
  for (const LiveObject& object : change.ended) {
    if (!is_shown(object)) continue;
    Tell("free_requested", object, event, stack);
    Tell("free_completed", object, event, stack);
    if (object.mapped) continue;
    Tell(object.kind == LiveKind::kMapping ? "segment_unmap" : "segment_free", object, event,
         stack);
  }
  for (const LiveObject* const made : change.made) {
    if (!is_shown(*made)) continue;
    const LiveObject* const in = memory_.ReservationAt(made->process, made->address);
    if (made->mapped && in != nullptr) pooled_.insert(in->id);
    if (!made->mapped) {
      Tell(made->kind == LiveKind::kMapping ? "segment_map" : "segment_alloc", *made, event, stack);
    }
    Tell("alloc", *made, event, *made->stack);
    if (made->kind == LiveKind::kMapping && in != nullptr)
      of_reservation_.emplace(in->id, PlaceOf(made->process, made->device));
  }
}

void MemorySnapshot::AddBlock(const char* state, uint64_t address, uint64_t bytes,
                              const Stack& stack) {
  segments_.BeginDict();
  Put(segments_, "address", Signed(address));
  Put(segments_, "size", Signed(bytes));
  Put(segments_, "requested_size", Signed(bytes));
  Put(segments_, "state", state);
  PutFrames(segments_, stack);
  segments_.EndDict();
}

// `blocks`: in it, by address. What is between them is a block, too: together they are all of it.
void MemorySnapshot::AddSegment(const LiveObject& segment,
                                const std::vector<const LiveObject*>& blocks) {
  const bool is_reservation = segment.kind == LiveKind::kReservation;
  uint64_t used = 0;
  for (const LiveObject* const block : blocks) used += block->bytes;
  const auto of = of_reservation_.find(segment.id);
  const size_t place = is_reservation ? (of == of_reservation_.end() ? 0 : of->second)
                                      : PlaceOf(segment.process, segment.device);
  segments_.BeginDict();
  Put(segments_, "device", Signed(place));
  Put(segments_, "address", Signed(segment.address));
  Put(segments_, "total_size", Signed(segment.bytes));
  Put(segments_, "allocated_size", Signed(used));
  Put(segments_, "active_size", Signed(used));
  Put(segments_, "requested_size", Signed(used));
  Put(segments_, "stream", Signed(segment.stream));
  Put(segments_, "segment_type", "large");
  segments_.Text("segment_pool_id");
  segments_.BeginTuple();
  segments_.Integer(0);
  segments_.Integer(0);
  segments_.EndTuple();
  segments_.Text("is_expandable");
  segments_.Bool(is_reservation);
  PutFrames(segments_, *segment.stack);
  segments_.Text("blocks");
  segments_.BeginList();
  uint64_t next = segment.address;
  for (const LiveObject* const block : blocks) {
    if (block->address > next) AddBlock("inactive", next, block->address - next, {});
    AddBlock("active_allocated", block->address, block->bytes, *block->stack);
    next = block->address + block->bytes;
  }
  const uint64_t end = segment.address + segment.bytes;
  if (end > next) AddBlock("inactive", next, end - next, {});
  segments_.EndList();
  segments_.EndDict();
}

std::string MemorySnapshot::Finish() {
  std::map<uint64_t, std::vector<const LiveObject*>> blocks;  // by the id of the reservation
  std::vector<const LiveObject*> segments;
  memory_.ForEach([&](const LiveObject& object) {
    const bool is_block = object.kind == LiveKind::kBlock;
    if (object.kind == LiveKind::kReservation) segments.push_back(&object);
    if (is_block && !object.mapped && object.device >= 0) segments.push_back(&object);
    if (!object.mapped && object.kind != LiveKind::kMapping) return;
    const LiveObject* const in = memory_.ReservationAt(object.process, object.address);
    if (in == nullptr || (pooled_.count(in->id) != 0) != is_block) return;
    // One that overhangs, which only a quirk of the driver allows, would break the sums.
    std::vector<const LiveObject*>& inside = blocks[in->id];
    const uint64_t end =
        inside.empty() ? in->address : inside.back()->address + inside.back()->bytes;
    const bool fits =
        object.address >= end && object.bytes <= in->bytes - (object.address - in->address);
    if (fits) inside.push_back(&object);
  });
  for (const LiveObject* const segment : segments) {
    const bool is_block = segment->kind == LiveKind::kBlock;
    AddSegment(*segment, is_block ? std::vector<const LiveObject*>{segment} : blocks[segment->id]);
  }
  Pickle snapshot;
  snapshot.BeginDict();
  snapshot.Text("segments");
  snapshot.BeginList();
  snapshot.Append(segments_);
  snapshot.EndList();
  snapshot.Text("device_traces");
  snapshot.BeginList();
  for (const DeviceTrace& trace : traces_) {
    snapshot.BeginList();
    for (const DeviceTrace::Part& part : trace.parts) {
      if (pooled_.count(part.unless_pooled) == 0) snapshot.Append(part.entries);
    }
    snapshot.EndList();
  }
  snapshot.EndList();
  snapshot.Text("allocator_settings");
  snapshot.BeginDict();
  snapshot.EndDict();
  snapshot.Text("external_annotations");
  snapshot.BeginList();
  snapshot.EndList();
  snapshot.EndDict();
  return snapshot.Finish();
}

}  // namespace twinmmu
