// Random sequences of defined calls on this machine's driver. Absent hardware is a failure.

#include "conformance/instances/random/random_cuda.h"

#include "api/testing/matchers.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance::random {
namespace {

TEST(RandomCudaTest, TheDriverAnswersAsTheModel) {
  const absl::StatusOr<Report> report = RunSeeds(CudaSubject(), {1, 10, 300});
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->difference, "") << report->difference;
}

}  // namespace
}  // namespace twinmmu::conformance::random
