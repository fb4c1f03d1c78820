#include "tools/views/view_files.h"

#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

absl::Status CannotWriteView(const std::string& path) {
  return absl::ResourceExhaustedError(absl::StrCat("cannot write ", path));
}

OpenView OpenRecord(const std::string& path, MergedEvents& events) {
  auto view = std::make_unique<record::EventFile>(path);
  record::EventFile& file = *view;
  for (const record::ProcessInfo& process : events.processes()) file.AddProcess(process);
  return {std::move(view), [&] { return file.Finish(events.lost()); }};
}

OpenView OpenTrace(const std::string& path, MergedEvents& events) {
  const auto out = std::make_shared<std::ofstream>(path);
  auto view = std::make_unique<Trace>(out.get());
  Trace& trace = *view;
  for (const record::ProcessInfo& process : events.processes()) trace.AddProcess(process);
  return {std::move(view), [out, path, &trace] {
            trace.Finish();
            out->close();
            return *out ? absl::OkStatus() : CannotWriteView(path);
          }};
}

// Of a view that gives its text at the end.
template <typename View>
OpenView OpenText(const std::string& path, std::unique_ptr<View> view) {
  View& text = *view;
  return {std::move(view), [path, &text] {
            std::ofstream out(path, std::ios::binary);
            out << text.Finish();
            out.close();
            return out ? absl::OkStatus() : CannotWriteView(path);
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
    if (!std::ofstream(path, std::ios::app)) return CannotWriteView(path);
  }
  return absl::OkStatus();
}

absl::Status WriteViews(const ViewPaths& paths, MergedEvents& events,
                        const std::vector<record::EventSink*>& others) {
  std::vector<OpenView> views;
  if (!paths.record.empty()) views.push_back(OpenRecord(paths.record, events));
  const std::string title = TitleOf(events);
  if (!paths.html.empty()) views.push_back(OpenText(paths.html, MakePage(title, events)));
  if (!paths.svg.empty()) views.push_back(OpenText(paths.svg, std::make_unique<Drawing>(title)));
  if (!paths.trace.empty()) views.push_back(OpenTrace(paths.trace, events));
  if (!paths.snapshot.empty())
    views.push_back(OpenText(paths.snapshot, std::make_unique<MemorySnapshot>()));
  if (!paths.flame_graph.empty())
    views.push_back(OpenText(paths.flame_graph, std::make_unique<FlameGraph>()));
  std::vector<record::EventSink*> sinks = others;
  for (const OpenView& view : views) sinks.push_back(view.sink.get());
  events.Feed(sinks);
  absl::Status all;
  for (const OpenView& view : views) all.Update(view.finish());
  return all;
}

}  // namespace twinmmu
