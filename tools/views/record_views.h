// ViewRecord: the record of a run as the files that other tools open, without the command line.
//
//   const absl::StatusOr<std::unique_ptr<record::EventWriter>> events =
//       record::EventWriter::Create("test.events");
//   ...                         // a simulator, an EventVmm or a pool tells them
//   RecordViews views;
//   views.files.html = "test.html";
//   const absl::Status written = ViewRecord("test.events", views);

#ifndef TWINMMU_TOOLS_VIEWS_RECORD_VIEWS_H_
#define TWINMMU_TOOLS_VIEWS_RECORD_VIEWS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/annotations/ci_reports.h"
#include "tools/views/view_paths.h"

namespace twinmmu {

// What to make of a record. Empty: nothing. A file that is there is replaced when its view is
// whole.
struct RecordViews {
  ViewPaths files;
  CiReports reports;                            // annotations go to std::cout
  std::string source_root = UsualSourceRoot();  // reports name sources below it
  // Takes what is to be said of the record, in words: that it was cut, what found no room. Null:
  // nobody asks.
  std::vector<std::string>* warnings = nullptr;
};

// Whether the record outlives its views. InvalidArgument: one of them would replace it, or a file
// of its folder.
absl::Status CheckKeeps(const std::string& record, const ViewPaths& files,
                        const CiReports& reports);

// `record`: a file of an EventWriter or of `twinmmu run --record`, or a folder of such files. Its
// writers may still be writing: what was told before this call is shown. Stacks get their names
// from the programs that told the events, so call this where these are. NotFound: there is no such
// record. InvalidArgument: it is not one of events, or of another version of TwinMMU, or a view
// would replace it. ResourceExhausted: a file cannot be written; what was there stays. Any thread
// may call this.
absl::Status ViewRecord(const std::string& record, const RecordViews& views);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_RECORD_VIEWS_H_
