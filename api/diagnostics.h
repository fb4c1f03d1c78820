// Diagnostics: what a client of GPU virtual memory does wrong, in words.
//
// A status says that a call was refused. A diagnostic says what the program did wrong, since when,
// and what to do, even where the driver accepts what its documentation forbids. All reporters use
// this vocabulary: the simulator, and wrappers around a driver.
//
//   for (const Diagnostic& diagnostic : simulator.diagnostics()) std::cerr << diagnostic;
//
// docs/reference/diagnostics.md has the table of all kinds. JSON: api/diagnostics_json.h. Matchers
// for tests: api/testing/diagnostic_matchers.h.

#ifndef TWINMMU_API_DIAGNOSTICS_H_
#define TWINMMU_API_DIAGNOSTICS_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"

namespace twinmmu {

// Open: more kinds may be added. api/diagnostics.inc lists them, with their words.
enum class DiagnosticKind {
#define TWINMMU_DIAGNOSTIC(kind, ...) kind,
#include "api/diagnostics.inc"
#undef TWINMMU_DIAGNOSTIC
};

enum class Severity {
  kError,    // the call was refused, or broke something
  kWarning,  // today's driver accepts it, against its documentation
  kLeak,     // left at the end
};

// What all diagnostics of a kind share.
struct DiagnosticInfo {
  DiagnosticKind kind;
  const char* name;   // "kDoubleUnmap"
  const char* rule;   // "UNMAP-9"; empty if there is no rule
  Severity severity;  // on the reference driver; an error wherever the call is refused
  const char* what;   // happened, in a sentence
  const char* why;    // it matters
  const char* advice;
};
absl::Span<const DiagnosticInfo> AllDiagnostics();
// For a value that is not a kind: an entry that says so.
const DiagnosticInfo& InfoOf(DiagnosticKind kind);

// One earlier call, as a sentence: {12, "cuMemMap mapped [0x7f0000200000, +2 MiB]"}.
struct HistoryEntry {
  uint64_t call = 0;
  std::string sentence;
  // The return address of that call, in this process; null: not known.
  const void* caller = nullptr;

  friend bool operator==(const HistoryEntry& a, const HistoryEntry& b) {
    return a.call == b.call && a.sentence == b.sentence;
  }
};

// The reporter gives calls their ids, from 1, in the order in which they took effect; 0 is a call
// without an id.
struct Diagnostic {
  DiagnosticKind kind = DiagnosticKind::kDoubleFree;
  Severity severity = Severity::kError;
  std::string call;      // "cuMemUnmap"; for a leak, the call that made what is left
  uint64_t call_id = 0;  // of that call
  // Those that apply.
  std::optional<AddressRange> range;
  std::optional<AllocationHandle> handle;
  std::optional<DeviceOrdinal> device;
  std::string message;                // the details: "nothing is mapped at 0x7f0000200000"
  std::vector<HistoryEntry> history;  // of the address or the handle; oldest first

  const char* rule() const { return InfoOf(kind).rule; }
};

// "[0x7f0000200000, +2 MiB]": diagnostics show ranges without alignment.
std::string InWords(const AddressRange& range);

std::string ToString(DiagnosticKind kind);  // "kDoubleUnmap"
std::string ToString(Severity severity);    // "error", "warning", "leak"
// Several lines: what happened, the details, why it matters, what to do, history.
std::string ToString(const Diagnostic& diagnostic);
// "kDoubleUnmap (UNMAP-9) by call 7, cuMemUnmap, of [0x7f0000200000, +2 MiB]".
std::string Headline(const Diagnostic& diagnostic);

std::ostream& operator<<(std::ostream& out, DiagnosticKind kind);
std::ostream& operator<<(std::ostream& out, Severity severity);
std::ostream& operator<<(std::ostream& out, const HistoryEntry& entry);
std::ostream& operator<<(std::ostream& out, const Diagnostic& diagnostic);

}  // namespace twinmmu

#endif  // TWINMMU_API_DIAGNOSTICS_H_
