// What is said of calls under work that is queued, and of streams and events.

#include "sim/testing/diagnostics_fixture.h"

namespace twinmmu {
namespace {

using Kind = DiagnosticKind;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Work runs as late as it may.
class PendingWorkTest : public DiagnosticsTest {
 protected:
  PendingWorkTest() : DiagnosticsTest(Deferred()) {}
  static Profile Deferred() {
    Profile profile = Profile::ReferenceH200(2);
    profile.stream_policy = StreamPolicy::kDeferred;
    return profile;
  }
  // Queues a fill of the first bytes of `range`.
  void QueueFill(const AddressRange& range) {
    EXPECT_THAT(executor().Fill(Stream(kDevice0), range.base, {7, Bytes(1)}, 64), IsOk());
  }
};

TEST_F(PendingWorkTest, TellOfAnUnmapUnderIt) {
  const AddressRange range = Ready(1);      // calls 1 to 4
  QueueFill(range);                         // call 5
  EXPECT_THAT(vmm().Unmap(range), IsOk());  // call 6
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUnmapUnderPendingWork), DiagnosticRuleIs("FAULT-5"),
                            DiagnosticSeverityIs(Severity::kError), DiagnosticCallIs("cuMemUnmap"),
                            DiagnosticCallIdIs(6u), DiagnosticDeviceIs(kDevice0),
                            DiagnosticRangeIs(range), Says("is used by work queued by call 5"),
                            History(Contains(Entry(
                                5u, "cuMemsetAsync of " + InWords(At(range.base, Bytes(64))))))));
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), HasDriverCode(DriverCode::kIllegalAddress));
  ASSERT_THAT(Noticed(), SizeIs(2));
  EXPECT_THAT(Noticed()[1],
              AllOf(IsDiagnostic(Kind::kFaultOfQueuedWork), DiagnosticRuleIs("FAULT-5"),
                    DiagnosticCallIs("cuMemsetAsync"), DiagnosticCallIdIs(5u),
                    DiagnosticDeviceIs(kDevice0), DiagnosticRangeIs(At(range.base, Bytes(64))),
                    Says("it was unmapped by call 6"), History(Contains(Entry(6u, "unmapped")))));
}

// What is synchronised is not pending, nor is what uses other memory.
TEST_F(PendingWorkTest, SayNothingOfAnUnmapAfterIt) {
  const AddressRange range = Ready(1);
  const AddressRange other = Ready(1);
  QueueFill(range);
  EXPECT_THAT(vmm().Unmap(other), IsOk());
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(Noticed(), IsEmpty());
}

TEST_F(PendingWorkTest, TellOfAccessLoweredUnderIt) {
  const AddressRange range = Ready(1);         // calls 1 to 4
  QueueFill(range);                            // call 5
  Grant(range, For(kDevice0, Access::kRead));  // call 6
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kAccessLoweredUnderPendingWork),
                            DiagnosticRuleIs("FAULT-6"), DiagnosticCallIs("cuMemSetAccess"),
                            DiagnosticCallIdIs(6u), Says("is used by work queued by call 5")));
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), HasDriverCode(DriverCode::kIllegalAddress));
  ASSERT_THAT(Noticed(), SizeIs(2));
  EXPECT_THAT(Noticed()[1], AllOf(IsDiagnostic(Kind::kFaultOfQueuedWork), Says("is read-only")));
}

// Access that the work does not need may go.
TEST_F(PendingWorkTest, SayNothingOfAccessThatIsNotNeeded) {
  const AddressRange range = Ready(1);
  Grant(range, For(kDevice1, Access::kReadWrite));
  char byte = 0;
  EXPECT_THAT(executor().CopyDeviceToHost(Stream(kDevice0), &byte, range.base, Bytes(1)), IsOk());
  Grant(range, For(kDevice1, Access::kNone));
  Grant(range, For(kDevice0, Access::kRead));
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  EXPECT_THAT(Noticed(), IsEmpty());
}

TEST_F(DiagnosticsTest, TellOfAStreamThatIsGone) {
  const Stream stream = *executor().CreateStream(kDevice1);
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(stream), HasDriverCode(DriverCode::kInvalidHandle));
  EXPECT_THAT(executor().DestroyStream(stream), HasDriverCode(DriverCode::kInvalidHandle));
  const auto gone = AllOf(IsDiagnostic(Kind::kUseOfUnknownStream), DiagnosticDeviceIs(kDevice1),
                          Says("does not exist"));
  EXPECT_THAT(Noticed(), ElementsAre(AllOf(gone, DiagnosticCallIs("cuStreamSynchronize")),
                                     AllOf(gone, DiagnosticCallIs("cuStreamDestroy"))));
}

TEST_F(DiagnosticsTest, TellOfAnEventThatIsGone) {
  const Event event = *executor().CreateEvent(kDevice1);
  EXPECT_THAT(executor().DestroyEvent(event), IsOk());
  EXPECT_THAT(executor().QueryEvent(event), HasDriverCode(DriverCode::kInvalidHandle));
  EXPECT_THAT(executor().DestroyEvent(event), HasDriverCode(DriverCode::kInvalidHandle));
  const auto gone = AllOf(IsDiagnostic(Kind::kUseOfUnknownEvent), DiagnosticDeviceIs(kDevice1),
                          Says("does not exist"));
  EXPECT_THAT(Noticed(), ElementsAre(AllOf(gone, DiagnosticCallIs("cuEventQuery")),
                                     AllOf(gone, DiagnosticCallIs("cuEventDestroy"))));
}

TEST_F(DiagnosticsTest, ListStreamsAndEventsThatAreLeft) {
  const Stream stream = *executor().CreateStream(kDevice1);  // call 1
  const Event event = *executor().CreateEvent(kDevice1);     // call 2
  EXPECT_THAT(simulator_->leaks(),
              ElementsAre(AllOf(IsDiagnostic(Kind::kLeakedStream), DiagnosticCallIdIs(1u),
                                DiagnosticCallIs("cuStreamCreate"), DiagnosticDeviceIs(kDevice1)),
                          AllOf(IsDiagnostic(Kind::kLeakedEvent), DiagnosticCallIdIs(2u),
                                DiagnosticCallIs("cuEventCreate"), DiagnosticDeviceIs(kDevice1))));
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
  EXPECT_THAT(executor().DestroyEvent(event), IsOk());
  EXPECT_THAT(simulator_->leaks(), IsEmpty());
}

}  // namespace
}  // namespace twinmmu
