#include "conformance/allocators/buffer_fixture.h"

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
  FailureTest::SetUp();
  if (HasFatalFailure()) return;
  TWINMMU_ASSERT_OK_AND_ASSIGN(stream_, executor().CreateStream(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(event_, executor().CreateEvent(device()));
  RememberFreeMemory();
}

void BufferTest::TearDown() {
  if (event_.has_value()) {
    EXPECT_THAT(executor().DestroyEvent(*event_), IsOk());
  }
  if (stream_.has_value()) {
    EXPECT_THAT(executor().DestroyStream(*stream_), IsOk());
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

void BufferTest::ExpectAccess(const AddressRange& page, DeviceOrdinal by, Access access) {
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
    ASSERT_THAT(executor().Fill(stream(), page.base, pattern, kWatched.value()), IsOk());
  }
}

void BufferTest::FailEachCall(const std::function<void()>& scenario) {
  sweep_.FailEachCall([&] {
    scenario();
    if (HasFailure()) return;
    EXPECT_EQ(TakeDestructorErrors().size(), 0U);
    ExpectTaken(Bytes(0));
  });
}

}  // namespace twinmmu::conformance
