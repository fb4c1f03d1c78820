// SleepingBuffer: memory that is given back for a while, at an address that stays.

#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "api/allocators/sleeping_buffer.h"
#include "api/testing/fault_injecting.h"
#include "api/testing/forwarding.h"
#include "api/testing/matchers.h"
#include "conformance/allocators/buffer_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

constexpr uint64_t kPages = 3;

class SleepingBufferTest : public BufferTest {
 protected:
  // Of kPages pages, page i filled with i + 1; the last of accessors() may read them.
  std::unique_ptr<SleepingBuffer> MakeFilled() {
    std::unique_ptr<SleepingBuffer> buffer =
        SleepingBuffer::Make(&faulty_vmm(), &faulty_executor(), kPages * granule(), Granules())
            .value();
    WriteAll(*buffer, 1);
    if (Peer() != device()) {
      EXPECT_THAT(buffer->Grant(Peer(), Access::kRead), IsOk());
    }
    return buffer;
  }
  std::unique_ptr<SleepingBuffer> MakeAsleep(Contents contents) {
    std::unique_ptr<SleepingBuffer> buffer = MakeFilled();
    EXPECT_THAT(buffer->Sleep(contents), IsOk());
    return buffer;
  }
  void WriteAll(const SleepingBuffer& buffer, uint8_t first) {
    for (uint64_t i = 0; i < kPages; ++i) Write(Page(buffer.address(), i), first + i);
  }
  // Awake with all its memory and these contents, and the access of MakeFilled.
  void ExpectAwake(const SleepingBuffer& buffer, uint8_t first = 1) {
    EXPECT_TRUE(buffer.awake());
    EXPECT_FALSE(buffer.saved());
    EXPECT_EQ(buffer.stats().in_use, kPages * granule());
    EXPECT_EQ(buffer.stats().leaving, Bytes(0));
    for (uint64_t i = 0; i < kPages; ++i) {
      ExpectHolds(Page(buffer.address(), i), first + i);
      ExpectAccess(Page(buffer.address(), i), device(), Access::kReadWrite);
      if (Peer() != device()) ExpectAccess(Page(buffer.address(), i), Peer(), Access::kRead);
    }
  }
  void ExpectAsleep(SleepingBuffer& buffer, bool saved) {
    // A copy that failed half way may be on its way still.
    EXPECT_THAT(executor().SynchronizeDevice(device()), IsOk());
    buffer.Collect();
    EXPECT_FALSE(buffer.awake());
    EXPECT_EQ(buffer.saved(), saved);
    EXPECT_EQ(buffer.stats().in_use, Bytes(0));
    EXPECT_EQ(buffer.stats().leaving, Bytes(0));
    for (uint64_t i = 0; i < kPages; ++i) ExpectUnmapped(Page(buffer.address(), i));
  }
};

TEST_P(SleepingBufferTest, IsAwakeFromTheStart) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto buffer,
                               SleepingBuffer::Make(&faulty_vmm(), &faulty_executor(),
                                                    2 * granule() + Bytes(1), Granules()));
  EXPECT_EQ(buffer->size(), kPages * granule());
  EXPECT_TRUE(buffer->awake());
  EXPECT_FALSE(buffer->saved());
  EXPECT_EQ(buffer->stats().calls, (DriverCallCounts{kPages, 0, kPages, 0, 1}));
  WriteAll(*buffer, 4);
  for (uint64_t i = 0; i < kPages; ++i) ExpectHolds(Page(buffer->address(), i), 4 + i);
}

TEST_P(SleepingBufferTest, TakesLargePagesUnlessToldOtherwise) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto buffer,
                               SleepingBuffer::Make(&faulty_vmm(), &faulty_executor(), Bytes(1)));
  EXPECT_EQ(buffer->size(), MiB(32));
  EXPECT_EQ(buffer->stats().calls, (DriverCallCounts{1, 0, 1, 0, 1}));
}

TEST_P(SleepingBufferTest, RefusesToBeMadeOfNothing) {
  const auto make = [&](Executor* with, Bytes size, const PageOptions& options) {
    return SleepingBuffer::Make(&faulty_vmm(), with, size, options).status();
  };
  const PageOptions usual;
  EXPECT_THAT(make(nullptr, granule(), usual), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(make(&faulty_executor(), Bytes(0), usual),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(make(&faulty_executor(), Bytes(std::numeric_limits<uint64_t>::max()), usual),
              StatusIs(absl::StatusCode::kInvalidArgument));
  PageOptions on_host;
  on_host.properties.location = Location::Host();
  EXPECT_THAT(make(&faulty_executor(), granule(), on_host),
              StatusIs(absl::StatusCode::kInvalidArgument));
  PageOptions odd;
  odd.page_size = MiB(3);
  EXPECT_THAT(make(&faulty_executor(), granule(), odd),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(SleepingBufferTest, RefusesMemoryOfADeviceThatDoesNotExist) {
  // The driver has an answer even for that.
  ExpectDiagnostics({DiagnosticKind::kGranularityOfImpossible});
  PageOptions nowhere;
  nowhere.properties.location = Location::Device(DeviceOrdinal(99));
  EXPECT_THAT(SleepingBuffer::Make(&faulty_vmm(), &faulty_executor(), granule(), nowhere).status(),
              HasDriverCode(DriverCode::kInvalidDevice));
}

TEST_P(SleepingBufferTest, OutOfMemoryInMakeLeavesNothing) {
  SetMemoryBudget((kPages - 1) * granule());
  EXPECT_THAT(
      SleepingBuffer::Make(&faulty_vmm(), &faulty_executor(), kPages * granule(), Granules()),
      HasDriverError(DriverCode::kOutOfMemory, "cuMemCreate"));
  ExpectTaken(Bytes(0));
}

TEST_P(SleepingBufferTest, SleepGivesTheMemoryBackWhateverTheCacheLimit) {
  PageOptions options;
  options.cache_limit = GiB(1);
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const auto buffer,
      SleepingBuffer::Make(&faulty_vmm(), &faulty_executor(), kPages * granule(), options));
  const DeviceAddress address = buffer->address();
  const DriverCallCounts before = buffer->stats().calls;
  ASSERT_THAT(buffer->Sleep(Contents::kDiscard), IsOk());
  EXPECT_EQ(buffer->stats().calls - before, (DriverCallCounts{0, kPages, 0, 1, 0}));
  ExpectAsleep(*buffer, false);
  EXPECT_EQ(buffer->address(), address);
  EXPECT_EQ(buffer->size(), kPages * granule());
  ExpectTaken(Bytes(0));
}

TEST_P(SleepingBufferTest, WakesAtTheSameAddressWithItsAccess) {
  const auto buffer = MakeAsleep(Contents::kDiscard);
  const DeviceAddress address = buffer->address();
  const DriverCallCounts before = buffer->stats().calls;
  ASSERT_THAT(buffer->Wake(), IsOk());
  EXPECT_EQ(buffer->stats().calls - before, (DriverCallCounts{kPages, 0, kPages, 0, 1}));
  EXPECT_EQ(buffer->address(), address);
  WriteAll(*buffer, 7);
  ExpectAwake(*buffer, 7);
}

TEST_P(SleepingBufferTest, KeepsContentsOnlyIfTheyAreSaved) {
  const auto buffer = MakeAsleep(Contents::kSave);
  EXPECT_TRUE(buffer->saved());
  ExpectAsleep(*buffer, true);
  ExpectTaken(Bytes(0));
  // Somebody else uses the memory meanwhile.
  const auto other = MakeFilled();
  WriteAll(*other, 77);
  ASSERT_THAT(buffer->Wake(), IsOk());
  ExpectAwake(*buffer);
  for (uint64_t i = 0; i < kPages; ++i) ExpectHolds(Page(other->address(), i), 77 + i);
}

TEST_P(SleepingBufferTest, SleepsAndWakesAsOftenAsAsked) {
  const auto buffer = MakeFilled();
  for (uint8_t round = 0; round < 4; ++round) {
    WriteAll(*buffer, 10 * round);
    ASSERT_THAT(buffer->Sleep(Contents::kSave), IsOk());
    ASSERT_THAT(buffer->Wake(), IsOk());
    ExpectAwake(*buffer, 10 * round);
  }
  EXPECT_EQ(buffer->stats().commits, 5U);
  EXPECT_EQ(buffer->stats().decommits, 4U);
  EXPECT_EQ(buffer->stats().peak, kPages * granule());
  ExpectTaken(kPages * granule());
}

TEST_P(SleepingBufferTest, NeitherSleepsNorWakesTwice) {
  const auto buffer = MakeFilled();
  EXPECT_THAT(buffer->Wake(), StatusIs(absl::StatusCode::kFailedPrecondition));
  ExpectAwake(*buffer);
  ASSERT_THAT(buffer->Sleep(Contents::kSave), IsOk());
  EXPECT_THAT(buffer->Sleep(Contents::kSave), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(buffer->Sleep(Contents::kDiscard, {stream()}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  ExpectAsleep(*buffer, true);
  ASSERT_THAT(buffer->Wake(), IsOk());
  ExpectAwake(*buffer);
}

TEST_P(SleepingBufferTest, SavesWhatTheWorkOfAStreamLeaves) {
  const auto buffer = MakeFilled();
  Queue(Page(buffer->address(), 1), 55);
  ASSERT_THAT(buffer->Sleep(Contents::kSave, {stream()}), IsOk());
  EXPECT_FALSE(buffer->awake());
  EXPECT_EQ(buffer->stats().in_use, Bytes(0));
  if (WorkIsLate()) {
    buffer->Collect();
    EXPECT_EQ(buffer->stats().leaving, kPages * granule());
  }
  ExpectAsleep(*buffer, true);
  ExpectTaken(Bytes(0));
  ASSERT_THAT(buffer->Wake(), IsOk());
  ExpectFilled({Page(buffer->address(), 1).base, Bytes(256), Bytes(0)}, 55);
  ExpectHolds(Page(buffer->address(), 2), 3);
}

TEST_P(SleepingBufferTest, SleepsAfterTheWorkThatAnEventStoodForAtTheCall) {
  for (const Contents contents : {Contents::kDiscard, Contents::kSave}) {
    const auto buffer = MakeFilled();
    Queue(Page(buffer->address(), 1), 55);
    TWINMMU_ASSERT_OK_AND_ASSIGN(const Event theirs, executor().CreateEvent(device()));
    ASSERT_THAT(executor().RecordEvent(theirs, stream()), IsOk());
    ASSERT_THAT(buffer->Sleep(contents, {theirs}), IsOk());
    ASSERT_THAT(executor().DestroyEvent(theirs), IsOk());
    buffer->Collect();
    if (WorkIsLate()) {
      EXPECT_EQ(buffer->stats().leaving, kPages * granule());
    }
    ExpectAsleep(*buffer, contents == Contents::kSave);
  }
}

TEST_P(SleepingBufferTest, MemoryThatWaitsForWorkIsKeptWithItsContents) {
  const auto buffer = MakeFilled();
  Queue(Page(buffer->address(), 0), 55);
  const DriverCallCounts before = buffer->stats().calls;
  ASSERT_THAT(buffer->Sleep(Contents::kDiscard, {stream()}), IsOk());
  ASSERT_THAT(buffer->Wake(), IsOk());
  EXPECT_EQ(buffer->stats().calls, before);
  ASSERT_THAT(executor().SynchronizeStream(stream()), IsOk());
  buffer->Collect();
  EXPECT_TRUE(buffer->awake());
  EXPECT_EQ(buffer->stats().in_use, kPages * granule());
  ExpectFilled({Page(buffer->address(), 0).base, Bytes(256), Bytes(0)}, 55);
  ExpectHolds(Page(buffer->address(), 1), 2);
}

TEST_P(SleepingBufferTest, NoCopyIsOnItsWayAfterAnEarlyWake) {
  const auto buffer = MakeFilled();
  Queue(Page(buffer->address(), 0), 55);
  ASSERT_THAT(buffer->Sleep(Contents::kSave, {stream()}), IsOk());
  ASSERT_THAT(buffer->Wake(), IsOk());
  EXPECT_FALSE(buffer->saved());
  ExpectFilled({Page(buffer->address(), 0).base, Bytes(256), Bytes(0)}, 55);
  ExpectHolds(Page(buffer->address(), 2), 3);
  WriteAll(*buffer, 30);
  ASSERT_THAT(executor().SynchronizeDevice(device()), IsOk());
  buffer->Collect();
  ExpectAwake(*buffer, 30);
}

// Counts the events that it is asked for.
class CountingExecutor : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;
  absl::StatusOr<Event> CreateEvent(DeviceOrdinal device) override {
    ++events;
    return ForwardingExecutor::CreateEvent(device);
  }
  int events = 0;
};

TEST_P(SleepingBufferTest, UsesItsEventsAgain) {
  CountingExecutor counting(&executor());
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const auto buffer, SleepingBuffer::Make(&faulty_vmm(), &counting, granule(), Granules()));
  for (int round = 0; round < 20; ++round) {
    Queue(Page(buffer->address(), 0), 1);
    ASSERT_THAT(buffer->Sleep(Contents::kSave, {stream()}), IsOk());
    ASSERT_THAT(buffer->Wake(), IsOk());
  }
  EXPECT_LE(counting.events, 4);
}

TEST_P(SleepingBufferTest, AccessGrantedWhileItSleepsHoldWhenItWakes) {
  const auto buffer = MakeAsleep(Contents::kSave);
  const DriverCallCounts before = buffer->stats().calls;
  ASSERT_THAT(buffer->Grant(Peer(), Access::kReadWrite), IsOk());
  EXPECT_EQ(buffer->stats().calls, before);
  ASSERT_THAT(buffer->Wake(), IsOk());
  for (uint64_t i = 0; i < kPages; ++i) {
    ExpectAccess(Page(buffer->address(), i), Peer(), Access::kReadWrite);
    ExpectHolds(Page(buffer->address(), i), i + 1);
  }
  ASSERT_THAT(buffer->Grant(Peer(), Access::kNone), IsOk());
  ExpectAccess(Page(buffer->address(), 0), Peer(), Access::kNone);
}

TEST_P(SleepingBufferTest, WakesWithContentsOnlyWhereItsDeviceMayWrite) {
  const auto buffer = MakeFilled();
  ASSERT_THAT(buffer->Grant(device(), Access::kRead), IsOk());
  ASSERT_THAT(buffer->Sleep(Contents::kSave), IsOk());
  const uint64_t calls = faults().asked();
  EXPECT_THAT(buffer->Wake(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(faults().asked(), calls);
  ExpectAsleep(*buffer, true);
  ASSERT_THAT(buffer->Grant(device(), Access::kReadWrite), IsOk());
  ASSERT_THAT(buffer->Wake(), IsOk());
  ExpectAwake(*buffer);
}

TEST_P(SleepingBufferTest, SavesContentsOnlyWhereItsDeviceMayRead) {
  const auto buffer = MakeFilled();
  ASSERT_THAT(buffer->Grant(device(), Access::kNone), IsOk());
  const uint64_t calls = faults().asked();
  EXPECT_THAT(buffer->Sleep(Contents::kSave), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(faults().asked(), calls);
  ASSERT_THAT(buffer->Grant(device(), Access::kReadWrite), IsOk());
  ExpectAwake(*buffer);
}

TEST_P(SleepingBufferTest, OutOfMemoryAtAnyPageLeavesItAsleepWithWhatWasSaved) {
  for (const Contents contents : {Contents::kDiscard, Contents::kSave}) {
    const auto buffer = MakeAsleep(contents);
    const uint64_t commits = buffer->stats().commits;
    for (uint64_t pages = 0; pages < kPages; ++pages) {
      SetMemoryBudget(pages * granule());
      EXPECT_THAT(buffer->Wake(), HasDriverError(DriverCode::kOutOfMemory, "cuMemCreate"));
      ExpectAsleep(*buffer, contents == Contents::kSave);
      EXPECT_EQ(buffer->stats().commits, commits);
      ExpectTaken(Bytes(0));
    }
    SetMemoryBudget(kPages * granule());
    ASSERT_THAT(buffer->Wake(), IsOk());
    if (contents == Contents::kDiscard) WriteAll(*buffer, 1);
    ExpectAwake(*buffer);
  }
}

TEST_P(SleepingBufferTest, CloseReturnsEverythingHoweverItSleeps) {
  for (const bool asleep : {false, true}) {
    for (const Contents contents : {Contents::kDiscard, Contents::kSave}) {
      const auto buffer = MakeFilled();
      Queue(Page(buffer->address(), 0), 55);
      if (asleep) {
        ASSERT_THAT(buffer->Sleep(contents, {stream()}), IsOk());
      }
      if (!asleep) {
        ASSERT_THAT(executor().SynchronizeStream(stream()), IsOk());
      }
      ASSERT_THAT(buffer->Close(), IsOk());
      EXPECT_FALSE(buffer->awake());
      EXPECT_FALSE(buffer->saved());
      ExpectTaken(Bytes(0));
    }
  }
}

TEST_P(SleepingBufferTest, ADestructorWaitsForTheCopyThatSaves) {
  auto buffer = MakeFilled();
  Queue(Page(buffer->address(), 0), 55);
  ASSERT_THAT(buffer->Sleep(Contents::kSave, {stream()}), IsOk());
  buffer.reset();
  EXPECT_THAT(executor().SynchronizeDevice(device()), IsOk());
  ExpectTaken(Bytes(0));
}

TEST_P(SleepingBufferTest, DoesNothingOnceItIsClosed) {
  const auto buffer = MakeAsleep(Contents::kSave);
  ASSERT_THAT(buffer->Close(), IsOk());
  EXPECT_THAT(buffer->Close(), IsOk());
  EXPECT_THAT(buffer->Sleep(Contents::kSave), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(buffer->Wake(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(buffer->Grant(device(), Access::kRead),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  buffer->Collect();
}

// --- Any one call fails ------------------------------------------------------------------------

TEST_P(SleepingBufferTest, AFailureInMakeLeavesNothing) {
  FailEachCall([&] {
    absl::StatusOr<std::unique_ptr<SleepingBuffer>> made;
    const absl::Status status = WithFailure([&] {
      made = SleepingBuffer::Make(&faulty_vmm(), &faulty_executor(), 2 * granule(), Granules());
      return made.status();
    });
    if (!status.ok()) ExpectTaken(Bytes(0));
  });
}

TEST_P(SleepingBufferTest, AFailureInSleepLeavesItAwake) {
  for (const Contents contents : {Contents::kDiscard, Contents::kSave}) {
    for (const bool after_work : {false, true}) {
      FailEachCall([&] {
        const auto buffer = MakeFilled();
        std::vector<LastUse> after;
        if (after_work) {
          Queue(Page(buffer->address(), 0), 1);
          ASSERT_THAT(executor().RecordEvent(event(), stream()), IsOk());
          after = {stream(), event()};
        }
        const absl::Status status = WithFailure([&] { return buffer->Sleep(contents, after); });
        if (!status.ok()) {
          ASSERT_THAT(executor().SynchronizeDevice(device()), IsOk());
          ExpectAwake(*buffer);
          ASSERT_THAT(buffer->Sleep(contents, after), IsOk());
        }
        ExpectAsleep(*buffer, contents == Contents::kSave);
        ASSERT_THAT(buffer->Wake(), IsOk());
        if (contents == Contents::kDiscard) WriteAll(*buffer, 1);
        ExpectAwake(*buffer);
      });
    }
  }
}

TEST_P(SleepingBufferTest, AFailureInWakeLeavesItAsleepWithWhatWasSaved) {
  for (const Contents contents : {Contents::kDiscard, Contents::kSave}) {
    FailEachCall([&] {
      const auto buffer = MakeAsleep(contents);
      const MemoryStats before = buffer->stats();
      const absl::Status status = WithFailure([&] { return buffer->Wake(); });
      if (!status.ok()) {
        ExpectAsleep(*buffer, contents == Contents::kSave);
        EXPECT_EQ(buffer->stats().commits, before.commits);
        EXPECT_EQ(buffer->stats().decommits, before.decommits);
        ExpectTaken(Bytes(0));
        ASSERT_THAT(buffer->Wake(), IsOk());
      }
      if (contents == Contents::kDiscard) WriteAll(*buffer, 1);
      ExpectAwake(*buffer);
    });
  }
}

TEST_P(SleepingBufferTest, AFailureInAnEarlyWakeLeavesItAsleepWithWhatWasSaved) {
  FailEachCall([&] {
    const auto buffer = MakeFilled();
    Queue(Page(buffer->address(), 0), 1);
    ASSERT_THAT(buffer->Sleep(Contents::kSave, {stream()}), IsOk());
    const absl::Status status = WithFailure([&] { return buffer->Wake(); });
    if (!status.ok()) {
      ExpectAsleep(*buffer, true);
      ExpectTaken(Bytes(0));
      ASSERT_THAT(buffer->Wake(), IsOk());
    }
    ExpectAwake(*buffer);
  });
}

TEST_P(SleepingBufferTest, AFailureInPrepareWakeLeavesItAsleepWithWhatWasSaved) {
  FailEachCall([&] {
    const auto buffer = MakeAsleep(Contents::kSave);
    const absl::Status status = WithFailure([&] { return buffer->PrepareWake(); });
    if (!status.ok()) {
      ExpectAsleep(*buffer, true);
      ExpectTaken(Bytes(0));
    }
    ASSERT_THAT(buffer->Wake(), IsOk());
    ExpectAwake(*buffer);
  });
}

TEST_P(SleepingBufferTest, AFailureInCancelWakeIsMadeUpForByTheNextOne) {
  FailEachCall([&] {
    const auto buffer = MakeAsleep(Contents::kSave);
    ASSERT_THAT(buffer->PrepareWake(), IsOk());
    const absl::Status status = WithFailure([&] { return buffer->CancelWake(); });
    if (!status.ok()) {
      ASSERT_THAT(buffer->CancelWake(), IsOk());
    }
    ExpectAsleep(*buffer, true);
    // A page whose release was refused is kept for the wake.
    ExpectTaken(buffer->stats().cached);
    ASSERT_THAT(buffer->Wake(), IsOk());
    ExpectAwake(*buffer);
  });
}

TEST_P(SleepingBufferTest, ACloseThatFailsWhileItIsPreparedToWakeForgetsNothing) {
  FailEachCall([&] {
    const auto buffer = MakeAsleep(Contents::kSave);
    ASSERT_THAT(buffer->PrepareWake(), IsOk());
    const absl::Status status = WithFailure([&] { return buffer->Close(); });
    if (!status.ok()) {
      ASSERT_THAT(buffer->Wake(), IsOk());
      ExpectAwake(*buffer);
      ASSERT_THAT(buffer->Close(), IsOk());
    }
    ExpectTaken(Bytes(0));
  });
}

TEST_P(SleepingBufferTest, AFailureInCollectIsMadeUpForByTheNextOneOrByWake) {
  for (const bool wake : {false, true}) {
    FailEachCall([&] {
      const auto buffer = MakeFilled();
      ASSERT_THAT(buffer->Sleep(Contents::kSave, {stream()}), IsOk());
      ASSERT_THAT(executor().SynchronizeDevice(device()), IsOk());
      ASSERT_THAT(WithFailure([&] {
                    buffer->Collect();
                    return absl::OkStatus();
                  }),
                  IsOk());
      EXPECT_FALSE(buffer->awake());
      if (!wake) ExpectAsleep(*buffer, true);
      ASSERT_THAT(buffer->Wake(), IsOk());
      ExpectAwake(*buffer);
    });
  }
}

TEST_P(SleepingBufferTest, AFailureInGrantLeavesTheAccess) {
  FailEachCall([&] {
    const auto buffer = MakeFilled();
    const absl::Status status =
        WithFailure([&] { return buffer->Grant(Peer(), Access::kReadWrite); });
    if (!status.ok()) {
      ExpectAwake(*buffer);
      ASSERT_THAT(buffer->Sleep(Contents::kSave), IsOk());
      ASSERT_THAT(buffer->Wake(), IsOk());
      ExpectAwake(*buffer);
    }
  });
}

TEST_P(SleepingBufferTest, CloseCanBeCalledAgainAfterAFailure) {
  for (const bool asleep : {false, true}) {
    FailEachCall([&] {
      const auto buffer = MakeFilled();
      Queue(Page(buffer->address(), 0), 55);
      if (asleep) {
        ASSERT_THAT(buffer->Sleep(Contents::kSave, {stream()}), IsOk());
      }
      if (!asleep) {
        ASSERT_THAT(executor().SynchronizeStream(stream()), IsOk());
      }
      const absl::Status status = WithFailure([&] { return buffer->Close(); });
      if (!status.ok()) {
        EXPECT_EQ(buffer->awake(), buffer->stats().in_use == kPages * granule());
        EXPECT_EQ(buffer->saved(), asleep);
        ASSERT_THAT(buffer->Close(), IsOk());
      }
      ExpectTaken(Bytes(0));
    });
  }
}

TEST_P(SleepingBufferTest, ItCanBeUsedOnAfterACloseThatFailed) {
  const auto buffer = MakeFilled();
  faults().FailNth(1, DriverCode::kUnknown, {DriverCall::kAddressFree});
  ASSERT_THAT(buffer->Close(), HasDriverError(DriverCode::kUnknown, "cuMemAddressFree"));
  ASSERT_FALSE(buffer->awake());
  ASSERT_THAT(buffer->Wake(), IsOk());
  WriteAll(*buffer, 5);
  ExpectAwake(*buffer, 5);
}

// Copies to host memory wait for Finish, as they do on a device that is busy.
class LateCopyExecutor : public ForwardingExecutor {
 public:
  using ForwardingExecutor::CopyDeviceToHost;
  using ForwardingExecutor::ForwardingExecutor;

  absl::Status CopyDeviceToHost(Stream stream, void* destination, DeviceAddress source,
                                Bytes size) override {
    copy_ = [=] {
      return ForwardingExecutor::CopyDeviceToHost(stream.device(), destination, source, size);
    };
    return absl::OkStatus();
  }
  absl::Status Finish() { return copy_(); }

 private:
  std::function<absl::Status()> copy_;
};

TEST_P(SleepingBufferTest, KeepsHostMemoryThatACopyMayStillWrite) {
  LateCopyExecutor late(&executor());
  FaultInjectingExecutor failing(&late, &faults());
  // So much that malloc maps it, and unmaps it when it is freed: then the copy crashes.
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto buffer,
                               SleepingBuffer::Make(&faulty_vmm(), &failing, MiB(34), Granules()));
  faults().FailEvery(1, DriverCode::kOperatingSystem, {DriverCall::kSynchronizeStream});
  EXPECT_THAT(buffer->Sleep(Contents::kSave),
              HasDriverError(DriverCode::kOperatingSystem, "cuStreamSynchronize"));
  EXPECT_TRUE(buffer->awake());
  EXPECT_FALSE(buffer->saved());
  EXPECT_THAT(late.Finish(), IsOk());
  faults().Clear();
}

INSTANTIATE_TEST_SUITE_P(On, SleepingBufferTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
