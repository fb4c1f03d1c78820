#include "api/testing/checked/findings.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace twinmmu::checked {
namespace {

using Kind = DiagnosticKind;

constexpr DeviceAddress kLastAddress(~uint64_t{0});

Finding OnlyIfRefused(Finding finding) {
  return {finding.misuse, std::move(finding.if_refused), std::nullopt, std::move(finding.history)};
}
Finding OnlyIfPassed(Finding finding) {
  return {finding.misuse, std::nullopt, std::move(finding.if_passed), std::move(finding.history)};
}

// --- Handles

Misuse WhyNotUsable(const Book& book, AllocationHandle handle) {
  Misuse misuse{Kind::kUseOfUnknownHandle, std::nullopt, handle};
  if (book.state.Find(handle) != nullptr) misuse.kind = Kind::kUseOfReleasedHandle;
  if (book.state.IsDead(handle)) misuse.kind = Kind::kUseOfDeadHandle;
  if (misuse.kind != Kind::kUseOfUnknownHandle) misuse.cause = NewestRelease(book, handle);
  return misuse;
}

// What any use of the handle would be: nothing if it has a reference.
Findings FindingsOfUse(const Book& book, AllocationHandle handle) {
  const std::shared_ptr<TrackedAllocation> allocation = book.state.Find(handle);
  if (allocation != nullptr && allocation->references != 0) return {};
  Finding finding =
      FindingOf(book, WhyNotUsable(book, handle), words::InWords(words::NamesNoAllocation(handle)));
  if (allocation != nullptr) finding.if_passed = words::InWords(words::HasNoReference(handle));
  return {finding};
}

// --- Mappings

Misuse WhyNotUnmapped(const Book& book, const AddressRange& range, DeviceAddress hole) {
  if (book.state.FirstMapping(range) != nullptr) return {Kind::kUnmapOverHoles, hole};
  const uint64_t unmapped_by = NewestAt(book, DriverCall::kUnmap, hole);
  return {unmapped_by == 0 ? Kind::kUnmapOfNothing : Kind::kDoubleUnmap, hole, std::nullopt,
          std::nullopt, unmapped_by};
}

Finding Cut(const Book& book, const AddressRange& range, const TrackedMapping& mapping) {
  return FindingOf(book, {Kind::kUnmapOfPart, mapping.range.base},
                   words::InWords(words::CutsMapping(range, mapping.range)));
}

// Adds what a border of `range` inside a mapping is.
bool AddBorder(const Book& book, const AddressRange& range, DeviceAddress border,
               Findings& findings) {
  const TrackedMapping* const mapping = book.state.MappingAt(border);
  if (mapping == nullptr || mapping->range.base == border) return false;
  findings.push_back(Cut(book, range, *mapping));
  return true;
}

Findings FindingsOfUnmapAtLastAddress(const Book& book, const AddressRange& range) {
  Findings findings;
  const AddressRange below = TakenByUnmap(range);
  AddBorder(book, below, below.end(), findings);
  findings.push_back(OnlyIfRefused(FindingOf(book, {Kind::kUnmapOfUnreserved, kLastAddress},
                                             words::InWords(words::NotReserved(kLastAddress)))));
  findings.push_back(OnlyIfPassed(FindingOf(book, {Kind::kUnmapOfLastAddress, kLastAddress},
                                            words::InWords(words::AllBelowUnmapped(below.end())))));
  return findings;
}

// What lies where `range` is to be mapped.
void AddTarget(const Book& book, const AddressRange& range, Findings& findings) {
  const TrackedReservation* const reservation = book.state.ReservationAt(range.base);
  if (reservation == nullptr) {
    findings.push_back(FindingOf(book, {Kind::kMapOfUnreserved, range.base},
                                 words::InWords(words::BeginsInNoReservation(range))));
    return;
  }
  const TrackedMapping* const old = book.state.FirstMapping(range);
  if (old != nullptr) {
    const DeviceAddress at = std::max(range.base, old->range.base);
    findings.push_back(
        FindingOf(book, {Kind::kMapOverMapped, at, std::nullopt, std::nullopt, old->made_by},
                  words::InWords(words::AlreadyMapped(at, old->range))));
  }
  if (!reservation->range.contains(range)) {
    findings.push_back(
        FindingOf(book, {Kind::kMapBeyondReservation, range.base},
                  words::InWords(words::LeavesReservation(range, reservation->range))));
  }
}

// --- Access

bool IsPossible(const AccessGrant& grant) {
  const bool has_access = grant.access == Access::kNone || grant.access == Access::kRead ||
                          grant.access == Access::kReadWrite;
  const Location& location = grant.location;
  return has_access &&
         ((location.type == LocationType::kDevice && location.id >= 0) ||
          location.type == LocationType::kHost || location.type == LocationType::kHostNuma);
}

// Access is set on whole mappings; `mapping` is at one end of the range, if there is one.
Finding NotWhole(const Book& book, const TrackedMapping* mapping, DeviceAddress address,
                 const std::string& words) {
  return FindingOf(
      book, {mapping == nullptr ? Kind::kAccessOfUnmapped : Kind::kAccessOfPart, address}, words);
}

}  // namespace

Finding FindingOf(const Book& book, const Misuse& misuse, const std::string& words) {
  Finding finding{misuse, words, words, {}};
  if (book.log.IsFull()) return finding;
  if (misuse.address.has_value()) finding.history = HistoryOf(book, *misuse.address);
  if (misuse.handle.has_value()) finding.history = HistoryOf(book, *misuse.handle);
  return finding;
}

bool HaveError(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return InfoOf(finding.misuse.kind).severity == Severity::kError;
  });
}

bool AreUndefined(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    const Kind kind = finding.misuse.kind;
    return (kind == Kind::kDoubleRelease || kind == Kind::kUseOfDeadHandle ||
            kind == Kind::kUseOfUnknownHandle) &&
           finding.misuse.handle != AllocationHandle(0);
  });
}

Findings FindingsOfFree(const Book& book, const AddressRange& range) {
  const TrackedReservation* const reservation = book.state.ReservationAt(range.base);
  if (reservation == nullptr) {
    const uint64_t freed_by = NewestAt(book, DriverCall::kAddressFree, range.base);
    return {FindingOf(book,
                      {freed_by == 0 ? Kind::kFreeOfUnreserved : Kind::kDoubleFree, range.base,
                       std::nullopt, std::nullopt, freed_by},
                      words::InWords(words::NotReserved(range.base)))};
  }
  if (range != reservation->range) {
    return {FindingOf(book, {Kind::kFreeOfPart, range.base},
                      words::InWords(words::NotWholeReservation(range, reservation->range)))};
  }
  const TrackedMapping* const mapping = book.state.FirstMapping(range);
  if (mapping == nullptr) return {};
  return {FindingOf(
      book,
      {Kind::kFreeWhileMapped, mapping->range.base, std::nullopt, std::nullopt, mapping->made_by},
      words::InWords(words::StillMapped(range, mapping->range)))};
}

Findings FindingsOfRelease(const Book& book, AllocationHandle handle) {
  Findings findings = FindingsOfUse(book, handle);
  for (Finding& finding : findings) {
    if (finding.misuse.kind != Kind::kUseOfUnknownHandle) {
      finding.misuse.kind = Kind::kDoubleRelease;
    }
    finding.if_refused = finding.if_passed = words::InWords(words::HasNoReference(handle));
  }
  return findings;
}

Findings FindingsOfGetProperties(const Book& book, AllocationHandle handle) {
  return FindingsOfUse(book, handle);
}

Findings FindingsOfExport(const Book& book, AllocationHandle handle, HandleType type,
                          uint64_t flags) {
  if (flags != 0) return {};
  Findings findings = FindingsOfUse(book, handle);
  const std::shared_ptr<TrackedAllocation> allocation = book.state.Find(handle);
  if (allocation == nullptr) return findings;
  if (type != HandleType::kPosixFileDescriptor && type != HandleType::kFabric) return {};
  if (!allocation->properties.has_value() && !allocation->imported) return findings;
  // What is imported cannot be exported again.
  const HandleType requested =
      allocation->imported ? HandleType::kNone : allocation->properties->requested_handle_types;
  if (requested == HandleType::kNone) {
    findings.push_back(FindingOf(book, {Kind::kExportOfUnrequestedType, std::nullopt, handle},
                                 words::InWords(words::TypeNotRequested(type, requested))));
  }
  return findings;
}

Findings FindingsOfMap(const Book& book, const AddressRange& range, AllocationHandle handle,
                       Bytes offset, uint64_t flags) {
  if (range.base == DeviceAddress(0) || range.size == Bytes(0) || flags != 0) return {};
  Findings findings = FindingsOfUse(book, handle);
  const std::shared_ptr<TrackedAllocation> allocation = book.state.Find(handle);
  if (allocation == nullptr) return findings;
  if (allocation->size.has_value()) {
    const Bytes whole = *allocation->size;
    if (offset > whole || range.size > whole - offset) {
      findings.push_back(
          FindingOf(book, {Kind::kMapBeyondAllocation, std::nullopt, handle},
                    words::InWords(words::MoreThanAllocation(offset, range.size, whole))));
      return findings;
    }
  }
  AddTarget(book, range, findings);
  return findings;
}

AddressRange TakenByUnmap(const AddressRange& range) {
  const DeviceAddress end = range.base + range.size;
  if (range.base == kLastAddress && range.size != Bytes(0)) {
    return AddressRange{DeviceAddress(0), end - DeviceAddress(0), Bytes(0)};
  }
  return end <= range.base ? AddressRange{range.base, Bytes(0), Bytes(0)} : range;
}

Findings FindingsOfUnmap(const Book& book, const AddressRange& range) {
  if (range.size == Bytes(0)) return {};
  if (range.base == kLastAddress) return FindingsOfUnmapAtLastAddress(book, range);
  const TrackedReservation* const reservation = book.state.ReservationAt(range.base);
  if (reservation == nullptr) {
    return {FindingOf(book, {Kind::kUnmapOfUnreserved, range.base},
                      words::InWords(words::NotReserved(range.base)))};
  }
  Findings findings;
  const DeviceAddress end = range.base + range.size;
  if (end <= range.base) {
    if (!AddBorder(book, range, range.base, findings)) AddBorder(book, range, end, findings);
    findings.push_back(FindingOf(book, {Kind::kUnmapOfWrappedRange, range.base},
                                 words::InWords(words::Wraps(range))));
    findings.back().if_passed = words::InWords(words::WrapsInVain(range));
    return findings;
  }
  if (!reservation->range.contains(range)) {
    findings.push_back(
        FindingOf(book, {Kind::kUnmapBeyondReservation, range.base},
                  words::InWords(words::LeavesReservation(range, reservation->range))));
  }
  const AddressRange own{range.base, std::min(end, reservation->range.end()) - range.base,
                         Bytes(0)};
  const std::optional<DeviceAddress> hole = book.state.FirstHole(own);
  if (hole.has_value()) {
    findings.push_back(FindingOf(book, WhyNotUnmapped(book, range, *hole),
                                 words::InWords(words::NothingMapped(*hole))));
  }
  const TrackedMapping* const cut = book.state.FirstCutMapping(range);
  if (cut != nullptr) findings.push_back(Cut(book, range, *cut));
  return findings;
}

Findings FindingsOfSetAccess(const Book& book, const AddressRange& range,
                             absl::Span<const AccessGrant> grants) {
  const DeviceAddress end = range.base + range.size;
  if (grants.empty() || !std::all_of(grants.begin(), grants.end(), IsPossible)) return {};
  if (end <= range.base) return {};
  const TrackedMapping* const first = book.state.MappingAt(range.base);
  if (first == nullptr || first->range.base != range.base) {
    return {NotWhole(book, first, range.base, words::InWords(words::NoMappingBegins(range.base)))};
  }
  const TrackedMapping* const last = book.state.MappingAt(end - Bytes(1));
  if (last == nullptr || last->range.end() != end) {
    return {NotWhole(book, last, end - Bytes(1), words::InWords(words::NoMappingEnds(end)))};
  }
  const std::optional<DeviceAddress> hole = book.state.FirstHole(range);
  if (!hole.has_value()) return {};
  Finding finding = FindingOf(book, {Kind::kAccessStopsAtHole, *hole},
                              words::InWords(words::HoleInRange(*hole, range)));
  const AddressRange granted{range.base, *hole - range.base, Bytes(0)};
  const AddressRange rest{*hole, end - *hole, Bytes(0)};
  finding.if_passed = words::InWords(words::SetInPart(granted, rest));
  return {finding};
}

Findings FindingsOfHostAccess(const Book& book, DeviceAddress address, Access answer) {
  const TrackedMapping* const mapping = book.state.MappingAt(address);
  if (mapping == nullptr || answer == AccessOf(mapping->grants, Location::Host()) ||
      answer != AccessOf(mapping->grants, Location::Device(DeviceOrdinal(0)))) {
    return {};
  }
  return {FindingOf(book, {Kind::kAccessOfHostMisreported, address},
                    words::InWords(words::AnsweredForDevice0(answer)))};
}

Findings FindingsOfAddressRange(const Book& book, DeviceAddress address,
                                const AddressRange& answer) {
  const TrackedMapping* const mapping = book.state.MappingAt(address);
  if (mapping == nullptr || answer.base != DeviceAddress(0)) return {};
  return {FindingOf(book, {Kind::kRangeOfHostMemoryMisreported, address},
                    words::InWords(words::AnsweredFromZero(mapping->range.base)))};
}

}  // namespace twinmmu::checked
