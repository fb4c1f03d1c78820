// MadeProcess: the events of a process that never ran.

#ifndef TWINMMU_TOOLS_VIEWS_TESTING_MADE_PROCESS_H_
#define TWINMMU_TOOLS_VIEWS_TESTING_MADE_PROCESS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/record/event.h"

namespace twinmmu {

// One process of a run. Calls that take a while move the clock, which all processes share.
class MadeProcess {
 public:
  MadeProcess(record::EventSink& sink, uint64_t& clock, uint32_t id)
      : sink_(sink), clock_(clock), id_(id) {}

  // The function that calls, from now on.
  void In(std::string function, std::string file, int line) {
    const record::Stack stack = {
        {function, file, line},
        {"pool::Allocator::Allocate(size_t)", "src/pool/allocator.cc", 118},
        {"RunStep(Model&, Batch const&)", "src/serve/step.cc", 64},
        {"main", "src/serve/main.cc", 31}};
    for (stack_ = 0; stack_ < stacks_.size(); ++stack_)
      if (stacks_[stack_].front().function == function) return;
    stacks_.push_back(stack);
  }
  void Wait(uint64_t ns) { clock_ += ns; }

  void Reserve(uint64_t address, uint64_t bytes) {
    Send(record::EventKind::kReserve, [&](record::Event& e) { Range(e, address, bytes); });
  }
  void FreeAddresses(uint64_t address, uint64_t bytes) {
    Send(record::EventKind::kAddressFree, [&](record::Event& e) { Range(e, address, bytes); });
  }
  uint64_t Create(uint64_t bytes, int32_t device) {
    Send(record::EventKind::kCreate, [&](record::Event& e) {
      e.allocation = ++allocations_;
      e.bytes = bytes;
      e.device = device;
    });
    return allocations_;
  }
  void Release(uint64_t allocation) {
    Send(record::EventKind::kRelease, [&](record::Event& e) { e.allocation = allocation; });
  }
  void Map(uint64_t address, uint64_t bytes, uint64_t allocation, uint64_t offset = 0) {
    Send(record::EventKind::kMap, [&](record::Event& e) {
      Range(e, address, bytes);
      e.allocation = allocation;
      e.offset = offset;
    });
  }
  void Unmap(uint64_t address, uint64_t bytes) {
    Send(record::EventKind::kUnmap, [&](record::Event& e) { Range(e, address, bytes); });
  }
  void SetAccess(uint64_t address, uint64_t bytes, int32_t device, uint8_t access) {
    Send(record::EventKind::kSetAccess, [&](record::Event& e) {
      Range(e, address, bytes);
      e.device = device;
      e.access = access;
    });
  }
  void Share(bool is_import, uint64_t allocation, uint64_t shared) {
    Send(is_import ? record::EventKind::kImport : record::EventKind::kExport,
         [&](record::Event& e) {
           e.allocation = allocation;
           e.shared = shared;
         });
    allocations_ = std::max(allocations_, allocation);
  }
  void Linear(record::EventKind kind, uint64_t address, uint64_t bytes, int32_t device) {
    Send(kind, [&](record::Event& e) {
      Range(e, address, bytes);
      e.device = device;
      if (kind == record::EventKind::kPoolAllocate || kind == record::EventKind::kPoolFree)
        e.stream = 7;
    });
  }
  void Launch(std::string_view kernel, uint64_t stream, uint64_t ns) {
    Send(record::EventKind::kLaunch, [&](record::Event& e) {
      e.text = kernel;
      e.stream = stream;
      e.duration_ns = ns;
    });
    Wait(ns);
  }
  void Copy(uint64_t to, uint64_t from, uint64_t bytes) {
    Send(record::EventKind::kCopy, [&](record::Event& e) {
      Range(e, to, bytes);
      e.from = from;
      e.duration_ns = bytes / 64;
    });
  }
  void Tell(record::EventKind kind, record::Severity severity, std::string_view code,
            std::string_view text, uint64_t address, uint64_t bytes = 0) {
    Send(kind, [&](record::Event& e) {
      Range(e, address, bytes);
      e.severity = severity;
      if (kind == record::EventKind::kCreate) e.device = 0;
      e.code = code;
      e.text = text;
    });
  }

  // Creates, maps and lets `device` in, as allocators do.
  uint64_t Back(uint64_t address, uint64_t bytes, int32_t device) {
    const uint64_t allocation = Create(bytes, device);
    Map(address, bytes, allocation);
    Release(allocation);
    SetAccess(address, bytes, device, 3);
    return allocation;
  }

 private:
  static void Range(record::Event& event, uint64_t address, uint64_t bytes) {
    event.address = address;
    event.bytes = bytes;
  }
  template <typename Fill>
  void Send(record::EventKind kind, Fill fill) {
    record::Event event;
    event.kind = kind;
    clock_ += 1'700 + clock_ % 900;
    event.process = id_;
    event.thread = id_ + 1;
    event.time_ns = clock_;
    event.stack = id_ * 100 + static_cast<uint32_t>(stack_) + 1;
    fill(event);
    static const record::Stack kNoStack;
    sink_.Add(event, stack_ < stacks_.size() ? stacks_[stack_] : kNoStack);
  }

  record::EventSink& sink_;
  uint64_t& clock_;
  const uint32_t id_;
  uint64_t allocations_ = 0;
  size_t stack_ = 0;
  std::vector<record::Stack> stacks_;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_TESTING_MADE_PROCESS_H_
