#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "api/testing/recording/replay.h"
#include "conformance/instances/replay/replay_sim.h"
#include "conformance/recordings/masks.h"
#include "tools/commands/commands.h"
#include "tools/commands/failure.h"

namespace twinmmu {
namespace {

void PrintReport(const std::string& path, const ReplayReport& report, std::ostream& out) {
  out << path << ": " << report.sections << " sections, " << report.calls << " calls, "
      << report.differences.size() << " differences";
  if (report.not_played != 0) out << ", " << report.not_played << " calls not played";
  out << "\n";
  for (const Mask& mask : conformance::SimulatorMasks()) {
    const auto found = report.masked.find(mask.name);
    if (found != report.masked.end()) {
      out << "  masked " << found->second << ", " << mask.name << ": " << mask.reason << "\n";
    }
  }
  for (const LineDifference& difference : report.differences) Print(difference, out);
}

OrderedJson ToJson(const std::string& path, const ReplayReport& report) {
  OrderedJson json = {{"file", path},
                      {"sections", report.sections},
                      {"calls", report.calls},
                      {"not_played", report.not_played},
                      {"masked", report.masked}};
  json["differences"] = OrderedJson::array();
  for (const LineDifference& difference : report.differences) {
    json["differences"].push_back({{"section", difference.section},
                                   {"line", difference.line},
                                   {"recorded", difference.recorded},
                                   {"seen", difference.seen}});
  }
  return json;
}

}  // namespace

int ReplayCommand(const Options& options, Screen& screen) {
  if (options.operands.empty()) return UsageError("replay needs the name of a recording.");
  OrderedJson results = Results("replay");
  results["recordings"] = OrderedJson::array();
  bool differs = false;
  for (const std::string& path : options.operands) {
    screen.progress().Show(absl::StrCat("replaying ", path));
    const absl::StatusOr<ReplayReport> report = Replay(path, conformance::SimReplayOptions());
    screen.progress().Clear();
    if (!report.ok()) return Fail(report.status());
    PrintReport(path, *report, screen.text());
    results["recordings"].push_back(ToJson(path, *report));
    if (report->sections == 0) return Fail(absl::NotFoundError(path + ": there is nothing in it"));
    differs = differs || !report->differences.empty();
  }
  return screen.Finish(differs ? 1 : 0, results);
}

}  // namespace twinmmu
