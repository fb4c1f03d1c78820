#include "api/testing/checked/call.h"

namespace twinmmu::checked {

CheckedCall::CheckedCall(Book* book, DriverCall name, const AddressRange& range,
                         AllocationHandle handle)
    : book_(*book) {
  past_.name = name;
  past_.range = range;
  past_.handle = handle;
}

CheckedCall::~CheckedCall() {
  for (Report& report : reports_) {
    if (report.diagnostic.has_value()) {
      book_.log.Keep(*std::move(report.diagnostic));
    } else {
      book_.log.Drop(report.kind);
    }
  }
}

void CheckedCall::Tell(Severity severity, const Finding& finding, const std::string& words) {
  const Misuse& misuse = finding.misuse;
  reports_.push_back({misuse.kind, std::nullopt});
  if (!book_.log.Count(misuse.kind)) return;
  Diagnostic diagnostic = DiagnosticOf(misuse, severity, name(), id(), past_.range, words);
  diagnostic.history = finding.history;
  reports_.back().diagnostic = std::move(diagnostic);
}

void CheckedCall::Refused(const Findings& findings) {
  const Finding* reason = nullptr;
  for (const Finding& finding : findings) {
    if (!finding.if_refused.has_value()) continue;
    const bool always = InfoOf(finding.misuse.kind).severity == Severity::kError;
    if (reason == nullptr || always) reason = &finding;
    if (always) break;
  }
  if (reason != nullptr) Tell(Severity::kError, *reason, *reason->if_refused);
  PastCall refused = past_;
  refused.refused = true;
  book_.history.Write(std::move(refused));
}

void CheckedCall::Warn(const Findings& findings) {
  for (const Finding& finding : findings) {
    if (finding.if_passed.has_value()) Tell(Severity::kWarning, finding, *finding.if_passed);
  }
}

void CheckedCall::Done(const AddressRange& range, bool found) {
  past_.range = range;
  past_.found = found;
  Done();
}

void CheckedCall::Done(const AddressRange& range, std::vector<AccessGrant> grants) {
  past_.range = range;
  past_.grants = std::move(grants);
  Done();
}

void CheckedCall::DoneWith(AllocationHandle handle, Bytes size) {
  past_.handle = handle;
  past_.size = size;
  Done();
}

}  // namespace twinmmu::checked
