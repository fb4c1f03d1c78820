#include "tools/views/memory_snapshot.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace twinmmu {
namespace {

using record::Event;
using record::EventKind;
using record::Stack;

const Stack kNoStack;

// Values in a piece of a list, as Python writes them.
constexpr size_t kPiece = 1000;

int64_t Signed(uint64_t value) { return static_cast<int64_t>(value); }

void Put(Pickle& pickle, const char* key, int64_t value) {
  pickle.Text(key);
  pickle.Integer(value);
}
void Put(Pickle& pickle, const char* key, const char* value) {
  pickle.Text(key);
  pickle.Text(value);
}

}  // namespace

size_t MemorySnapshot::PlaceOf(uint32_t process, int32_t device) {
  if (first_process_ == 0) first_process_ = process;
  const auto known = places_.find({process, device});
  if (known != places_.end()) return known->second;
  if (places_.size() == kMostDevices) return place_count_ - 1;
  const auto ordinal = static_cast<size_t>(device);
  const bool is_first = process == first_process_ && device >= 0 && ordinal < kMostDevices;
  const auto is_taken = [&](size_t place) {
    return std::any_of(places_.begin(), places_.end(),
                       [place](const auto& entry) { return entry.second == place; });
  };
  const size_t place = is_first && !is_taken(ordinal) ? ordinal : place_count_;
  place_count_ = std::max(place_count_, place + 1);
  return places_[{process, device}] = place;
}

void MemorySnapshot::Tell(const char* action, const LiveObject& object, const Event& event,
                          const Stack& stack) {
  const bool of_segment = std::string_view(action).substr(0, 7) == "segment";
  const LiveObject* const in = memory_.ReservationAt(object.process, object.address);
  const uint64_t unless =
      object.kind == LiveKind::kMapping && !of_segment && in != nullptr ? in->id : 0;
  entries_.push_back({action, PlaceOf(object.process, object.device), object.address, object.bytes,
                      object.stream, event.time_ns, &stack, unless});
}

// The oldest of what is too much.
void MemorySnapshot::Forget() {
  for (; entries_.size() > most_entries_; ++forgotten_) entries_.pop_front();
  while (pooled_.size() > most_entries_) pooled_.erase(pooled_.begin());
}

std::string MemorySnapshot::LeftOut() const {
  if (forgotten_ == 0) return memory_.LeftOut();
  return absl::StrCat("the first ", forgotten_, " entries of its traces: they have ",
                      most_entries_);
}

// A mapping is both: memory that the allocator got, and that it uses.
void MemorySnapshot::Add(const Event& event, const Stack& stack) {
  const auto is_shown = [](const LiveObject& object) {
    return object.device >= 0 &&
           (object.kind == LiveKind::kMapping || object.kind == LiveKind::kBlock);
  };
  const MemoryChange change = memory_.Apply(event, stack);
  for (const LiveObject& object : change.ended) {
    if (object.kind == LiveKind::kReservation) of_reservation_.erase(object.id);
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
  Forget();
}

// A stack is written once: what has it too refers to it.
void MemorySnapshot::AddFrames(const Stack& stack) {
  pickle_.Text("frames");
  const auto [known, is_new] = kept_.emplace(&stack, static_cast<uint32_t>(kept_.size()));
  if (!is_new) return pickle_.Kept(known->second);
  pickle_.BeginList();
  for (const record::Frame& frame : stack) {
    pickle_.BeginDict();
    pickle_.Text("filename");
    pickle_.Text(frame.file.empty() ? "??" : frame.file);
    Put(pickle_, "line", frame.line);
    pickle_.Text("name");
    pickle_.Text(frame.function.empty() ? "??" : frame.function);
    pickle_.EndDict();
  }
  pickle_.EndList();
  pickle_.Keep(known->second);
}

void MemorySnapshot::AddBlock(const char* state, uint64_t address, uint64_t bytes,
                              const Stack& stack) {
  pickle_.BeginDict();
  Put(pickle_, "address", Signed(address));
  Put(pickle_, "size", Signed(bytes));
  Put(pickle_, "requested_size", Signed(bytes));
  Put(pickle_, "state", state);
  AddFrames(stack);
  pickle_.EndDict();
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
  pickle_.BeginDict();
  Put(pickle_, "device", Signed(place));
  Put(pickle_, "address", Signed(segment.address));
  Put(pickle_, "total_size", Signed(segment.bytes));
  Put(pickle_, "allocated_size", Signed(used));
  Put(pickle_, "active_size", Signed(used));
  Put(pickle_, "requested_size", Signed(used));
  Put(pickle_, "stream", Signed(segment.stream));
  Put(pickle_, "segment_type", "large");
  pickle_.Text("segment_pool_id");
  pickle_.BeginTuple();
  pickle_.Integer(0);
  pickle_.Integer(0);
  pickle_.EndTuple();
  pickle_.Text("is_expandable");
  pickle_.Bool(is_reservation);
  AddFrames(*segment.stack);
  pickle_.Text("blocks");
  pickle_.BeginList();
  uint64_t next = segment.address;
  size_t count = 0;
  for (const LiveObject* const block : blocks) {
    if (count++ % kPiece == kPiece - 1) pickle_.NextPiece();
    if (block->address > next) AddBlock("inactive", next, block->address - next, kNoStack);
    AddBlock("active_allocated", block->address, block->bytes, *block->stack);
    next = block->address + block->bytes;
  }
  const uint64_t end = segment.address + segment.bytes;
  if (end > next) AddBlock("inactive", next, end - next, kNoStack);
  pickle_.EndList();
  pickle_.EndDict();
}

void MemorySnapshot::AddSegments() {
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
  size_t count = 0;
  for (const LiveObject* const segment : segments) {
    if (count++ % kPiece == kPiece - 1) pickle_.NextPiece();
    const bool is_block = segment->kind == LiveKind::kBlock;
    AddSegment(*segment, is_block ? std::vector<const LiveObject*>{segment} : blocks[segment->id]);
  }
}

void MemorySnapshot::AddTraces() {
  std::vector<std::vector<const Entry*>> traces(place_count_);
  for (const Entry& entry : entries_) {
    if (pooled_.count(entry.unless_pooled) == 0) traces[entry.place].push_back(&entry);
  }
  for (const std::vector<const Entry*>& trace : traces) {
    pickle_.BeginList();
    size_t count = 0;
    for (const Entry* const entry : trace) {
      if (count++ % kPiece == kPiece - 1) pickle_.NextPiece();
      pickle_.BeginDict();
      Put(pickle_, "action", entry->action);
      Put(pickle_, "addr", Signed(entry->address));
      Put(pickle_, "size", Signed(entry->bytes));
      Put(pickle_, "stream", Signed(entry->stream));
      Put(pickle_, "time_us", Signed(entry->time_ns / 1000));
      AddFrames(*entry->stack);
      pickle_.EndDict();
    }
    pickle_.EndList();
  }
}

std::string MemorySnapshot::Finish() {
  pickle_.BeginDict();
  pickle_.Text("segments");
  pickle_.BeginList();
  AddSegments();
  pickle_.EndList();
  pickle_.Text("device_traces");
  pickle_.BeginList();
  AddTraces();
  pickle_.EndList();
  pickle_.Text("allocator_settings");
  pickle_.BeginDict();
  pickle_.EndDict();
  pickle_.Text("external_annotations");
  pickle_.BeginList();
  pickle_.EndList();
  pickle_.EndDict();
  return pickle_.Finish();
}

}  // namespace twinmmu
