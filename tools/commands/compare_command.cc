#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "api/testing/recording/compare.h"
#include "conformance/rules/rules.h"
#include "tools/commands/commands.h"
#include "tools/commands/failure.h"

namespace twinmmu {
namespace {

// Of one rule; more of the same tell nothing new.
constexpr size_t kMostLines = 3;

std::string Text(const Json& json) {
  return json.is_string() ? json.get<std::string>() : json.dump();
}

// "2 x NVIDIA H200, driver 580.159.04 (CUDA 13.0), cuda, 2026-11-21"
std::string Describe(const Json& header) {
  return absl::StrCat(OriginOf(header), ", ", TextOr(header, "backend", "?"), ", ",
                      TextOr(header, "date", "?"));
}

// The heading that a difference stands under: a rule with its sentence, or what else it is about.
std::string Heading(const SectionDifference& difference) {
  for (const conformance::RuleInfo& rule : conformance::AllRules()) {
    if (rule.id == difference.rule) {
      return absl::StrCat(rule.id, " (", rule.call, "): ", rule.sentence);
    }
  }
  if (difference.lines.empty()) return "other calls";
  return absl::StrCat("calls of ", Text(difference.lines.front().recorded.at("call")));
}

// "Map {...}: code was CUDA_SUCCESS, is CUDA_ERROR_INVALID_VALUE"
void PrintLine(const LineDifference& difference, std::ostream& out) {
  out << "    " << difference.section << ", line " << difference.line << ": ";
  Json call = difference.recorded;
  const std::vector<std::string> keys = DifferingKeys(difference.recorded, difference.seen);
  for (const std::string& key : keys) call.erase(key);
  out << Shortened(call) << "\n";
  for (const std::string& key : keys) {
    const auto value = [&](const Json& line) {
      return line.contains(key) ? Text(line.at(key)) : std::string("absent");
    };
    out << "      " << key << ": " << value(difference.recorded) << ", there "
        << value(difference.seen) << "\n";
  }
}

void PrintOne(const SectionDifference& difference, std::ostream& out) {
  if (!difference.verdict.empty()) {
    out << "    " << difference.section << ": verdict " << difference.verdict << "\n";
  }
  const size_t shown = std::min(difference.lines.size(), kMostLines);
  for (size_t i = 0; i < shown; ++i) PrintLine(difference.lines[i], out);
  if (shown != difference.lines.size()) {
    out << "    and " << difference.lines.size() - shown << " more calls of that section\n";
  }
}

void PrintNames(const char* what, const std::vector<std::string>& names, std::ostream& out) {
  if (names.empty()) return;
  out << "Only " << what << ": " << names.size() << " sections, the first is " << names.front()
      << "\n";
}

void PrintLeftOut(const Comparison& comparison, std::ostream& out) {
  const std::pair<uint64_t, const char*> counts[] = {
      {comparison.polls, "calls that query whether something has happened yet"},
      {comparison.after_launch, "calls that read something else after device code was launched"},
      {comparison.of_threads, "calls made after several threads worked at once"},
      {comparison.lacking_devices, "verdicts of tests for which one of them has too few devices"},
      {comparison.calls_only_here, "calls made only here, or after such a call"},
      {comparison.calls_only_there, "calls made only there, or after such a call"},
  };
  const char* heading = "Ignored, because timing or the machine decides it, not the driver:\n";
  for (const auto& [count, what] : counts) {
    if (count == 0) continue;
    out << heading << "  " << count << " " << what << "\n";
    heading = "";
  }
}

void PrintComparison(const Comparison& comparison, std::ostream& out) {
  out << "here:  " << Describe(comparison.header)
      << "\nthere: " << Describe(comparison.other_header) << "\n"
      << comparison.sections << " sections and " << comparison.calls << " calls compared, "
      << comparison.differences.size() << " sections differ\n";
  PrintNames("here", comparison.only_here, out);
  PrintNames("there", comparison.only_there, out);
  PrintLeftOut(comparison, out);
  std::map<std::string, std::vector<const SectionDifference*>> by_heading;
  for (const SectionDifference& difference : comparison.differences) {
    by_heading[Heading(difference)].push_back(&difference);
  }
  for (const auto& [heading, differences] : by_heading) {
    out << "\n" << heading << "\n";
    for (size_t i = 0; i < std::min(differences.size(), kMostLines); ++i) {
      PrintOne(*differences[i], out);
    }
    if (differences.size() > kMostLines) {
      out << "    and " << differences.size() - kMostLines << " more sections\n";
    }
  }
}

OrderedJson ToJson(const SectionDifference& difference) {
  OrderedJson json = {
      {"section", difference.section}, {"rule", difference.rule}, {"verdict", difference.verdict}};
  json["lines"] = OrderedJson::array();
  for (const LineDifference& line : difference.lines) {
    json["lines"].push_back({{"line", line.line}, {"here", line.recorded}, {"there", line.seen}});
  }
  return json;
}

OrderedJson ToJson(const Comparison& comparison) {
  OrderedJson json = Results("compare");
  json["here"] = comparison.header;
  json["there"] = comparison.other_header;
  json["sections"] = comparison.sections;
  json["calls"] = comparison.calls;
  json["only_here"] = comparison.only_here;
  json["only_there"] = comparison.only_there;
  json["ignored"] = {{"polls", comparison.polls},
                     {"after_launch", comparison.after_launch},
                     {"of_threads", comparison.of_threads},
                     {"lacking_devices", comparison.lacking_devices},
                     {"calls_only_here", comparison.calls_only_here},
                     {"calls_only_there", comparison.calls_only_there}};
  json["differences"] = OrderedJson::array();
  for (const SectionDifference& difference : comparison.differences) {
    json["differences"].push_back(ToJson(difference));
  }
  return json;
}

}  // namespace

int CompareCommand(const Options& options, Screen& screen) {
  const std::vector<std::string>& paths = options.operands;
  if (paths.size() != 2) return UsageError("compare needs the names of two recordings.");
  const absl::StatusOr<Comparison> comparison = Compare(paths[0], paths[1]);
  if (!comparison.ok()) return UsageError(comparison.status());
  PrintComparison(*comparison, screen.text());
  return screen.Finish(comparison->differences.empty() ? 0 : 1, ToJson(*comparison));
}

}  // namespace twinmmu
