#include <utility>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "api/testing/recording/replay.h"
#include "conformance/instances/replay/replay_sim.h"
#include "conformance/recordings/masks.h"
#include "conformance/recordings/recorders.h"
#include "tools/commands.h"
#include "tools/failure.h"

ABSL_FLAG(std::string, out, "", "record: the file to write; compressed if its name ends in .zst");
ABSL_FLAG(std::string, program, "suite",
          "record: what to run: suite, random (see --seeds and --calls), or a file of calls, such "
          "as a recording");

namespace twinmmu {
namespace {

std::string Today() { return absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone()); }

int RecordRandomCalls(const RecordTarget& target, const conformance::RecordingPlan& plan,
                      std::ostream& out) {
  conformance::random::Seeds seeds;
  if (!RandomSeeds(seeds)) return kUsageError;
  const auto report = conformance::RecordRandom(target.random, seeds, plan);
  if (!report.ok()) return Fail(report.status());
  out << plan.path << ": seeds " << seeds.first << "-" << seeds.last << ", " << report->calls
      << " random calls\n";
  if (report->difference.empty()) return 0;
  out << "The model of random calls does not match this machine; these sequences end early:\n"
      << report->difference;
  return 1;
}

int RecordCallsOf(const std::string& program, const RecordTarget& target,
                  const conformance::RecordingPlan& plan) {
  absl::StatusOr<conformance::Target> opened = target.suite.open();
  if (!opened.ok()) return Fail(opened.status());
  const absl::Status recorded =
      conformance::RecordProgram(program, std::move(opened->driver), plan);
  return recorded.ok() ? 0 : Fail(recorded);
}

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

}  // namespace

int Record(int argc, char** argv, const RecordTarget& target,
           const conformance::RunOptions& options, std::ostream& out) {
  const conformance::RecordingPlan plan{absl::GetFlag(FLAGS_out), target.backend, Today()};
  if (plan.path.empty()) {
    return UsageError("record needs --out=FILE, such as --out=h200.jsonl.zst.");
  }
  const std::string program = absl::GetFlag(FLAGS_program);
  if (program == "suite") {
    return conformance::RecordSuite(argc, argv, target.suite, options, plan);
  }
  if (program == "random") return RecordRandomCalls(target, plan, out);
  return RecordCallsOf(program, target, plan);
}

int ReplayFiles(const std::vector<std::string>& paths, std::ostream& out) {
  if (paths.empty()) return UsageError("replay needs the name of a recording.");
  bool differs = false;
  for (const std::string& path : paths) {
    const absl::StatusOr<ReplayReport> report = Replay(path, conformance::SimReplayOptions());
    if (!report.ok()) return Fail(report.status());
    PrintReport(path, *report, out);
    if (report->sections == 0) return Fail(absl::NotFoundError(path + ": there is nothing in it"));
    differs = differs || !report->differences.empty();
  }
  return differs ? 1 : 0;
}

}  // namespace twinmmu
