#include "tools/views/record_views.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/record/event_writer.h"
#include "tools/views/event_findings.h"
#include "tools/views/merged_events.h"
#include "tools/views/view_files.h"

namespace twinmmu {

absl::Status CheckKeeps(const std::string& record, const ViewPaths& files,
                        const CiReports& reports) {
  std::vector<std::string> paths = PathsIn(files);
  paths.insert(paths.end(), {reports.sarif, reports.junit});
  for (const std::filesystem::path path : paths) {
    std::error_code unknown;
    const bool is_record = std::filesystem::equivalent(path, record, unknown);
    const bool is_part =
        std::filesystem::exists(path, unknown) &&
        absl::StartsWith(path.filename().string(), record::kEventsPrefix) &&
        std::filesystem::equivalent(std::filesystem::absolute(path).parent_path(), record, unknown);
    if (is_record || is_part) {
      return absl::InvalidArgumentError(absl::StrCat(
          path.string(), is_record ? " is the record itself" : " is a file of the record",
          ": name another file for the view"));
    }
  }
  return absl::OkStatus();
}

absl::Status ViewRecord(const std::string& record, const RecordViews& views) {
  const absl::StatusOr<std::unique_ptr<MergedEvents>> events = MergedEvents::OpenAny(record);
  if (!events.ok()) return events.status();
  const absl::Status keeps = CheckKeeps(record, views.files, views.reports);
  if (!keeps.ok()) return keeps;
  absl::Status written = CheckViews(views.files);
  if (!written.ok()) return written;
  EventFindings findings(views.source_root);
  written = WriteViews(views.files, **events, {&findings});
  written.Update(WriteReports(views.reports, findings, **events, std::cout));
  if (views.warnings != nullptr) *views.warnings = (*events)->warnings();
  return written;
}

}  // namespace twinmmu
