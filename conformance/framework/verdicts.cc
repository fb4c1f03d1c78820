#include "conformance/framework/verdicts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "conformance/framework/registry.h"
#include "conformance/framework/target_under_test.h"

namespace twinmmu::conformance {
namespace {

// "MAP_3_KeepsTheOldMapping" -> MAP_3; all tests come from the registry.
const Case* FindCase(const std::vector<Case>& cases, const std::string& name) {
  const auto found =
      std::find_if(cases.begin(), cases.end(), [&](const Case& c) { return c.name == name; });
  return found == cases.end() ? nullptr : &*found;
}

const ::testing::TestProperty* FindProperty(const ::testing::TestResult& result, const char* key) {
  for (int i = 0; i < result.test_property_count(); ++i) {
    if (result.GetTestProperty(i).key() == std::string(key)) return &result.GetTestProperty(i);
  }
  return nullptr;
}

Verdict VerdictOf(const ::testing::TestResult& result) {
  const bool ran = result.start_timestamp() != 0;  // not so with --gtest_list_tests, for one
  if (!ran) return Verdict::kNotRun;
  if (result.Failed()) {
    const bool recorded = FindProperty(result, kUnrecordedProperty) == nullptr;
    return recorded ? Verdict::kFailed : Verdict::kUnrecorded;
  }
  // Before "skipped": it may have been asserted before the test, which then had nothing to do.
  if (FindProperty(result, kUnsupportedProperty) != nullptr) return Verdict::kUnsupported;
  if (result.Skipped()) return Verdict::kNoHardware;
  if (FindProperty(result, kDeviationProperty) != nullptr) return Verdict::kAsObserved;
  return Verdict::kHolds;
}

std::string SkipReason(const ::testing::TestResult& result) {
  for (int i = 0; i < result.total_part_count(); ++i) {
    if (result.GetTestPartResult(i).skipped()) return result.GetTestPartResult(i).message();
  }
  return "no reason given";
}

void AddTest(Column& column, const std::vector<Case>& cases, const ::testing::TestInfo& test) {
  const Case* test_case = FindCase(cases, test.name());
  if (test_case == nullptr || !test.should_run()) return;
  const ::testing::TestResult& result = *test.result();
  const Verdict verdict = VerdictOf(result);
  AddVerdict(column, test_case->rule, verdict);
  if (verdict == Verdict::kNoHardware) ++column.skip_reasons[SkipReason(result)];
  const ::testing::TestProperty* deviation = FindProperty(result, kDeviationProperty);
  if (deviation != nullptr) column.deviations.insert(deviation->value());
}

// A rule about calls that are undefined promises less, and says so.
std::string Sentence(const RuleInfo& info) {
  return info.kind == RuleKind::kUndefined ? info.sentence + " (undefined call)" : info.sentence;
}

std::string Counts(const Column& column) {
  std::vector<std::string> parts;
  for (const Verdict verdict : kAllVerdicts) {
    const int count = column.Count(verdict);
    // Failures are counted even when there are none: that is the number people look for.
    if (count == 0 && verdict != Verdict::kFailed) continue;
    parts.push_back(absl::StrCat(count, " ", ToString(verdict)));
  }
  return absl::StrCat(column.target, ": ", AllRules().size(),
                      " rules: ", absl::StrJoin(parts, ", "));
}

void PrintFooter(const std::vector<Column>& columns, std::ostream& out, const char* bullet) {
  for (const Column& column : columns) {
    for (const auto& [reason, count] : column.skip_reasons) {
      out << bullet << column.target << ": no hardware for " << count << " tests: " << reason
          << "\n";
    }
  }
  bool any = false;
  for (const DeviationInfo& info : AllDeviations()) {
    std::vector<std::string> shown_by;
    for (const Column& column : columns) {
      if (column.deviations.count(info.name) != 0) shown_by.push_back(column.target);
    }
    if (shown_by.empty()) continue;
    if (!any) out << "\nAs observed, against the rule:\n";
    any = true;
    out << bullet << GetRule(info.rule).id << " (" << absl::StrJoin(shown_by, ", ")
        << "): " << info.sentence << "\n";
  }
  out << "\n";
}

}  // namespace

const char* ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNotRun:
      return "not run";
    case Verdict::kHolds:
      return "holds";
    case Verdict::kAsObserved:
      return "as observed";
    case Verdict::kUnsupported:
      return "unsupported";
    case Verdict::kNoHardware:
      return "no hardware";
    case Verdict::kUnrecorded:
      return "unrecorded here";
    case Verdict::kFailed:
      return "FAILED";
  }
  return "?";
}

Verdict Column::Of(Rule rule) const {
  const auto found = verdicts.find(rule);
  return found == verdicts.end() ? Verdict::kNotRun : found->second;
}

int Column::Count(Verdict verdict) const {
  const absl::Span<const RuleInfo> rules = AllRules();
  return static_cast<int>(std::count_if(
      rules.begin(), rules.end(), [&](const RuleInfo& info) { return Of(info.rule) == verdict; }));
}

void AddVerdict(Column& column, Rule rule, Verdict verdict) {
  const auto [entry, is_new] = column.verdicts.emplace(rule, verdict);
  if (!is_new) entry->second = std::max(entry->second, verdict);
}

std::vector<Column> CollectColumns(const ::testing::UnitTest& run,
                                   const std::vector<std::string>& targets) {
  const std::vector<Case> cases = AllCases();
  std::vector<Column> columns;
  for (const std::string& target : targets) {
    Column column;
    column.target = target;
    for (int i = 0; i < run.total_test_suite_count(); ++i) {
      const ::testing::TestSuite& suite = *run.GetTestSuite(i);
      if (std::string(suite.name()).rfind(target + "/", 0) != 0) continue;
      for (int j = 0; j < suite.total_test_count(); ++j) {
        AddTest(column, cases, *suite.GetTestInfo(j));
      }
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

void PrintTable(const std::vector<Column>& columns, std::ostream& out) {
  size_t width = 0;
  for (const RuleInfo& info : AllRules()) {
    width = std::max(width, Sentence(info).size());
  }
  const int sentence_width = static_cast<int>(width);
  out << "\n" << absl::StreamFormat("%-9s  %-*s", "rule", sentence_width, "what it says");
  for (const Column& column : columns) out << absl::StreamFormat("  %-15s", column.target);
  out << "\n";
  for (const RuleInfo& info : AllRules()) {
    out << absl::StreamFormat("%-9s  %-*s", info.id, sentence_width, Sentence(info));
    for (const Column& column : columns) {
      out << absl::StreamFormat("  %-15s", ToString(column.Of(info.rule)));
    }
    out << "\n";
  }
  out << "\n";
  PrintFooter(columns, out, "  ");
}

void PrintCounts(const std::vector<Column>& columns, std::ostream& out) {
  for (const Column& column : columns) out << Counts(column) << "\n";
}

void PrintMarkdown(const std::vector<Column>& columns, std::ostream& out) {
  out << "| rule | what it says | source |";
  for (const Column& column : columns) out << " " << column.target << " |";
  out << "\n|---|---|---|";
  for (size_t i = 0; i < columns.size(); ++i) out << "---|";
  out << "\n";
  for (const RuleInfo& info : AllRules()) {
    out << "| " << info.id << " | " << Sentence(info) << " | " << info.source << " |";
    for (const Column& column : columns) out << " " << ToString(column.Of(info.rule)) << " |";
    out << "\n";
  }
  out << "\n";
  PrintFooter(columns, out, "* ");
  for (const Column& column : columns) out << "* " << Counts(column) << "\n";
}

void ProgressPrinter::OnTestSuiteStart(const ::testing::TestSuite& suite) {
  if (!overwrite_) out_ << suite.name() << " ... " << std::flush;
}

void ProgressPrinter::OnTestStart(const ::testing::TestInfo& test) {
  current_test_ = &test;
  current_ = absl::StrCat(test.test_suite_name(), ".", test.name());
  current_is_shown_ = false;
  ++started_;
  if (!overwrite_) return;
  const int total = ::testing::UnitTest::GetInstance()->test_to_run_count();
  out_ << absl::StreamFormat("\r\x1b[K[%3d/%3d] %s", started_, total, current_) << std::flush;
}

void ProgressPrinter::OnTestPartResult(const ::testing::TestPartResult& result) {
  if (!result.failed()) return;
  if (!current_is_shown_) {
    const bool unrecorded = current_test_ != nullptr &&
                            FindProperty(*current_test_->result(), kUnrecordedProperty) != nullptr;
    out_ << "\n" << (unrecorded ? "Differs from the reference: " : "FAILED ") << current_ << "\n";
  }
  current_is_shown_ = true;
  out_ << (result.file_name() != nullptr ? result.file_name() : "?") << ":" << result.line_number()
       << ": " << result.message() << "\n";
}

void ProgressPrinter::OnTestSuiteEnd(const ::testing::TestSuite& suite) {
  if (overwrite_) return;
  out_ << suite.successful_test_count() << " passed";
  if (suite.skipped_test_count() != 0) out_ << ", " << suite.skipped_test_count() << " skipped";
  std::map<Verdict, int> verdicts;
  for (int i = 0; i < suite.total_test_count(); ++i) {
    ++verdicts[VerdictOf(*suite.GetTestInfo(i)->result())];
  }
  for (const Verdict verdict : {Verdict::kUnrecorded, Verdict::kFailed}) {
    if (verdicts[verdict] != 0) out_ << ", " << verdicts[verdict] << " " << ToString(verdict);
  }
  out_ << absl::StreamFormat(" (%d ms)\n", suite.elapsed_time()) << std::flush;
}

void ProgressPrinter::OnTestProgramEnd(const ::testing::UnitTest&) {
  if (overwrite_) out_ << "\r\x1b[K" << std::flush;
}

}  // namespace twinmmu::conformance
