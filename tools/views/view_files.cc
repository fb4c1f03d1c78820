#include "tools/views/view_files.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/files/replaced_file.h"
#include "api/record/event_file.h"
#include "tools/views/drawing/drawing.h"
#include "tools/views/flame_graph.h"
#include "tools/views/memory_snapshot.h"
#include "tools/views/page/page.h"
#include "tools/views/trace.h"

namespace twinmmu {
namespace {

// A view, and how it ends.
struct OpenView {
  std::unique_ptr<record::EventSink> sink;
  std::function<absl::Status()> finish;
};

// `left_out`: what found no room, in words, or empty.
void TellOf(const std::string& path, const std::string& left_out, MergedEvents& events) {
  if (!left_out.empty()) events.AddWarning(absl::StrCat(path, " leaves out ", left_out));
}

OpenView OpenRecord(const std::string& path, MergedEvents& events) {
  auto view = std::make_unique<record::EventFile>(path);
  record::EventFile& file = *view;
  for (const record::ProcessInfo& process : events.processes()) file.AddProcess(process);
  return {std::move(view), [&] { return file.Finish(events.lost()); }};
}

OpenView OpenTrace(const std::string& path, MergedEvents& events) {
  const auto file = std::make_shared<ReplacedFile>(path);
  auto view = std::make_unique<Trace>(&file->stream());
  Trace& trace = *view;
  for (const record::ProcessInfo& process : events.processes()) trace.AddProcess(process);
  return {std::move(view), [file, path, &trace, &events] {
            trace.Finish();
            TellOf(path, trace.LeftOut(), events);
            return file->Finish();
          }};
}

// Of a view that gives its text at the end.
template <typename View>
OpenView OpenText(const std::string& path, std::unique_ptr<View> view, MergedEvents& events) {
  View& text = *view;
  return {std::move(view), [path, &text, &events] {
            ReplacedFile file(path);
            file.stream() << text.Finish();
            TellOf(path, text.LeftOut(), events);
            return file.Finish();
          }};
}

// The name of the program, without its folder.
std::string TitleOf(MergedEvents& events) {
  if (events.processes().empty()) return "";
  const std::string& program = events.processes().front().program;
  return program.substr(program.rfind('/') + 1);
}

std::unique_ptr<Page> MakePage(const std::string& title, MergedEvents& events) {
  auto page = std::make_unique<Page>(title);
  for (const record::ProcessInfo& process : events.processes()) {
    page->AddProcess(process.id, process.program);
  }
  return page;
}

}  // namespace

std::vector<std::string> PathsIn(const ViewPaths& views) {
  std::vector<std::string> paths;
  for (const std::string* path : {&views.record, &views.html, &views.svg, &views.trace,
                                  &views.snapshot, &views.flame_graph}) {
    if (!path->empty()) paths.push_back(*path);
  }
  return paths;
}

bool AsksForAny(const ViewPaths& paths) { return !PathsIn(paths).empty(); }

absl::Status CheckViews(const ViewPaths& paths) {
  for (const std::string& path : PathsIn(paths)) {
    const absl::Status can_write = ReplacedFile(path).Check();
    if (!can_write.ok()) return can_write;
  }
  return absl::OkStatus();
}

absl::Status WriteViews(const ViewPaths& paths, MergedEvents& events,
                        const std::vector<record::EventSink*>& others) {
  std::vector<OpenView> views;
  if (!paths.record.empty()) views.push_back(OpenRecord(paths.record, events));
  const std::string title = TitleOf(events);
  const auto add = [&](const std::string& path, auto view) {
    views.push_back(OpenText(path, std::move(view), events));
  };
  if (!paths.html.empty()) add(paths.html, MakePage(title, events));
  if (!paths.svg.empty()) add(paths.svg, std::make_unique<Drawing>(title));
  if (!paths.trace.empty()) views.push_back(OpenTrace(paths.trace, events));
  if (!paths.snapshot.empty()) add(paths.snapshot, std::make_unique<MemorySnapshot>());
  if (!paths.flame_graph.empty()) add(paths.flame_graph, std::make_unique<FlameGraph>());
  std::vector<record::EventSink*> sinks = others;
  for (const OpenView& view : views) sinks.push_back(view.sink.get());
  events.Feed(sinks);
  absl::Status all;
  for (const OpenView& view : views) all.Update(view.finish());
  return all;
}

absl::Status WriteReports(const CiReports& reports, EventFindings& findings, MergedEvents& events,
                          std::ostream& output) {
  if (!reports.any()) return absl::OkStatus();
  const absl::Status written = WriteCiReports(reports, findings.Finish(), output);
  const std::string left_out = findings.LeftOut();
  if (!left_out.empty()) events.AddWarning(absl::StrCat("the reports leave out ", left_out));
  return written;
}

}  // namespace twinmmu
