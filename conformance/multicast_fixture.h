// MulticastTest: the fixture of tests about multicast objects.

#ifndef TWINMMU_CONFORMANCE_MULTICAST_FIXTURE_H_
#define TWINMMU_CONFORMANCE_MULTICAST_FIXTURE_H_

#include <algorithm>
#include <vector>

#include "api/multicast.h"
#include "conformance/fixtures.h"

namespace twinmmu::conformance {

// A target that allows multicast, and whose devices have it. Elsewhere the tests assert that there
// is none.
class MulticastTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const absl::StatusOr<Multicast*> multicast = driver().multicast();
    if (!traits().multicast_allowed) {
      EXPECT_THAT(multicast, StatusIs(absl::StatusCode::kUnimplemented));
      RecordUnsupported("multicast is not allowed on this target");
      GTEST_SKIP() << "multicast is not allowed on this target";
    }
    TWINMMU_ASSERT_OK_AND_ASSIGN(multicast_, multicast);
    const auto granularity = multicast_->GetGranularity(Of(1, Bytes(0)), Granularity::kMinimum);
    if (!IsCreatedAsTold(DeviceAttribute::kMulticastSupported, granularity.status())) {
      GTEST_SKIP() << "no device has multicast";
    }
    granule_ = *granularity;
  }
  void TearDown() override {
    ConformanceTest::TearDown();
    for (const AllocationHandle object : objects_) {
      EXPECT_THAT(unbooked_vmm().Release(object), IsOk()) << "while cleaning up";
    }
  }

  Multicast& multicast() { return *multicast_; }
  Bytes multicast_granule() const { return granule_; }
  static MulticastProperties Of(int devices, Bytes size, HandleType types = HandleType::kNone) {
    return {static_cast<uint32_t>(devices), size, types, 0};
  }
  // As many devices as a team needs to be one, if there are as many.
  int two() const { return std::min(device_count(), 2); }

  // An object with nobody in its team, released after the test.
  absl::StatusOr<AllocationHandle> Make(const MulticastProperties& properties) {
    const auto object = multicast().Create(properties);
    if (object.ok()) objects_.push_back(*object);
    return object;
  }
  // An object of `granules` whose team is complete: the first `devices` devices. 0 after a failure.
  AllocationHandle Team(int devices, uint64_t granules, HandleType types = HandleType::kNone) {
    const auto object = Make(Of(devices, granules * granule_, types));
    EXPECT_THAT(object, IsOk());
    if (!object.ok()) return AllocationHandle(0);
    for (int i = 0; i < devices; ++i) {
      EXPECT_THAT(multicast().AddDevice(*object, DeviceOrdinal(i)), IsOk());
    }
    return *object;
  }
  void Release(AllocationHandle object) {
    EXPECT_THAT(unbooked_vmm().Release(object), IsOk());
    objects_.erase(std::find(objects_.begin(), objects_.end(), object));
  }
  AllocationHandle Memory(DeviceOrdinal device, uint64_t granules,
                          HandleType types = HandleType::kNone) {
    AllocationProperties wanted = properties(Location::Device(device));
    wanted.requested_handle_types = types;
    const auto memory = vmm().Create(granules * granule_, wanted);
    EXPECT_THAT(memory, IsOk());
    return memory.value_or(AllocationHandle(0));
  }
  absl::Status Bind(AllocationHandle object, uint64_t granule, AllocationHandle memory,
                    uint64_t count = 1) {
    return multicast().BindMemory(object, granule * granule_, memory, Bytes(0), count * granule_);
  }
  // A refused call, after which the object is as useful as before.
  void ExpectInvalid(const absl::Status& status) {
    EXPECT_THAT(status, HasDriverCode(DriverCode::kInvalidValue));
  }
  // A reservation where multicast objects can be mapped.
  absl::StatusOr<AddressRange> Reserve(uint64_t granules) {
    ReserveOptions options;
    options.alignment = granule_;
    return vmm().AddressReserve(granules * granule_, options);
  }
  Bytes Free(DeviceOrdinal device) {
    const auto info = vmm().GetMemoryInfo(device);
    EXPECT_THAT(info, IsOk());
    return info.ok() ? info->free : Bytes(0);
  }
  // True if what a driver never answers, or answers undefined, can be asked here.
  bool AnswersMistakes() {
    if (traits().multicast_mistakes_answered) return true;
    RecordUnsupported("a driver waits there, maybe for ever, or does anything at all");
    return false;
  }

 private:
  Multicast* multicast_ = nullptr;
  Bytes granule_;
  std::vector<AllocationHandle> objects_;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_MULTICAST_FIXTURE_H_
