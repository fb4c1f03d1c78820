// What is declared of a simulated machine follows from its profile.

#include "conformance/instances/sim_target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

// The reference shows every deviation that the reference driver was seen to have, but for what
// threads can break there; strict shows none.
TEST(TraitsOfTest, TheReferenceHasAllDeviationsAndStrictNone) {
  std::set<Deviation> simulated = ReferenceDeviations();
  simulated.erase(Deviation::kRacingCallsAreNotOrdered);
  EXPECT_EQ(TraitsOf(Profile::ReferenceH200()).deviations, simulated);
  EXPECT_THAT(TraitsOf(*Profile::Named("strict")).deviations, ::testing::IsEmpty());
}

// A quirk that is off takes its deviation away, and leaves the others.
TEST(TraitsOfTest, AQuirkIsADeviation) {
  Profile profile = Profile::ReferenceH200();
  std::set<Deviation> expected = TraitsOf(profile).deviations;
  expected.erase(Deviation::kSetAccessStopsAtAHole);
  profile.quirks.set_access_stops_at_hole = false;
  EXPECT_EQ(TraitsOf(profile).deviations, expected);
}

// Virtual memory management is there if any device has it.
TEST(TraitsOfTest, SaysWhetherThereIsVirtualMemoryManagement) {
  Profile profile = *Profile::Named("no-vmm");
  EXPECT_FALSE(TraitsOf(profile).has_vmm);
  profile.devices[1].attributes[DeviceAttribute::kVirtualMemoryManagementSupported] = 1;
  EXPECT_TRUE(TraitsOf(profile).has_vmm);
}

// When work runs is as the policy says.
TEST(TraitsOfTest, SaysWhenWorkRuns) {
  Profile profile = Profile::ReferenceH200();
  EXPECT_EQ(TraitsOf(profile).work_timing, WorkTiming::kAtTheCall);
  profile.stream_policy = StreamPolicy::kDeferred;
  EXPECT_EQ(TraitsOf(profile).work_timing, WorkTiming::kAtTheLatestMoment);
  profile.stream_policy = StreamPolicy::kSeeded;
  EXPECT_EQ(TraitsOf(profile).work_timing, WorkTiming::kWhenever);
}

// Where aliased memory is as stale as the model allows, so is what atomic operations work on.
TEST(TraitsOfTest, SaysWhetherAtomicsAreLost) {
  Profile profile = Profile::ReferenceH200();
  EXPECT_FALSE(TraitsOf(profile).loses_aliased_atomics);
  profile.alias_policy = coherence::Policy::kL1;
  EXPECT_FALSE(TraitsOf(profile).loses_aliased_atomics);
  profile.alias_policy = coherence::Policy::kStale;
  EXPECT_TRUE(TraitsOf(profile).loses_aliased_atomics);
  profile.alias_policy = coherence::Policy::kRandom;
  EXPECT_TRUE(TraitsOf(profile).loses_aliased_atomics);
}

}  // namespace
}  // namespace twinmmu::conformance
