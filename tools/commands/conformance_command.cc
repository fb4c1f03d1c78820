#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "backend/loader.h"
#include "conformance/instances/cuda_target.h"
#include "conformance/runner.h"
#include "tools/commands/commands.h"
#include "tools/commands/failure.h"
#include "tools/commands/machines.h"
#include "tools/commands/suite_options.h"

namespace twinmmu {
namespace {

using conformance::Column;
using conformance::RuleInfo;
using conformance::TargetFactory;

// The driver of this machine, beside the simulated one in the same process: the dynamic linker
// takes a library that is loaded for any of its name, so the genuine one must come first.
absl::StatusOr<TargetFactory> CudaBesideSimulated(const Options& options) {
  absl::StatusOr<TargetFactory> cuda = TargetNamed("cuda", options.machine);
  const absl::Status loaded = LoadDriver(options.machine.driver).status();
  if (cuda.ok() && !loaded.ok()) {
    cuda->open = [loaded]() -> absl::StatusOr<conformance::Target> { return loaded; };
  }
  return cuda;
}

absl::StatusOr<std::vector<TargetFactory>> Targets(const Options& options) {
  const absl::StatusOr<std::vector<std::string>> backends =
      Backends(options.machine, "sim", {"sim", "cuda_on_sim", "cuda"});
  if (!backends.ok()) return backends.status();
  if (std::set<std::string>(backends->begin(), backends->end()).size() != backends->size()) {
    return absl::InvalidArgumentError("--backend names one backend twice.");
  }
  const bool beside = std::count(backends->begin(), backends->end(), "cuda_on_sim") != 0;
  std::vector<TargetFactory> targets;
  for (const std::string& name : *backends) {
    absl::StatusOr<TargetFactory> target =
        name == "cuda" && beside
            ? CudaBesideSimulated(options)
            : TargetNamed(name, options.machine, options.suite.allow_multicast);
    if (!target.ok()) return target.status();
    targets.push_back(*std::move(target));
  }
  return targets;
}

OrderedJson ToJson(const Column& column) {
  OrderedJson target = {{"name", column.target}};
  for (const conformance::Verdict verdict : conformance::kAllVerdicts) {
    target["counts"][ToString(verdict)] = column.Count(verdict);
  }
  target["deviations"] = column.deviations;
  target["no_hardware"] = OrderedJson::array();
  for (const auto& [reason, tests] : column.skip_reasons) {
    target["no_hardware"].push_back({{"reason", reason}, {"tests", tests}});
  }
  target["failures"] = OrderedJson::array();
  for (const conformance::Failure& failure : column.failures) {
    target["failures"].push_back({{"test", failure.test},
                                  {"rule", GetRule(failure.rule).id},
                                  {"verdict", ToString(failure.verdict)},
                                  {"message", failure.message}});
  }
  return target;
}

OrderedJson ToJson(const std::vector<Column>& columns, int exit_code) {
  OrderedJson results = Results("conformance");
  results["exit_code"] = exit_code;
  results["targets"] = OrderedJson::array();
  for (const Column& column : columns) results["targets"].push_back(ToJson(column));
  results["rules"] = OrderedJson::array();
  for (const RuleInfo& info : conformance::AllRules()) {
    OrderedJson verdicts = OrderedJson::object();
    for (const Column& column : columns) verdicts[column.target] = ToString(column.Of(info.rule));
    results["rules"].push_back({{"id", info.id},
                                {"call", info.call},
                                {"sentence", info.sentence},
                                {"undefined", info.kind == conformance::RuleKind::kUndefined},
                                {"verdicts", verdicts}});
  }
  return results;
}

}  // namespace

int ConformanceCommand(const Options& options, const MainArguments& main, Screen& screen) {
  const absl::Status can_write = CheckCanWrite(options.suite.xml);
  if (!can_write.ok()) return UsageError(can_write);
  absl::StatusOr<std::vector<TargetFactory>> targets = Targets(options);
  if (!targets.ok()) return UsageError(targets.status());
  conformance::RunOptions runner = RunnerOptions(options.suite, screen);
  OrderedJson results;
  runner.results = [&results](const std::vector<Column>& columns, int exit_code) {
    results = ToJson(columns, exit_code);
  };
  const int exit_code =
      conformance::RunConformance(main.argc, main.argv, *std::move(targets), runner);
  return results.is_null() ? screen.Finish(exit_code) : screen.Finish(exit_code, results);
}

}  // namespace twinmmu
