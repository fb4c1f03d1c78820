#include "conformance/rules/contract.h"

#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "conformance/rules/document.h"
#include "conformance/rules/rules.h"

namespace twinmmu::conformance {
namespace {

constexpr absl::string_view kBegin = "<!-- rules: ";
constexpr absl::string_view kBeginEnd = " -->";
constexpr absl::string_view kEnd = "<!-- end of rules -->";

std::string RulesOf(absl::string_view call) {
  std::string points;
  for (const RuleInfo& info : AllRules()) {
    if (info.call != call) continue;
    const char* const kind = info.kind == RuleKind::kUndefined ? " (undefined)" : "";
    std::string text =
        absl::StrCat("**", info.id, "**", kind, " ", info.sentence, " [", info.source, "]");
    for (const DeviationInfo& deviation : AllDeviations()) {
      if (deviation.rule == info.rule) {
        absl::StrAppend(&text, " **The reference driver:** ", deviation.sentence);
      }
    }
    points += Paragraph("* ", text);
  }
  return points;
}

}  // namespace

absl::StatusOr<std::string> UpdateContract(absl::string_view document) {
  std::set<std::string> missing;
  for (const RuleInfo& info : AllRules()) missing.insert(info.call);
  std::string updated;
  bool inside = false;
  for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(document, "\n"), '\n')) {
    absl::string_view call = line;
    const bool begins = absl::ConsumePrefix(&call, kBegin) && absl::ConsumeSuffix(&call, kBeginEnd);
    if (begins == inside && (begins || line == kEnd)) {
      return absl::InvalidArgumentError(absl::StrCat("\"", line, "\" is not where it can be"));
    }
    if (begins && missing.erase(std::string(call)) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("there are no rules of \"", call, "\", or they stand there twice"));
    }
    if (line == kEnd) inside = false;
    if (!inside) absl::StrAppend(&updated, line, "\n");
    if (begins) absl::StrAppend(&updated, RulesOf(call));
    inside = inside || begins;
  }
  if (inside) return absl::InvalidArgumentError(absl::StrCat("no \"", kEnd, "\" at the end"));
  if (missing.empty()) return updated;
  return absl::InvalidArgumentError(
      absl::StrCat("the rules of \"", *missing.begin(), "\" stand nowhere: add \"", kBegin,
                   *missing.begin(), kBeginEnd, "\" and \"", kEnd, "\""));
}

}  // namespace twinmmu::conformance
