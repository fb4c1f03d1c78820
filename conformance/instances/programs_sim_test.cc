// On the simulator each program says what is declared of the machine: with a quirk it deviates, and
// without it, it keeps the rule.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "api/testing/matchers.h"
#include "conformance/instances/sim_target.h"
#include "conformance/programs/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/profile/profile.h"
#include "sim/simulator.h"

namespace twinmmu::conformance {
namespace {

// A machine of two devices for each program, which cleans nothing up.
void ExpectAsDeclared(const Profile& profile) {
  const Traits traits = TraitsOf(profile);
  for (const DeviationProgram& program : AllPrograms()) {
    SCOPED_TRACE(GetDeviation(program.deviation).name);
    TWINMMU_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Simulator> simulator,
                                 Simulator::Create(profile));
    const bool deviates = traits.deviations.count(program.deviation) > 0;
    EXPECT_THAT(RunProgram(program, *simulator),
                IsOkAndHolds(deviates ? program.deviating : program.by_rule));
  }
}

TEST(ProgramsSimTest, EachDeviatesOnTheReference) { ExpectAsDeclared(Profile::ReferenceH200(2)); }

TEST(ProgramsSimTest, EachKeepsTheRuleWhereNoQuirkIsOn) {
  ExpectAsDeclared(*Profile::Named("strict"));
}

TEST(ProgramsSimTest, EachKeepsTheRuleWithoutItsQuirkAlone) {
  for (const QuirkInfo& quirk : AllQuirks()) {
    SCOPED_TRACE(quirk.name);
    Profile profile = Profile::ReferenceH200(2);
    profile.quirks.*quirk.field = false;
    ExpectAsDeclared(profile);
  }
}

// A call that fails for a reason of its own is not taken for an answer.
TEST(ProgramsSimTest, SaysWhatWentWrongOtherwise) {
  Profile profile = Profile::ReferenceH200(2);
  DeviceProfile& device = profile.devices[0];
  device.memory_in_use = device.memory - device.memory_kept_back;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Simulator> simulator,
                               Simulator::Create(profile));
  const DeviationProgram& program =
      AllPrograms()[static_cast<size_t>(Deviation::kUnmapOfNothingSucceeds)];
  EXPECT_THAT(RunProgram(program, *simulator), HasDriverCode(DriverCode::kOutOfMemory));
}

}  // namespace
}  // namespace twinmmu::conformance
