// TargetUnderTest, and TargetTest: what a test of the suite has from the run.

#ifndef TWINMMU_CONFORMANCE_FRAMEWORK_TARGET_UNDER_TEST_H_
#define TWINMMU_CONFORMANCE_FRAMEWORK_TARGET_UNDER_TEST_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "conformance/framework/target.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {

// A target as the run keeps it: opened by the first test that needs it, and kept open until Close.
class TargetUnderTest {
 public:
  explicit TargetUnderTest(TargetFactory factory) : factory_(std::move(factory)) {}

  const std::string& name() const { return factory_.name; }
  const absl::StatusOr<Target>& Open();
  // The next test opens it anew; no test may be using it.
  void Close();

 private:
  TargetFactory factory_;
  absl::StatusOr<Target> target_ = absl::UnknownError("not opened yet");
  bool opened_ = false;
};

// Marks that the table reads from a test's properties: RecordProperty(kDeviationProperty, name).
inline constexpr char kDeviationProperty[] = "deviation";
inline constexpr char kUnsupportedProperty[] = "unsupported";
inline constexpr char kUnrecordedProperty[] = "unrecorded";

class TargetTest : public ::testing::Test {
 public:
  void set_target(TargetUnderTest* target) { under_test_ = target; }

 protected:
  TargetUnderTest& under_test() { return *under_test_; }

 private:
  TargetUnderTest* under_test_ = nullptr;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_FRAMEWORK_TARGET_UNDER_TEST_H_
