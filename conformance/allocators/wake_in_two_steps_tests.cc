// SleepingBuffer::PrepareWake and CancelWake: several buffers wake, or none of them.

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/allocators/memory_stats.h"
#include "api/allocators/paged_reservation.h"
#include "api/allocators/sleeping_buffer.h"
#include "api/testing/matchers.h"
#include "conformance/allocators/fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

class WakeInTwoStepsTest : public AllocatorTest {
 protected:
  PageOptions Options() {
    PageOptions options;
    options.page_size = granule();
    return options;
  }
  // Asleep, with a page of 7 saved.
  absl::StatusOr<std::unique_ptr<SleepingBuffer>> Sleeping() {
    auto buffer = SleepingBuffer::Make(&vmm(), &executor(), granule(), Options());
    if (!buffer.ok()) return buffer;
    absl::Status status = Fill({(*buffer)->address(), granule(), Bytes(0)}, 7);
    status.Update((*buffer)->Sleep(Contents::kSave));
    if (!status.ok()) return status;
    return buffer;
  }
};

TEST_P(WakeInTwoStepsTest, PrepareGetsTheMemoryAndWakeNeedsNoMore) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto buffer, Sleeping());
  ASSERT_THAT(buffer->PrepareWake(), IsOk());
  ASSERT_THAT(buffer->PrepareWake(), IsOk());
  EXPECT_FALSE(buffer->awake());
  EXPECT_TRUE(buffer->saved());
  EXPECT_EQ(buffer->stats().in_use, granule());
  const DriverCallCounts before = buffer->stats().calls;
  ASSERT_THAT(buffer->Wake(), IsOk());
  EXPECT_EQ(buffer->stats().calls, before);
  ExpectFilled({buffer->address(), granule(), Bytes(0)}, 7);
}

TEST_P(WakeInTwoStepsTest, CancelGivesTheMemoryBackAndKeepsWhatWasSaved) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto buffer, Sleeping());
  ASSERT_THAT(buffer->PrepareWake(), IsOk());
  ASSERT_THAT(buffer->CancelWake(), IsOk());
  EXPECT_EQ(buffer->stats().in_use, Bytes(0));
  ASSERT_THAT(executor().SynchronizeDevice(device()), IsOk());
  buffer->Collect();
  EXPECT_EQ(buffer->stats().leaving, Bytes(0));
  EXPECT_THAT(buffer->CancelWake(), IsOk());
  ASSERT_THAT(buffer->Wake(), IsOk());
  ExpectFilled({buffer->address(), granule(), Bytes(0)}, 7);
}

TEST_P(WakeInTwoStepsTest, WorkBeforeTheSleepKeepsItsMemoryThroughBoth) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream stream, executor().CreateStream(device()));
  {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const auto buffer,
                                 SleepingBuffer::Make(&vmm(), &executor(), granule(), Options()));
    // Whoever asks makes a simulator do one piece of it.
    for (int i = 0; i < 100; ++i) {
      ASSERT_THAT(executor().Fill(stream, buffer->address(), FillPattern{1}, 64), IsOk());
    }
    ASSERT_THAT(buffer->Sleep(Contents::kDiscard, {stream}), IsOk());
    ASSERT_THAT(buffer->PrepareWake(), IsOk());
    ASSERT_THAT(buffer->CancelWake(), IsOk());
    ASSERT_THAT(buffer->PrepareWake(), IsOk());
    // Closing waits for it as well.
  }
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
}

TEST_P(WakeInTwoStepsTest, ABufferThatIsAwakeOrClosedRefusesBoth) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto buffer, Sleeping());
  ASSERT_THAT(buffer->Wake(), IsOk());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(buffer->PrepareWake(), StatusIs(absl::StatusCode::kFailedPrecondition));
    EXPECT_THAT(buffer->CancelWake(), StatusIs(absl::StatusCode::kFailedPrecondition));
    ASSERT_THAT(buffer->Close(), IsOk());
  }
}

INSTANTIATE_TEST_SUITE_P(On, WakeInTwoStepsTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
