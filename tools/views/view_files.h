// WriteViews: the views of a run, each as a file.

#ifndef TWINMMU_TOOLS_VIEWS_VIEW_FILES_H_
#define TWINMMU_TOOLS_VIEWS_VIEW_FILES_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "api/record/event.h"
#include "tools/annotations/ci_reports.h"
#include "tools/views/event_findings.h"
#include "tools/views/merged_events.h"
#include "tools/views/view_paths.h"

namespace twinmmu {

// Those that are asked for.
std::vector<std::string> PathsIn(const ViewPaths& paths);
bool AsksForAny(const ViewPaths& paths);

// Whether all of them can be written. ResourceExhausted: one cannot.
absl::Status CheckViews(const ViewPaths& paths);

// Reads the events once, to the end, and shows them to `others` too. What a view has no room for is
// in the warnings of the events. ResourceExhausted: a file cannot be written; what was there stays.
absl::Status WriteViews(const ViewPaths& paths, MergedEvents& events,
                        const std::vector<record::EventSink*>& others = {});

// Those that are asked for, of findings among these events; annotations go to `output`. As
// WriteViews.
absl::Status WriteReports(const CiReports& reports, EventFindings& findings, MergedEvents& events,
                          std::ostream& output);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_VIEW_FILES_H_
