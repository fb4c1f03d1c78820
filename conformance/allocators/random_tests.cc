// Random programs over pools and buffers, compared with a model.

#include "conformance/allocators/fixture.h"
#include "conformance/allocators/random_program.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

constexpr uint64_t kSeeds = 4;

class RandomProgramTest : public AllocatorTest {
 protected:
  void Run(uint64_t seed, double failures) {
    RandomProgram program;
    program.seed = seed;
    program.steps = 400;
    program.failures = failures;
    program.sole_user = traits().sole_user;
    program.driver_may_take = traits().driver_may_take;
    const RandomReport report = conformance::Run(program, vmm(), executor());
    EXPECT_TRUE(report.difference.empty()) << report.difference;
  }
};

TEST_P(RandomProgramTest, AnswersAsTheModelDoes) {
  for (uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) Run(seed, 0);
}

TEST_P(RandomProgramTest, AnswersAsTheModelDoesWhenCallsFail) {
  for (uint64_t seed = 101; seed <= 100 + kSeeds && !HasFailure(); ++seed) Run(seed, 0.5);
}

INSTANTIATE_TEST_SUITE_P(On, RandomProgramTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
