#include "conformance/runner.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/files/limits.h"
#include "api/files/read_file.h"
#include "conformance/catalogue.h"
#include "conformance/framework/baseline.h"
#include "conformance/framework/other_process.h"
#include "conformance/framework/registry.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

// GoogleTest writes its report without looking whether it can: first to memory, then to where it is
// wanted.
class JunitReport {
 public:
  // `path`: empty where there is to be none.
  explicit JunitReport(const std::string& path)
      : path_(path), memory_(path.empty() ? -1 : memfd_create("report", MFD_CLOEXEC)) {}
  ~JunitReport() {
    if (memory_ >= 0) close(memory_);
  }
  JunitReport(const JunitReport&) = delete;
  JunitReport& operator=(const JunitReport&) = delete;

  // Where GoogleTest is to write it; empty: nowhere.
  std::string made() const { return memory_ < 0 ? "" : absl::StrCat("/proc/self/fd/", memory_); }

  bool Deliver(std::ostream& out) const {
    if (path_.empty()) return true;
    std::ofstream file(path_);
    file << std::ifstream(made()).rdbuf();
    file.close();
    if (file) return true;
    out << "Could not write " << path_ << ".\n";
    return false;
  }

 private:
  const std::string path_;
  const int memory_;
};

// In a process that a test starts, by GoogleTest or by itself.
bool IsStartedByTest(int argc, char** argv) {
  return SocketToStarter() >= 0 || std::any_of(argv, argv + argc, [](const char* argument) {
           return absl::StartsWith(argument, "--gtest_internal_run_death_test");
         });
}

// True in a child that GoogleTest started for one test. The report's path must be known before the
// flags are read, and what the flags say goes before `options`.
bool InitGoogleTest(int argc, char** argv, const RunOptions& options, const std::string& report) {
  if (!options.filter.empty()) GTEST_FLAG_SET(filter, options.filter);
  if (!report.empty()) GTEST_FLAG_SET(output, absl::StrCat("xml:", report));
  ::testing::InitGoogleTest(&argc, argv);
  // A child is started anew, not forked: it must not inherit the driver's threads half-alive.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  return !GTEST_FLAG_GET(internal_run_death_test).empty();
}

bool IsPlainName(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
}

using Targets = std::vector<std::unique_ptr<TargetUnderTest>>;

// Closes a target when the tests of the next one begin: each simulator claims addresses of the
// host, which has none left for a dozen at once.
class OneTargetAtATime : public ::testing::EmptyTestEventListener {
 public:
  explicit OneTargetAtATime(const Targets& targets) : targets_(targets) {}

 private:
  void OnTestSuiteStart(const ::testing::TestSuite& suite) override {
    for (const std::unique_ptr<TargetUnderTest>& target : targets_) {
      if (!absl::StartsWith(suite.name(), target->name() + "/")) target->Close();
    }
  }

  const Targets& targets_;
};

std::ostream& Out(const RunOptions& options) {
  return options.out == nullptr ? std::cout : *options.out;
}

void Listen(const Targets& targets, const RunOptions& options) {
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  const bool suites = !options.quiet && options.style.width == 0;
  listeners.Append(new ProgressPrinter(Out(options), suites, options.count));
  listeners.Append(new OneTargetAtATime(targets));
}

// An empty path: nothing is asked for.
template <typename Print>
bool WriteFile(const std::string& path, const std::vector<Column>& columns, const Print& print,
               std::ostream& out) {
  if (path.empty()) return true;
  std::ofstream file(path);
  print(columns, file);
  file.close();
  if (file) return true;
  out << "Could not write " << path << ".\n";
  return false;
}

int Count(const std::vector<Column>& columns, Verdict verdict) {
  int count = 0;
  for (const Column& column : columns) count += column.Count(verdict);
  return count;
}

// The verdicts against those that a site expects; says what differs. `failed`: as in HasFailed.
bool IsAsBaseline(const std::vector<Column>& columns, const std::string& path, bool failed,
                  std::ostream& out) {
  if (failed && Count(columns, Verdict::kFailed) + Count(columns, Verdict::kUnrecorded) == 0) {
    out << "Not as expected: something failed outside of the tests; see above.\n";
    return false;
  }
  const absl::StatusOr<std::string> text = ReadFile(path, kMaxDocument);
  if (!text.ok()) {
    out << "Could not read the baseline: " << text.status().message() << ".\n";
    return false;
  }
  std::istringstream baseline(*text);
  const std::vector<std::string> differences = CompareWithBaseline(columns, baseline);
  for (const std::string& difference : differences) out << difference << ".\n";
  if (!differences.empty()) {
    out << "Not as expected: " << differences.size() << " differences from the baseline.\n";
  }
  return differences.empty();
}

// `failed`: GoogleTest counts a failure. Where it is not one of a test, it is nobody's verdict.
bool HasFailed(const std::vector<Column>& columns, const RunOptions& options, bool failed,
               std::ostream& out) {
  const int failures = Count(columns, Verdict::kFailed);
  const int unrecorded = Count(columns, Verdict::kUnrecorded);
  if (failures != 0 || (failed && unrecorded == 0)) {
    out << "Not as expected: tests failed; see above.\n";
    return true;
  }
  if (unrecorded != 0 && options.strict_reference) {
    out << "Not as expected: the reference is required, and " << unrecorded
        << " verdicts are \"unrecorded here\".\n";
    return true;
  }
  return false;
}

// What a person must know beyond the table; returns the exit code.
int Judge(const std::vector<Column>& columns, const RunOptions& options, bool failed,
          std::ostream& out) {
  const int no_hardware = Count(columns, Verdict::kNoHardware);
  const int unrecorded = Count(columns, Verdict::kUnrecorded);
  const int ran = static_cast<int>(AllRules().size() * columns.size()) - no_hardware -
                  Count(columns, Verdict::kNotRun);
  const bool as_expected = options.baseline_path.empty()
                               ? !HasFailed(columns, options, failed, out)
                               : IsAsBaseline(columns, options.baseline_path, failed, out);
  if (!as_expected) return 1;
  if (ran == 0) {
    out << "Nothing was tested: "
        << (no_hardware != 0 ? "the hardware or its driver is absent (see above).\n"
                             : "no test was selected.\n");
    return 1;
  }
  if (no_hardware != 0 && options.require_hardware) {
    out << "Not as expected: hardware is required, and " << no_hardware
        << " verdicts are \"no hardware\".\n";
    return 1;
  }
  if (options.quiet) return 0;
  if (!options.baseline_path.empty()) {
    out << "Every verdict is as the baseline says.\n";
  } else if (unrecorded != 0) {
    out << "Nobody recorded such a machine: it differs from the reference in " << unrecorded
        << " verdicts; see above.\n";
  } else {
    out << "Every verdict is as expected.\n";
  }
  return 0;
}

}  // namespace

int RunConformance(int argc, char** argv, std::vector<TargetFactory> factories,
                   const RunOptions& options) {
  std::ostream& out = Out(options);
  const JunitReport report(IsStartedByTest(argc, argv) ? "" : options.xml_path);
  const bool is_child = InitGoogleTest(argc, argv, options, report.made());
  for (const TargetFactory& factory : factories) {
    if (IsPlainName(factory.name)) continue;
    out << "A target's name is of letters, digits and \"_\"; \"" << factory.name << "\" is not.\n";
    return 1;
  }
  Targets targets;
  std::vector<std::string> names;
  for (TargetFactory& factory : factories) {
    names.push_back(factory.name);
    targets.push_back(std::make_unique<TargetUnderTest>(std::move(factory)));
    RegisterWithGoogleTest(targets.back().get());
  }
  if (is_child) return RUN_ALL_TESTS();
  if (SocketToStarter() >= 0) return RunAsOtherProcess();

  Listen(targets, options);
  if (!options.quiet) {
    out << CountTestedRules() << " rules, " << AllCases().size() << " tests on " << names.size()
        << (names.size() == 1 ? " target\n" : " targets\n");
  }
  const bool failed = RUN_ALL_TESTS() != 0;
  const ::testing::UnitTest& run = *::testing::UnitTest::GetInstance();
  const std::vector<Column> columns = CollectColumns(run, names);
  if (!options.quiet) PrintTable(columns, out, options.style);
  int exit_code = Judge(columns, options, failed, out);
  if (!options.quiet || exit_code != 0) PrintCounts(columns, out);
  const bool markdown_written = WriteFile(options.markdown_path, columns, PrintMarkdown, out);
  const bool baseline_written = WriteFile(options.write_baseline_path, columns, WriteBaseline, out);
  const bool report_written = report.Deliver(out);
  if (!report_written || !markdown_written || !baseline_written) exit_code = 1;
  if (options.results != nullptr) options.results(columns, exit_code);
  return exit_code;
}

}  // namespace twinmmu::conformance
