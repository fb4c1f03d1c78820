// AddDiagnostic: a diagnostic as an event.

#ifndef TWINMMU_API_RECORD_DIAGNOSTIC_EVENT_H_
#define TWINMMU_API_RECORD_DIAGNOSTIC_EVENT_H_

#include "api/diagnostics.h"
#include "api/record/event_writer.h"

namespace twinmmu::record {

// `diagnostic`: null for one that was only counted. Never fails.
void AddDiagnostic(EventWriter& events, DiagnosticKind kind, const Diagnostic* diagnostic) noexcept;

}  // namespace twinmmu::record

#endif  // TWINMMU_API_RECORD_DIAGNOSTIC_EVENT_H_
