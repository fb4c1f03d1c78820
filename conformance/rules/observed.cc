#include "conformance/rules/observed.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "api/testing/recording/file.h"
#include "conformance/framework/target_under_test.h"
#include "conformance/rules/rules.h"

namespace twinmmu::conformance {
namespace {

using Observations = std::map<std::string, std::vector<Observation>>;

// Nothing where the test did not run to its end.
std::string VerdictOf(const Json& end) {
  const std::string verdict = TextOr(end, "verdict");
  if (verdict == "failed") return "does not hold";
  if (verdict != "passed") return "";
  if (end.contains(kUnsupportedProperty)) return "unsupported";
  return end.contains(kDeviationProperty) ? TextOr(end, kDeviationProperty) : "holds";
}

void AddSection(const Section& section, const std::string& machine, const std::string& date,
                Observations& all) {
  const std::string rule = TextOr(section.begin, "rule");
  if (rule.empty() || !section.end.is_object()) return;
  const std::string verdict = VerdictOf(section.end);
  if (verdict.empty()) return;
  std::vector<Observation>& of_rule = all[rule];
  auto found = std::find_if(of_rule.begin(), of_rule.end(), [&](const Observation& observation) {
    return observation.machine == machine;
  });
  if (found == of_rule.end()) found = of_rule.insert(found, Observation{machine, date, {}, {}});
  found->since = std::min(found->since, date);
  found->verdict.insert(verdict);
  for (const auto& [key, value] : section.end.items()) {
    const bool is_figure = key != "end" && key != "verdict" && key != kDeviationProperty &&
                           key != kUnsupportedProperty && key != kUnrecordedProperty;
    if (is_figure && value.is_string()) found->figures[key] = value.get<std::string>();
  }
}

}  // namespace

std::vector<std::string> SuiteRecordings(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string path = entry.path().string();
    if (absl::EndsWith(path, "_suite.jsonl.zst")) paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::StatusOr<Observations> ReadObservations(const std::vector<std::string>& recordings) {
  Observations all;
  for (const std::string& path : recordings) {
    absl::StatusOr<std::unique_ptr<RecordingReader>> reader = RecordingReader::Open(path);
    if (!reader.ok()) return reader.status();
    const std::string machine = OriginOf((*reader)->header());
    const std::string date = TextOr((*reader)->header(), "date", "?");
    for (;;) {
      const absl::StatusOr<std::optional<Section>> section = (*reader)->Next();
      if (!section.ok()) return section.status();
      if (!section->has_value()) break;
      AddSection(**section, machine, date, all);
    }
  }
  for (auto& [rule, observations] : all) {
    std::sort(observations.begin(), observations.end(),
              [](const Observation& a, const Observation& b) { return a.machine < b.machine; });
  }
  return all;
}

}  // namespace twinmmu::conformance
