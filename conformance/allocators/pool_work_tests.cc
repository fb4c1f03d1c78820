// VirtualMemoryPool: memory that goes after work.

#include <functional>
#include <optional>
#include <vector>

#include "api/testing/matchers.h"
#include "conformance/allocators/error_matchers.h"
#include "conformance/allocators/held_executor.h"
#include "conformance/allocators/pool_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

// Has a stream, an event and a pool of 8 pages, the first 4 of which are allocated.
class PoolWorkTest : public PoolTest {
 protected:
  void SetUp() override {
    PoolTest::SetUp();
    executor_.emplace(&executor());
    TWINMMU_ASSERT_OK_AND_ASSIGN(stream_, held().CreateStream(device()));
    TWINMMU_ASSERT_OK_AND_ASSIGN(event_, held().CreateEvent(device()));
    TWINMMU_ASSERT_OK_AND_ASSIGN(pool_,
                                 VirtualMemoryPool::Make(&vmm(), &held(), Pages(8), Granules()));
    ASSERT_THAT(pool_->Allocate(Pages(0), Pages(4)), IsOk());
  }
  void TearDown() override {
    pool_.reset();
    EXPECT_THAT(held().DestroyStream(stream_), IsOk());
    EXPECT_THAT(held().DestroyEvent(event_), IsOk());
    // No work faulted.
    EXPECT_THAT(held().SynchronizeDevice(device()), IsOk());
    PoolTest::TearDown();
  }

  HeldExecutor& held() { return *executor_; }
  Pool& pool() { return pool_; }
  Stream stream() const { return stream_; }
  Event event() const { return event_; }
  // Queues work on `stream` that uses these pages.
  void Use(Stream stream, uint64_t first, uint64_t count) {
    const AddressRange range = RangeOf(pool_, first, count);
    ASSERT_THAT(held().Fill(stream, range.base, FillPattern{1}, range.size.value()), IsOk());
  }
  // Expects that memory of these pages goes when all work is done, and not before.
  void ExpectLeaves(uint64_t pages) {
    EXPECT_EQ(pool_->Stats().leaving, Pages(pages));
    EXPECT_THAT(pool_->Compact(), IsOkAndHolds(Bytes(0)));
    ASSERT_THAT(held().LetGo(device()), IsOk());
    EXPECT_THAT(pool_->Compact(), IsOkAndHolds(Pages(pages)));
    EXPECT_EQ(pool_->Stats().leaving, Bytes(0));
  }

 private:
  std::optional<HeldExecutor> executor_;
  Stream stream_;
  Event event_;
  Pool pool_;
};

TEST_P(PoolWorkTest, TakesMemoryAfterTheWorkOfAStream) {
  held().Hold();
  Use(stream(), 0, 3);
  ASSERT_THAT(pool()->Deallocate(Pages(0), Pages(3), {stream()}), IsOk());
  ExpectLeaves(3);
}

TEST_P(PoolWorkTest, TakesMemoryAfterAnEvent) {
  held().Hold();
  Use(stream(), 0, 3);
  ASSERT_THAT(held().RecordEvent(event(), stream()), IsOk());
  ASSERT_THAT(pool()->Deallocate(Pages(0), Pages(3), {event()}), IsOk());
  ExpectLeaves(3);
}

TEST_P(PoolWorkTest, TakesMemoryAfterAStreamAndAnEvent) {
  held().Hold();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream other, held().CreateStream(device()));
  Use(stream(), 0, 3);
  ASSERT_THAT(held().RecordEvent(event(), stream()), IsOk());
  Use(other, 1, 1);
  ASSERT_THAT(pool()->Deallocate(Pages(0), Pages(3), {other, event()}), IsOk());
  ExpectLeaves(3);
  ASSERT_THAT(held().DestroyStream(other), IsOk());
}

TEST_P(PoolWorkTest, TakesMemoryAfterWorkOfEveryDevice) {
  std::vector<Stream> streams;
  std::vector<LastUse> uses;
  held().Hold();
  for (const DeviceOrdinal by : accessors()) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream stream, held().CreateStream(by));
    ASSERT_THAT(pool()->Grant(by, Access::kReadWrite), IsOk());
    Use(stream, 0, 3);
    streams.push_back(stream);
    uses.push_back(stream);
  }
  ASSERT_THAT(pool()->Deallocate(Pages(0), Pages(3), uses), IsOk());
  for (const DeviceOrdinal by : accessors()) ASSERT_THAT(held().SynchronizeDevice(by), IsOk());
  ExpectLeaves(3);
  for (const Stream stream : streams) ASSERT_THAT(held().DestroyStream(stream), IsOk());
}

TEST_P(PoolWorkTest, ReadsAStreamWhenItIsPassed) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream other, held().CreateStream(device()));
  held().Hold();
  Use(other, 0, 3);
  ASSERT_THAT(pool()->Deallocate(Pages(0), Pages(3), {other}), IsOk());
  ASSERT_THAT(held().DestroyStream(other), IsOk());
  ExpectLeaves(3);
}

TEST_P(PoolWorkTest, ReadsAnEventWhenItIsPassed) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Event other, held().CreateEvent(device()));
  held().Hold();
  Use(stream(), 0, 3);
  ASSERT_THAT(held().RecordEvent(other, stream()), IsOk());
  ASSERT_THAT(pool()->Deallocate(Pages(0), Pages(3), {other}), IsOk());
  ASSERT_THAT(held().DestroyEvent(other), IsOk());
  ExpectLeaves(3);
}

TEST_P(PoolWorkTest, DoesNotMindThatAnEventIsRecordedAnew) {
  Use(stream(), 0, 3);
  ASSERT_THAT(held().RecordEvent(event(), stream()), IsOk());
  ASSERT_THAT(pool()->Deallocate(Pages(0), Pages(3), {event()}), IsOk());
  // It now stands for no work, but the memory is still used.
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream idle, held().CreateStream(device()));
  ASSERT_THAT(held().RecordEvent(event(), idle), IsOk());
  ASSERT_THAT(pool()->Compact(), IsOk());
  ASSERT_THAT(held().SynchronizeDevice(device()), IsOk());
  ASSERT_THAT(held().DestroyStream(idle), IsOk());
}

TEST_P(PoolWorkTest, IsGoneForItsUserAtOnce) {
  held().Hold();
  Use(stream(), 1, 2);
  ASSERT_THAT(pool()->Deallocate(Pages(1), Pages(2), {stream()}), IsOk());
  EXPECT_FALSE(pool()->IsMapped(Pages(1), Pages(1)));
  EXPECT_TRUE(pool()->IsMapped(Pages(0), Pages(1)));
  EXPECT_EQ(pool()->Stats().in_use, Pages(2));
  EXPECT_EQ(pool()->Stats().decommits, 1);
  EXPECT_EQ(pool()->PhysicalMemoryUsage(), Pages(4));
  EXPECT_THAT(pool()->Deallocate(Pages(1), Pages(2)),
              IsError(StatusCode::kNotFound, HasSubstr("is not allocated")));
}

TEST_P(PoolWorkTest, CannotBeAllocatedBeforeTheWorkIsDone) {
  held().Hold();
  Use(stream(), 1, 2);
  ASSERT_THAT(pool()->Deallocate(Pages(0), Pages(4), {stream()}), IsOk());
  const MemoryStats before = pool()->Stats();
  EXPECT_THAT(pool()->Allocate(Pages(3), Pages(2)),
              IsError(StatusCode::kUnavailable,
                      HasSubstr("offset " + ToString(Pages(3)) + ", size " + ToString(Pages(1)))));
  EXPECT_EQ(pool()->Stats().calls, before.calls);
  ASSERT_THAT(held().LetGo(device()), IsOk());
  EXPECT_THAT(pool()->Allocate(Pages(3), Pages(2)), IsOk());
}

TEST_P(PoolWorkTest, GivesPagesToOthersOnceTheWorkIsDone) {
  held().Hold();
  Use(stream(), 0, 4);
  ASSERT_THAT(pool()->Deallocate(Pages(0), Pages(4), {stream()}), IsOk());
  ASSERT_THAT(held().LetGo(device()), IsOk());
  const uint64_t created = pool()->Stats().calls.create;
  ASSERT_THAT(pool()->Allocate(Pages(4), Pages(4)), IsOk());
  EXPECT_EQ(pool()->Stats().calls.create, created);
}

TEST_P(PoolWorkTest, TakesMemoryOfEachRegionByOneUnmap) {
  held().Hold();
  ASSERT_THAT(pool()->Deallocate(Pages(0), Pages(2), {stream()}), IsOk());
  ASSERT_THAT(pool()->Deallocate(Pages(3), Pages(1), {stream()}), IsOk());
  ASSERT_THAT(held().LetGo(device()), IsOk());
  const uint64_t unmaps = pool()->Stats().calls.unmap;
  ASSERT_THAT(pool()->Compact(), IsOk());
  EXPECT_EQ(pool()->Stats().calls.unmap, unmaps + 2);
  EXPECT_TRUE(pool()->IsMapped(Pages(2), Pages(1)));
}

TEST_P(PoolWorkTest, AsksOncePerStreamHoweverMuchIsLeaving) {
  ASSERT_THAT(pool()->Allocate(Pages(4), Pages(4)), IsOk());
  held().Hold();
  for (uint64_t page = 0; page < 7; ++page) {
    ASSERT_THAT(pool()->Deallocate(Pages(page), Pages(1), {stream()}), IsOk());
  }
  const int asked = held().asked();
  ASSERT_THAT(pool()->Deallocate(Pages(7), Pages(1)), IsOk());
  EXPECT_EQ(held().asked(), asked + 1);
  EXPECT_EQ(held().waited(), 0);
  ASSERT_THAT(held().LetGo(device()), IsOk());
  EXPECT_THAT(pool()->Compact(), IsOkAndHolds(Pages(8)));
}

TEST_P(PoolWorkTest, WaitsForTheWorkAtClose) {
  Use(stream(), 0, 4);
  ASSERT_THAT(pool()->Deallocate(Pages(0), Pages(2), {stream()}), IsOk());
  ASSERT_THAT(held().RecordEvent(event(), stream()), IsOk());
  ASSERT_THAT(pool()->Deallocate(Pages(2), Pages(2), {event()}), IsOk());
  EXPECT_THAT(pool()->Close(), IsOk());
  EXPECT_EQ(pool()->PhysicalMemoryUsage(), Bytes(0));
}

TEST_P(PoolWorkTest, WaitsForTheWorkInItsDestructor) {
  Use(stream(), 0, 4);
  ASSERT_THAT(pool()->Deallocate(Pages(0), Pages(4), {stream()}), IsOk());
  pool().reset();
}

TEST_P(PoolWorkTest, NeedsAnExecutorForThat) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool plain,
                               VirtualMemoryPool::Make(&vmm(), nullptr, Pages(2), Granules()));
  ASSERT_THAT(plain->Allocate(Pages(0), Pages(2)), IsOk());
  EXPECT_THAT(plain->Deallocate(Pages(0), Pages(2), {stream()}),
              IsError(StatusCode::kFailedPrecondition, HasSubstr("without an executor")));
  EXPECT_TRUE(plain->IsMapped(Pages(0), Pages(2)));
}

INSTANTIATE_TEST_SUITE_P(On, PoolWorkTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
