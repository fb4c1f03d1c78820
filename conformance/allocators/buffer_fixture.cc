#include "conformance/allocators/buffer_fixture.h"

#include <string>

#include "api/testing/matchers.h"
#include "gmock/gmock.h"

namespace twinmmu::conformance {
namespace {

constexpr Bytes kWatched(256);
constexpr int kQueued = 64;

AddressRange Head(const AddressRange& page) { return {page.base, kWatched, Bytes(0)}; }
AddressRange Tail(const AddressRange& page) {
  return {page.base + (page.size - kWatched), kWatched, Bytes(0)};
}

}  // namespace

void BufferTest::SetUp() {
  AllocatorTest::SetUp();
  if (HasFatalFailure()) return;
  failing_vmm_.emplace(&vmm(), &faults_);
  failing_executor_.emplace(&executor(), &faults_);
  TWINMMU_ASSERT_OK_AND_ASSIGN(stream_, executor().CreateStream(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(event_, executor().CreateEvent(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo info, vmm().GetMemoryInfo(device()));
  free_before_ = info.free;
}

void BufferTest::TearDown() {
  if (failing_executor_.has_value()) {
    EXPECT_THAT(executor().DestroyEvent(event_), IsOk());
    EXPECT_THAT(executor().DestroyStream(stream_), IsOk());
  }
  AllocatorTest::TearDown();
}

AddressRange BufferTest::Page(DeviceAddress base, uint64_t number) const {
  return AddressRange{base + number * granule(), granule(), Bytes(0)};
}

void BufferTest::Write(const AddressRange& page, uint8_t byte) {
  EXPECT_THAT(Fill(Head(page), byte), IsOk());
  EXPECT_THAT(Fill(Tail(page), byte), IsOk());
}

void BufferTest::ExpectHolds(const AddressRange& page, uint8_t byte) {
  ExpectFilled(Head(page), byte);
  ExpectFilled(Tail(page), byte);
}

void BufferTest::ExpectRight(const AddressRange& page, DeviceOrdinal by, Access access) {
  EXPECT_THAT(vmm().GetAccess(Location::Device(by), page.base), IsOkAndHolds(access))
      << "of " << by << " to " << page;
}

void BufferTest::ExpectUnmapped(const AddressRange& page) {
  EXPECT_THAT(vmm().GetAccess(Location::Device(device()), page.base),
              HasDriverCode(DriverCode::kInvalidValue))
      << page;
}

void BufferTest::Queue(const AddressRange& page, uint8_t byte) {
  for (int i = 1; i <= kQueued; ++i) {
    const FillPattern pattern{i == kQueued ? byte : static_cast<uint8_t>(~byte)};
    ASSERT_THAT(executor().Fill(stream_, page.base, pattern, kWatched.value()), IsOk());
  }
}

void BufferTest::ExpectTaken(Bytes expected) {
  if (!traits().sole_user) return;
  const absl::StatusOr<MemoryInfo> info = vmm().GetMemoryInfo(device());
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(free_before_ - info->free, expected);
}

void BufferTest::FailEachCall(const std::function<void()>& scenario) {
  failed_ = true;
  for (failing_call_ = 1; failed_; ++failing_call_) {
    SCOPED_TRACE("with a failure of call " + std::to_string(failing_call_));
    failed_ = false;
    scenario();
    if (HasFailure()) return;
    EXPECT_EQ(TakeDestructorErrors().size(), 0U);
    ExpectTaken(Bytes(0));
  }
  EXPECT_GT(failing_call_, 2U) << "the operation makes no calls";
}

absl::Status BufferTest::WithFailure(const std::function<absl::Status()>& operation) {
  faults_.Clear();
  faults_.FailNth(failing_call_, DriverCode::kUnknown);
  absl::Status status = operation();
  failed_ = faults_.fired() > 0;
  faults_.Clear();
  if (!failed_) {
    EXPECT_THAT(status, IsOk());
  }
  if (!status.ok()) {
    EXPECT_THAT(status, HasErrorOrigin(ErrorOrigin::kInjected));
  }
  return status;
}

}  // namespace twinmmu::conformance
