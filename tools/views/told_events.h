// Events for tests of views.

#ifndef TWINMMU_TOOLS_VIEWS_TOLD_EVENTS_H_
#define TWINMMU_TOOLS_VIEWS_TOLD_EVENTS_H_

#include <cstdint>
#include <string>

#include "api/record/event.h"

namespace twinmmu {

// Tells a sink what happens in a process, a microsecond after the other.
class ToldEvents {
 public:
  explicit ToldEvents(record::EventSink* sink, uint32_t process = 100)
      : sink_(*sink), process_(process) {}

  record::Event Of(record::EventKind kind) {
    record::Event event;
    event.kind = kind;
    event.process = process_;
    event.thread = process_ + 1;
    event.time_ns = time_ns_ += 1000;
    return event;
  }
  void Add(const record::Event& event) { sink_.Add(event, *stack_); }
  // From where what follows is called.
  void SetStack(const record::Stack* stack) { stack_ = stack; }

  void Reserve(uint64_t address, uint64_t bytes) {
    AddRange(record::EventKind::kReserve, address, bytes);
  }
  void AddressFree(uint64_t address, uint64_t bytes) {
    AddRange(record::EventKind::kAddressFree, address, bytes);
  }
  void Create(uint64_t allocation, uint64_t bytes, int32_t device = 0) {
    record::Event event = Of(record::EventKind::kCreate);
    event.allocation = allocation;
    event.bytes = bytes;
    event.device = device;
    Add(event);
  }
  void Release(uint64_t allocation) {
    record::Event event = Of(record::EventKind::kRelease);
    event.allocation = allocation;
    Add(event);
  }
  void Map(uint64_t address, uint64_t bytes, uint64_t allocation, uint64_t offset = 0) {
    record::Event event = Of(record::EventKind::kMap);
    event.address = address;
    event.bytes = bytes;
    event.allocation = allocation;
    event.offset = offset;
    Add(event);
  }
  void Unmap(uint64_t address, uint64_t bytes) {
    AddRange(record::EventKind::kUnmap, address, bytes);
  }
  void Allocate(uint64_t address, uint64_t bytes, int32_t device = 0) {
    record::Event event = Of(record::EventKind::kAllocate);
    event.address = address;
    event.bytes = bytes;
    event.device = device;
    Add(event);
  }
  void AllocateFromPool(uint64_t address, uint64_t bytes) {
    record::Event event = Of(record::EventKind::kPoolAllocate);
    event.address = address;
    event.bytes = bytes;
    event.device = 0;
    Add(event);
  }
  void FreeToPool(uint64_t address, uint64_t bytes) {
    AddRange(record::EventKind::kPoolFree, address, bytes);
  }
  void Free(uint64_t address) { AddRange(record::EventKind::kFree, address, 0); }

 private:
  void AddRange(record::EventKind kind, uint64_t address, uint64_t bytes) {
    record::Event event = Of(kind);
    event.address = address;
    event.bytes = bytes;
    Add(event);
  }

  record::EventSink& sink_;
  const uint32_t process_;
  uint64_t time_ns_ = 0;
  const record::Stack no_stack_;
  const record::Stack* stack_ = &no_stack_;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_TOLD_EVENTS_H_
