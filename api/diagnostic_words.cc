#include "api/diagnostic_words.h"

#include <utility>

namespace twinmmu {

using Kind = DiagnosticKind;

std::string CauseOf(const Misuse& misuse) {
  const std::string by = absl::StrCat(" by call ", misuse.cause);
  const std::string at = misuse.address.has_value() ? ToString(*misuse.address) : "";
  switch (misuse.why.value_or(misuse.kind)) {
    case Kind::kUseAfterUnmap:
      return absl::StrCat("nothing is mapped at ", at, ": it was unmapped", by);
    case Kind::kDoubleUnmap:
      return absl::StrCat(at, " was unmapped", by);
    case Kind::kUseOfUnmapped:
      return absl::StrCat("nothing is mapped at ", at);
    case Kind::kUseWithoutAccess:
      return absl::StrCat("at ", at, " nobody has access");
    case Kind::kUseWithoutPeerGrant:
      return absl::StrCat("at ", at, " only others have access");
    case Kind::kAccessLostByRemap:
      return absl::StrCat(at, " was mapped again", by, ", and access was not granted again");
    case Kind::kUseAfterAccessTaken:
      return absl::StrCat("the access at ", at, " was taken", by);
    case Kind::kUnmapUnderPendingWork:
    case Kind::kAccessLoweredUnderPendingWork:
      return absl::StrCat(at, " is used by work queued", by);
    case Kind::kUnmapUnderRunningKernel:
      return absl::StrCat(at, " was used by the kernel that runs there, launched", by);
    case Kind::kWriteToReadOnly:
      return absl::StrCat(at, " is read-only");
    case Kind::kFreeWhileMapped:
    case Kind::kMapOverMapped:
      return absl::StrCat(at, " was mapped", by);
    case Kind::kDoubleFree:
    case Kind::kUseAfterFreeOfMemory:
    case Kind::kDoubleFreeOfMemory:
      return absl::StrCat(at, " was freed", by);
    case Kind::kUseWithoutPeerAccess:
      return absl::StrCat("what was made at ", at, by, " is on another device");
    case Kind::kDoubleRegistration:
      return absl::StrCat(at, " was registered", by);
    case Kind::kUseBeyondMemory:
      return absl::StrCat("it goes beyond the end of what was made at ", at, by);
    case Kind::kDoubleRelease:
    case Kind::kUseOfDeadHandle:
    case Kind::kUseOfReleasedHandle:
      return misuse.cause == 0 ? "" : absl::StrCat("its last reference was released", by);
    default:
      return "";
  }
}

Diagnostic DiagnosticOf(const Misuse& misuse, Severity severity, absl::string_view call,
                        uint64_t call_id, const AddressRange& range, std::string message) {
  const std::string cause = CauseOf(misuse);
  Diagnostic diagnostic;
  diagnostic.kind = misuse.kind;
  diagnostic.severity = severity;
  diagnostic.call = std::string(call);
  diagnostic.call_id = call_id;
  if (range.base != DeviceAddress(0)) diagnostic.range = range;
  diagnostic.handle = misuse.handle;
  diagnostic.device = misuse.device;
  diagnostic.message = std::move(message);
  if (!cause.empty()) {
    absl::StrAppend(&diagnostic.message, diagnostic.message.empty() ? "" : "; ", cause);
  }
  return diagnostic;
}

Diagnostic LeakOf(DiagnosticKind kind, absl::string_view call, uint64_t call_id) {
  Diagnostic leak;
  leak.kind = kind;
  leak.severity = Severity::kLeak;
  leak.call = std::string(call);
  leak.call_id = call_id;
  return leak;
}

namespace words {
namespace {

std::string OfRange(const AddressRange& range) {
  return range.base == DeviceAddress(0) ? "" : " of " + twinmmu::InWords(range);
}

}  // namespace

std::string SetGrants(absl::string_view call, absl::Span<const AccessGrant> grants,
                      const AddressRange& range) {
  std::string text = absl::StrCat(call, " set ");
  const char* separator = "";
  for (const AccessGrant& grant : grants) {
    absl::StrAppend(&text, separator, ToString(grant));
    separator = ", ";
  }
  return absl::StrCat(text, " on ", twinmmu::InWords(range));
}

std::string WasRefused(absl::string_view call, const AddressRange& range) {
  return absl::StrCat(call, OfRange(range), " was refused");
}

std::string TookPlace(absl::string_view call, const AddressRange& range) {
  return absl::StrCat(call, OfRange(range));
}

}  // namespace words
}  // namespace twinmmu
