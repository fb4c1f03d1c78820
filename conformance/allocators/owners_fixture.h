// OwnersTest: the fixture of the tests of api/allocators/owners.h.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_OWNERS_FIXTURE_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_OWNERS_FIXTURE_H_

#include <cstdint>
#include <optional>

#include "api/allocators/owners.h"
#include "api/driver_call.h"
#include "api/testing/fault_injecting.h"
#include "api/testing/fault_plan.h"
#include "api/testing/tracing.h"
#include "conformance/allocators/fixture.h"

namespace twinmmu::conformance {

// Owners work through watched(). A test in which making one of them fails has failed.
class OwnersTest : public AllocatorTest {
 protected:
  void SetUp() override {
    AllocatorTest::SetUp();
    failing_.emplace(&vmm(), &faults_);
    watched_.emplace(&*failing_, /*calls_kept=*/0);
  }

  Vmm& watched() { return *watched_; }
  // The next `times` calls of this kind give UNKNOWN and do not reach the driver.
  void Fail(DriverCall call, uint64_t times = 1) {
    for (uint64_t n = 1; n <= times; ++n) faults_.FailNth(n, DriverCode::kUnknown, {call});
  }
  // How often it was called, refused or not.
  uint64_t CountOf(DriverCall call) const { return watched_->count(call); }

  // Of `granules` granules.
  Reservation Reserve(uint64_t granules) {
    return Reservation::Make(&watched(), granules * granule()).value();
  }
  // Of one granule on device().
  Allocation Allocate() {
    return Allocation::Make(&watched(), granule(), AllocationProperties()).value();
  }
  // Of one granule, which nothing else refers to, at granule `at`; device() may write there.
  Mapping MapOne(const Reservation& reservation, uint64_t at = 0) {
    return Mapping::Make(reservation, at * granule(), Allocate(), {ReadWrite()}).value();
  }

  // Whether something is mapped there.
  bool IsMapped(const AddressRange& range) {
    const Location here = Location::Device(device());
    return vmm().GetAccess(here, range.base).ok();
  }

 private:
  FaultPlan faults_;
  std::optional<FaultInjectingVmm> failing_;
  std::optional<TracingVmm> watched_;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_OWNERS_FIXTURE_H_
