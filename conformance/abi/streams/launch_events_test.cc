// Events that launches record. Codes, and when events are reached, are those of an H200 with driver
// 580.159.

#include "conformance/abi/streams/launch_events.h"

namespace twinmmu::abi {
namespace {

constexpr auto kIllegalState = static_cast<CUresult>(401);  // CUDA_ERROR_ILLEGAL_STATE

TEST_F(LaunchEventsTest, ACompletionEventIsReachedWhileTheKernelRuns) {
  ASSERT_EQ(Launch(spins_, stream_, {Completion(event_)}, 2), CUDA_SUCCESS);
  EXPECT_EQ(Reached(event_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(event_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  LetEnd();
  EXPECT_EQ(Settled(stream_), CUDA_SUCCESS);
}

TEST_F(LaunchEventsTest, AStreamThatWaitsForACompletionEventGoesOnWhileTheKernelRuns) {
  ASSERT_EQ(Launch(spins_, stream_, {Completion(event_)}), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(other_, event_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(Word(0), 7, 1, other_), CUDA_SUCCESS);
  EXPECT_EQ(Settled(other_), CUDA_SUCCESS);
  EXPECT_EQ(Read(Word(0)), 7u);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
}

// The stream of the second event never had the kernel.
TEST_F(LaunchEventsTest, AnEventOfAStreamThatWaitedForACompletionEventIsReachedToo) {
  ASSERT_EQ(Launch(spins_, stream_, {Completion(event_)}), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(other_, event_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(second_, other_), CUDA_SUCCESS);
  EXPECT_EQ(Reached(second_), CUDA_SUCCESS);
}

TEST_F(LaunchEventsTest, ACompletionEventComesAfterWhatTheStreamHadBefore) {
  ASSERT_EQ(Launch(spins_, stream_, {}), CUDA_SUCCESS);
  ASSERT_EQ(Launch(ends_, stream_, {Completion(event_)}), CUDA_SUCCESS);
  EXPECT_EQ(ReachedSoon(event_), CUDA_ERROR_NOT_READY);
  LetEnd();
  EXPECT_EQ(Reached(event_), CUDA_SUCCESS);
}

TEST_F(LaunchEventsTest, ACompletionEventComesAfterAKernelThatItsOwnRunsBeside) {
  ASSERT_EQ(Launch(triggers_, stream_, {}), CUDA_SUCCESS);
  ASSERT_EQ(Launch(spins_, stream_, {Serialization(), Completion(event_)}), CUDA_SUCCESS);
  EXPECT_EQ(ReachedSoon(event_), CUDA_ERROR_NOT_READY);
  LetEnd();
  EXPECT_EQ(Reached(event_), CUDA_SUCCESS);
}

TEST_F(LaunchEventsTest, AProgrammaticEventIsReachedAtTheEndOfTheKernel) {
  for (const int at_start : {0, 1}) {
    for (void* const kernel : {spins_, triggers_}) {
      host_[0] = 0;
      ASSERT_EQ(Launch(kernel, stream_, {Programmatic(event_, at_start)}), CUDA_SUCCESS);
      EXPECT_EQ(cuStreamWaitEvent(other_, event_, 0), CUDA_SUCCESS);
      EXPECT_EQ(ReachedSoon(event_), CUDA_ERROR_NOT_READY);
      EXPECT_EQ(SettledSoon(other_), CUDA_ERROR_NOT_READY);
      LetEnd();
      EXPECT_EQ(Settled(other_), CUDA_SUCCESS);
      EXPECT_EQ(cuEventQuery(event_), CUDA_SUCCESS);
    }
  }
}

TEST_F(LaunchEventsTest, ALaunchRecordsSeveral) {
  ASSERT_EQ(Launch(triggers_, stream_, {Programmatic(event_), Completion(second_)}), CUDA_SUCCESS);
  EXPECT_EQ(Reached(second_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event_), CUDA_ERROR_NOT_READY);
  LetEnd();
  EXPECT_EQ(Reached(event_), CUDA_SUCCESS);
  EXPECT_EQ(Launch(ends_, stream_, {Completion(event_), Completion(second_)}), CUDA_SUCCESS);
  EXPECT_EQ(Launch(ends_, stream_, {Programmatic(event_), Programmatic(event_)}), CUDA_SUCCESS);
}

TEST_F(LaunchEventsTest, OfOneAttributeTheLastCounts) {
  ASSERT_EQ(Launch(spins_, stream_, {Programmatic(event_), Programmatic(second_)}), CUDA_SUCCESS);
  EXPECT_EQ(ReachedSoon(second_), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuEventQuery(event_), CUDA_SUCCESS);  // never recorded
}

TEST_F(LaunchEventsTest, TheLastRecordOfAnEventCounts) {
  EXPECT_EQ(cuEventRecord(event_, other_), CUDA_SUCCESS);
  ASSERT_EQ(Launch(spins_, stream_, {Programmatic(event_)}), CUDA_SUCCESS);
  EXPECT_EQ(ReachedSoon(event_), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuEventRecord(event_, other_), CUDA_SUCCESS);
  EXPECT_EQ(Reached(event_), CUDA_SUCCESS);
}

TEST_F(LaunchEventsTest, TheDefaultStreamsRecordThemToo) {
  for (const CUstream stream : {CUstream(nullptr), CU_STREAM_PER_THREAD}) {
    EXPECT_EQ(Launch(ends_, stream, {Completion(event_)}), CUDA_SUCCESS);
    EXPECT_EQ(Reached(event_), CUDA_SUCCESS);
  }
}

TEST_F(LaunchEventsTest, EventsAreWithoutTimingAndOfOneProcess) {
  CUevent shared = nullptr;
  ASSERT_EQ(cuEventCreate(&shared, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS), CUDA_SUCCESS);
  for (const CUevent event : {timed_, shared}) {
    EXPECT_EQ(Launch(ends_, stream_, {Completion(event)}), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(Launch(ends_, stream_, {Programmatic(event)}), CUDA_ERROR_NOT_SUPPORTED);
  }
  EXPECT_EQ(cuEventDestroy(shared), CUDA_SUCCESS);
}

TEST_F(LaunchEventsTest, FlagsAreForCaptures) {
  for (const CUevent event : {event_, timed_}) {
    EXPECT_EQ(Launch(ends_, stream_, {Completion(event, kExternal)}), kIllegalState);
    EXPECT_EQ(Launch(ends_, stream_, {Programmatic(event, 0, kExternal)}), kIllegalState);
    for (const int flags : {2, 3}) {
      EXPECT_EQ(Launch(ends_, stream_, {Completion(event, flags)}), CUDA_ERROR_INVALID_VALUE);
      EXPECT_EQ(Launch(ends_, stream_, {Programmatic(event, 0, flags)}), CUDA_ERROR_INVALID_VALUE);
    }
  }
}

TEST_F(LaunchEventsTest, NoEventIsNoHandleWhateverTheFlags) {
  for (const int flags : {0, 1, 2, 3}) {
    EXPECT_EQ(Launch(ends_, stream_, {Completion(nullptr, flags)}), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(Launch(ends_, stream_, {Programmatic(nullptr, 0, flags)}), CUDA_ERROR_INVALID_HANDLE);
  }
}

TEST_F(LaunchEventsTest, DeadEventsAreNoHandles) {
  if (!TraitsOf().survives_bad_pointers) GTEST_SKIP() << "the driver ends the process";
  CUevent dead = nullptr;
  ASSERT_EQ(cuEventCreate(&dead, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(cuEventDestroy(dead), CUDA_SUCCESS);
  EXPECT_EQ(Launch(ends_, stream_, {Completion(dead)}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Launch(ends_, stream_, {Programmatic(dead)}), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(LaunchEventsTest, EventsAreOfTheContextOfTheStream) {
  CUcontext other = nullptr;
  CUevent event = nullptr;
  ASSERT_EQ(cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(Launch(ends_, stream_, {Completion(event)}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Launch(ends_, stream_, {Completion(event, kExternal)}), kIllegalState);
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
}

TEST_F(LaunchEventsTest, AttributesAreLookedAtInTheirOrder) {
  const EventAttribute none = Completion(nullptr);
  const EventAttribute timed = Programmatic(timed_);
  const EventAttribute unknown = {99, 0, nullptr, 0, 0, {}};
  EXPECT_EQ(Launch(ends_, stream_, {none, unknown}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Launch(ends_, stream_, {unknown, none}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Launch(ends_, stream_, {none, timed}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Launch(ends_, stream_, {timed, none}), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(LaunchEventsTest, ALaunchThatIsRefusedRecordsNothing) {
  ASSERT_EQ(Launch(spins_, stream_, {Programmatic(event_)}), CUDA_SUCCESS);
  EXPECT_EQ(Launch(ends_, other_, {Completion(event_)}, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ReachedSoon(event_), CUDA_ERROR_NOT_READY);
}

TEST_F(LaunchEventsTest, OnlyNodesOfGraphsCanBeUpdatable) {
  constexpr int kDeviceUpdatable = 13;  // CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE
  EXPECT_EQ(Launch(ends_, stream_, {{kDeviceUpdatable, 0, nullptr, 0, 0, {}}}),
            CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(LaunchEventsTest, OccupancyLooksAtThemToo) {
  const Function<CUresult(int*, void*, const EventLaunch*)> ask("cuOccupancyMaxActiveClusters");
  const auto asked = [&](EventAttribute attribute) {
    const EventLaunch launch = {{4, 1, 1}, {1, 1, 1}, 0, nullptr, &attribute, 1};
    int count = 0;
    return ask(&count, ends_, &launch);
  };
  EXPECT_EQ(asked(Completion(event_)), CUDA_SUCCESS);
  EXPECT_EQ(asked(Programmatic(event_)), CUDA_SUCCESS);
  EXPECT_EQ(asked(Completion(nullptr)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(asked(Programmatic(timed_, 0, 2)), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace twinmmu::abi
