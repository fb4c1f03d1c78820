#include "conformance/mutants/framework/trials.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "conformance/framework/other_process.h"

namespace twinmmu::conformance {

// In the place of GoogleTest's printer.
class Trials::Witness : public ::testing::EmptyTestEventListener {
 public:
  explicit Witness(Trials* trials) : trials_(*trials) {}

 private:
  void OnTestStart(const ::testing::TestInfo&) override { failure_.clear(); }

  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed() || !failure_.empty()) return;
    failure_ = absl::StrCat(result.file_name() != nullptr ? result.file_name() : "?", ":",
                            result.line_number(), ": ", result.message());
  }

  void OnTestEnd(const ::testing::TestInfo& test) override {
    const ::testing::TestResult& result = *test.result();
    Outcome outcome;
    outcome.failed = result.Failed();
    outcome.not_applicable = result.Skipped();
    outcome.failure = failure_;
    for (int i = 0; i < result.test_property_count(); ++i) {
      const std::string key = result.GetTestProperty(i).key();
      if (key == kUnsupportedProperty) outcome.not_applicable = true;
    }
    trials_.outcomes_[test.test_suite_name()][test.name()] = outcome;
    trials_.targets_.at(test.test_suite_name())->Close();
  }

  Trials& trials_;
  std::string failure_;
};

Trials::Trials(int* argc, char** argv) {
  GTEST_FLAG_SET(output, "");  // a report would list the failures that we want
  ::testing::InitGoogleTest(argc, argv);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
}

void Trials::Add(const std::string& suite, const TargetFactory& factory,
                 const std::vector<Case>& cases) {
  std::unique_ptr<TargetUnderTest>& target = targets_[suite];
  target = std::make_unique<TargetUnderTest>(factory);
  for (const Case& test_case : cases) RegisterWithGoogleTest(test_case, suite, target.get());
}

void Trials::Run() {
  if (!GTEST_FLAG_GET(internal_run_death_test).empty()) std::exit(RUN_ALL_TESTS());
  if (SocketToStarter() >= 0) std::exit(RunAsOtherProcess());
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new Witness(this));
  const int unused [[maybe_unused]] = RUN_ALL_TESTS();
}

const std::map<std::string, Outcome>& Trials::Of(const std::string& suite) const {
  static const auto* const none = new std::map<std::string, Outcome>();
  const auto found = outcomes_.find(suite);
  return found == outcomes_.end() ? *none : found->second;
}

}  // namespace twinmmu::conformance
