#include "sim/diagnostics/leaks.h"

#include <algorithm>

#include "api/diagnostic_words.h"
#include "sim/diagnostics/explain.h"

namespace twinmmu {
namespace {

void AddMappings(const SimulatorState& state, std::vector<Diagnostic>& leaks) {
  state.mmu.ForEachMapping([&](const MappingRecord& mapping) {
    Diagnostic leak = LeakOf(DiagnosticKind::kLeakedMapping, NameOf(Call::kMap), mapping.call);
    leak.range = state.mmu.RangeOf(mapping);
    leak.handle = state.mmu.memory.HandleOf(mapping.allocation);
    leak.history = HistoryOf(state, leak.range->base);
    leaks.push_back(std::move(leak));
  });
}

void AddReservations(const SimulatorState& state, std::vector<Diagnostic>& leaks) {
  state.mmu.space.ForEach([&](uint32_t id) {
    Diagnostic leak = LeakOf(DiagnosticKind::kLeakedReservation, NameOf(Call::kAddressReserve),
                             state.mmu.space.MadeBy(id));
    leak.range = state.mmu.space[id];
    leak.history = HistoryOf(state, leak.range->base);
    leaks.push_back(std::move(leak));
  });
}

size_t BoundHere(const MulticastTeam& team) {
  return static_cast<size_t>(
      std::count_if(team.bindings.begin(), team.bindings.end(),
                    [](const MulticastBinding& bound) { return bound.is_own(); }));
}

void AddAllocations(const SimulatorState& state, std::vector<Diagnostic>& leaks) {
  state.mmu.memory.ForEach([&](AllocationHandle handle, const AllocationRecord& allocation) {
    if (allocation.references == 0) return;
    Diagnostic leak = LeakOf(allocation.is_multicast() ? DiagnosticKind::kLeakedMulticastObject
                                                       : DiagnosticKind::kLeakedAllocation,
                             NameOf(MakerOf(allocation)), allocation.made_by);
    leak.handle = handle;
    const PhysicalPages& pages = *allocation.pages;
    leak.message = allocation.is_multicast()
                       ? words::InWords(words::ReferencesLeft(allocation.references, pages.size,
                                                              pages.team->properties.device_count,
                                                              BoundHere(*pages.team)))
                       : words::InWords(words::ReferencesLeft(allocation.references, pages.size,
                                                              pages.location));
    leak.history = HistoryOf(state, handle);
    leaks.push_back(std::move(leak));
  });
}

void AddDescriptors(const SimulatorState& state, std::vector<Diagnostic>& leaks) {
  state.mmu.memory.ForEachExported([&](const PhysicalPages& pages) {
    Diagnostic leak = LeakOf(DiagnosticKind::kLeakedDescriptor,
                             NameOf(Call::kExportShareableHandle), pages.exported_by);
    leak.message = pages.team != nullptr
                       ? words::InWords(words::DescriptorLeft(pages.size))
                       : words::InWords(words::DescriptorLeft(pages.size, pages.location));
    leaks.push_back(std::move(leak));
  });
  state.mmu.memory.ForEachPinnedRange([&](const PhysicalMemory::PinnedRange& range) {
    Diagnostic leak = LeakOf(DiagnosticKind::kLeakedDescriptor,
                             NameOf(Call::kGetHandleForAddressRange), range.call);
    leak.message = words::InWords(words::DescriptorLeft(range.size, range.location));
    leaks.push_back(std::move(leak));
  });
}

void AddLinear(const SimulatorState& state, std::vector<Diagnostic>& leaks) {
  state.mmu.linear.ForEach([&](const LinearAllocation& allocation) {
    const Call made = MakerOf(allocation.kind);
    if (made == Call::kLoadModule) return;  // it goes with the module
    if (allocation.of_pool()) return;       // its pieces are what counts
    const bool of_host = !allocation.on_device() && !allocation.managed();
    Diagnostic leak =
        LeakOf(of_host ? DiagnosticKind::kLeakedHostMemory : DiagnosticKind::kLeakedMemory,
               NameOf(made), allocation.made_by);
    leak.range = allocation.range;
    leak.device = allocation.device;
    leak.history = HistoryOf(state, leak.range->base);
    leaks.push_back(std::move(leak));
  });
}

void AddPooled(const SimulatorState& state, std::vector<Diagnostic>& leaks) {
  state.mmu.pooled.ForEach([&](const PooledPiece& piece) {
    if (piece.freed_by != 0) return;
    const LinearAllocation* const segment = state.mmu.linear.Find(piece.range.base);
    const bool on_device = segment->on_device();
    Diagnostic leak =
        LeakOf(on_device ? DiagnosticKind::kLeakedMemory : DiagnosticKind::kLeakedHostMemory,
               NameOf(Call::kAllocateAsync), piece.made_by);
    leak.range = piece.range;
    leak.device = segment->device;
    leak.history = HistoryOf(state, piece.range.base);
    leaks.push_back(std::move(leak));
  });
}

}  // namespace

std::vector<Diagnostic> LeaksOf(const SimulatorState& state) {
  std::vector<Diagnostic> leaks;
  AddMappings(state, leaks);
  AddReservations(state, leaks);
  AddAllocations(state, leaks);
  AddDescriptors(state, leaks);
  AddLinear(state, leaks);
  AddPooled(state, leaks);
  return leaks;
}

}  // namespace twinmmu
