// GrowableBuffer: size, capacity, and what is in it. Calls that fail are in
// growable_buffer_failure_tests.cc.

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "api/allocators/growable_buffer.h"
#include "api/allocators/paged_reservation.h"
#include "api/testing/matchers.h"
#include "conformance/allocators/error_matchers.h"
#include "conformance/allocators/fixture.h"
#include "conformance/allocators/held_executor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

constexpr Bytes kMost = Bytes(std::numeric_limits<uint64_t>::max());

// Buffers of it have pages of one granule.
class GrowableBufferTest : public AllocatorTest {
 protected:
  using Buffer = std::unique_ptr<GrowableBuffer>;

  void SetUp() override {
    AllocatorTest::SetUp();
    held_.emplace(&executor());
  }
  HeldExecutor& held() { return *held_; }

  absl::StatusOr<Buffer> MakeBuffer(uint64_t pages, Bytes cache = Bytes(0)) {
    return GrowableBuffer::Make(&vmm(), &held(), Pages(pages), WithCache(cache));
  }
  AddressRange RangeOf(const Buffer& buffer, uint64_t first, uint64_t count = 1) const {
    return {buffer->address() + Pages(first), Pages(count), Bytes(0)};
  }

 private:
  std::optional<HeldExecutor> held_;
};

TEST_P(GrowableBufferTest, BeginsWithoutMemory) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Buffer buffer, MakeBuffer(100));
  EXPECT_EQ(buffer->size(), Bytes(0));
  EXPECT_EQ(buffer->capacity(), Bytes(0));
  EXPECT_EQ(buffer->max_size(), Pages(100));
  EXPECT_EQ(buffer->page_size(), granule());
  EXPECT_EQ(buffer->stats().calls.total(), 0);
  ExpectTaken(Bytes(0));
}

TEST_P(GrowableBufferTest, RoundsItsMaximumUpToPages) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Buffer buffer,
                               GrowableBuffer::Make(&vmm(), nullptr, Bytes(1)));
  EXPECT_EQ(buffer->max_size(), RoundUp(LargePages().page_size, granule()));
  EXPECT_THAT(buffer->Resize(buffer->max_size()), IsOk());
}

TEST_P(GrowableBufferTest, RefusesImpossibleSizes) {
  EXPECT_THAT(GrowableBuffer::Make(&vmm(), nullptr, Bytes(0)),
              StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(GrowableBuffer::Make(&vmm(), nullptr, kMost), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(GrowableBuffer::Make(nullptr, nullptr, MiB(2)),
              IsError(StatusCode::kInvalidArgument, HasSubstr("vmm is null")));
}

TEST_P(GrowableBufferTest, GrowsInPlaceAndKeepsWhatIsInIt) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Buffer buffer, MakeBuffer(16));
  const DeviceAddress address = buffer->address();
  ASSERT_THAT(buffer->Resize(Pages(2)), IsOk());
  ASSERT_THAT(Fill(RangeOf(buffer, 0, 2), 1), IsOk());
  ASSERT_THAT(buffer->Resize(Pages(9)), IsOk());
  ASSERT_THAT(Fill(RangeOf(buffer, 2, 7), 2), IsOk());
  EXPECT_EQ(buffer->address(), address);
  ExpectFilled(RangeOf(buffer, 0, 2), 1);
  ExpectFilled(RangeOf(buffer, 2, 7), 2);
}

TEST_P(GrowableBufferTest, HasTheCapacityOfWholePages) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Buffer buffer, MakeBuffer(16));
  ASSERT_THAT(buffer->Resize(Bytes(1)), IsOk());
  EXPECT_EQ(buffer->size(), Bytes(1));
  EXPECT_EQ(buffer->capacity(), Pages(1));
  ASSERT_THAT(buffer->Resize(Pages(1) + Bytes(1)), IsOk());
  EXPECT_EQ(buffer->size(), Pages(1) + Bytes(1));
  EXPECT_EQ(buffer->capacity(), Pages(2));
}

TEST_P(GrowableBufferTest, GrowsByOneCreateAndMapPerPageAndOneSetAccess) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Buffer buffer, MakeBuffer(16));
  ASSERT_THAT(buffer->Resize(Pages(2)), IsOk());
  EXPECT_EQ(buffer->stats().calls, (DriverCallCounts{2, 0, 2, 0, 1}));
  ASSERT_THAT(buffer->Resize(Pages(5)), IsOk());
  EXPECT_EQ(buffer->stats().calls, (DriverCallCounts{5, 0, 5, 0, 2}));
}

TEST_P(GrowableBufferTest, MakesNoCallWithinItsCapacity) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Buffer buffer, MakeBuffer(16));
  ASSERT_THAT(buffer->Reserve(Pages(4)), IsOk());
  EXPECT_EQ(buffer->size(), Bytes(0));
  EXPECT_EQ(buffer->capacity(), Pages(4));
  const DriverCallCounts calls = buffer->stats().calls;
  for (const Bytes size : {Bytes(7), Pages(4), Pages(1), Bytes(0), Pages(3)}) {
    ASSERT_THAT(buffer->Resize(size), IsOk());
    EXPECT_EQ(buffer->size(), size);
  }
  ASSERT_THAT(buffer->Reserve(Pages(2)), IsOk());
  EXPECT_EQ(buffer->capacity(), Pages(4));
  EXPECT_EQ(buffer->stats().calls, calls);
}

TEST_P(GrowableBufferTest, RefusesMoreThanItsMaximum) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Buffer buffer, MakeBuffer(4));
  ASSERT_THAT(buffer->Resize(Pages(1)), IsOk());
  for (const Bytes size : {Pages(4) + Bytes(1), Pages(5), kMost, kMost - granule()}) {
    const auto names = IsError(StatusCode::kOutOfRange,
                               AllOf(HasSubstr(ToString(size)), HasSubstr(ToString(Pages(4)))));
    EXPECT_THAT(buffer->Resize(size), names);
    EXPECT_THAT(buffer->Reserve(size), names);
  }
  EXPECT_EQ(buffer->size(), Pages(1));
  EXPECT_EQ(buffer->capacity(), Pages(1));
}

TEST_P(GrowableBufferTest, KeepsItsMemoryWhenItShrinks) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Buffer buffer, MakeBuffer(8));
  ASSERT_THAT(buffer->Resize(Pages(4)), IsOk());
  ASSERT_THAT(Fill(RangeOf(buffer, 0, 4), 4), IsOk());
  ASSERT_THAT(buffer->Resize(Pages(1)), IsOk());
  EXPECT_EQ(buffer->capacity(), Pages(4));
  ASSERT_THAT(buffer->Resize(Pages(4)), IsOk());
  ExpectFilled(RangeOf(buffer, 0, 4), 4);
}

TEST_P(GrowableBufferTest, GivesBackWhatIsBeyondItsSize) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Buffer buffer, MakeBuffer(8));
  ASSERT_THAT(buffer->Resize(Pages(6)), IsOk());
  ASSERT_THAT(Fill(RangeOf(buffer, 0, 3), 3), IsOk());
  ASSERT_THAT(buffer->Resize(Pages(2) + Bytes(1)), IsOk());
  const DriverCallCounts before = buffer->stats().calls;
  ASSERT_THAT(buffer->ShrinkToFit(), IsOk());
  EXPECT_EQ(buffer->capacity(), Pages(3));
  EXPECT_EQ(buffer->stats().calls.unmap, before.unmap + 1);
  EXPECT_EQ(buffer->stats().calls.release, before.release + 3);
  ExpectTaken(Pages(3));
  ExpectFilled(RangeOf(buffer, 0, 3), 3);
}

TEST_P(GrowableBufferTest, GivesNothingBackThatItNeeds) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Buffer buffer, MakeBuffer(8));
  ASSERT_THAT(buffer->ShrinkToFit(), IsOk());
  ASSERT_THAT(buffer->Resize(Pages(2)), IsOk());
  const DriverCallCounts before = buffer->stats().calls;
  ASSERT_THAT(buffer->ShrinkToFit(), IsOk());
  EXPECT_EQ(buffer->stats().calls, before);
  EXPECT_EQ(buffer->stats().decommits, 0);
  EXPECT_EQ(buffer->capacity(), Pages(2));
}

TEST_P(GrowableBufferTest, CountsWhatItHolds) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Buffer buffer, MakeBuffer(8, Pages(1)));
  ASSERT_THAT(buffer->Resize(Pages(4)), IsOk());
  ASSERT_THAT(buffer->Resize(Pages(1)), IsOk());
  ASSERT_THAT(buffer->ShrinkToFit(), IsOk());
  const MemoryStats stats = buffer->stats();
  EXPECT_EQ(stats.in_use, Pages(1));
  EXPECT_EQ(stats.peak, Pages(4));
  EXPECT_EQ(stats.cached, Pages(1));
  EXPECT_EQ(stats.commits, 1);
  EXPECT_EQ(stats.decommits, 1);
  EXPECT_THAT(buffer->Compact(), IsOkAndHolds(Pages(1)));
}

TEST_P(GrowableBufferTest, SeesItsWholeElements) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Buffer buffer, MakeBuffer(8));
  ASSERT_THAT(buffer->Resize(Bytes(43)), IsOk());
  const DeviceSpan<uint64_t> view = buffer->View<uint64_t>();
  EXPECT_EQ(view.address, buffer->address());
  EXPECT_EQ(view.size, 5);
  EXPECT_EQ(reinterpret_cast<uint64_t>(view.data()), buffer->address().value());
  EXPECT_EQ(buffer->View<char>().size, 43);
}

TEST_P(GrowableBufferTest, GrantsItsMemoryNowAndLater) {
  for (const DeviceOrdinal by : accessors()) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const Buffer buffer, MakeBuffer(8));
    ASSERT_THAT(buffer->Resize(Pages(1)), IsOk());
    ASSERT_THAT(buffer->Grant(by, Access::kReadWrite), IsOk());
    ASSERT_THAT(buffer->Resize(Pages(3)), IsOk());
    ASSERT_THAT(Fill(RangeOf(buffer, 0, 3), 3, by), IsOk());
    ExpectFilled(RangeOf(buffer, 0, 3), 3);
  }
}

// --- Work --------------------------------------------------------------------------------------

// The memory of `buffer`, of 4 pages, is used by work of a stream, and the last 3 are given back.
class GrowableBufferWorkTest : public GrowableBufferTest {
 protected:
  void SetUp() override {
    GrowableBufferTest::SetUp();
    TWINMMU_ASSERT_OK_AND_ASSIGN(stream_, held().CreateStream(device()));
    TWINMMU_ASSERT_OK_AND_ASSIGN(buffer_, MakeBuffer(8));
    ASSERT_THAT(buffer_->Resize(Pages(4)), IsOk());
    held().Hold();
    Use(0, 4, 9);
    ASSERT_THAT(buffer_->Resize(Pages(1)), IsOk());
    ASSERT_THAT(buffer_->ShrinkToFit({stream_}), IsOk());
  }
  void TearDown() override {
    buffer_.reset();
    EXPECT_THAT(held().DestroyStream(stream_), IsOk());
    // No work faulted.
    EXPECT_THAT(held().SynchronizeDevice(device()), IsOk());
    GrowableBufferTest::TearDown();
  }

  void Use(uint64_t first, uint64_t count, uint8_t byte) {
    const AddressRange range = RangeOf(buffer_, first, count);
    ASSERT_THAT(held().Fill(stream_, range.base, FillPattern{byte}, range.size.value()), IsOk());
  }
  Buffer& buffer() { return buffer_; }
  Stream stream() const { return stream_; }
  Bytes leaving() const { return buffer_->stats().leaving; }

 private:
  Stream stream_;
  Buffer buffer_;
};

TEST_P(GrowableBufferWorkTest, GivesMemoryBackAfterTheWork) {
  EXPECT_EQ(buffer()->capacity(), Pages(1));
  EXPECT_EQ(leaving(), Pages(3));
  ASSERT_THAT(held().LetGo(device()), IsOk());
  ASSERT_THAT(buffer()->Compact(), IsOk());
  EXPECT_EQ(leaving(), Bytes(0));
  EXPECT_EQ(buffer()->stats().in_use, Pages(1));
}

TEST_P(GrowableBufferWorkTest, KeepsWhatIsLeavingWhenItGrowsAgain) {
  const DriverCallCounts before = buffer()->stats().calls;
  ASSERT_THAT(buffer()->Resize(Pages(3)), IsOk());
  EXPECT_EQ(buffer()->stats().calls, before);
  EXPECT_EQ(buffer()->capacity(), Pages(3));
  EXPECT_EQ(buffer()->stats().in_use, Pages(3));
  EXPECT_EQ(leaving(), Pages(1));
  ASSERT_THAT(held().LetGo(device()), IsOk());
  ASSERT_THAT(buffer()->Compact(), IsOk());
  EXPECT_EQ(leaving(), Bytes(0));
  ExpectFilled(RangeOf(buffer(), 0, 3), 9);
}

TEST_P(GrowableBufferWorkTest, GivesBackWhatIsDoneWhenItGrows) {
  ASSERT_THAT(held().LetGo(device()), IsOk());
  ASSERT_THAT(buffer()->Resize(Pages(2)), IsOk());
  EXPECT_EQ(leaving(), Bytes(0));
  EXPECT_EQ(buffer()->stats().in_use, Pages(2));
}

TEST_P(GrowableBufferWorkTest, GetsNewPagesBehindThoseThatItKept) {
  ASSERT_THAT(buffer()->Resize(Pages(6)), IsOk());
  EXPECT_EQ(buffer()->stats().calls.create, 6);
  EXPECT_EQ(buffer()->stats().peak, Pages(6));
  ASSERT_THAT(held().LetGo(device()), IsOk());
  ASSERT_THAT(Fill(RangeOf(buffer(), 4, 2), 1), IsOk());
  ExpectFilled(RangeOf(buffer(), 0, 4), 9);
}

TEST_P(GrowableBufferWorkTest, LetsKeptPagesLeaveASecondTime) {
  ASSERT_THAT(buffer()->Resize(Pages(4)), IsOk());
  ASSERT_THAT(buffer()->Resize(Pages(2)), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream other, held().CreateStream(device()));
  ASSERT_THAT(buffer()->ShrinkToFit({other, stream()}), IsOk());
  EXPECT_EQ(leaving(), Pages(2));
  ASSERT_THAT(held().LetGo(device()), IsOk());
  ASSERT_THAT(buffer()->Compact(), IsOk());
  EXPECT_EQ(leaving(), Bytes(0));
  EXPECT_EQ(buffer()->stats().in_use, Pages(2));
  EXPECT_EQ(buffer()->stats().calls.release, 2);
  ExpectFilled(RangeOf(buffer(), 0, 2), 9);
  ASSERT_THAT(held().DestroyStream(other), IsOk());
}

TEST_P(GrowableBufferWorkTest, WaitsAtClose) {
  EXPECT_THAT(buffer()->Close(), IsOk());
  EXPECT_EQ(held().waited(), 1);
  EXPECT_EQ(buffer()->stats().leaving, Bytes(0));
}

TEST_P(GrowableBufferTest, NeedsAnExecutorToShrinkAfterWork) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Buffer buffer,
                               GrowableBuffer::Make(&vmm(), nullptr, Pages(4), PageOptions()));
  ASSERT_THAT(buffer->Resize(Pages(2)), IsOk());
  ASSERT_THAT(buffer->Resize(Bytes(0)), IsOk());
  EXPECT_THAT(buffer->ShrinkToFit({Stream(device())}),
              IsError(StatusCode::kFailedPrecondition, HasSubstr("without an executor")));
  EXPECT_EQ(buffer->capacity(), Pages(2));
}

// --- Close -------------------------------------------------------------------------------------

TEST_P(GrowableBufferTest, ReturnsEverythingAtClose) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Buffer buffer, MakeBuffer(8, Pages(8)));
  ASSERT_THAT(buffer->Resize(Pages(4)), IsOk());
  ASSERT_THAT(buffer->Resize(Pages(1)), IsOk());
  ASSERT_THAT(buffer->ShrinkToFit(), IsOk());
  ASSERT_THAT(buffer->Close(), IsOk());
  EXPECT_EQ(buffer->size(), Bytes(0));
  EXPECT_EQ(buffer->capacity(), Bytes(0));
  ExpectTaken(Bytes(0));
}

TEST_P(GrowableBufferTest, RefusesEveryCallAfterClose) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Buffer buffer, MakeBuffer(8));
  ASSERT_THAT(buffer->Resize(Pages(2)), IsOk());
  ASSERT_THAT(buffer->Close(), IsOk());
  const auto closed = IsError(StatusCode::kFailedPrecondition, HasSubstr("closed"));
  EXPECT_THAT(buffer->Resize(Pages(1)), closed);
  EXPECT_THAT(buffer->Resize(Bytes(0)), closed);
  EXPECT_THAT(buffer->Reserve(Pages(1)), closed);
  EXPECT_THAT(buffer->ShrinkToFit(), closed);
  EXPECT_THAT(buffer->Grant(device(), Access::kRead), closed);
  EXPECT_THAT(buffer->Compact(), closed);
  EXPECT_THAT(buffer->Close(), IsOk());
}

INSTANTIATE_TEST_SUITE_P(On, GrowableBufferTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);
INSTANTIATE_TEST_SUITE_P(On, GrowableBufferWorkTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
