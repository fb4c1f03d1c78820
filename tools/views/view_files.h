// WriteViews: the views of a run, each as a file.

#ifndef TWINMMU_TOOLS_VIEWS_VIEW_FILES_H_
#define TWINMMU_TOOLS_VIEWS_VIEW_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "api/record/event.h"
#include "tools/views/merged_events.h"
#include "tools/views/view_paths.h"

namespace twinmmu {

// Those that are asked for.
std::vector<std::string> PathsIn(const ViewPaths& paths);
bool AsksForAny(const ViewPaths& paths);

// Whether all of them can be written; those that are not there are made. ResourceExhausted: one
// cannot.
absl::Status CheckViews(const ViewPaths& paths);

// Reads the events once, to the end, and shows them to `others` too. ResourceExhausted: a file
// cannot be written.
absl::Status WriteViews(const ViewPaths& paths, MergedEvents& events,
                        const std::vector<record::EventSink*>& others = {});

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_VIEW_FILES_H_
