#include "conformance/framework/verdicts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "conformance/framework/registry.h"
#include "conformance/framework/target_under_test.h"
#include "conformance/rules/document.h"

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

std::string FailureMessage(const ::testing::TestResult& result) {
  std::string message;
  for (int i = 0; i < result.total_part_count(); ++i) {
    const ::testing::TestPartResult& part = result.GetTestPartResult(i);
    if (part.failed()) absl::StrAppend(&message, message.empty() ? "" : "\n", part.message());
  }
  return message;
}

void AddTest(Column& column, const std::vector<Case>& cases, const ::testing::TestInfo& test) {
  const Case* test_case = FindCase(cases, test.name());
  if (test_case == nullptr || !test.should_run()) return;
  const ::testing::TestResult& result = *test.result();
  const Verdict verdict = VerdictOf(result);
  AddVerdict(column, test_case->rule, verdict);
  if (verdict == Verdict::kUnrecorded || verdict == Verdict::kFailed) {
    column.failures.push_back({absl::StrCat(test.test_suite_name(), ".", test.name()),
                               test_case->rule, verdict, FailureMessage(result)});
  }
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

constexpr size_t kIdWidth = 9;
constexpr size_t kVerdictWidth = 15;
constexpr size_t kNarrowestSentence = 24;

// What is left of the width for the sentences; at most what the longest needs.
size_t SentenceWidth(const std::vector<Column>& columns, const TableStyle& style) {
  size_t longest = 0;
  for (const RuleInfo& info : AllRules()) longest = std::max(longest, Sentence(info).size());
  if (style.width == 0) return longest;
  const size_t others = kIdWidth + 2 + columns.size() * (2 + kVerdictWidth);
  const size_t left = style.width > others ? style.width - others : 0;
  return std::min(longest, std::max(left, kNarrowestSentence));
}

const char* ColourOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHolds:
      return "\x1b[32m";  // green
    case Verdict::kFailed:
      return "\x1b[1;31m";  // bold red
    case Verdict::kAsObserved:
    case Verdict::kUnrecorded:
      return "\x1b[33m";  // yellow
    default:
      return "";
  }
}

std::string Cell(Verdict verdict, const TableStyle& style) {
  const std::string text = absl::StrFormat("%-15s", ToString(verdict));
  const absl::string_view colour = style.colour ? ColourOf(verdict) : "";
  return colour.empty() ? text : absl::StrCat(colour, text, "\x1b[0m");
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
  const std::vector<Case>& cases = AllCases();
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

void PrintTable(const std::vector<Column>& columns, std::ostream& out, const TableStyle& style) {
  const size_t width = SentenceWidth(columns, style);
  const int padded = static_cast<int>(width);
  out << "\n" << absl::StreamFormat("%-9s  %-*s", "rule", padded, "what it says");
  for (const Column& column : columns) out << absl::StreamFormat("  %-15s", column.target);
  out << "\n";
  for (const RuleInfo& info : AllRules()) {
    const std::string sentence = Paragraph("", Sentence(info), width);
    std::vector<std::string> lines = absl::StrSplit(sentence, '\n', absl::SkipEmpty());
    out << absl::StreamFormat("%-9s  %-*s", info.id, padded, lines.front());
    for (const Column& column : columns) out << "  " << Cell(column.Of(info.rule), style);
    out << "\n";
    for (size_t i = 1; i < lines.size(); ++i) out << absl::StreamFormat("%11s%s\n", "", lines[i]);
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
  if (suites_) out_ << suite.name() << " ... " << std::flush;
}

void ProgressPrinter::OnTestStart(const ::testing::TestInfo& test) {
  current_test_ = &test;
  current_ = absl::StrCat(test.test_suite_name(), ".", test.name());
  current_is_shown_ = false;
  ++started_;
  if (count_ == nullptr) return;
  count_(started_, ::testing::UnitTest::GetInstance()->test_to_run_count(), current_);
}

void ProgressPrinter::OnTestPartResult(const ::testing::TestPartResult& result) {
  if (!result.failed()) return;
  if (count_ != nullptr) count_(0, 0, "");
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
  if (!suites_) return;
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
  if (count_ != nullptr) count_(0, 0, "");
}

}  // namespace twinmmu::conformance
