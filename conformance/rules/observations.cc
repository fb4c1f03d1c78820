#include "conformance/rules/observations.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "conformance/programs/programs.h"
#include "conformance/rules/document.h"
#include "conformance/rules/rules.h"

namespace twinmmu::conformance {
namespace {

// One line of the list, with a link to the heading below.
std::string ListItem(int number, const DeviationInfo& deviation) {
  return Paragraph(absl::StrCat(number, ". "),
                   absl::StrCat(deviation.sentence, " [", GetRule(deviation.rule).id, "](#",
                                absl::AsciiStrToLower(deviation.name), ")"));
}

// What turns it off in a simulated machine.
std::string Switch(const DeviationInfo& deviation) {
  return deviation.quirk.empty() ? "" : absl::StrCat(" Quirk: `", deviation.quirk, "`.");
}

std::string Chapter(const DeviationInfo& deviation, const DeviationProgram& program) {
  const RuleInfo& rule = GetRule(deviation.rule);
  return absl::StrCat(
      "\n### ", deviation.name, "\n\n",
      Paragraph("", absl::StrCat(rule.id, ": ", rule.sentence, " [", rule.source, "]")),
      "\n```cpp\n", program.text, "```\n\n",
      Paragraph("", absl::StrCat("By the rule: ", program.by_rule, ". Seen: **", program.deviating,
                                 "**.", Switch(deviation))));
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

}  // namespace

absl::StatusOr<std::string> UpdateObservations(absl::string_view document) {
  return ReplaceSection(document, "deviations", Deviations());
}

}  // namespace twinmmu::conformance
