// Any bytes as a record of events: read, and shown in every view.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "api/record/event.h"
#include "api/record/event_reader.h"
#include "tools/views/drawing/drawing.h"
#include "tools/views/event_findings.h"
#include "tools/views/flame_graph.h"
#include "tools/views/memory_snapshot.h"
#include "tools/views/page/page.h"
#include "tools/views/site_totals.h"
#include "tools/views/trace.h"

namespace {

using namespace twinmmu;

std::string PathOfInput() {
  const char* const folder = std::getenv("TEST_TMPDIR");
  return absl::StrCat(folder == nullptr ? "/tmp" : folder, "/events_fuzzer.", getpid());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string path = PathOfInput();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const absl::StatusOr<std::unique_ptr<record::EventReader>> reader =
      record::EventReader::Open(path);
  unlink(path.c_str());
  if (!reader.ok()) return 0;
  std::ostringstream out;
  Trace trace(&out);
  MemorySnapshot snapshot;
  FlameGraph graph;
  SiteTotals totals;
  EventFindings findings("/src");
  Page page("run");
  Drawing drawing("run");
  record::Event event;
  const record::Stack* stack = nullptr;
  while ((*reader)->Next(&event, &stack)) {
    for (record::EventSink* const sink :
         {static_cast<record::EventSink*>(&trace), static_cast<record::EventSink*>(&snapshot),
          static_cast<record::EventSink*>(&graph), static_cast<record::EventSink*>(&totals),
          static_cast<record::EventSink*>(&findings), static_cast<record::EventSink*>(&page),
          static_cast<record::EventSink*>(&drawing)}) {
      sink->Add(event, *stack);
    }
  }
  trace.Finish();
  snapshot.Finish();
  graph.Finish();
  totals.Finish();
  findings.Finish();
  page.Finish();
  drawing.Finish();
  return 0;
}
