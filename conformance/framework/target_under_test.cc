#include "conformance/framework/target_under_test.h"

namespace twinmmu::conformance {

const absl::StatusOr<Target>& TargetUnderTest::Open() {
  if (!opened_) target_ = factory_.open();
  opened_ = true;
  return target_;
}

void TargetUnderTest::Close() {
  target_ = absl::UnknownError("not opened yet");
  opened_ = false;
}

}  // namespace twinmmu::conformance
