#include "conformance/rules/verdict_table.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "conformance/rules/document.h"
#include "conformance/rules/observed.h"
#include "conformance/rules/rules.h"

namespace twinmmu::conformance {
namespace {

constexpr const char* kSimulated[] = {"sim", "cuda_on_sim"};

using ByRule = std::map<std::string, std::string>;
using Observed = std::map<std::string, std::vector<Observation>>;

// Verdicts by rule, by target. Every target of kSimulated has one of every rule.
absl::StatusOr<std::map<std::string, ByRule>> ReadSimulated(absl::string_view baseline) {
  std::map<std::string, ByRule> verdicts;
  for (const absl::string_view line : absl::StrSplit(baseline, '\n', absl::SkipEmpty())) {
    if (line[0] == '#') continue;
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(' ', 2));
    if (parts.size() != 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", line, "\" is no target, rule and verdict"));
    }
    verdicts[parts[0]][parts[1]] = parts[2];
  }
  for (const char* const target : kSimulated) {
    for (const RuleInfo& rule : AllRules()) {
      if (verdicts[target].count(rule.id) != 0) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("there is no verdict of ", target, " on ", rule.id));
    }
  }
  return verdicts;
}

bool IsDeviation(const std::string& verdict) { return absl::StartsWith(verdict, "k"); }

// A row of figures: how many rules have which verdict.
std::string CountRow(const std::string& name, const std::string& recorded, const ByRule& verdicts) {
  std::map<std::string, int> counts;
  for (const auto& [rule, verdict] : verdicts) ++counts[verdict];
  const auto not_seen = static_cast<int>(AllRules().size()) - static_cast<int>(verdicts.size());
  return absl::StrCat("| ", name, " | ", recorded, " | ", counts["holds"], " | ",
                      counts["as observed"], " | ", counts["unsupported"], " | ", not_seen, " |\n");
}

// One machine that was recorded.
struct RecordedMachine {
  std::string letter;  // "A"
  std::set<std::string> dates;
  ByRule verdicts;
};

std::map<std::string, RecordedMachine> MachinesOf(const Observed& observed) {
  std::map<std::string, RecordedMachine> machines;
  for (const auto& [rule, observations] : observed) {
    for (const Observation& observation : observations) {
      RecordedMachine& machine = machines[observation.machine];
      machine.dates.insert(observation.since);
      const std::set<std::string>& verdict = observation.verdict;
      machine.verdicts[rule] =
          verdict.size() == 1 && !IsDeviation(*verdict.begin()) ? *verdict.begin() : "as observed";
    }
  }
  char letter = 'A';
  for (auto& [name, machine] : machines) machine.letter = std::string(1, letter++);
  return machines;
}

std::string Counts(const std::map<std::string, ByRule>& simulated,
                   const std::map<std::string, RecordedMachine>& machines) {
  std::string table =
      "| on | recorded | holds | as observed | unsupported | not seen "
      "|\n|---|---|---|---|---|---|\n";
  for (const char* const target : kSimulated) {
    table += CountRow(absl::StrCat("`", target, "`"), "", simulated.at(target));
  }
  for (const auto& [name, machine] : machines) {
    table += CountRow(absl::StrCat(machine.letter, ": ", name), absl::StrJoin(machine.dates, ", "),
                      machine.verdicts);
  }
  return table;
}

std::string SimulatedCell(const std::map<std::string, ByRule>& simulated, const std::string& rule) {
  const std::string& sim = simulated.at("sim").at(rule);
  const std::string& cuda_on_sim = simulated.at("cuda_on_sim").at(rule);
  if (sim == cuda_on_sim) return sim;
  return absl::StrCat("sim: ", sim, "; cuda_on_sim: ", cuda_on_sim);
}

// What one machine showed; a deviation as a link to it, and then the figures.
std::string Seen(const Observation& observation) {
  std::vector<std::string> verdicts;
  for (const std::string& verdict : observation.verdict) {
    verdicts.push_back(IsDeviation(verdict) ? absl::StrCat("[as observed](observations.md#",
                                                           absl::AsciiStrToLower(verdict), ")")
                                            : verdict);
  }
  std::string text = absl::StrJoin(verdicts, ", ");
  for (const auto& [name, value] : observation.figures) {
    absl::StrAppend(&text, "; ", absl::StrReplaceAll(name, {{"_", " "}}), ": ", value);
  }
  return text;
}

// What machines showed alike stands there once, with their letters.
std::string HardwareCell(const std::vector<Observation>& observations,
                         const std::map<std::string, RecordedMachine>& machines) {
  std::vector<std::pair<std::string, std::string>> seen;
  for (const Observation& observation : observations) {
    const std::string what = Seen(observation);
    const std::string& letter = machines.at(observation.machine).letter;
    const auto same = std::find_if(seen.begin(), seen.end(),
                                   [&](const auto& other) { return other.first == what; });
    if (same == seen.end()) {
      seen.emplace_back(what, letter);
    } else {
      absl::StrAppend(&same->second, ", ", letter);
    }
  }
  const auto append = [](std::string* out, const std::pair<std::string, std::string>& cell) {
    absl::StrAppend(out, cell.first, " (", cell.second, ")");
  };
  return seen.empty() ? "not seen" : absl::StrJoin(seen, "<br>", append);
}

std::string Row(const RuleInfo& rule, const std::string& simulated, const std::string& hardware) {
  const char* const kind = rule.kind == RuleKind::kUndefined ? "(undefined) " : "";
  return absl::StrCat("| ", rule.id, " | ", kind,
                      absl::StrReplaceAll(rule.sentence, {{"|", "\\|"}}), " | ", simulated, " | ",
                      hardware, " |\n");
}

}  // namespace

absl::StatusOr<std::string> UpdateVerdicts(absl::string_view document, absl::string_view simulated,
                                           const std::vector<std::string>& recordings) {
  const absl::StatusOr<std::map<std::string, ByRule>> verdicts = ReadSimulated(simulated);
  if (!verdicts.ok()) return verdicts.status();
  const absl::StatusOr<Observed> observed = ReadObservations(recordings);
  if (!observed.ok()) return observed.status();
  const std::map<std::string, RecordedMachine> machines = MachinesOf(*observed);
  std::string text = Counts(*verdicts, machines);
  std::string call;
  for (const RuleInfo& rule : AllRules()) {
    if (rule.call != call) {
      absl::StrAppend(&text, "\n## ", rule.call,
                      "\n\n| rule | what it says | simulator | hardware |\n|---|---|---|---|\n");
    }
    call = rule.call;
    const auto found = observed->find(rule.id);
    text += Row(rule, SimulatedCell(*verdicts, rule.id),
                found == observed->end() ? "not seen" : HardwareCell(found->second, machines));
  }
  return ReplaceSection(document, "verdicts", text);
}

}  // namespace twinmmu::conformance
