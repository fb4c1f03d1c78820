// AllocatorTest: the fixture of tests of allocators, which run on every implementation.
//
//   class PoolTest : public AllocatorTest {};
//   TEST_P(PoolTest, GivesBackWhatItHolds) {
//     TWINMMU_ASSERT_OK_AND_ASSIGN(Pool pool, Pool::Make(&vmm(), ...));
//     ...
//   }
//   INSTANTIATE_TEST_SUITE_P(On, PoolTest, testing::ValuesIn(Implementations()),
//                            NameOfImplementation);
//
// Each test has a driver of its own. After it, free memory is what it was, no destructor met an
// error that the test has not taken, and the implementation noticed nothing, neither misuse nor
// leaks, but what the test expects. What holds resources is a variable of the test, not a member of
// a fixture: members are destroyed too late.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_FIXTURE_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_FIXTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "api/allocators/paged_reservation.h"
#include "api/diagnostics.h"
#include "api/driver.h"
#include "conformance/allocators/implementations.h"
#include "conformance/framework/target.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {

class AllocatorTest : public testing::TestWithParam<Implementation> {
 protected:
  void SetUp() override;
  void TearDown() override;

  // To make calls of the driver fail, wrap it (api/testing/forwarding.h) and give the wrapper to
  // what is tested.
  Vmm& vmm() { return *vmm_; }
  Executor& executor() { return *executor_; }
  const Traits& traits() const { return target_.traits; }

  static DeviceOrdinal device() { return DeviceOrdinal(0); }
  // The devices that can be granted memory of device(): itself, and its peers, if there are any.
  const std::vector<DeviceOrdinal>& accessors() const { return accessors_; }
  // The minimum granularity of pinned memory on device().
  Bytes granule() const { return granule_; }
  Bytes Pages(uint64_t count) const { return count * granule(); }
  // Pages of one granule; and with a cache of at most this much.
  PageOptions Granules() const;
  PageOptions WithCache(Bytes limit) const;
  static AccessGrant ReadWrite(DeviceOrdinal by = device()) {
    return AccessGrant{Location::Device(by), Access::kReadWrite};
  }

  // Fills the range with the byte, by that device, and waits until it is done.
  absl::Status Fill(const AddressRange& range, uint8_t byte, DeviceOrdinal by = device());
  // Expects that every byte of the range is this one, as that device reads it.
  void ExpectFilled(const AddressRange& range, uint8_t byte, DeviceOrdinal by = device());

  Bytes FreeMemory() { return vmm().GetMemoryInfo(device()).value().free; }
  // As SetUp does at its end; what is gone by now is no longer counted.
  void RememberFreeMemory() { free_at_start_ = FreeMemory(); }
  // Where nobody else uses the devices: this much of what was free at the start is not free now.
  void ExpectTaken(Bytes expected);

  // What destructors reported since this was last called.
  static std::vector<absl::Status> TakeDestructorErrors();

  // The test makes the implementation notice this, in this order, and no more.
  void ExpectDiagnostics(std::vector<DiagnosticKind> kinds) { expected_ = std::move(kinds); }

 private:
  std::vector<MemoryInfo> MemoryOfDevices();
  void CheckDiagnostics();

  Target target_;
  Vmm* vmm_ = nullptr;
  Executor* executor_ = nullptr;
  std::vector<DeviceOrdinal> accessors_;
  Bytes granule_;
  Bytes free_at_start_;
  std::vector<MemoryInfo> memory_before_;
  std::vector<DiagnosticKind> expected_;
};

// The name of a parameter of the test: "sim".
std::string NameOfImplementation(const testing::TestParamInfo<Implementation>& info);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_FIXTURE_H_
