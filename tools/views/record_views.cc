#include "tools/views/record_views.h"

#include <iostream>
#include <memory>

#include "absl/status/statusor.h"
#include "tools/views/event_findings.h"
#include "tools/views/merged_events.h"
#include "tools/views/view_files.h"

namespace twinmmu {

absl::Status ViewRecord(const std::string& record, const RecordViews& views) {
  const absl::StatusOr<std::unique_ptr<MergedEvents>> events = MergedEvents::OpenAny(record);
  if (!events.ok()) return events.status();
  absl::Status written = CheckViews(views.files, record);
  if (!written.ok()) return written;
  EventFindings findings(views.source_root);
  written = WriteViews(views.files, **events, {&findings});
  written.Update(WriteCiReports(views.reports, findings.Finish(), std::cout));
  return written;
}

}  // namespace twinmmu
