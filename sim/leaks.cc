#include "sim/leaks.h"

#include "absl/strings/str_cat.h"
#include "sim/explain.h"

namespace twinmmu {
namespace {

void AddMappings(const Mmu& mmu, std::vector<Diagnostic>& leaks) {
  const uint64_t end = mmu.PagesIn(mmu.window.range().size);
  for (uint64_t page = 0; page < end;) {
    const PageRun run = mmu.table.Find(page);
    page = run.end;
    if (!run.entry.mapped()) continue;
    const MappingRecord& mapping = mmu.mappings[run.entry.index()];
    page = mapping.end();
    Diagnostic leak = LeakOf(DiagnosticKind::kLeakedMapping, Call::kMap, mapping.call);
    leak.range = mmu.RangeOf(mapping);
    leak.handle = mmu.memory.HandleOf(mapping.allocation);
    leak.history = HistoryOf(mmu, leak.range->base);
    leaks.push_back(std::move(leak));
  }
}

void AddReservations(const Mmu& mmu, std::vector<Diagnostic>& leaks) {
  mmu.space.ForEach([&](uint32_t id) {
    Diagnostic leak =
        LeakOf(DiagnosticKind::kLeakedReservation, Call::kReserve, mmu.space.MadeBy(id));
    leak.range = mmu.space[id];
    leak.history = HistoryOf(mmu, leak.range->base);
    leaks.push_back(std::move(leak));
  });
}

void AddAllocations(const Mmu& mmu, std::vector<Diagnostic>& leaks) {
  mmu.memory.ForEach([&](AllocationHandle handle, const AllocationRecord& allocation) {
    if (allocation.references == 0) return;
    Diagnostic leak =
        LeakOf(DiagnosticKind::kLeakedAllocation,
               allocation.imported ? Call::kImport : Call::kCreate, allocation.made_by);
    leak.handle = handle;
    leak.message =
        absl::StrCat(allocation.references, " reference(s) to ", ToString(allocation.pages->size),
                     " of ", ToString(allocation.pages->location));
    leak.history = HistoryOf(mmu, handle);
    leaks.push_back(std::move(leak));
  });
}

void AddDescriptors(const Mmu& mmu, std::vector<Diagnostic>& leaks) {
  mmu.memory.ForEachExported([&](const PhysicalPages& pages) {
    Diagnostic leak = LeakOf(DiagnosticKind::kLeakedDescriptor, Call::kExport, pages.exported_by);
    leak.message = absl::StrCat("of ", ToString(pages.size), " of ", ToString(pages.location));
    leaks.push_back(std::move(leak));
  });
}

void AddPlain(const Mmu& mmu, std::vector<Diagnostic>& leaks) {
  mmu.plain.ForEach([&](const PlainAllocation& allocation) {
    Diagnostic leak = LeakOf(
        allocation.on_device() ? DiagnosticKind::kLeakedMemory : DiagnosticKind::kLeakedHostMemory,
        MakerOf(allocation.kind), allocation.made_by);
    leak.range = allocation.range;
    leak.device = allocation.device;
    leak.history = HistoryOf(mmu, leak.range->base);
    leaks.push_back(std::move(leak));
  });
}

}  // namespace

Diagnostic LeakOf(DiagnosticKind kind, Call call, uint64_t number) {
  Diagnostic leak;
  leak.kind = kind;
  leak.severity = Severity::kLeak;
  leak.call = NameOf(call);
  leak.number = number;
  return leak;
}

std::vector<Diagnostic> LeaksOf(const Mmu& mmu) {
  std::vector<Diagnostic> leaks;
  AddMappings(mmu, leaks);
  AddReservations(mmu, leaks);
  AddAllocations(mmu, leaks);
  AddDescriptors(mmu, leaks);
  AddPlain(mmu, leaks);
  return leaks;
}

}  // namespace twinmmu
