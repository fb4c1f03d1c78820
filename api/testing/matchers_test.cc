// The matchers accept what they name, refuse the rest, and say what they saw.

#include "api/testing/matchers.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StringMatchResultListener;

absl::Status InvalidValue() {
  return MakeDriverStatus({DriverCode::kInvalidValue, ErrorOrigin::kSimulator, "cuMemMap"},
                          "size is 0");
}

// A Status and a StatusOr are both matched by their status.
TEST(MatchersTest, MatchStatusAndStatusOr) {
  EXPECT_THAT(absl::OkStatus(), IsOk());
  EXPECT_THAT(absl::StatusOr<int>(1), IsOk());
  EXPECT_THAT(absl::StatusOr<int>(InvalidValue()), Not(IsOk()));
  EXPECT_THAT(absl::StatusOr<int>(InvalidValue()), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(InvalidValue(), Not(StatusIs(absl::StatusCode::kNotFound)));
  EXPECT_THAT(InvalidValue(), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(absl::InternalError("x"), Not(HasDriverCode(DriverCode::kInvalidValue)));
  EXPECT_THAT(absl::InternalError("x"), Not(HasDriverCode(DriverCode::kUnknown)));
  EXPECT_THAT(absl::OkStatus(), HasDriverCode(DriverCode::kSuccess));
}

// The call is matched by its name or by another matcher, together with the code.
TEST(MatchersTest, MatchCodeAndCall) {
  EXPECT_THAT(InvalidValue(), HasDriverError(DriverCode::kInvalidValue, "cuMemMap"));
  EXPECT_THAT(absl::StatusOr<int>(InvalidValue()),
              HasDriverError(DriverCode::kInvalidValue, HasSubstr("Map")));
  EXPECT_THAT(InvalidValue(), Not(HasDriverError(DriverCode::kInvalidValue, "cuMemUnmap")));
  EXPECT_THAT(InvalidValue(), Not(HasDriverError(DriverCode::kOutOfMemory, "cuMemMap")));
  EXPECT_THAT(absl::OkStatus(), Not(HasDriverError(DriverCode::kSuccess, "")));
}

// A status without a driver's error has no origin.
TEST(MatchersTest, MatchTheOrigin) {
  EXPECT_THAT(InvalidValue(), HasErrorOrigin(ErrorOrigin::kSimulator));
  EXPECT_THAT(InvalidValue(), Not(HasErrorOrigin(ErrorOrigin::kDriver)));
  EXPECT_THAT(absl::InternalError("x"), Not(HasErrorOrigin(ErrorOrigin::kDriver)));
}

// The value inside is matched by a value or by another matcher; an error holds nothing.
TEST(MatchersTest, MatchTheValueInside) {
  EXPECT_THAT(absl::StatusOr<int>(7), IsOkAndHolds(7));
  EXPECT_THAT(absl::StatusOr<int>(7), IsOkAndHolds(testing::Gt(6)));
  EXPECT_THAT(absl::StatusOr<int>(7), Not(IsOkAndHolds(8)));
  EXPECT_THAT(absl::StatusOr<int>(InvalidValue()), Not(IsOkAndHolds(0)));
}

// A failing match prints the canonical code, the message, the driver's code, the call, the origin.
TEST(MatchersTest, SayWhatTheySaw) {
  StringMatchResultListener listener;
  EXPECT_FALSE(testing::ExplainMatchResult(IsOk(), InvalidValue(), &listener));
  EXPECT_THAT(listener.str(), HasSubstr("INVALID_ARGUMENT: size is 0"));
  EXPECT_THAT(listener.str(), HasSubstr("simulator: cuMemMap gave CUDA_ERROR_INVALID_VALUE"));
}

absl::StatusOr<int> Seven() { return 7; }

// The macro declares the value and can be used more than once in a function.
TEST(MatchersTest, AssignsTheValue) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const int a, Seven());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const int b, Seven());
  EXPECT_EQ(a + b, 14);
}

}  // namespace
}  // namespace twinmmu
