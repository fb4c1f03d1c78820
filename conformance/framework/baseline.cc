#include "conformance/framework/baseline.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace twinmmu::conformance {
namespace {

// What is expected, by target and rule id.
using Expected = std::map<std::pair<std::string, std::string>, std::string>;

bool IsVerdict(const std::string& words) {
  return std::any_of(std::begin(kAllVerdicts), std::end(kAllVerdicts),
                     [&](Verdict verdict) { return words == ToString(verdict); });
}

bool IsRule(const std::string& id) {
  const absl::Span<const RuleInfo> rules = AllRules();
  return std::any_of(rules.begin(), rules.end(),
                     [&](const RuleInfo& info) { return info.id == id; });
}

Expected Read(std::istream& baseline, std::vector<std::string>& differences) {
  Expected expected;
  std::string line;
  for (int number = 1; std::getline(baseline, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(' ', 2));
    if (parts.size() == 3 && IsRule(parts[1]) && IsVerdict(parts[2])) {
      expected[{parts[0], parts[1]}] = parts[2];
    } else {
      differences.push_back(absl::StrCat("line ", number, " of the baseline, \"", line,
                                         "\", is no target, rule and verdict"));
    }
  }
  return expected;
}

}  // namespace

void WriteBaseline(const std::vector<Column>& columns, std::ostream& out) {
  out << "# The verdicts of `twinmmu conformance`: target, rule, verdict.\n";
  for (const Column& column : columns) {
    for (const auto& [rule, verdict] : column.verdicts) {
      if (verdict == Verdict::kNotRun) continue;
      out << column.target << " " << GetRule(rule).id << " " << ToString(verdict) << "\n";
    }
  }
}

std::vector<std::string> CompareWithBaseline(const std::vector<Column>& columns,
                                             std::istream& baseline) {
  std::vector<std::string> differences;
  const Expected expected = Read(baseline, differences);
  for (const Column& column : columns) {
    for (const auto& [rule, verdict] : column.verdicts) {
      if (verdict == Verdict::kNotRun) continue;
      const std::string& id = GetRule(rule).id;
      const auto found = expected.find({column.target, id});
      if (found == expected.end()) {
        differences.push_back(absl::StrCat(column.target, " ", id, " is \"", ToString(verdict),
                                           "\", and not in the baseline"));
      } else if (found->second != ToString(verdict)) {
        differences.push_back(absl::StrCat(column.target, " ", id, " is \"", ToString(verdict),
                                           "\"; the baseline says \"", found->second, "\""));
      }
    }
  }
  return differences;
}

}  // namespace twinmmu::conformance
