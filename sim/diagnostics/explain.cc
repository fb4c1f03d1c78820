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
std::optional<CallEvent> Newest(const MachineState& machine, std::optional<DeviceAddress> reserved,
                                const Wanted& wanted) {
  std::optional<CallEvent> found;
  if (machine.log.IsFull()) return found;
  machine.history.ForEachBackwards([&](const CallEvent& event) {
    if (event.refused) return true;
    if (wanted(event)) found = event;
    const bool reserves = event.call == Call::kAddressReserve && reserved.has_value() &&
                          event.range.contains(*reserved);
    return !found.has_value() && !reserves;
  });
  return found;
}

// The newest that has done `call` at `address` since it was last reserved.
std::optional<CallEvent> Newest(const MachineState& machine, Call call, DeviceAddress address) {
  return Newest(machine, address, [&](const CallEvent& event) {
    return event.call == call && event.range.contains(address) &&
           (call != Call::kUnmap || event.detail != 0);
  });
}

uint64_t NumberOf(const std::optional<CallEvent>& event) {
  return event.has_value() ? event->number : 0;
}

// The newest release of `handle`.
uint64_t ReleaseOf(const MachineState& machine, AllocationHandle handle) {
  return NumberOf(Newest(machine, std::nullopt, [&](const CallEvent& event) {
    return event.call == Call::kRelease && event.handle() == handle;
  }));
}

bool FreesPlain(Call call) {
  return call == Call::kFreeMemory || call == Call::kFreeHost || call == Call::kUnregisterHost ||
         call == Call::kUnloadModule || call == Call::kDestroyContext;
}

// The call that freed the plain memory that was last at `address`, if there is none now.
uint64_t PlainFreeOf(const MachineState& machine, DeviceAddress address) {
  return NumberOf(Newest(machine, std::nullopt, [&](const CallEvent& event) {
    return FreesPlain(event.call) && event.range.contains(address);
  }));
}

// `range` is not all in one plain allocation: nullopt if it has nothing to do with any.
std::optional<Misuse> WhyNotPlain(const MachineState& machine, std::optional<DeviceOrdinal> device,
                                  const AddressRange& range) {
  if (machine.mmu.MappingAt(range.base) != nullptr) return std::nullopt;
  const PlainAllocation* const allocation = machine.mmu.plain.Find(range.base);
  if (allocation != nullptr) {
    const bool beyond = !allocation->range.contains(range);
    return Misuse{beyond ? Kind::kUseBeyondMemory : Kind::kUseWithoutPeerAccess,
                  allocation->range.base, std::nullopt, device, allocation->made_by};
  }
  const uint64_t freed_by = PlainFreeOf(machine, range.base);
  if (freed_by == 0) return std::nullopt;
  return Misuse{Kind::kUseAfterFreeOfMemory, range.base, std::nullopt, device, freed_by};
}

// The first address of `range` where not even a copy by `device` may access memory; or if that can,
// where it may not access it itself.
DeviceAddress FirstFault(const MachineState& machine, DeviceOrdinal device,
                         const AddressRange& range, Access access) {
  if (!machine.mmu.window.range().contains(range.base)) return range.base;
  for (const auto can : {&Mmu::CanCopy, &Mmu::CanAccess}) {
    for (DeviceAddress address = range.base; address < range.end();) {
      const PageRun run = machine.mmu.table.Find(machine.mmu.PageOf(address));
      const DeviceAddress end = run.end < machine.mmu.PagesIn(machine.mmu.window.range().size)
                                    ? machine.mmu.AddressOf(run.end)
                                    : machine.mmu.window.range().end();
      const AddressRange piece{address, std::min(range.end(), end) - address, Bytes(0)};
      if (piece.empty() || !(machine.mmu.*can)(device, piece, access)) return address;
      address = end;
    }
  }
  return range.base;  // no page is to blame: the range wraps
}

// `device` has no right at `address`, which is mapped.
Misuse WhyNoRight(const MachineState& machine, DeviceOrdinal device, DeviceAddress address) {
  Misuse misuse{Kind::kUseWithoutAccess, address, std::nullopt, device};
  const uint64_t mapped_by = machine.mmu.MappingAt(address)->call;
  // The newest change of the right.
  const std::optional<CallEvent> change = Newest(machine, address, [&](const CallEvent& event) {
    return event.call == Call::kSetAccess && event.range.contains(address) &&
           event.granted(device.value()).has_value();
  });
  if (change.has_value() && change->number > mapped_by) {
    misuse.kind = Kind::kUseAfterAccessTaken;
    misuse.cause = change->number;
  } else if (change.has_value() && change->granted(device.value()) != Access::kNone) {
    misuse.kind = Kind::kAccessLostByRemap;
    misuse.cause = mapped_by;
  } else if ((machine.mmu.At(address).bits() & PageEdit::AllRights()) != 0) {
    misuse.kind = Kind::kUseWithoutPeerGrant;
  }
  return misuse;
}

}  // namespace

Call MakerOf(PlainKind kind) {
  switch (kind) {
    case PlainKind::kDevice:
      return Call::kAllocate;
    case PlainKind::kModule:
      return Call::kLoadModule;
    case PlainKind::kPinned:
      return Call::kAllocateHost;
    case PlainKind::kRegistered:
      return Call::kRegisterHost;
  }
  return Call::kOther;
}

Call MakerOf(const AllocationRecord& allocation) {
  if (allocation.imported) return Call::kImportShareableHandle;
  return allocation.is_multicast() ? Call::kMulticastCreate : Call::kCreate;
}

std::vector<HistoryEntry> HistoryOf(const MachineState& machine, DeviceAddress address) {
  std::vector<HistoryEntry> entries;
  machine.history.ForEachBackwards([&](const CallEvent& event) {
    // The range of a Create is only a size.
    const bool size_only = event.call == Call::kCreate || event.call == Call::kMulticastCreate;
    if (!size_only && event.range.contains(address)) {
      entries.push_back({event.number, SentenceOf(event, machine.mmu.host)});
    }
    return entries.size() < kMostEntries;
  });
  // What made the present state is told even if the ring has forgotten it.
  const MappingRecord* mapping = machine.mmu.MappingAt(address);
  const std::optional<uint32_t> reserved = machine.mmu.space.Find(address);
  const PlainAllocation* plain = machine.mmu.plain.Find(address);
  const auto add = [&](uint64_t call, const std::string& sentence) {
    if (entries.empty() || call < entries.back().call) entries.push_back({call, sentence});
  };
  if (mapping != nullptr) {
    add(mapping->call, words::Sentence("cuMemMap", words::Mapped(machine.mmu.RangeOf(*mapping))));
  }
  if (reserved.has_value()) {
    add(machine.mmu.space.MadeBy(*reserved),
        words::Sentence("cuMemAddressReserve", words::Reserved(machine.mmu.space[*reserved])));
  }
  if (plain != nullptr) {
    const Call made = MakerOf(plain->kind);
    add(plain->made_by,
        SentenceOf(CallEvent{plain->made_by, made, false, plain->range, 0}, machine.mmu.host));
  }
  std::reverse(entries.begin(), entries.end());
  return entries;
}

std::vector<HistoryEntry> HistoryOf(const MachineState& machine, AllocationHandle handle) {
  std::vector<HistoryEntry> entries;
  machine.history.ForEachBackwards([&](const CallEvent& event) {
    if (NamesHandle(event.call) && event.handle() == handle) {
      entries.push_back({event.number, SentenceOf(event, machine.mmu.host)});
    }
    return entries.size() < kMostEntries;
  });
  const AllocationRecord* allocation = machine.mmu.memory.Find(handle);
  if (allocation != nullptr && (entries.empty() || allocation->made_by < entries.back().call)) {
    entries.push_back({allocation->made_by,
                       words::Sentence(NameOf(MakerOf(*allocation)), words::MadeHandle(handle))});
  }
  std::reverse(entries.begin(), entries.end());
  return entries;
}

Misuse WhyNoAccess(const MachineState& machine, DeviceOrdinal device, const AddressRange& range,
                   Access access) {
  const std::optional<Misuse> plain = WhyNotPlain(machine, device, range);
  if (plain.has_value()) return *plain;
  const DeviceAddress address = FirstFault(machine, device, range, access);
  const PageEntry entry = machine.mmu.At(address);
  if (!entry.mapped()) {
    const uint64_t unmapped_by = NumberOf(Newest(machine, Call::kUnmap, address));
    return {unmapped_by == 0 ? Kind::kUseOfUnmapped : Kind::kUseAfterUnmap, address, std::nullopt,
            device, unmapped_by};
  }
  if (machine.mmu.IsMulticast(address))
    return {Kind::kUseOfMulticast, address, std::nullopt, device};
  if (entry.access(device.value()) != Access::kNone) {
    return {Kind::kWriteToReadOnly, address, std::nullopt, device};
  }
  return WhyNoRight(machine, device, address);
}

Misuse WhyFault(const MachineState& machine, const Fault& fault) {
  if (fault.location.type == LocationType::kDevice) {
    return WhyNoAccess(machine, DeviceOrdinal(fault.location.id), fault.range, fault.access);
  }
  const std::optional<Misuse> plain = WhyNotPlain(machine, std::nullopt, fault.range);
  return plain.value_or(Misuse{Kind::kHostUseOfDeviceMemory, fault.range.base});
}

std::optional<Misuse> WhyPendingWorkFails(const MachineState& machine, DiagnosticKind kind,
                                          const AddressRange& range) {
  for (const PendingUse& use : machine.scheduler.UsesOf(range)) {
    const DeviceOrdinal device = use.stream.device();
    if (kind == Kind::kUnmapUnderPendingWork ||
        !machine.mmu.CanCopy(device, use.range, use.access)) {
      return Misuse{kind, std::max(use.range.base, range.base), std::nullopt, device,
                    use.call_number};
    }
  }
  return std::nullopt;
}

Misuse WhyNotUsable(const MachineState& machine, AllocationHandle handle) {
  Misuse misuse{Kind::kUseOfUnknownHandle, std::nullopt, handle};
  const AllocationRecord* const allocation = machine.mmu.memory.Find(handle);
  if (allocation != nullptr) misuse.kind = Kind::kUseOfReleasedHandle;
  const bool only_pinned =
      allocation != nullptr && allocation->references == 0 && allocation->mappings == 0;
  if (only_pinned || machine.mmu.memory.IsDead(handle)) misuse.kind = Kind::kUseOfDeadHandle;
  if (misuse.kind != Kind::kUseOfUnknownHandle) misuse.cause = ReleaseOf(machine, handle);
  return misuse;
}

Misuse WhyNotReleased(const MachineState& machine, AllocationHandle handle) {
  Misuse misuse = WhyNotUsable(machine, handle);
  if (misuse.kind != Kind::kUseOfUnknownHandle) misuse.kind = Kind::kDoubleRelease;
  return misuse;
}

Misuse WhyNotFreed(const MachineState& machine, DeviceAddress address) {
  const uint64_t freed_by = NumberOf(Newest(machine, Call::kAddressFree, address));
  return {freed_by == 0 ? Kind::kFreeOfUnreserved : Kind::kDoubleFree, address, std::nullopt,
          std::nullopt, freed_by};
}

Misuse WhyPlainNotFreed(const MachineState& machine, DeviceAddress address) {
  Misuse misuse{Kind::kFreeOfUnknownMemory, address};
  if (machine.mmu.plain.Find(address) != nullptr) return misuse;
  misuse.cause = PlainFreeOf(machine, address);
  if (misuse.cause != 0) misuse.kind = Kind::kDoubleFreeOfMemory;
  return misuse;
}

Misuse WhyNotUnmapped(const MachineState& machine, const AddressRange& range, DeviceAddress hole) {
  for (DeviceAddress address = range.base; address < range.end();) {
    const PageRun run = machine.mmu.table.Find(machine.mmu.PageOf(address));
    if (run.entry.mapped()) return {Kind::kUnmapOverHoles, hole};
    if (run.end >= machine.mmu.PagesIn(machine.mmu.window.range().size)) break;
    address = machine.mmu.AddressOf(run.end);
  }
  const uint64_t unmapped_by = NumberOf(Newest(machine, Call::kUnmap, hole));
  return {unmapped_by == 0 ? Kind::kUnmapOfNothing : Kind::kDoubleUnmap, hole, std::nullopt,
          std::nullopt, unmapped_by};
}

}  // namespace twinmmu
