// OwnersTest: the fixture of the tests of api/allocators/owners.h.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_OWNERS_FIXTURE_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_OWNERS_FIXTURE_H_

#include <optional>

#include "api/allocators/owners.h"
#include "conformance/allocators/failing_vmm.h"
#include "conformance/allocators/fixture.h"

namespace twinmmu::conformance {

// Owners work through failing(). A test in which making one of them fails has failed.
class OwnersTest : public AllocatorTest {
 protected:
  void SetUp() override {
    AllocatorTest::SetUp();
    failing_.emplace(&vmm());
  }

  using Call = FailingVmm::Call;
  FailingVmm& failing() { return *failing_; }

  // Of `granules` granules.
  Reservation Reserve(uint64_t granules) {
    return Reservation::Make(&failing(), granules * granule()).value();
  }
  // Of one granule on device().
  Allocation Allocate() {
    return Allocation::Make(&failing(), granule(), AllocationProperties()).value();
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
  std::optional<FailingVmm> failing_;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_OWNERS_FIXTURE_H_
