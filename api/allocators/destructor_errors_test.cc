#include "api/allocators/destructor_errors.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

std::atomic<int> reported{0};
void Count(const absl::Status&) { ++reported; }
void CountTwice(const absl::Status&) { reported += 2; }

// Restores the default.
class DestructorErrorsTest : public testing::Test {
 protected:
  DestructorErrorsTest() { reported = 0; }
  ~DestructorErrorsTest() override { SetDestructorErrorHook(nullptr); }
};

TEST_F(DestructorErrorsTest, GoToTheHookThatWasSetLast) {
  SetDestructorErrorHook(Count);
  ReportFromDestructor(absl::UnknownError("refused"));
  EXPECT_EQ(reported, 1);
  SetDestructorErrorHook(CountTwice);
  ReportFromDestructor(absl::UnknownError("refused"));
  EXPECT_EQ(reported, 3);
}

TEST_F(DestructorErrorsTest, AreNoneWhereTheStatusIsOk) {
  SetDestructorErrorHook(Count);
  ReportFromDestructor(absl::OkStatus());
  EXPECT_EQ(reported, 0);
}

TEST_F(DestructorErrorsTest, GiveBackTheFormerHook) {
  EXPECT_EQ(SetDestructorErrorHook(Count), nullptr);
  EXPECT_EQ(SetDestructorErrorHook(CountTwice), Count);
  EXPECT_EQ(SetDestructorErrorHook(nullptr), CountTwice);
  EXPECT_EQ(SetDestructorErrorHook(Count), nullptr);
}

TEST_F(DestructorErrorsTest, AreALineOfStderrByDefault) {
  SetDestructorErrorHook(Count);
  SetDestructorErrorHook(nullptr);
  testing::internal::CaptureStderr();
  ReportFromDestructor(absl::UnknownError("cuMemUnmap refused\nfor a reason"));
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_THAT(written, AllOf(HasSubstr("cuMemUnmap refused for a reason"), HasSubstr("Close()"),
                             EndsWith("\n")));
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 1);
  EXPECT_EQ(reported, 0);
}

TEST_F(DestructorErrorsTest, AreNoLineWhereTheStatusIsOk) {
  testing::internal::CaptureStderr();
  ReportFromDestructor(absl::OkStatus());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace twinmmu
