#include "api/testing/checked/book.h"

#include <algorithm>
#include <memory>
#include <string>

#include "api/diagnostic_words.h"

namespace twinmmu::checked {
namespace {

// More would not be read.
constexpr size_t kMostEntries = 16;

bool NamesHandle(DriverCall name) {
  return name == DriverCall::kCreate || name == DriverCall::kRelease ||
         name == DriverCall::kRetainAllocationHandle || name == DriverCall::kMap ||
         name == DriverCall::kExportShareableHandle || name == DriverCall::kImportShareableHandle;
}

DriverCall MakerOf(const TrackedAllocation& allocation) {
  if (allocation.imported) return DriverCall::kImportShareableHandle;
  return allocation.size.has_value() ? DriverCall::kCreate : DriverCall::kRetainAllocationHandle;
}

// The sentences of the calls that satisfy `wanted`, newest first.
template <typename Wanted>
std::vector<HistoryEntry> EntriesOf(const Book& book, const Wanted& wanted) {
  std::vector<HistoryEntry> entries;
  book.history.ForEachBackwards([&](const PastCall& call) {
    if (wanted(call)) entries.push_back({call.id, SentenceOf(call)});
    return entries.size() < kMostEntries;
  });
  return entries;
}

// What made the present state is told even if the history has forgotten it.
void AddIfForgotten(std::vector<HistoryEntry>& entries, uint64_t call, std::string sentence) {
  if (entries.empty() || call < entries.back().call) entries.push_back({call, std::move(sentence)});
}

// The newest call that was not refused and satisfies `wanted`, if it is newer than all that satisfy
// `barrier`. None if no more diagnostics are kept: a program that goes on being wrong must not pay
// for searches.
template <typename Wanted, typename Barrier>
uint64_t Newest(const Book& book, const Wanted& wanted, const Barrier& barrier) {
  uint64_t found = 0;
  if (book.log.IsFull()) return found;
  book.history.ForEachBackwards([&](const PastCall& call) {
    if (call.refused) return true;
    if (wanted(call)) found = call.id;
    return found == 0 && !barrier(call);
  });
  return found;
}

std::string WordsOfReferences(const TrackedAllocation& allocation) {
  if (!allocation.size.has_value()) {
    return words::InWords(words::ReferencesLeft(allocation.references));
  }
  return words::InWords(words::ReferencesLeft(allocation.references, *allocation.size,
                                              allocation.properties->location));
}

void AddDescriptors(const Book& book, std::vector<Diagnostic>& leaks) {
  std::vector<TrackedDescriptor> open;  // the last one of each allocation
  for (const TrackedDescriptor& exported : book.state.descriptors()) {
    if (!IsOpen(exported)) continue;
    const auto same = std::find_if(open.begin(), open.end(), [&](const TrackedDescriptor& other) {
      return other.allocation == exported.allocation;
    });
    if (same == open.end()) {
      open.push_back(exported);
    } else {
      *same = exported;
    }
  }
  for (const TrackedDescriptor& exported : open) {
    leaks.push_back(LeakOf(DiagnosticKind::kLeakedDescriptor,
                           NameOf(DriverCall::kExportShareableHandle), exported.made_by));
    const TrackedAllocation& allocation = *exported.allocation;
    if (!allocation.size.has_value()) continue;
    leaks.back().message =
        words::InWords(words::DescriptorLeft(*allocation.size, allocation.properties->location));
  }
}

}  // namespace

std::vector<HistoryEntry> HistoryOf(const Book& book, DeviceAddress address) {
  std::vector<HistoryEntry> entries =
      EntriesOf(book, [&](const PastCall& call) { return call.range.contains(address); });
  const TrackedMapping* const mapping = book.state.MappingAt(address);
  const TrackedReservation* const reserved = book.state.ReservationAt(address);
  if (mapping != nullptr) {
    AddIfForgotten(entries, mapping->made_by,
                   words::Sentence(NameOf(DriverCall::kMap), words::Mapped(mapping->range)));
  }
  if (reserved != nullptr) {
    AddIfForgotten(
        entries, reserved->made_by,
        words::Sentence(NameOf(DriverCall::kAddressReserve), words::Reserved(reserved->range)));
  }
  std::reverse(entries.begin(), entries.end());
  return entries;
}

std::vector<HistoryEntry> HistoryOf(const Book& book, AllocationHandle handle) {
  std::vector<HistoryEntry> entries = EntriesOf(
      book, [&](const PastCall& call) { return NamesHandle(call.name) && call.handle == handle; });
  const std::shared_ptr<TrackedAllocation> allocation = book.state.Find(handle);
  if (allocation != nullptr) {
    AddIfForgotten(entries, allocation->made_by,
                   words::Sentence(NameOf(MakerOf(*allocation)), words::MadeHandle(handle)));
  }
  std::reverse(entries.begin(), entries.end());
  return entries;
}

uint64_t NewestAt(const Book& book, DriverCall name, DeviceAddress address) {
  return Newest(
      book,
      [&](const PastCall& call) {
        return call.name == name && call.range.contains(address) &&
               (name != DriverCall::kUnmap || call.found);
      },
      [&](const PastCall& call) {
        return call.name == DriverCall::kAddressReserve && call.range.contains(address);
      });
}

uint64_t NewestRelease(const Book& book, AllocationHandle handle) {
  return Newest(
      book,
      [&](const PastCall& call) {
        return call.name == DriverCall::kRelease && call.handle == handle;
      },
      [](const PastCall&) { return false; });
}

std::vector<Diagnostic> LeaksOf(const Book& book) {
  std::vector<Diagnostic> leaks;
  for (const auto& [base, mapping] : book.state.mappings()) {
    leaks.push_back(
        LeakOf(DiagnosticKind::kLeakedMapping, NameOf(DriverCall::kMap), mapping.made_by));
    leaks.back().range = mapping.range;
    leaks.back().handle = mapping.allocation->handle;
    leaks.back().history = HistoryOf(book, base);
  }
  for (const auto& [base, reservation] : book.state.reservations()) {
    leaks.push_back(LeakOf(DiagnosticKind::kLeakedReservation, NameOf(DriverCall::kAddressReserve),
                           reservation.made_by));
    leaks.back().range = reservation.range;
    leaks.back().history = HistoryOf(book, base);
  }
  for (const auto& [handle, allocation] : book.state.allocations()) {
    if (allocation->references == 0) continue;
    leaks.push_back(LeakOf(DiagnosticKind::kLeakedAllocation, NameOf(MakerOf(*allocation)),
                           allocation->made_by));
    leaks.back().handle = handle;
    leaks.back().message = WordsOfReferences(*allocation);
    leaks.back().history = HistoryOf(book, handle);
  }
  AddDescriptors(book, leaks);
  return leaks;
}

}  // namespace twinmmu::checked
