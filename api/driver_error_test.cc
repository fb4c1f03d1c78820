// The driver's code inside a status: what goes in comes out, numbers without a name included.

#include "api/driver_error.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

// Code, origin and call survive the way through a status, and the message stays the message.
TEST(DriverErrorTest, SurvivesTheWayThroughAStatus) {
  const DriverError error{DriverCode::kInvalidValue, ErrorOrigin::kSimulator, "cuMemMap"};
  const absl::Status status = MakeDriverStatus(error, "size is 0");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "size is 0");
  EXPECT_EQ(GetDriverError(status), error);
  EXPECT_EQ(GetDriverCode(status), DriverCode::kInvalidValue);
}

// A code that nobody named keeps its number.
TEST(DriverErrorTest, KeepsANumberWithoutAName) {
  const auto code = static_cast<DriverCode>(12345);
  const absl::Status status = MakeDriverStatus({code, ErrorOrigin::kDriver, "cuMemMap"}, "");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(GetDriverCode(status), code);
  EXPECT_EQ(DriverCodeName(code), "CUDA_ERROR 12345");
}

// Success makes no error, whatever the message.
TEST(DriverErrorTest, SuccessIsOk) {
  EXPECT_TRUE(MakeDriverStatus({DriverCode::kSuccess, ErrorOrigin::kDriver, "cuInit"}, "x").ok());
}

// A status from elsewhere carries no driver error, and its code is not taken for one.
TEST(DriverErrorTest, AForeignStatusCarriesNone) {
  EXPECT_EQ(GetDriverError(absl::InternalError("disk")), std::nullopt);
  EXPECT_EQ(GetDriverCode(absl::InternalError("disk")), DriverCode::kUnknown);
  EXPECT_EQ(GetDriverError(absl::OkStatus()), std::nullopt);
  EXPECT_EQ(GetDriverCode(absl::OkStatus()), DriverCode::kSuccess);
}

// The canonical codes that callers branch on.
TEST(DriverErrorTest, MapsToCanonicalCodes) {
  EXPECT_EQ(CanonicalCode(DriverCode::kOutOfMemory), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(CanonicalCode(DriverCode::kNotSupported), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(CanonicalCode(DriverCode::kNotPermitted), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(CanonicalCode(DriverCode::kNotInitialized), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(CanonicalCode(DriverCode::kInvalidDevice), absl::StatusCode::kNotFound);
  EXPECT_EQ(CanonicalCode(DriverCode::kIllegalAddress), absl::StatusCode::kDataLoss);
}

// The first and the last row of the table are found, as is one in the middle.
TEST(DriverErrorTest, NamesCodes) {
  EXPECT_EQ(DriverCodeName(DriverCode::kSuccess), "CUDA_SUCCESS");
  EXPECT_EQ(DriverCodeName(DriverCode::kIllegalAddress), "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(DriverCodeName(DriverCode::kUnknown), "CUDA_ERROR_UNKNOWN");
}

TEST(DriverErrorTest, NamesOrigins) {
  EXPECT_EQ(ToString(ErrorOrigin::kDriver), "driver");
  EXPECT_EQ(ToString(ErrorOrigin::kLoader), "loader");
  EXPECT_EQ(ToString(ErrorOrigin::kSimulator), "simulator");
  EXPECT_EQ(ToString(ErrorOrigin::kInjected), "injected");
  EXPECT_EQ(ToString(static_cast<ErrorOrigin>(99)), "unknown origin");
}

}  // namespace
}  // namespace twinmmu
