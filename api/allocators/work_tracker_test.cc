#include "api/allocators/work_tracker.h"

#include <optional>
#include <vector>

#include "api/testing/matchers.h"
#include "api/testing/mock_executor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using testing::_;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::InSequence;
using testing::IsEmpty;
using testing::Return;

constexpr DeviceOrdinal kDevice0(0);
constexpr DeviceOrdinal kDevice1(1);
// Of the program.
constexpr Stream kStream(kDevice0, 10);
constexpr Stream kOtherStream(kDevice0, 11);
constexpr Event kEvent(kDevice0, 20);
constexpr Event kOtherEvent(kDevice0, 21);
// Of the tracker.
constexpr Event kOwnEvent(kDevice0, 30);
constexpr Event kOwnEvent2(kDevice0, 31);
constexpr Stream kOwnStream(kDevice0, 40);
constexpr Stream kOwnStream2(kDevice0, 41);

absl::Status Refused() {
  return MakeDriverStatus({DriverCode::kOperatingSystem, ErrorOrigin::kDriver, "any"}, "refused");
}

class WorkTrackerTest : public testing::Test {
 protected:
  WorkTrackerTest() { tracker_.emplace(&executor_); }
  // What the tracker made, it destroys.
  ~WorkTrackerTest() override {
    for (const Event event : events_) {
      EXPECT_CALL(executor_, DestroyEvent(event)).WillOnce(Return(absl::OkStatus()));
    }
    for (const Stream stream : streams_) {
      EXPECT_CALL(executor_, DestroyStream(stream)).WillOnce(Return(absl::OkStatus()));
    }
    tracker_.reset();
  }

  MockExecutor& executor() { return executor_; }
  WorkTracker& tracker() { return *tracker_; }
  std::vector<Stream>& busy() { return busy_; }

  void ExpectCreate(Event event) {
    EXPECT_CALL(executor_, CreateEvent(event.device())).WillOnce(Return(event));
    events_.push_back(event);
  }
  void ExpectCreate(Stream stream) {
    EXPECT_CALL(executor_, CreateStream(stream.device())).WillOnce(Return(stream));
    streams_.push_back(stream);
  }
  void ExpectRecord(Event event, Stream stream, absl::Status answer = absl::OkStatus()) {
    EXPECT_CALL(executor_, RecordEvent(event, stream)).WillOnce(Return(answer));
  }
  void ExpectWait(Stream stream, Event event, absl::Status answer = absl::OkStatus()) {
    EXPECT_CALL(executor_, WaitEvent(stream, event)).WillOnce(Return(answer));
  }
  // A mark behind kStream, by `own`.
  WorkTracker::Mark SetBehindStream(Event own) {
    ExpectCreate(own);
    ExpectRecord(own, kStream);
    return tracker().Set({kStream}).value();
  }

 private:
  testing::StrictMock<MockExecutor> executor_;
  std::optional<WorkTracker> tracker_;
  std::vector<Event> events_;
  std::vector<Stream> streams_;
  std::vector<Stream> busy_;
};

TEST_F(WorkTrackerTest, RecordsAnEventBehindAStream) {
  const InSequence in_order;
  WorkTracker::Mark mark = SetBehindStream(kOwnEvent);
  EXPECT_CALL(executor(), QueryEvent(kOwnEvent)).WillOnce(Return(false));
  EXPECT_THAT(tracker().IsOver(mark, busy()), IsOkAndHolds(false));
  busy().clear();
  EXPECT_CALL(executor(), QueryEvent(kOwnEvent)).WillOnce(Return(true));
  EXPECT_THAT(tracker().IsOver(mark, busy()), IsOkAndHolds(true));
  EXPECT_CALL(executor(), SynchronizeEvent(kOwnEvent)).WillOnce(Return(absl::OkStatus()));
  EXPECT_THAT(tracker().Wait(mark), IsOk());
  tracker().Drop(mark);
  EXPECT_THAT(mark, IsEmpty());
}

TEST_F(WorkTrackerTest, LetsAStreamWaitForAnEvent) {
  const InSequence in_order;
  ExpectCreate(kOwnStream);
  ExpectWait(kOwnStream, kEvent);
  TWINMMU_ASSERT_OK_AND_ASSIGN(WorkTracker::Mark mark, tracker().Set({kEvent}));
  EXPECT_CALL(executor(), QueryStream(kOwnStream)).WillOnce(Return(false));
  EXPECT_THAT(tracker().IsOver(mark, busy()), IsOkAndHolds(false));
  EXPECT_CALL(executor(), SynchronizeStream(kOwnStream)).WillOnce(Return(absl::OkStatus()));
  EXPECT_THAT(tracker().Wait(mark), IsOk());
  tracker().Drop(mark);
}

// In one stream, an event that stands for little would wait for one that stands for much.
TEST_F(WorkTrackerTest, LetsEventsNotWaitForEachOther) {
  ExpectCreate(kOwnStream);
  ExpectWait(kOwnStream, kEvent);
  TWINMMU_ASSERT_OK_AND_ASSIGN(WorkTracker::Mark slow, tracker().Set({kEvent}));
  testing::Mock::VerifyAndClearExpectations(&executor());
  ExpectCreate(kOwnStream2);
  ExpectWait(kOwnStream2, kOtherEvent);
  TWINMMU_ASSERT_OK_AND_ASSIGN(WorkTracker::Mark fast, tracker().Set({kOtherEvent}));
  EXPECT_CALL(executor(), QueryStream(kOwnStream)).WillOnce(Return(false));
  EXPECT_CALL(executor(), QueryStream(kOwnStream2)).WillOnce(Return(true));
  EXPECT_THAT(tracker().IsOver(slow, busy()), IsOkAndHolds(false));
  EXPECT_THAT(tracker().IsOver(fast, busy()), IsOkAndHolds(true));
  tracker().Drop(slow);
  tracker().Drop(fast);
}

TEST_F(WorkTrackerTest, IsOverOnlyWhenAllIs) {
  ExpectCreate(kOwnEvent);
  ExpectRecord(kOwnEvent, kStream);
  ExpectCreate(kOwnStream);
  ExpectWait(kOwnStream, kEvent);
  TWINMMU_ASSERT_OK_AND_ASSIGN(WorkTracker::Mark mark, tracker().Set({kStream, kEvent}));
  EXPECT_CALL(executor(), QueryEvent(kOwnEvent)).WillRepeatedly(Return(true));
  EXPECT_CALL(executor(), QueryStream(kOwnStream)).WillOnce(Return(false)).WillOnce(Return(true));
  EXPECT_THAT(tracker().IsOver(mark, busy()), IsOkAndHolds(false));
  EXPECT_THAT(tracker().IsOver(mark, busy()), IsOkAndHolds(true));
  tracker().Drop(mark);
}

TEST_F(WorkTrackerTest, AsksAStreamThatIsBusyNoSecondTime) {
  WorkTracker::Mark first = SetBehindStream(kOwnEvent);
  WorkTracker::Mark second = SetBehindStream(kOwnEvent2);
  EXPECT_CALL(executor(), QueryEvent(kOwnEvent)).WillOnce(Return(false));
  EXPECT_THAT(tracker().IsOver(first, busy()), IsOkAndHolds(false));
  EXPECT_THAT(busy(), ElementsAre(kStream));
  EXPECT_THAT(tracker().IsOver(second, busy()), IsOkAndHolds(false));
  tracker().Drop(first);
  tracker().Drop(second);
}

TEST_F(WorkTrackerTest, AsksOtherStreamsThanTheBusyOne) {
  WorkTracker::Mark mark = SetBehindStream(kOwnEvent);
  busy().push_back(kOtherStream);
  EXPECT_CALL(executor(), QueryEvent(kOwnEvent)).WillOnce(Return(true));
  EXPECT_THAT(tracker().IsOver(mark, busy()), IsOkAndHolds(true));
  tracker().Drop(mark);
}

TEST_F(WorkTrackerTest, UsesWhatItHasAgain) {
  ExpectCreate(kOwnEvent);
  ExpectRecord(kOwnEvent, kStream);
  ExpectCreate(kOwnStream);
  ExpectWait(kOwnStream, kEvent);
  TWINMMU_ASSERT_OK_AND_ASSIGN(WorkTracker::Mark mark, tracker().Set({kStream, kEvent}));
  tracker().Drop(mark);
  ExpectRecord(kOwnEvent, kOtherStream);
  ExpectWait(kOwnStream, kOtherEvent);
  TWINMMU_ASSERT_OK_AND_ASSIGN(mark, tracker().Set({kOtherStream, kOtherEvent}));
  tracker().Drop(mark);
}

TEST_F(WorkTrackerTest, UsesNothingOfAnotherDevice) {
  WorkTracker::Mark mark = SetBehindStream(kOwnEvent);
  tracker().Drop(mark);
  const Event of_device1(kDevice1, 50);
  const Stream on_device1(kDevice1, 51);
  ExpectCreate(of_device1);
  ExpectRecord(of_device1, on_device1);
  TWINMMU_ASSERT_OK_AND_ASSIGN(mark, tracker().Set({on_device1}));
  tracker().Drop(mark);
}

TEST_F(WorkTrackerTest, KeepsWhatIsOfOtherDevices) {
  const Event of_device1(kDevice1, 50);
  const Stream on_device1(kDevice1, 51);
  ExpectCreate(of_device1);
  ExpectRecord(of_device1, on_device1);
  TWINMMU_ASSERT_OK_AND_ASSIGN(WorkTracker::Mark first, tracker().Set({on_device1}));
  WorkTracker::Mark second = SetBehindStream(kOwnEvent);
  tracker().Drop(first);
  tracker().Drop(second);
  ExpectRecord(of_device1, on_device1);
  TWINMMU_ASSERT_OK_AND_ASSIGN(first, tracker().Set({on_device1}));
  ExpectRecord(kOwnEvent, kStream);
  TWINMMU_ASSERT_OK_AND_ASSIGN(second, tracker().Set({kStream}));
  tracker().Drop(first);
  tracker().Drop(second);
}

// What the program recorded itself needs no event of the tracker.
TEST_F(WorkTrackerTest, LetsAStreamWaitForAllWork) {
  ExpectCreate(kOwnEvent);
  ExpectRecord(kOwnEvent, kOtherStream);
  ExpectWait(kStream, kEvent);
  ExpectWait(kStream, kOwnEvent);
  ExpectWait(kStream, kOtherEvent);
  EXPECT_THAT(tracker().LetWait(kStream, {kEvent, kOtherStream, kOtherEvent}), IsOk());
}

TEST_F(WorkTrackerTest, SaysThatAStreamCannotWait) {
  ExpectWait(kStream, kEvent, Refused());
  EXPECT_THAT(tracker().LetWait(kStream, {kEvent, kOtherEvent}),
              HasDriverCode(DriverCode::kOperatingSystem));
}

TEST_F(WorkTrackerTest, LosesNothingWhenAStepFails) {
  ExpectCreate(kOwnEvent);
  ExpectRecord(kOwnEvent, kStream);
  ExpectCreate(kOwnStream);
  ExpectWait(kOwnStream, kEvent, Refused());
  EXPECT_THAT(tracker().Set({kStream, kEvent}), HasDriverCode(DriverCode::kOperatingSystem));
  ExpectRecord(kOwnEvent, kStream, Refused());
  EXPECT_THAT(tracker().Set({kStream}), HasDriverCode(DriverCode::kOperatingSystem));
}

TEST_F(WorkTrackerTest, GivesTheErrorOfWhatItCannotMake) {
  EXPECT_CALL(executor(), CreateEvent(_)).WillOnce(Return(Refused()));
  EXPECT_THAT(tracker().Set({kStream}), HasDriverCode(DriverCode::kOperatingSystem));
  EXPECT_CALL(executor(), CreateStream(_)).WillOnce(Return(Refused()));
  EXPECT_THAT(tracker().Set({kEvent}), HasDriverCode(DriverCode::kOperatingSystem));
}

TEST(WorkTrackerWithoutExecutorTest, KnowsThatNoWorkIsOver) {
  WorkTracker tracker(nullptr);
  TWINMMU_ASSERT_OK_AND_ASSIGN(WorkTracker::Mark mark, tracker.Set({}));
  std::vector<Stream> busy;
  EXPECT_THAT(tracker.IsOver(mark, busy), IsOkAndHolds(true));
  EXPECT_THAT(tracker.Wait(mark), IsOk());
}

TEST(WorkTrackerWithoutExecutorTest, RefusesWork) {
  WorkTracker tracker(nullptr);
  const absl::Status status = tracker.Set({kStream}).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(std::string(status.message()), HasSubstr("Pass one to Make"));
}

TEST(ContextsAreLostTest, IsTrueOfWhatEndsAllWork) {
  for (const DriverCode code : {DriverCode::kIllegalAddress, DriverCode::kContextIsDestroyed}) {
    EXPECT_TRUE(ContextsAreLost(MakeDriverStatus({code, ErrorOrigin::kDriver, "any"}, "refused")));
  }
  for (const DriverCode code : {DriverCode::kOperatingSystem, DriverCode::kInvalidValue}) {
    EXPECT_FALSE(ContextsAreLost(MakeDriverStatus({code, ErrorOrigin::kDriver, "any"}, "refused")));
  }
  EXPECT_FALSE(ContextsAreLost(absl::OkStatus()));
}

TEST(WaitUntilOverTest, IsFalseOnlyWhereNobodyKnows) {
  const auto error = [](DriverCode code) {
    return MakeDriverStatus({code, ErrorOrigin::kDriver, "any"}, "refused");
  };
  MockExecutor executor;
  EXPECT_CALL(executor, SynchronizeStream(kStream))
      .WillOnce(Return(absl::OkStatus()))
      .WillOnce(Return(error(DriverCode::kContextIsDestroyed)))
      .WillOnce(Return(error(DriverCode::kIllegalAddress)))
      .WillOnce(Return(error(DriverCode::kOperatingSystem)));
  EXPECT_TRUE(WaitUntilOver(executor, kStream));
  EXPECT_TRUE(WaitUntilOver(executor, kStream)) << "the contexts are lost";
  EXPECT_TRUE(WaitUntilOver(executor, kStream)) << "the contexts are lost";
  EXPECT_FALSE(WaitUntilOver(executor, kStream));
}

}  // namespace
}  // namespace twinmmu
