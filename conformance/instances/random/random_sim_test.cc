// Random sequences on the simulator: every named machine answers as the model does.

#include "conformance/instances/random/random_sim.h"

#include <string>

#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance::random {
namespace {

class RandomSimTest : public testing::TestWithParam<const char*> {};

TEST_P(RandomSimTest, AnswersAsTheModel) {
  const Profile profile = *Profile::Named(GetParam());
  const absl::StatusOr<Report> report = RunSeeds(SimSubject(profile), {1, 3, 300});
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->difference, "");
  EXPECT_EQ(report->calls, 3u * 300u);
}

// As on a device: calls that no driver defines are not made.
TEST(RandomDefinedTest, TheSimulatorAnswersAsTheModel) {
  const OpenSubject open = [] {
    absl::StatusOr<Subject> subject = SimSubject(*Profile::Named("reference"))();
    if (subject.ok()) subject->defined_only = true;
    return subject;
  };
  const absl::StatusOr<Report> report = RunSeeds(open, {1, 5, 500});
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->difference, "");
}

TEST(RandomAnswersTest, QuestionsAboutTheStateAreCounted) {
  const absl::StatusOr<Report> report =
      RunSeeds(SimSubject(*Profile::Named("reference")), {1, 1, 200});
  ASSERT_THAT(report, IsOk());
  EXPECT_GT(report->answers, 10 * report->calls);
}

INSTANTIATE_TEST_SUITE_P(Profiles, RandomSimTest,
                         testing::Values("reference", "strict", "small-address-space",
                                         "full-address-space", "granularities", "fabric-permitted",
                                         "compression-not-granted", "host-memory-not-permitted",
                                         "one-device", "eight-devices", "no-peers"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace twinmmu::conformance::random
