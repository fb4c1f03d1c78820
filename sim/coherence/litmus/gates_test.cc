// The gates of the model: its two forms agree with each other and with the verdicts of the sample.

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/coherence/litmus/enumerate.h"
#include "sim/coherence/litmus/explore.h"
#include "sim/coherence/litmus/litmus.h"
#include "sim/coherence/litmus/random_litmus.h"

namespace twinmmu::coherence {
namespace {

constexpr uint64_t kRandomTests = 600;

std::vector<LitmusTest> Sample() {
  const auto file = LineReader::Open("sim/coherence/testdata/alias_litmus.jsonl").value();
  std::vector<LitmusTest> tests;
  for (const LitmusLine& line : AllLitmus(*file)) {
    EXPECT_TRUE(line.test.ok()) << line.name << ": " << line.test.status();
    if (line.test.ok()) tests.push_back(*line.test);
  }
  return tests;
}

std::vector<LitmusTest> SampleAndRandom() {
  std::vector<LitmusTest> tests = Sample();
  std::vector<uint64_t> seeds = {35706, 48196};  // were wrong once
  for (uint64_t seed = 0; seed < kRandomTests; ++seed) seeds.push_back(seed);
  for (const uint64_t seed : seeds) {
    const std::string json = RandomLitmus(seed);
    const absl::StatusOr<LitmusTest> test = ParseLitmus(json);
    EXPECT_TRUE(test.ok()) << json << ": " << test.status();
    if (test.ok()) tests.push_back(*test);
  }
  return tests;
}

std::vector<Modes> AllModes() {
  std::vector<Modes> all(4);
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].multicast = i % 2 == 0 ? MulticastMode::kGuide : MulticastMode::kStrict;
    all[i].boundary = i / 2 == 0 ? BoundaryMode::kGuide : BoundaryMode::kPtx;
  }
  return all;
}

bool IsWeak(const LitmusTest& test, const Outcome& outcome) {
  return test.weak.Holds([&](const Observable& observable) {
    const auto found = std::find(test.observables.begin(), test.observables.end(), observable);
    return outcome.at(static_cast<size_t>(found - test.observables.begin()));
  });
}

Verdict VerdictOf(const LitmusTest& test, const std::set<Outcome>& outcomes) {
  return std::any_of(outcomes.begin(), outcomes.end(),
                     [&](const Outcome& outcome) { return IsWeak(test, outcome); })
             ? Verdict::kAllowed
             : Verdict::kForbidden;
}

std::set<Hazard> HazardsOf(const Enumeration& all, bool causal) {
  std::set<Hazard> hazards;
  for (const auto& [hazard, of_causal] : all.kinds) {
    if (of_causal == causal) hazards.insert(hazard);
  }
  return hazards;
}

Enumeration MustEnumerate(const LitmusTest& test, const Modes& modes) {
  absl::StatusOr<Enumeration> all = Enumerate(test, modes);
  EXPECT_TRUE(all.ok()) << test.name << ": " << all.status();
  return all.ok() ? *std::move(all) : Enumeration();
}

Exploration MustExplore(const LitmusTest& test, const Modes& modes) {
  absl::StatusOr<Exploration> all = Explore(test, modes);
  EXPECT_TRUE(all.ok()) << test.name << ": " << all.status();
  return all.ok() ? *std::move(all) : Exploration();
}

LitmusTest Named(const std::string& name) {
  for (LitmusTest& test : Sample()) {
    if (test.name == name) return test;
  }
  ADD_FAILURE() << "no test " << name;
  return LitmusTest();
}

TEST(GatesTest, TheSampleIsWhole) { EXPECT_EQ(Sample().size(), 65u); }

TEST(GatesTest, VerdictsAreThoseOfTheSample) {
  for (const LitmusTest& test : Sample()) {
    EXPECT_EQ(VerdictOf(test, MustEnumerate(test, Modes()).outcomes), test.verdict) << test.name;
  }
}

TEST(GatesTest, HazardsAreThoseOfTheSample) {
  for (const LitmusTest& test : Sample()) {
    EXPECT_EQ(HazardsOf(MustEnumerate(test, Modes()), false), test.hazards) << test.name;
  }
}

// Where a read can only give a write that comes later, the machine that runs in order cannot.
TEST(GatesTest, TheOperationalModelGivesWhatTheAxiomsAllowOfRunsInOrder) {
  for (const LitmusTest& test : SampleAndRandom()) {
    EXPECT_EQ(MustExplore(test, Modes()).outcomes, MustEnumerate(test, Modes()).causal_outcomes)
        << test.name;
  }
}

TEST(GatesTest, OfTheSampleOnlyReadsBeforeAWriteNeedRunsOutOfOrder) {
  std::vector<std::string> names;
  for (const LitmusTest& test : Sample()) {
    const Enumeration all = MustEnumerate(test, Modes());
    if (all.outcomes != all.causal_outcomes) names.push_back(test.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"own-CoWR-warm-nofence", "own-WAR-nofence"}));
}

TEST(GatesTest, TheTwoClocksFindTheRacesOfTheAxioms) {
  for (const LitmusTest& test : SampleAndRandom()) {
    EXPECT_EQ(MustExplore(test, Modes()).hazards, HazardsOf(MustEnumerate(test, Modes()), true))
        << test.name;
  }
}

TEST(GatesTest, BothFormsAgreeInAllModes) {
  for (const Modes& modes : AllModes()) {
    for (const LitmusTest& test : Sample()) {
      const Exploration explored = MustExplore(test, modes);
      const Enumeration all = MustEnumerate(test, modes);
      EXPECT_EQ(explored.outcomes, all.causal_outcomes) << test.name;
      EXPECT_EQ(explored.hazards, HazardsOf(all, true)) << test.name;
    }
  }
}

TEST(GatesTest, EveryPolicyStaysWithinTheModel) {
  for (const LitmusTest& test : SampleAndRandom()) {
    const Enumeration all = MustEnumerate(test, Modes());
    for (const Policy policy : {Policy::kCoherent, Policy::kStale, Policy::kRandom, Policy::kL1}) {
      for (uint64_t seed = 0; seed < 4; ++seed) {
        const std::optional<SingleRun> run = RunOnce(test, Modes(), policy, seed);
        EXPECT_TRUE(!run || all.outcomes.count(run->outcome) == 1) << test.name;
      }
    }
  }
}

// Whether one of many runs under the policy shows the weak outcome.
bool Shows(const LitmusTest& test, Policy policy) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::optional<SingleRun> run = RunOnce(test, Modes(), policy, seed);
    if (run && IsWeak(test, run->outcome)) return true;
  }
  return false;
}

// A missing fence fails the test, whenever the model lets it. What needs a run out of order, or a
// read of an alias that is new before one that is old, does not show.
TEST(GatesTest, StaleShowsWeakOutcomes) {
  std::vector<std::string> hidden;
  for (const LitmusTest& test : Sample()) {
    if (test.verdict == Verdict::kAllowed && !Shows(test, Policy::kStale)) {
      hidden.push_back(test.name);
    }
  }
  EXPECT_THAT(hidden, testing::UnorderedElementsAre("own-WAR-nofence", "own-MP-flag-alias-fenced",
                                                    "own-CoRR-alias-fence-other-dir",
                                                    "own-CoRR-alias-weak-fence"));
}

TEST(GatesTest, CoherentShowsNoWeakOutcomeInOneThread) {
  EXPECT_FALSE(Shows(Named("own-CoWR-nofence"), Policy::kCoherent));
  EXPECT_FALSE(Shows(Named("own-BAR-reader-warm-nofence"), Policy::kCoherent));
}

TEST(GatesTest, ACacheShowsWhatIsWarm) {
  EXPECT_TRUE(Shows(Named("own-CoWR-warm-nofence"), Policy::kL1));
  EXPECT_TRUE(Shows(Named("own-BAR-reader-warm-nofence"), Policy::kL1));
  EXPECT_FALSE(Shows(Named("own-CoWR-nofence"), Policy::kL1));
  EXPECT_FALSE(Shows(Named("own-MP-gpu-warm-nofence"), Policy::kL1));
}

TEST(GatesTest, StrictMulticastDoesNotSynchroniseAcrossAddresses) {
  Modes strict;
  strict.multicast = MulticastMode::kStrict;
  const LitmusTest test = Named("mc-data-publish-fence");
  EXPECT_EQ(VerdictOf(test, MustEnumerate(test, strict).outcomes), test.strict_verdict);
}

// R10: PTX alone orders it by the launch of the flag's kernel; the guide does not.
TEST(GatesTest, PtxBoundariesReachAResidentGrid) {
  Modes ptx;
  ptx.boundary = BoundaryMode::kPtx;
  const LitmusTest test = Named("host-resident-grid-nofence");
  EXPECT_EQ(VerdictOf(test, MustEnumerate(test, ptx).outcomes), Verdict::kForbidden);
}

}  // namespace
}  // namespace twinmmu::coherence
