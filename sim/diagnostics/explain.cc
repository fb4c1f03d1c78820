#include "sim/diagnostics/explain.h"

#include <algorithm>
#include <string>

namespace twinmmu {
namespace {

using Kind = DiagnosticKind;

// More would not be read.
constexpr size_t kMostEntries = 16;

bool NamesHandle(Call call) {
  return call == Call::kCreate || call == Call::kRelease || call == Call::kRetainAllocationHandle ||
         call == Call::kMap || call == Call::kExportShareableHandle ||
         call == Call::kImportShareableHandle || IsOfMulticast(call);
}

// The newest event that satisfies `wanted`; of an address, since that was last reserved. None if no
// more diagnostics are kept: a program that goes on being wrong must not pay for searches.
template <typename Wanted>
std::optional<CallEvent> Newest(const SimulatorState& state, std::optional<DeviceAddress> reserved,
                                const Wanted& wanted) {
  std::optional<CallEvent> found;
  if (state.log.IsFull()) return found;
  state.history.ForEachBackwards([&](const CallEvent& event) {
    if (event.refused) return true;
    if (wanted(event)) found = event;
    const bool reserves = event.call == Call::kAddressReserve && reserved.has_value() &&
                          event.range.contains(*reserved);
    return !found.has_value() && !reserves;
  });
  return found;
}

// The newest that has done `call` at `address` since it was last reserved.
std::optional<CallEvent> Newest(const SimulatorState& state, Call call, DeviceAddress address) {
  return Newest(state, address, [&](const CallEvent& event) {
    return event.call == call && event.range.contains(address) &&
           (call != Call::kUnmap || event.detail != 0);
  });
}

uint64_t IdOf(const std::optional<CallEvent>& event) { return event.has_value() ? event->id : 0; }

// The newest release of `handle`.
uint64_t ReleaseOf(const SimulatorState& state, AllocationHandle handle) {
  return IdOf(Newest(state, std::nullopt, [&](const CallEvent& event) {
    return event.call == Call::kRelease && event.handle() == handle;
  }));
}

bool FreesLinear(Call call) {
  return call == Call::kFreeMemory || call == Call::kFreeHost || call == Call::kUnregisterHost ||
         call == Call::kFreeAsync || call == Call::kUnloadModule || call == Call::kDestroyContext ||
         call == Call::kCloseIpcMemory;
}

// The call that freed the linear memory that was last at `address`, if there is none now.
uint64_t LinearFreeOf(const SimulatorState& state, DeviceAddress address) {
  return IdOf(Newest(state, std::nullopt, [&](const CallEvent& event) {
    return FreesLinear(event.call) && event.range.contains(address);
  }));
}

// `range` is not all in one piece of a pool, though there is memory, or is out of reach.
std::optional<Misuse> WhyNotPooled(const SimulatorState& state, std::optional<DeviceOrdinal> device,
                                   const AddressRange& range) {
  const PooledPiece* const piece = state.mmu.pooled.Find(range.base);
  if (piece == nullptr) return std::nullopt;
  Misuse misuse{Kind::kUseWithoutPeerAccess, piece->range.base, std::nullopt, device,
                piece->made_by};
  if (piece->freed_by != 0) {
    misuse.kind = Kind::kUseAfterFreeInStream;
    misuse.cause = piece->freed_by;
  } else if (!piece->range.contains(range)) {
    misuse.kind = Kind::kUseBeyondMemory;
  }
  return misuse;
}

// `range` is not all in one linear allocation: nullopt if it has nothing to do with any.
std::optional<Misuse> WhyNotLinear(const SimulatorState& state, std::optional<DeviceOrdinal> device,
                                   const AddressRange& range) {
  if (state.mmu.MappingAt(range.base) != nullptr) return std::nullopt;
  const LinearAllocation* const allocation = state.mmu.linear.Find(range.base);
  if (allocation != nullptr && allocation->of_pool()) return WhyNotPooled(state, device, range);
  if (allocation != nullptr) {
    const bool beyond = !allocation->range.contains(range);
    if (!beyond && !allocation->on_device()) {
      return Misuse{Kind::kUseOfMissingHostMemory, range.base, std::nullopt, device,
                    allocation->made_by};
    }
    return Misuse{beyond ? Kind::kUseBeyondMemory : Kind::kUseWithoutPeerAccess,
                  allocation->range.base, std::nullopt, device, allocation->made_by};
  }
  const uint64_t freed_by = LinearFreeOf(state, range.base);
  if (freed_by == 0) return std::nullopt;
  return Misuse{Kind::kUseAfterFreeOfMemory, range.base, std::nullopt, device, freed_by};
}

// The first address of `range` where not even a copy by `device` may access memory; or if that can,
// where it may not access it itself.
DeviceAddress FirstFault(const SimulatorState& state, DeviceOrdinal device,
                         const AddressRange& range, Access access) {
  if (!state.mmu.window.range().contains(range.base)) return range.base;
  for (const auto can : {&Mmu::CanCopy, &Mmu::CanAccess}) {
    for (DeviceAddress address = range.base; address < range.end();) {
      const PageSpan run = state.mmu.table.Find(state.mmu.PageOf(address));
      const DeviceAddress end = run.end < state.mmu.PagesIn(state.mmu.window.range().size)
                                    ? state.mmu.AddressOf(run.end)
                                    : state.mmu.window.range().end();
      const AddressRange piece{address, std::min(range.end(), end) - address, Bytes(0)};
      if (piece.empty() || !(state.mmu.*can)(device, piece, access)) return address;
      address = end;
    }
  }
  return range.base;  // no page is to blame: the range wraps
}

// `device` has no access at `address`, which is mapped.
Misuse WhyNoAccess(const SimulatorState& state, DeviceOrdinal device, DeviceAddress address) {
  Misuse misuse{Kind::kUseWithoutAccess, address, std::nullopt, device};
  const uint64_t mapped_by = state.mmu.MappingAt(address)->call;
  // The newest change of the access.
  const std::optional<CallEvent> change = Newest(state, address, [&](const CallEvent& event) {
    return event.call == Call::kSetAccess && event.range.contains(address) &&
           event.granted(device.value()).has_value();
  });
  if (change.has_value() && change->id > mapped_by) {
    misuse.kind = Kind::kUseAfterAccessTaken;
    misuse.cause = change->id;
  } else if (change.has_value() && change->granted(device.value()) != Access::kNone) {
    misuse.kind = Kind::kAccessLostByRemap;
    misuse.cause = mapped_by;
  } else if ((state.mmu.At(address).bits() & PageEdit::AllAccess()) != 0) {
    misuse.kind = Kind::kUseWithoutPeerGrant;
  }
  return misuse;
}

}  // namespace

Call MakerOf(LinearKind kind) {
  switch (kind) {
    case LinearKind::kDevice:
      return Call::kAllocate;
    case LinearKind::kModule:
    case LinearKind::kManagedVariables:
      return Call::kLoadModule;
    case LinearKind::kPinned:
      return Call::kAllocateHost;
    case LinearKind::kRegistered:
      return Call::kRegisterHost;
    case LinearKind::kManaged:
      return Call::kAllocateManaged;
    case LinearKind::kForeign:
      return Call::kOpenIpcMemory;
    case LinearKind::kPool:
    case LinearKind::kHostPool:
    case LinearKind::kManagedPool:
      return Call::kAllocateAsync;
  }
  return Call::kOther;
}

Call MakerOf(const AllocationRecord& allocation) {
  if (allocation.imported) return Call::kImportShareableHandle;
  return allocation.is_multicast() ? Call::kMulticastCreate : Call::kCreate;
}

std::vector<HistoryEntry> HistoryOf(const SimulatorState& state, DeviceAddress address) {
  std::vector<HistoryEntry> entries;
  state.history.ForEachBackwards([&](const CallEvent& event) {
    // The range of a Create is only a size.
    const bool size_only = event.call == Call::kCreate || event.call == Call::kMulticastCreate;
    if (!size_only && event.range.contains(address)) {
      entries.push_back({event.id, SentenceOf(event, state.mmu.host), event.caller});
    }
    return entries.size() < kMostEntries;
  });
  // What made the present state is told even if the ring has forgotten it.
  const MappingRecord* mapping = state.mmu.MappingAt(address);
  const std::optional<uint32_t> reserved = state.mmu.space.Find(address);
  const LinearAllocation* linear = state.mmu.linear.Find(address);
  const PooledPiece* piece = state.mmu.pooled.Find(address);
  const auto add = [&](uint64_t call, const std::string& sentence) {
    if (entries.empty() || call < entries.back().call) entries.push_back({call, sentence});
  };
  if (mapping != nullptr) {
    add(mapping->call, words::Sentence("cuMemMap", words::Mapped(state.mmu.RangeOf(*mapping))));
  }
  if (reserved.has_value()) {
    add(state.mmu.space.MadeBy(*reserved),
        words::Sentence("cuMemAddressReserve", words::Reserved(state.mmu.space[*reserved])));
  }
  if (piece != nullptr) {
    const CallEvent made{piece->made_by, Call::kAllocateAsync, false, piece->range, 0};
    add(piece->made_by, SentenceOf(made, state.mmu.host));
  }
  if (linear != nullptr && !linear->of_pool()) {
    const Call made = MakerOf(linear->kind);
    add(linear->made_by,
        SentenceOf(CallEvent{linear->made_by, made, false, linear->range, 0}, state.mmu.host));
  }
  std::reverse(entries.begin(), entries.end());
  return entries;
}

std::vector<HistoryEntry> HistoryOf(const SimulatorState& state, AllocationHandle handle) {
  std::vector<HistoryEntry> entries;
  state.history.ForEachBackwards([&](const CallEvent& event) {
    if (NamesHandle(event.call) && event.handle() == handle) {
      entries.push_back({event.id, SentenceOf(event, state.mmu.host), event.caller});
    }
    return entries.size() < kMostEntries;
  });
  const AllocationRecord* allocation = state.mmu.memory.Find(handle);
  if (allocation != nullptr && (entries.empty() || allocation->made_by < entries.back().call)) {
    entries.push_back({allocation->made_by,
                       words::Sentence(NameOf(MakerOf(*allocation)), words::MadeHandle(handle))});
  }
  std::reverse(entries.begin(), entries.end());
  return entries;
}

Misuse WhyNoAccess(const SimulatorState& state, DeviceOrdinal device, const AddressRange& range,
                   Access access) {
  const std::optional<Misuse> linear = WhyNotLinear(state, device, range);
  if (linear.has_value()) return *linear;
  const DeviceAddress address = FirstFault(state, device, range, access);
  const PageEntry entry = state.mmu.At(address);
  if (!entry.mapped()) {
    const uint64_t unmapped_by = IdOf(Newest(state, Call::kUnmap, address));
    return {unmapped_by == 0 ? Kind::kUseOfUnmapped : Kind::kUseAfterUnmap, address, std::nullopt,
            device, unmapped_by};
  }
  const bool granted = Covers(entry.access(device.value()), access);
  if (granted && state.mmu.IsMulticast(address)) {
    return {Kind::kUseOfMulticast, address, std::nullopt, device};
  }
  if (entry.access(device.value()) != Access::kNone) {
    return {Kind::kWriteToReadOnly, address, std::nullopt, device};
  }
  return WhyNoAccess(state, device, address);
}

Misuse WhyFault(const SimulatorState& state, const Fault& fault) {
  if (fault.location.type == LocationType::kDevice) {
    return WhyNoAccess(state, DeviceOrdinal(fault.location.id), fault.range, fault.access);
  }
  const std::optional<Misuse> linear = WhyNotLinear(state, std::nullopt, fault.range);
  const bool of_devices = state.mmu.OverlapsDevices(fault.range);
  return linear.value_or(Misuse{
      of_devices ? Kind::kHostUseOfDeviceMemory : Kind::kUseOfMissingHostMemory, fault.range.base});
}

std::optional<Misuse> WhyPendingWorkFails(const SimulatorState& state, DiagnosticKind kind,
                                          const AddressRange& range) {
  for (const PendingUse& use : state.scheduler.UsesOf(range)) {
    const DeviceOrdinal device = use.stream.device();
    if (kind == Kind::kUnmapUnderPendingWork || !state.mmu.CanCopy(device, use.range, use.access)) {
      return Misuse{kind, std::max(use.range.base, range.base), std::nullopt, device, use.call_id};
    }
  }
  return std::nullopt;
}

Misuse WhyNotUsable(const SimulatorState& state, AllocationHandle handle) {
  Misuse misuse{Kind::kUseOfUnknownHandle, std::nullopt, handle};
  const AllocationRecord* const allocation = state.mmu.memory.Find(handle);
  if (allocation != nullptr) misuse.kind = Kind::kUseOfReleasedHandle;
  const bool only_pinned =
      allocation != nullptr && allocation->references == 0 && allocation->mappings == 0;
  if (only_pinned || state.mmu.memory.IsDead(handle)) misuse.kind = Kind::kUseOfDeadHandle;
  if (misuse.kind != Kind::kUseOfUnknownHandle) misuse.cause = ReleaseOf(state, handle);
  return misuse;
}

Misuse WhyNotReleased(const SimulatorState& state, AllocationHandle handle) {
  Misuse misuse = WhyNotUsable(state, handle);
  if (misuse.kind != Kind::kUseOfUnknownHandle) misuse.kind = Kind::kDoubleRelease;
  return misuse;
}

Misuse WhyNotFreed(const SimulatorState& state, DeviceAddress address) {
  const uint64_t freed_by = IdOf(Newest(state, Call::kAddressFree, address));
  return {freed_by == 0 ? Kind::kFreeOfUnreserved : Kind::kDoubleFree, address, std::nullopt,
          std::nullopt, freed_by};
}

Misuse WhyLinearNotFreed(const SimulatorState& state, DeviceAddress address) {
  Misuse misuse{Kind::kFreeOfUnknownMemory, address};
  if (state.mmu.linear.Find(address) != nullptr) return misuse;
  misuse.cause = LinearFreeOf(state, address);
  if (misuse.cause != 0) misuse.kind = Kind::kDoubleFreeOfMemory;
  return misuse;
}

Misuse WhyNotUnmapped(const SimulatorState& state, const AddressRange& range, DeviceAddress hole) {
  for (DeviceAddress address = range.base; address < range.end();) {
    const PageSpan run = state.mmu.table.Find(state.mmu.PageOf(address));
    if (run.entry.mapped()) return {Kind::kUnmapOverHoles, hole};
    if (run.end >= state.mmu.PagesIn(state.mmu.window.range().size)) break;
    address = state.mmu.AddressOf(run.end);
  }
  const uint64_t unmapped_by = IdOf(Newest(state, Call::kUnmap, hole));
  return {unmapped_by == 0 ? Kind::kUnmapOfNothing : Kind::kDoubleUnmap, hole, std::nullopt,
          std::nullopt, unmapped_by};
}

}  // namespace twinmmu
