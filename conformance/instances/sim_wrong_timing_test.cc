// A simulator that is declared to run work at another moment than it does fails every test that
// looks at that.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "conformance/framework/target.h"
#include "conformance/instances/sim_target.h"
#include "conformance/runner.h"
#include "gtest/gtest.h"
#include "sim/profile/profile.h"

namespace twinmmu::conformance {
namespace {

TargetFactory Declared(const std::string& name, StreamPolicy policy, WorkTiming timing) {
  Profile profile = Profile::ReferenceH200(2);
  profile.stream_policy = policy;
  TargetFactory factory = SimTarget(name, profile);
  factory.open = [open = factory.open, timing] {
    absl::StatusOr<Target> target = open();
    if (target.ok()) target->traits.work_timing = timing;
    return target;
  };
  return factory;
}

int Run(int argc, char** argv) {
  const std::vector<std::string> tests = {"STREAM_6",  "STREAM_7", "STREAM_8", "STREAM_11",
                                          "STREAM_12", "FAULT_5",  "FAULT_6",  "PEER_10"};
  RunOptions options;
  for (const std::string& test : tests) options.filter += "*." + test + "_*:";
  const std::vector<TargetFactory> targets = {
      Declared("late", StreamPolicy::kDeferred, WorkTiming::kAtTheCall),
      Declared("early", StreamPolicy::kEager, WorkTiming::kAtTheLatestMoment),
  };
  const int exit_code = RunConformance(argc, argv, targets, options);
  if (!GTEST_FLAG_GET(internal_run_death_test).empty()) return exit_code;  // the child of a test
  const auto expected = static_cast<int>(tests.size() * targets.size());
  const int failed = ::testing::UnitTest::GetInstance()->failed_test_count();
  std::cout << "Must fail here: " << expected << " tests. Did: " << failed << ".\n";
  return exit_code == 1 && failed == expected ? 0 : 1;
}

}  // namespace
}  // namespace twinmmu::conformance

int main(int argc, char** argv) { return twinmmu::conformance::Run(argc, argv); }
