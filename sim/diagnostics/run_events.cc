#include "sim/diagnostics/run_events.h"

#include <optional>

#include "api/record/event.h"
#include "api/record/event_writer.h"

namespace twinmmu {
namespace {

using record::EventKind;

// A call that the record does not tell of is none.
std::optional<EventKind> KindOf(Call call) {
  switch (call) {
    case Call::kAddressReserve:
      return EventKind::kReserve;
    case Call::kAddressFree:
      return EventKind::kAddressFree;
    case Call::kCreate:
    case Call::kMulticastCreate:
      return EventKind::kCreate;
    case Call::kRelease:
      return EventKind::kRelease;
    case Call::kMap:
      return EventKind::kMap;
    case Call::kUnmap:
      return EventKind::kUnmap;
    case Call::kSetAccess:
      return EventKind::kSetAccess;
    case Call::kExportShareableHandle:
      return EventKind::kExport;
    case Call::kImportShareableHandle:
      return EventKind::kImport;
    case Call::kAllocate:
    case Call::kAllocateManaged:
    case Call::kAllocateHost:
    case Call::kOpenIpcMemory:
      return EventKind::kAllocate;
    case Call::kFreeMemory:
    case Call::kFreeHost:
    case Call::kCloseIpcMemory:
    case Call::kDestroyContext:
      return EventKind::kFree;
    case Call::kAllocateAsync:
    case Call::kAllocateFromPool:
      return EventKind::kPoolAllocate;
    case Call::kFreeAsync:
      return EventKind::kPoolFree;
    default:
      return std::nullopt;
  }
}

int32_t DeviceOf(const Location& location) {
  return location.type == LocationType::kDevice ? location.id : record::kHost;
}

// What is known of the allocation of a handle.
void DescribeAllocation(const SimulatorState& state, AllocationHandle handle,
                        record::Event* event) {
  event->allocation = handle.value();
  const AllocationRecord* const found = state.mmu.memory.Find(handle);
  if (found == nullptr) return;
  event->device = DeviceOf(found->pages->location);
  event->bytes = found->pages->size.value();
  const bool shared = event->kind == EventKind::kExport || event->kind == EventKind::kImport;
  if (shared) event->shared = found->pages->id;
}

void DescribeMemory(const SimulatorState& state, record::Event* event) {
  const LinearAllocation* const found = state.mmu.linear.Find(DeviceAddress(event->address));
  if (found != nullptr && (found->on_device() || found->managed()))
    event->device = found->device.value();
}

bool IsGone(const SimulatorState& state, AllocationHandle handle) {
  const AllocationRecord* const found = state.mmu.memory.Find(handle);
  return found == nullptr || found->references == 0;
}

void TellGrants(const SimulatorState& state, const CallEvent& call, record::Event event) {
  const int host = state.mmu.profile.device_count();
  for (int location = 0; location <= host; ++location) {
    const std::optional<Access> access = call.granted(location);
    if (!access.has_value()) continue;
    event.device = location == host ? record::kHost : location;
    event.access = static_cast<uint8_t>(*access);
    state.events->Add(event);
  }
}

record::Event EventOf(const ToldWork& work, EventKind kind) {
  record::Event event;
  event.kind = kind;
  event.device = work.stream.device().value();
  event.stream = work.stream.value();
  event.stack = work.stack;
  event.time_ns = work.begin_ns;
  event.duration_ns = record::EventWriter::Now() - work.begin_ns;
  return event;
}

}  // namespace

void TellCall(const SimulatorState& state, const CallEvent& call, Stream stream) {
  const std::optional<EventKind> kind = KindOf(call.call);
  if (!kind.has_value()) return;
  record::Event event;
  event.kind = *kind;
  event.address = call.range.base.value();
  event.bytes = call.range.size.value();
  event.stream = stream.value();
  if (call.refused) {
    event.severity = record::Severity::kError;
    if (event.kind == EventKind::kRelease || event.kind == EventKind::kMap)
      event.allocation = call.detail;
    return state.events->Add(event);
  }
  switch (event.kind) {
    case EventKind::kUnmap:
      if (call.detail == 0) return;  // nothing was mapped there
      break;
    case EventKind::kRelease:
      if (!IsGone(state, call.handle())) return;
      [[fallthrough]];
    case EventKind::kCreate:
    case EventKind::kExport:
    case EventKind::kImport:
      DescribeAllocation(state, call.handle(), &event);
      break;
    case EventKind::kMap: {
      event.allocation = call.detail;
      const MappingRecord* const mapping = state.mmu.MappingAt(call.range.base);
      if (mapping != nullptr) event.offset = state.mmu.SizeOf(mapping->offset).value();
      break;
    }
    case EventKind::kSetAccess:
      return TellGrants(state, call, event);
    case EventKind::kAllocate:
    case EventKind::kPoolAllocate:
      DescribeMemory(state, &event);
      break;
    case EventKind::kFree:
      if (call.range.empty()) return;
      break;
    default:
      break;
  }
  state.events->Add(event);
}

void TellLaunch(const SimulatorState& state, const ToldWork& work, absl::string_view kernel) {
  record::Event event = EventOf(work, EventKind::kLaunch);
  event.text = {kernel.data(), kernel.size()};
  state.events->Add(event);
}

void TellCopy(const SimulatorState& state, const ToldWork& work, bool is_fill,
              const AddressRange& written, const AddressRange& read, uint64_t bytes) {
  record::Event event = EventOf(work, is_fill ? EventKind::kFill : EventKind::kCopy);
  event.address = written.base.value();
  event.from = read.base.value();
  event.bytes = bytes;
  state.events->Add(event);
}

void TellFault(const SimulatorState& state, DeviceOrdinal device, DeviceAddress address,
               absl::string_view words) {
  record::Event event;
  event.kind = EventKind::kFault;
  event.severity = record::Severity::kError;
  event.device = device.value();
  event.address = address.value();
  event.text = {words.data(), words.size()};
  state.events->Add(event);
}

}  // namespace twinmmu
