// The ladder of fixtures. Each step adds one resource; what a test leaves is undone after it.
//
//   DeviceTest        the target and its devices, which need not have virtual memory management
//   ConformanceTest   + that they have it; words to ask and compare with
//   PhysicalTest      + an allocation of 4 granules on device 0
//   ReservedTest      + a reservation of 8 granules
//   MappedTest        + the allocation mapped at the start of it, read-write for device 0
//   TwoDevicesTest    ConformanceTest on a machine with two devices
//
// Drivers are opened once for the whole run; only resources belong to a test.

#ifndef TWINMMU_CONFORMANCE_FIXTURES_H_
#define TWINMMU_CONFORMANCE_FIXTURES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "api/driver_error.h"
#include "api/testing/matchers.h"
#include "conformance/ledger.h"
#include "conformance/target.h"
#include "gmock/gmock.h"
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

class ConformanceTest : public ::testing::Test {
 public:
  void set_target(TargetUnderTest* target) { under_test_ = target; }

 protected:
  void SetUp() override;
  void TearDown() override;
  // Where the target declares to have none, a test that needs it asserts that, and does not run.
  virtual bool NeedsVmm() const { return true; }

  Vmm& vmm() { return *ledger_; }
  // The same without the ledger, for several threads: the test cleans up after itself.
  Vmm& unbooked_vmm() { return *vmm_; }
  Executor& executor() { return *executor_; }
  Driver& driver() { return *target_->driver; }
  absl::StatusOr<SparseArrays*> sparse_arrays() { return target_->driver->sparse_arrays(); }
  const Traits& traits() const { return target_->traits; }
  int device_count() const { return device_count_; }

  static DeviceOrdinal device() { return DeviceOrdinal(0); }
  static Location here() { return Location::Device(device()); }
  static AllocationProperties properties() { return AllocationProperties(); }
  static AllocationProperties properties(const Location& location) {
    AllocationProperties properties;
    properties.location = location;
    return properties;
  }
  static ReserveOptions Hint(DeviceAddress address) {
    ReserveOptions options;
    options.hint = address;
    return options;
  }
  // The minimum granularity of pinned memory on device 0.
  Bytes granule() const { return granule_; }

  absl::Status Grant(const AddressRange& range, Access access, const Location& location);
  absl::Status Grant(const AddressRange& range, Access access) {
    return Grant(range, access, here());
  }

  // One line per granule of `range`: what is mapped there, and each device's right.
  std::vector<std::string> StateOf(const AddressRange& range);

  // Expects that nothing is mapped at any granule of `range`: no handle, and no answer for a right.
  void ExpectUnmapped(const AddressRange& range);

  // The call fails with `code`, and StateOf(watched) is the same before and after.
  template <typename Call>
  void ExpectRefused(DriverCode code, const AddressRange& watched, Call call) {
    const std::vector<std::string> before = StateOf(watched);
    const auto result = call();
    EXPECT_THAT(result, HasDriverCode(code));
    EXPECT_EQ(StateOf(watched), before) << "a refused call must change nothing";
  }

  // Expects that so much of the device's memory is free. Where others use it too, nobody can know:
  // the test then counts as skipped.
  void ExpectFree(DeviceOrdinal device, Bytes expected);

  // Copies a pattern made of `seed` there, through device 0. Sizes are multiples of 4 bytes.
  absl::Status Write(const AddressRange& range, uint32_t seed);
  // Expects that device 0 reads there what Write(_, seed) wrote, from its first word on.
  void ExpectHolds(const AddressRange& range, uint32_t seed);

  // Expects that every byte is `expected`. (A matcher would take seconds for a few MiB.)
  static void ExpectAllBytes(const std::vector<uint8_t>& bytes, uint8_t expected);

  // True where the target is declared to depart from a rule in this way; the table then shows the
  // test's verdict as "as observed".
  bool Deviates(Deviation deviation);

  // Whether device 0 tells of the capability. An older driver does not know newer ones [DEV-6], and
  // tells of none.
  bool Tells(DeviceAttribute capability);
  // What the device says is what comes of it: `created` is OK if it tells of the capability that
  // the memory needs, and refused as not supported if it does not, which the table then shows.
  // True: the memory is there.
  bool IsCreatedAsTold(DeviceAttribute capability, const absl::Status& created);
  // The same of memory of the host, `anything` of which can be asked for. It can be advertised and
  // still be refused: then all of it is, with one code, which is not that of what is not supported
  // [CREATE-27]. An older driver has it without telling, or does not know such a location.
  bool IsHostMemoryCreated(const Location& anything, const absl::Status& created);
  // Whether the driver is older than that of CUDA `version` (11050 is 11.5), which brought the PTX
  // that was to be loaded. Then it must have refused that, which the table shows.
  bool IsTooOldForPtx(int version, const absl::Status& loaded);
  // Asserts that a call is refused as not supported, and shows it in the table.
  void ExpectUnsupported(const absl::Status& status);
  // Shows in the table that what the rule is about is not supported here, which has been asserted.
  void RecordUnsupported(absl::string_view reason);

 private:
  void ExpectNoVmm();
  void ExpectOkIf(bool told, const absl::Status& created);

  TargetUnderTest* under_test_ = nullptr;
  const Target* target_ = nullptr;
  Vmm* vmm_ = nullptr;
  std::unique_ptr<LedgerVmm> ledger_;
  Executor* executor_ = nullptr;
  int device_count_ = 0;
  Bytes granule_;
};

class DeviceTest : public ConformanceTest {
 protected:
  bool NeedsVmm() const override { return false; }
};

class PhysicalTest : public ConformanceTest {
 protected:
  void SetUp() override;
  AllocationHandle handle() const { return handle_; }
  Bytes allocation_size() const { return 4 * granule(); }

 private:
  AllocationHandle handle_;
};

class ReservedTest : public PhysicalTest {
 protected:
  void SetUp() override;
  const AddressRange& reservation() const { return reservation_; }
  // `count` granules of the reservation, from granule `first` on.
  AddressRange Granules(uint64_t first, uint64_t count) const {
    return reservation_.subrange(first * granule(), count * granule());
  }

 private:
  AddressRange reservation_;
};

class MappedTest : public ReservedTest {
 protected:
  void SetUp() override;
  AddressRange mapping() const { return Granules(0, 4); }
};

class TwoDevicesTest : public ConformanceTest {
 protected:
  void SetUp() override;
  static DeviceOrdinal peer() { return DeviceOrdinal(1); }
  static Location there() { return Location::Device(peer()); }
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_FIXTURES_H_
