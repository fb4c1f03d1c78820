#include "conformance/runner.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "conformance/catalogue.h"
#include "conformance/registry.h"
#include "conformance/report.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

// True in a child that GoogleTest started for one test. The report's path must be known before the
// flags are read, and what the flags say goes before `options`.
bool InitGoogleTest(int argc, char** argv, const RunOptions& options) {
  if (!options.filter.empty()) GTEST_FLAG_SET(filter, options.filter);
  if (!options.xml_path.empty()) GTEST_FLAG_SET(output, absl::StrCat("xml:", options.xml_path));
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

void ShowProgress() {
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new ProgressPrinter(std::cout, isatty(STDOUT_FILENO) != 0));
}

bool WriteMarkdown(const std::vector<Column>& columns, const std::string& path) {
  std::ofstream file(path);
  PrintMarkdown(columns, file);
  file.close();
  if (file) return true;
  std::cout << "Could not write " << path << ".\n";
  return false;
}

// What a person must know beyond the table; returns the exit code.
int Judge(const std::vector<Column>& columns, const RunOptions& options, bool passed) {
  int ran = 0;
  int no_hardware = 0;
  for (const Column& column : columns) {
    no_hardware += column.Count(Verdict::kNoHardware);
    ran += static_cast<int>(AllRules().size()) - column.Count(Verdict::kNoHardware) -
           column.Count(Verdict::kNotRun);
  }
  if (!passed) {
    std::cout << "Not as expected: tests failed; see above.\n";
    return 1;
  }
  if (ran == 0) {
    std::cout << "Nothing was tested: "
              << (no_hardware != 0 ? "the hardware or its driver is absent (see above).\n"
                                   : "no test was selected.\n");
    return 1;
  }
  if (no_hardware != 0 && options.require_hardware) {
    std::cout << "Not as expected: hardware is required, and " << no_hardware
              << " verdicts are \"no hardware\".\n";
    return 1;
  }
  std::cout << "Every verdict is as expected.\n";
  return 0;
}

}  // namespace

int RunConformance(int argc, char** argv, std::vector<TargetFactory> factories,
                   const RunOptions& options) {
  const bool is_child = InitGoogleTest(argc, argv, options);
  for (const TargetFactory& factory : factories) {
    if (IsPlainName(factory.name)) continue;
    std::cout << "A target's name is of letters, digits and \"_\"; \"" << factory.name
              << "\" is not.\n";
    return 1;
  }
  std::vector<std::unique_ptr<TargetUnderTest>> targets;
  std::vector<std::string> names;
  for (TargetFactory& factory : factories) {
    names.push_back(factory.name);
    targets.push_back(std::make_unique<TargetUnderTest>(std::move(factory)));
    RegisterWithGoogleTest(targets.back().get());
  }
  if (is_child) return RUN_ALL_TESTS();

  ShowProgress();
  std::cout << CountTestedRules() << " rules, " << AllCases().size() << " tests on " << names.size()
            << (names.size() == 1 ? " target\n" : " targets\n");
  const bool passed = RUN_ALL_TESTS() == 0;
  const ::testing::UnitTest& run = *::testing::UnitTest::GetInstance();
  const std::vector<Column> columns = CollectColumns(run, names);
  PrintTable(columns, std::cout);
  const int exit_code = Judge(columns, options, passed);
  PrintCounts(columns, std::cout);
  if (options.markdown_path.empty()) return exit_code;
  return WriteMarkdown(columns, options.markdown_path) ? exit_code : 1;
}

}  // namespace twinmmu::conformance
