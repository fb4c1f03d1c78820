// The words of diagnostics, shared by all reporters of misuse: the details of each kind, what
// explains it, and what a call did, as shown in history.
//
// A phrase is a tuple of its parts, and becomes text on demand:
//   words::InWords(words::NotReserved(address))   "address 0x7f0000200000 is not reserved"
// So a reporter needs no memory to report; only making the text may fail for lack of memory.

#ifndef TWINMMU_API_DIAGNOSTIC_WORDS_H_
#define TWINMMU_API_DIAGNOSTIC_WORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/diagnostics.h"

namespace twinmmu {

// A kind of misuse, and what it is about.
struct Misuse {
  DiagnosticKind kind;
  std::optional<DeviceAddress> address = std::nullopt;  // whose history explains it
  std::optional<AllocationHandle> handle = std::nullopt;
  std::optional<DeviceOrdinal> device = std::nullopt;
  uint64_t cause = 0;                                // the call that made it one, if known
  std::optional<DiagnosticKind> why = std::nullopt;  // what would be misuse by itself
};

// "unmapped by call 31", if the cause is known; what the call itself says is not repeated.
std::string CauseOf(const Misuse& misuse);

// Without history. `range`: that of the call; none if it is at 0. `message`: the details, to which
// the cause is added.
Diagnostic DiagnosticOf(const Misuse& misuse, Severity severity, absl::string_view call,
                        uint64_t call_id, const AddressRange& range, std::string message);

// What is left of what `call`, with that id, made.
Diagnostic LeakOf(DiagnosticKind kind, absl::string_view call, uint64_t call_id);

namespace words {

// A part of a phrase, as text or as something that can be appended to text.
template <typename T>
decltype(auto) InWords(const T& part) {
  if constexpr (std::is_constructible_v<absl::AlphaNum, const T&> && !std::is_enum_v<T>) {
    return (part);
  } else if constexpr (std::is_same_v<T, AddressRange>) {
    return twinmmu::InWords(part);
  } else {
    return ToString(part);
  }
}
template <typename... Parts>
std::string InWords(const std::tuple<Parts...>& phrase) {
  return std::apply([](const Parts&... parts) { return absl::StrCat(InWords(parts)...); }, phrase);
}

// --- Reservations

inline auto NotReserved(DeviceAddress address) {
  return std::make_tuple("address ", address, " is not reserved");
}
inline auto NotWholeReservation(const AddressRange& range, const AddressRange& reservation) {
  return std::make_tuple("range ", range, " is not the whole reservation ", reservation);
}
inline auto StillMapped(const AddressRange& reservation, const AddressRange& mapped) {
  return std::make_tuple("in reservation ", reservation, " there is still mapped ", mapped);
}

// --- Allocations

inline auto NamesNoAllocation(AllocationHandle handle) {
  return std::make_tuple("handle ", handle, " names no allocation");
}
inline auto TeamIncomplete(AllocationHandle object, uint32_t devices, const std::string& added,
                           const std::string& not_added, uint64_t waited_ms) {
  return std::make_tuple("multicast object ", object, " is of ", devices,
                         " devices; added: ", added, "; not added: ", not_added,
                         "; a driver would wait, this call waited ", waited_ms, " ms");
}
inline auto NothingBoundSo(DeviceOrdinal device, Bytes offset, Bytes size) {
  return std::make_tuple(device, " has bound nothing with offset ", offset, " and size ", size);
}
inline auto HasNoReference(AllocationHandle handle) {
  return std::make_tuple("handle ", handle, " has no reference left");
}
inline auto NoSuchTypes(HandleType types) {
  return std::make_tuple("handle types ", types, " do not exist");
}

// --- Mappings

inline auto NoMultipleOf(Bytes granularity, const AddressRange& range) {
  return std::make_tuple("range ", range, " is not a multiple of the granularity ", granularity);
}
inline auto BeginsInNoReservation(const AddressRange& range) {
  return std::make_tuple("range ", range, " does not begin in a reservation");
}
inline auto AlreadyMapped(DeviceAddress address, const AddressRange& mapping) {
  return std::make_tuple("address ", address, " is already mapped: ", mapping);
}
inline auto LeavesReservation(const AddressRange& range, const AddressRange& reservation) {
  return std::make_tuple("range ", range, " leaves its reservation ", reservation);
}
inline auto MoreThanAllocation(Bytes offset, Bytes size, Bytes allocation) {
  return std::make_tuple("offset ", offset, " and size ", size, " are more than the allocation of ",
                         allocation);
}
inline auto Wraps(const AddressRange& range) { return std::make_tuple("range ", range, " wraps"); }
inline auto WrapsInVain(const AddressRange& range) {
  return std::make_tuple("range ", range, " wraps: nothing is unmapped");
}
inline auto CutsMapping(const AddressRange& range, const AddressRange& mapping) {
  return std::make_tuple("range ", range, " cuts the mapping ", mapping);
}
inline auto NothingMapped(DeviceAddress address) {
  return std::make_tuple("nothing is mapped at ", address);
}
inline auto AllBelowUnmapped(DeviceAddress end) {
  return std::make_tuple("all below ", end, " is unmapped");
}

// --- Access

inline auto NoMappingBegins(DeviceAddress address) {
  return std::make_tuple("no mapping begins at ", address);
}
inline auto NoMappingEnds(DeviceAddress address) {
  return std::make_tuple("no mapping ends at ", address);
}
inline auto HoleInRange(DeviceAddress hole, const AddressRange& range) {
  return std::make_tuple("nothing is mapped at ", hole, " of range ", range);
}
inline auto SetInPart(const AddressRange& granted, const AddressRange& rest) {
  return std::make_tuple("the access was set on ", granted, " and not on ", rest);
}
inline auto AnsweredForDevice0(Access answer) {
  return std::make_tuple("the answer is ", answer, ", which is the access of device 0");
}
inline auto AnsweredFromZero(DeviceAddress mapping) {
  return std::make_tuple("the answer begins at 0, and the mapping at ", mapping);
}

// --- Sharing

inline auto TypeNotRequested(HandleType type, HandleType requested) {
  return std::make_tuple("handle type ", type,
                         " cannot be exported: requested at creation: ", requested);
}
inline auto ForeignDescriptor(int descriptor) {
  return std::make_tuple("descriptor ", descriptor, " is not one of shared device memory");
}

// --- Leaks

inline auto ReferencesLeft(uint64_t references, Bytes size, const Location& location) {
  return std::make_tuple(references, " reference(s) to ", size, " of ", location);
}
inline auto ReferencesLeft(uint64_t references) {
  return std::make_tuple(references, " reference(s) to memory that was made elsewhere");
}
inline auto ReferencesLeft(uint64_t references, Bytes size, uint32_t devices, size_t bindings) {
  return std::make_tuple(references, " reference(s) to a multicast object of ", size, " for ",
                         devices, " device(s); bound to it: ", bindings, " piece(s) of memory");
}
inline auto DescriptorLeft(Bytes size) {
  return std::make_tuple("of a multicast object of ", size);
}
inline auto DescriptorLeft(Bytes size, const Location& location) {
  return std::make_tuple("of ", size, " of ", location);
}

// --- History: what a call did, after its name

template <typename... Parts>
std::string Sentence(absl::string_view call, const std::tuple<Parts...>& deed) {
  return absl::StrCat(call, " ", InWords(deed));
}
inline auto Reserved(const AddressRange& range) { return std::make_tuple("reserved ", range); }
inline auto Freed(const AddressRange& range) { return std::make_tuple("freed ", range); }
inline auto Created(Bytes size, AllocationHandle handle) {
  return std::make_tuple("created ", size, " under handle ", handle);
}
inline auto MadeHandle(AllocationHandle handle) { return std::make_tuple("made handle ", handle); }
inline auto Released(AllocationHandle handle) {
  return std::make_tuple("released handle ", handle);
}
inline auto Retained(AllocationHandle handle) {
  return std::make_tuple("retained handle ", handle);
}
inline auto Mapped(const AddressRange& range) { return std::make_tuple("mapped ", range); }
inline auto MappedHandle(AllocationHandle handle, const AddressRange& range) {
  return std::make_tuple("mapped handle ", handle, " at ", range);
}
inline auto Unmapped(const AddressRange& range) { return std::make_tuple("unmapped ", range); }
inline auto FoundNothing(const AddressRange& range) {
  return std::make_tuple("found nothing to unmap in ", range);
}
inline auto Exported(AllocationHandle handle) {
  return std::make_tuple("exported handle ", handle);
}
inline auto Imported(AllocationHandle handle) {
  return std::make_tuple("imported handle ", handle);
}

// "cuMemSetAccess set read for device 0, read-write for host on [0x7f0000200000, +2 MiB]".
std::string SetGrants(absl::string_view call, absl::Span<const AccessGrant> grants,
                      const AddressRange& range);
// "cuMemMap of [0x7f0000200000, +2 MiB] was refused", and likewise for a call that merely took
// place. A range at 0 is none.
std::string WasRefused(absl::string_view call, const AddressRange& range);
std::string TookPlace(absl::string_view call, const AddressRange& range);

}  // namespace words
}  // namespace twinmmu

#endif  // TWINMMU_API_DIAGNOSTIC_WORDS_H_
