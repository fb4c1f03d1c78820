#include "api/diagnostics.h"

#include "absl/strings/str_cat.h"

namespace twinmmu {
namespace {

constexpr DiagnosticInfo kInfos[] = {
#define TWINMMU_DIAGNOSTIC(kind, rule, severity, what, why, advice) \
  {DiagnosticKind::kind, #kind, rule, Severity::severity, what, why, advice},
#include "api/diagnostics.inc"
#undef TWINMMU_DIAGNOSTIC
};

constexpr DiagnosticInfo kUnknown = {static_cast<DiagnosticKind>(-1),
                                     "unknown",
                                     "",
                                     Severity::kError,
                                     "Something that has no name here.",
                                     "It is not known.",
                                     "Look at who reported it."};

}  // namespace

absl::Span<const DiagnosticInfo> AllDiagnostics() { return kInfos; }

const DiagnosticInfo& InfoOf(DiagnosticKind kind) {
  const auto index = static_cast<size_t>(kind);
  return index < AllDiagnostics().size() ? kInfos[index] : kUnknown;
}

std::string InWords(const AddressRange& range) {
  return absl::StrCat("[", ToString(range.base), ", +", ToString(range.size), "]");
}

std::string ToString(DiagnosticKind kind) { return InfoOf(kind).name; }

std::string ToString(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kLeak:
      return "leak";
  }
  return absl::StrCat("severity ", static_cast<int>(severity));
}

std::string Headline(const Diagnostic& diagnostic) {
  const std::string rule = diagnostic.rule();
  std::string text = ToString(diagnostic.kind);
  if (!rule.empty()) absl::StrAppend(&text, " (", rule, ")");
  if (diagnostic.call_id != 0) absl::StrAppend(&text, " by call ", diagnostic.call_id);
  if (!diagnostic.call.empty()) absl::StrAppend(&text, ", ", diagnostic.call);
  if (diagnostic.range.has_value()) absl::StrAppend(&text, ", of ", InWords(*diagnostic.range));
  if (diagnostic.handle.has_value()) {
    absl::StrAppend(&text, ", handle ", ToString(*diagnostic.handle));
  }
  if (diagnostic.device.has_value()) absl::StrAppend(&text, ", ", ToString(*diagnostic.device));
  return text;
}

std::string ToString(const Diagnostic& diagnostic) {
  const DiagnosticInfo& info = InfoOf(diagnostic.kind);
  std::string text =
      absl::StrCat(ToString(diagnostic.severity), ": ", Headline(diagnostic), "\n", info.what);
  if (!diagnostic.message.empty()) absl::StrAppend(&text, "\n  here: ", diagnostic.message);
  absl::StrAppend(&text, "\n  why it matters: ", info.why, "\n  what to do: ", info.advice, "\n");
  for (const HistoryEntry& entry : diagnostic.history) {
    absl::StrAppend(&text, "  call ", entry.call, ": ", entry.sentence, "\n");
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, DiagnosticKind kind) { return out << ToString(kind); }
std::ostream& operator<<(std::ostream& out, Severity severity) { return out << ToString(severity); }
std::ostream& operator<<(std::ostream& out, const HistoryEntry& entry) {
  return out << "call " << entry.call << ": " << entry.sentence;
}
std::ostream& operator<<(std::ostream& out, const Diagnostic& diagnostic) {
  return out << ToString(diagnostic);
}

}  // namespace twinmmu
