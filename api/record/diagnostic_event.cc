#include "api/record/diagnostic_event.h"

#include <new>
#include <string>

#include "api/record/event.h"

namespace twinmmu::record {

void AddDiagnostic(EventWriter& events, DiagnosticKind kind,
                   const Diagnostic* diagnostic) noexcept {
  Event event;
  event.kind = EventKind::kDiagnostic;
  event.code = InfoOf(kind).name;
  event.text = InfoOf(kind).what;
  event.severity =
      InfoOf(kind).severity == twinmmu::Severity::kError ? Severity::kError : Severity::kWarning;
  if (diagnostic == nullptr) return events.Add(event);
  event.severity =
      diagnostic->severity == twinmmu::Severity::kError ? Severity::kError : Severity::kWarning;
  if (diagnostic->range.has_value()) {
    event.address = diagnostic->range->base.value();
    event.bytes = diagnostic->range->size.value();
  }
  if (diagnostic->handle.has_value()) event.allocation = diagnostic->handle->value();
  if (diagnostic->device.has_value()) event.device = diagnostic->device->value();
  std::string words;
  try {
    words = ToString(*diagnostic);
    event.text = words;
  } catch (const std::bad_alloc&) {
    // Then the sentence of its kind.
  }
  events.Add(event);
}

}  // namespace twinmmu::record
