// Verdicts: what a run says about each rule on each target, and the table of them.

#ifndef TWINMMU_CONFORMANCE_FRAMEWORK_VERDICTS_H_
#define TWINMMU_CONFORMANCE_FRAMEWORK_VERDICTS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "conformance/rules/rules.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {

enum class Verdict {
  kNotRun,       // no test of the rule ran: filtered out
  kHolds,        // every test passed
  kAsObserved,   // passed, and the target departs from the sentence as was declared
  kUnsupported,  // passed: asserted that the target refuses it as not supported
  kNoHardware,   // skipped: needs something that this machine has not got
  kUnrecorded,   // differs from the reference, on a machine that nobody recorded
  kFailed,
};
constexpr Verdict kAllVerdicts[] = {
    Verdict::kHolds,  Verdict::kAsObserved, Verdict::kUnsupported, Verdict::kNoHardware,
    Verdict::kNotRun, Verdict::kUnrecorded, Verdict::kFailed};
const char* ToString(Verdict verdict);  // "holds", "as observed", ...

// A test that failed, or differs from the reference.
struct Failure {
  std::string test;  // "sim/cuMemMap.MAP_5_RefusesWhatIsMapped"
  Rule rule;
  Verdict verdict;
  std::string message;
};

// Verdicts of one target.
struct Column {
  std::string target;
  std::map<Rule, Verdict> verdicts;
  std::set<std::string> deviations;         // by name: those that showed
  std::map<std::string, int> skip_reasons;  // why rules have no hardware, and how many tests
  std::vector<Failure> failures;

  Verdict Of(Rule rule) const;
  int Count(Verdict verdict) const;  // of rules
};

// Several tests of one rule: the worst verdict counts.
void AddVerdict(Column& column, Rule rule, Verdict verdict);

// Reads the verdicts out of the finished run.
std::vector<Column> CollectColumns(const ::testing::UnitTest& run,
                                   const std::vector<std::string>& targets);

// For a terminal: its width, which longer sentences are broken for (0: none are), and colour.
struct TableStyle {
  size_t width = 0;
  bool colour = false;
};

// One row per rule, then why hardware is missing, then the deviations that showed.
void PrintTable(const std::vector<Column>& columns, std::ostream& out,
                const TableStyle& style = {});
// One line per target: how many rules have which verdict.
void PrintCounts(const std::vector<Column>& columns, std::ostream& out);
// The same as a table of Markdown.
void PrintMarkdown(const std::vector<Column>& columns, std::ostream& out);

// Told how many tests have begun, of how many, and the name of the last; all 0 at the end, and
// before something else is printed.
using CountTests = std::function<void(int begun, int total, const std::string& test)>;

// Shows each test as it runs, and in full only what failed: replaces GoogleTest's own printer.
class ProgressPrinter : public ::testing::EmptyTestEventListener {
 public:
  // `suites`: with a line for each suite. `count`: may be null.
  ProgressPrinter(std::ostream& out, bool suites, CountTests count)
      : out_(out), suites_(suites), count_(std::move(count)) {}

  void OnTestSuiteStart(const ::testing::TestSuite& suite) override;
  void OnTestStart(const ::testing::TestInfo& test) override;
  void OnTestPartResult(const ::testing::TestPartResult& result) override;
  void OnTestSuiteEnd(const ::testing::TestSuite& suite) override;
  void OnTestProgramEnd(const ::testing::UnitTest& run) override;

 private:
  std::ostream& out_;
  const bool suites_;
  const CountTests count_;
  const ::testing::TestInfo* current_test_ = nullptr;
  std::string current_;
  bool current_is_shown_ = false;
  int started_ = 0;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_FRAMEWORK_VERDICTS_H_
