// The gates of the model for proxies, asynchronous operations, clusters and peers: its two forms
// agree on each test of the sample, and with its verdict and its races.

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/coherence/litmus/enumerate.h"
#include "sim/coherence/litmus/explain_race.h"
#include "sim/coherence/litmus/explore.h"
#include "sim/coherence/litmus/litmus.h"

namespace twinmmu::coherence {
namespace {

using RacePairs = std::set<std::pair<LitmusTest::Spot, LitmusTest::Spot>>;

std::vector<LitmusTest> ProxySample() {
  const auto file = LineReader::Open("sim/coherence/testdata/proxy_litmus.jsonl").value();
  std::vector<LitmusTest> tests;
  for (const LitmusLine& line : AllLitmus(*file)) {
    EXPECT_TRUE(line.test.ok()) << line.name << ": " << line.test.status();
    if (line.test.ok()) tests.push_back(*line.test);
  }
  return tests;
}

Enumeration AllOf(const LitmusTest& test) {
  absl::StatusOr<Enumeration> all = Enumerate(test, Modes());
  EXPECT_TRUE(all.ok()) << test.name << ": " << all.status();
  return all.ok() ? *std::move(all) : Enumeration();
}

Verdict VerdictOn(const LitmusTest& test, const std::set<Outcome>& outcomes) {
  const auto is_weak = [&](const Outcome& outcome) {
    return test.weak.Holds([&](const Observable& observable) {
      const auto found = std::find(test.observables.begin(), test.observables.end(), observable);
      return outcome.at(static_cast<size_t>(found - test.observables.begin()));
    });
  };
  return std::any_of(outcomes.begin(), outcomes.end(), is_weak) ? Verdict::kAllowed
                                                                : Verdict::kForbidden;
}

TEST(ProxyGatesTest, TheSampleHasBothFormsOfMost) {
  const std::vector<LitmusTest> tests = ProxySample();
  const auto forbidden = std::count_if(tests.begin(), tests.end(), [](const LitmusTest& test) {
    return test.verdict == Verdict::kForbidden;
  });
  EXPECT_EQ(tests.size(), 117u);
  EXPECT_GE(forbidden, 45);
}

TEST(ProxyGatesTest, VerdictsAreThoseOfTheAxioms) {
  for (const LitmusTest& test : ProxySample()) {
    EXPECT_EQ(VerdictOn(test, AllOf(test).outcomes), test.verdict) << test.name;
  }
}

TEST(ProxyGatesTest, RacesAreExactlyThese) {
  for (const LitmusTest& test : ProxySample()) {
    const Enumeration all = AllOf(test);
    RacePairs races;
    std::set<Hazard> hazards;
    std::string words;
    for (const Race& race : all.races) {
      const LitmusTest::Spot first = WrittenAt(test.program, race.first.first, race.first.second);
      const LitmusTest::Spot second =
          WrittenAt(test.program, race.second.first, race.second.second);
      races.insert(std::minmax(first, second));
      hazards.insert(race.hazard);
      words += Explain(test.program, race) + "\n";
    }
    EXPECT_EQ(races, test.races) << test.name << ":\n" << words;
    EXPECT_EQ(hazards, test.hazards) << test.name << ":\n" << words;
  }
}

TEST(ProxyGatesTest, TheOperationalModelGivesTheSame) {
  for (const LitmusTest& test : ProxySample()) {
    const absl::StatusOr<Exploration> explored = Explore(test, Modes());
    ASSERT_TRUE(explored.ok()) << test.name << ": " << explored.status();
    const Enumeration all = AllOf(test);
    EXPECT_EQ(explored->outcomes, all.causal_outcomes) << test.name;
    std::set<Hazard> hazards;
    for (const auto& [hazard, causal] : all.kinds) {
      if (causal) hazards.insert(hazard);
    }
    EXPECT_EQ(explored->hazards, hazards) << test.name;
  }
}

TEST(ProxyGatesTest, EveryPolicyStaysWithinTheModel) {
  for (const LitmusTest& test : ProxySample()) {
    const Enumeration all = AllOf(test);
    for (const Policy policy : {Policy::kCoherent, Policy::kStale, Policy::kRandom, Policy::kL1}) {
      for (uint64_t seed = 0; seed < 8; ++seed) {
        const std::optional<SingleRun> run = RunOnce(test, Modes(), policy, seed);
        EXPECT_TRUE(!run || all.outcomes.count(run->outcome) == 1) << test.name;
      }
    }
  }
}

TEST(ProxyGatesTest, SaysWhichFenceIsMissing) {
  std::vector<std::string> words;
  for (const LitmusTest& test : ProxySample()) {
    if (test.name != "bulk-source-nofence" && test.name != "texture-behind-store") continue;
    for (const Race& race : AllOf(test).races) words.push_back(Explain(test.program, race));
  }
  EXPECT_THAT(words,
              testing::ElementsAre(
                  testing::AllOf(testing::HasSubstr("P0 instruction 2 (cp.async.bulk s, x, b)"),
                                 testing::HasSubstr("through x and x by the async proxy"),
                                 testing::HasSubstr("A fence.proxy.async would do: in P0 after "
                                                    "instruction 1 and before instruction 2.")),
                  testing::HasSubstr("There is none for textures and surfaces")));
}

}  // namespace
}  // namespace twinmmu::coherence
