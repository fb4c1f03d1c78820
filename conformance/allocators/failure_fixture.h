// FailureTest: the fixture of tests in which driver calls fail.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_FAILURE_FIXTURE_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_FAILURE_FIXTURE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "api/allocators/memory_stats.h"
#include "api/testing/fault_injecting.h"
#include "api/testing/fault_plan.h"
#include "api/testing/matchers.h"
#include "conformance/allocators/failure_sweep.h"
#include "conformance/allocators/fixture.h"
#include "gmock/gmock.h"

namespace twinmmu::conformance {

// What is tested works through faulty_vmm() and faulty_executor(), which ask faults() before each
// call. Its pages are of one granule.
class FailureTest : public AllocatorTest {
 protected:
  void SetUp() override {
    AllocatorTest::SetUp();
    if (HasFatalFailure()) return;
    faulty_vmm_.emplace(&vmm(), &faults_);
    faulty_executor_.emplace(&executor(), &faults_);
  }

  FaultPlan& faults() { return faults_; }
  FaultInjectingVmm& faulty_vmm() { return *faulty_vmm_; }
  FaultInjectingExecutor& faulty_executor() { return *faulty_executor_; }

  // Marks the page at `base`: what tells it from others is in its first bytes.
  absl::Status Mark(DeviceAddress base, uint8_t byte) {
    return Fill({base, KiB(4), Bytes(0)}, byte);
  }
  void ExpectMarked(DeviceAddress base, uint8_t byte) {
    ExpectFilled({base, KiB(4), Bytes(0)}, byte);
  }

  // What `stats` says, and that the device lacks just that.
  std::string Describe(const MemoryStats& stats) {
    const Bytes lacking = stats.in_use + stats.leaving + stats.cached;
    EXPECT_EQ(stats.cached, stats.cached_pages * granule());
    EXPECT_GE(stats.peak, stats.in_use);
    ExpectTaken(lacking);
    return absl::StrCat(ToString(stats.in_use), " in use, peak ", ToString(stats.peak), ", ",
                        ToString(stats.leaving), " leaving, ", ToString(stats.cached), " cached, ",
                        stats.commits, " commits, ", stats.decommits, " decommits\n");
  }
  // The access to a page in use at `base`, and what it holds.
  std::string DescribePage(DeviceAddress base) {
    std::string words = ToString(base) + ":";
    Access own = Access::kNone;
    for (const DeviceOrdinal by : accessors()) {
      const absl::StatusOr<Access> access = vmm().GetAccess(Location::Device(by), base);
      EXPECT_THAT(access, IsOk());
      if (by == device()) own = access.value_or(Access::kNone);
      absl::StrAppend(&words, " ", ToString(access.value_or(Access::kNone)), " for ", ToString(by));
    }
    uint8_t byte = 0;
    if (own != Access::kNone) {
      EXPECT_THAT(executor().CopyDeviceToHost(device(), &byte, base, Bytes(1)), IsOk());
      absl::StrAppend(&words, ", holds ", byte);
    }
    return words + "\n";
  }

 private:
  FaultPlan faults_;
  std::optional<FaultInjectingVmm> faulty_vmm_;
  std::optional<FaultInjectingExecutor> faulty_executor_;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_FAILURE_FIXTURE_H_
