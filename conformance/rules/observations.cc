#include "conformance/rules/observations.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "conformance/programs/programs.h"
#include "conformance/rules/document.h"
#include "conformance/rules/observed.h"
#include "conformance/rules/rules.h"

namespace twinmmu::conformance {
namespace {

// One line of the list, with a link to the heading below.
std::string ListItem(int number, const DeviationInfo& deviation) {
  return Paragraph(absl::StrCat(number, ". "),
                   absl::StrCat(deviation.sentence, " [", GetRule(deviation.rule).id, "](#",
                                absl::AsciiStrToLower(deviation.name), ")"));
}

std::string Chapter(const DeviationInfo& deviation, const DeviationProgram& program) {
  const RuleInfo& rule = GetRule(deviation.rule);
  return absl::StrCat(
      "\n### ", deviation.name, "\n\n",
      Paragraph("", absl::StrCat(rule.id, ": ", rule.sentence, " [", rule.source, "]")),
      "\n```cpp\n", program.text, "```\n\n",
      Paragraph("", absl::StrCat("By the rule: ", program.by_rule, ". Seen: **", program.deviating,
                                 "**.")));
}

std::string Deviations() {
  std::string list = absl::StrCat("There are **", AllDeviations().size(), " deviations**:\n\n");
  std::string chapters;
  for (const DeviationProgram& program : AllPrograms()) {
    const DeviationInfo& deviation = GetDeviation(program.deviation);
    list += ListItem(static_cast<int>(deviation.deviation) + 1, deviation);
    chapters += Chapter(deviation, program);
  }
  return list + chapters;
}

// "A since 2026-11-22, B since 2026-11-22", each under the letter that `machines` gives it.
std::string Where(const Observation& observation, const std::map<std::string, char>& machines) {
  return absl::StrCat(std::string(1, machines.at(observation.machine)), " since ",
                      observation.since);
}

std::string Seen(const Observation& observation) {
  std::string text = absl::StrJoin(observation.verdict, " ");
  for (const auto& [name, value] : observation.figures) {
    absl::StrAppend(&text, "; ", absl::StrReplaceAll(name, {{"_", " "}}), ": ", value);
  }
  return text;
}

// What machines saw alike stands there once.
std::string RulePoint(const RuleInfo& rule, const std::vector<Observation>& observations,
                      const std::map<std::string, char>& machines) {
  std::string text = absl::StrCat("**", rule.id, "** ", rule.sentence, " [", rule.source, "]");
  std::vector<std::pair<std::string, std::string>> seen;
  for (const Observation& observation : observations) {
    const std::string what = Seen(observation);
    const auto same = std::find_if(seen.begin(), seen.end(),
                                   [&](const auto& other) { return other.first == what; });
    if (same == seen.end()) {
      seen.emplace_back(what, Where(observation, machines));
    } else {
      absl::StrAppend(&same->second, ", ", Where(observation, machines));
    }
  }
  if (seen.empty()) text += " **Not seen** on hardware.";
  for (const auto& [what, where] : seen) {
    absl::StrAppend(&text, " **Seen:** ", what, " (", where, ")");
  }
  return Paragraph("* ", text);
}

std::string Rules(const std::map<std::string, std::vector<Observation>>& observed) {
  std::map<std::string, char> machines;
  for (const auto& [rule, observations] : observed) {
    for (const Observation& observation : observations) machines[observation.machine] = '?';
  }
  std::string text = "Machines:\n\n";
  char letter = 'A';
  for (auto& [machine, its_letter] : machines) {
    its_letter = letter++;
    text += Paragraph("* ", absl::StrCat(std::string(1, its_letter), ": ", machine));
  }
  std::string call;
  for (const RuleInfo& rule : AllRules()) {
    if (rule.call != call) absl::StrAppend(&text, "\n### ", rule.call, "\n\n");
    call = rule.call;
    const auto found = observed.find(rule.id);
    text += RulePoint(rule, found == observed.end() ? std::vector<Observation>() : found->second,
                      machines);
  }
  return text;
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

absl::StatusOr<std::string> UpdateObservations(absl::string_view document,
                                               const std::vector<std::string>& recordings) {
  const absl::StatusOr<std::string> with_deviations =
      ReplaceSection(document, "deviations", Deviations());
  if (!with_deviations.ok()) return with_deviations;
  const auto observed = ReadObservations(recordings);
  if (!observed.ok()) return observed.status();
  return ReplaceSection(*with_deviations, "rules", Rules(*observed));
}

}  // namespace twinmmu::conformance
