// Streams that wait for words of memory: what ends a wait, whoever writes the word; what is
// refused; and waits that nothing will ever end.

#include "sim/calls/executor/memory_operations.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/testing/diagnostic_matchers.h"
#include "sim/calls/executor/host_functions.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Clock = std::chrono::steady_clock;

constexpr char kCall[] = "cuStreamBatchMemOp";

MemoryOperation WaitFor(DeviceAddress address, uint64_t value,
                        MemoryOperation::Condition condition = MemoryOperation::kGreaterOrEqual) {
  MemoryOperation operation;
  operation.address = address;
  operation.width = Bytes(4);
  operation.value = value;
  operation.condition = condition;
  return operation;
}
MemoryOperation WriteOf(DeviceAddress address, uint64_t value) {
  MemoryOperation operation = WaitFor(address, value);
  operation.kind = MemoryOperation::kWrite;
  return operation;
}
MemoryOperation Wide(MemoryOperation operation) {
  operation.width = Bytes(8);
  return operation;
}

Profile WithPolicy(StreamPolicy policy) {
  Profile profile = Profile::ReferenceH200(2);
  profile.stream_policy = policy;
  profile.stream_seed = 5;
  profile.wait_budget_ms = 300;
  return profile;
}

// Words that are 0: of the device, and pinned ones of the host. And two streams.
class MemoryOperationsTest : public MachineTest, public testing::WithParamInterface<StreamPolicy> {
 protected:
  MemoryOperationsTest() : MachineTest(WithPolicy(GetParam())) {}

  void SetUp() override {
    const auto made = linear().Allocate({kDevice0}, Bytes(256));
    ASSERT_THAT(made, IsOk());
    words_ = *made;
    const auto pinned = linear().AllocateHost({kDevice0}, Bytes(256), 0);
    ASSERT_THAT(pinned, IsOk());
    host_ = static_cast<uint32_t*>(*pinned);
    ASSERT_THAT(executor().Fill(kDevice0, words_, {0, Bytes(4)}, 64), IsOk());
    ASSERT_THAT(executor().Fill(kDevice0, OnHost(0), {0, Bytes(4)}, 64), IsOk());
    ASSERT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  }

  absl::Status Submit(Stream stream, const std::vector<MemoryOperation>& operations) {
    return simulator_->memory_operations().Submit(kCall, stream, operations);
  }
  DeviceAddress Word(uint64_t i) const { return words_ + Bytes(8 * i); }
  DeviceAddress OnHost(uint64_t i) const {
    return DeviceAddress(reinterpret_cast<uint64_t>(host_ + 2 * i));
  }
  uint32_t OfHost(uint64_t i) const { return __atomic_load_n(host_ + 2 * i, __ATOMIC_ACQUIRE); }

  DeviceAddress words_;
  uint32_t* host_ = nullptr;
  const Stream a_ = *executor().CreateStream(kDevice0);
  const Stream b_ = *executor().CreateStream(kDevice0);
};

INSTANTIATE_TEST_SUITE_P(Policies, MemoryOperationsTest,
                         testing::Values(StreamPolicy::kEager, StreamPolicy::kDeferred,
                                         StreamPolicy::kSeeded));

TEST(MemoryOperationTest, ConditionsHoldForTheBitsOfTheWord) {
  using Operation = MemoryOperation;
  struct {
    Operation::Condition condition;
    uint64_t word, value;
    bool in_32_bits, in_64_bits;
  } const cases[] = {
      {Operation::kGreaterOrEqual, 5, 5, true, true},
      {Operation::kGreaterOrEqual, 6, 5, true, true},
      {Operation::kGreaterOrEqual, 4, 5, false, false},
      {Operation::kGreaterOrEqual, 0, 0xffff'ffff, true, false},
      {Operation::kGreaterOrEqual, 0, ~uint64_t{0}, true, true},
      {Operation::kGreaterOrEqual, 0x8000'0004, 5, true, true},
      {Operation::kGreaterOrEqual, 0x8000'0005, 5, false, true},
      {Operation::kGreaterOrEqual, 0x8000'0000'0000'0004, 5, false, true},
      {Operation::kGreaterOrEqual, 0x8000'0000'0000'0005, 5, true, false},
      {Operation::kEqual, 5, 5, true, true},
      {Operation::kEqual, 6, 5, false, false},
      {Operation::kEqual, 0x1'0000'0005, 5, true, false},
      {Operation::kAnd, 4, 6, true, true},
      {Operation::kAnd, 1, 6, false, false},
      {Operation::kAnd, 0x1'0000'0000, 0x1'0000'0000, false, true},
      {Operation::kNor, 0xffff'ffff, 0, false, true},
      {Operation::kNor, 0xffff'0000, 0xffff, false, true},
      {Operation::kNor, 0xffff'0000, 0x7fff, true, true},
      {Operation::kNor, ~uint64_t{0} - 1, 1, false, false},
  };
  for (const auto& it : cases) {
    const Operation wait = WaitFor(DeviceAddress(0), it.value, it.condition);
    EXPECT_EQ(wait.HoldsFor(it.word), it.in_32_bits) << it.condition << " " << it.word;
    EXPECT_EQ(Wide(wait).HoldsFor(it.word), it.in_64_bits) << it.condition << " " << it.word;
  }
}

TEST_P(MemoryOperationsTest, WritesAreMadeInOrder) {
  EXPECT_THAT(Submit(a_, {WriteOf(Word(0), 1), Wide(WriteOf(Word(0), uint64_t{7} << 32 | 2)),
                          WriteOf(Word(0), 3)}),
              IsOk());
  EXPECT_THAT(executor().SynchronizeStream(a_), IsOk());
  EXPECT_THAT(Read(kDevice0, Word(0)), IsOkAndHolds(3u));
  EXPECT_THAT(Read(kDevice0, Word(0) + Bytes(4)), IsOkAndHolds(7u));
}

// What is behind it has to wait, and nothing else has.
TEST_P(MemoryOperationsTest, AStreamWaitsUntilAnotherOneWrites) {
  EXPECT_THAT(Submit(a_, {WaitFor(Word(0), 5), WriteOf(Word(1), 1)}), IsOk());
  EXPECT_THAT(executor().Fill(a_, Word(2), {1, Bytes(4)}, 1), IsOk());
  EXPECT_THAT(Submit(b_, {WriteOf(Word(0), 4)}), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(b_), IsOk());
  for (int i = 0; i < 3; ++i) EXPECT_THAT(executor().QueryStream(a_), IsOkAndHolds(false));
  EXPECT_THAT(Read(kDevice0, Word(1)), IsOkAndHolds(0u));
  EXPECT_THAT(Submit(b_, {WriteOf(Word(0), 5)}), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(a_), IsOk());
  EXPECT_THAT(Read(kDevice0, Word(1)), IsOkAndHolds(1u));
  EXPECT_THAT(Read(kDevice0, Word(2)), IsOkAndHolds(1u));
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

TEST_P(MemoryOperationsTest, CopiesAndFillsEndAWait) {
  EXPECT_THAT(Submit(a_, {WaitFor(Word(0), 5), WaitFor(Word(1), 6), WriteOf(Word(2), 1)}), IsOk());
  EXPECT_THAT(executor().Fill(b_, Word(1), {6, Bytes(4)}, 1), IsOk());
  EXPECT_THAT(Write(kDevice0, Word(0), 5), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(a_), IsOk());
  EXPECT_THAT(Read(kDevice0, Word(2)), IsOkAndHolds(1u));
}

TEST_P(MemoryOperationsTest, StreamsOfOtherDevicesEndAWait) {
  const AddressRange shared = Reserve(1);
  MapNew(shared.base, 1);
  Grant(shared, For(kDevice0, Access::kReadWrite));
  Grant(shared, For(kDevice1, Access::kReadWrite));
  const Stream other(kDevice1);
  EXPECT_THAT(Submit(a_, {WaitFor(shared.base, 1)}), IsOk());
  EXPECT_THAT(executor().QueryStream(a_), IsOkAndHolds(false));
  EXPECT_THAT(Submit(other, {WriteOf(shared.base, 1)}), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(a_), IsOk());
}

// No call comes meanwhile, and it does not take long.
TEST_P(MemoryOperationsTest, TheCpuEndsAWait) {
  // Others give turns to what nobody asks for a tenth of a second later.
  const uint32_t rounds = GetParam() == StreamPolicy::kEager ? 20 : 3;
  const Clock::time_point begin = Clock::now();
  for (uint32_t i = 1; i <= rounds; ++i) {
    EXPECT_THAT(Submit(a_, {WaitFor(OnHost(0), i), WriteOf(OnHost(1), i)}), IsOk());
    std::this_thread::sleep_for(milliseconds(1));
    ASSERT_LT(OfHost(1), i);
    const Clock::time_point before = Clock::now();
    __atomic_store_n(host_, i, __ATOMIC_RELEASE);
    while (OfHost(1) != i && Clock::now() < before + milliseconds(2000)) std::this_thread::yield();
    ASSERT_EQ(OfHost(1), i);
  }
  if (GetParam() == StreamPolicy::kEager) {
    EXPECT_LT(Clock::now() - begin, milliseconds(1000));
  }
  EXPECT_THAT(executor().SynchronizeStream(a_), IsOk());
}

// While this one waits in a call: it may not be told that nobody will.
TEST_P(MemoryOperationsTest, AnotherThreadEndsAWait) {
  EXPECT_THAT(Submit(a_, {WaitFor(Word(0), 1)}), IsOk());
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(100));
    EXPECT_THAT(Submit(b_, {WriteOf(Word(0), 1)}), IsOk());
    EXPECT_THAT(executor().SynchronizeStream(b_), IsOk());
  });
  EXPECT_THAT(executor().SynchronizeStream(a_), IsOk());
  other.join();
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

// --- What is refused -----------------------------------------------------------------------------

TEST_P(MemoryOperationsTest, WordsMustBeAligned) {
  const auto refused = [&](const MemoryOperation& operation) {
    EXPECT_THAT(Submit(a_, {WriteOf(Word(0), 9), operation}),
                HasDriverCode(DriverCode::kInvalidValue));
  };
  for (const uint64_t offset : {1, 2, 3}) {
    refused(WaitFor(Word(1) + Bytes(offset), 0));
    refused(WriteOf(Word(1) + Bytes(offset), 0));
  }
  for (const uint64_t offset : {1, 2, 4}) {
    refused(Wide(WaitFor(Word(1) + Bytes(offset), 0)));
    refused(Wide(WriteOf(Word(1) + Bytes(offset), 0)));
  }
  EXPECT_THAT(executor().SynchronizeStream(a_), IsOk());
  EXPECT_THAT(Read(kDevice0, Word(0)), IsOkAndHolds(0u)) << "all of it is refused";
}

TEST_P(MemoryOperationsTest, WordsMustBeThere) {
  const AddressRange reserved = Reserve(1);
  const DeviceAddress last = Word(31);
  for (const DeviceAddress address : {DeviceAddress(0), DeviceAddress(4096), reserved.base,
                                      last + Bytes(8), DeviceAddress(~uint64_t{7})}) {
    EXPECT_THAT(Submit(a_, {WaitFor(address, 0)}), HasDriverCode(DriverCode::kInvalidValue));
    EXPECT_THAT(Submit(a_, {WriteOf(address, 0)}), HasDriverCode(DriverCode::kInvalidValue));
  }
  EXPECT_THAT(Submit(a_, {Wide(WriteOf(last, 1))}), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(a_), IsOk());
}

TEST_P(MemoryOperationsTest, WordsNeedAccess) {
  const AddressRange range = Ready(1);
  Grant(range, For(kDevice0, Access::kNone));
  EXPECT_THAT(Submit(a_, {WaitFor(range.base, 0)}), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Submit(a_, {WriteOf(range.base, 0)}), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_EQ(simulator_->CountOf(DiagnosticKind::kUseAfterAccessTaken), 2u);
}

TEST_P(MemoryOperationsTest, AWordThatCannotBeWrittenIsAFaultOfAWriteOnly) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(executor().Fill(kDevice0, range.base, {0, Bytes(4)}, 2), IsOk());
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  Grant(range, For(kDevice0, Access::kRead));
  EXPECT_THAT(Submit(b_, {WaitFor(range.base, 1)}), IsOk());
  EXPECT_THAT(executor().QueryStream(b_), IsOkAndHolds(false));
  EXPECT_THAT(Submit(a_, {WaitFor(range.base, 0)}), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(a_), IsOk());
  EXPECT_THAT(Submit(a_, {WriteOf(range.base, 1)}), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(a_), HasDriverCode(DriverCode::kLaunchFailed));
  EXPECT_THAT(simulator_->diagnostics(),
              ElementsAre(IsDiagnostic(DiagnosticKind::kFaultOfQueuedWork)));
}

// It is taken, as a driver does, and said.
TEST_P(MemoryOperationsTest, AWordMayEndBehindItsAllocation) {
  const auto small = linear().Allocate({kDevice0}, Bytes(4));
  ASSERT_THAT(small, IsOk());
  EXPECT_THAT(Submit(a_, {WriteOf(*small, 1)}), IsOk());
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
  EXPECT_THAT(Submit(a_, {Wide(WriteOf(*small, 1)), Wide(WaitFor(*small, 1))}), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(a_), IsOk());
  EXPECT_EQ(simulator_->CountOf(DiagnosticKind::kUseBeyondMemory), 2u);
}

TEST_P(MemoryOperationsTest, LinearMemoryOfAnotherDeviceNeedsPeerAccess) {
  const Stream other(kDevice1);
  EXPECT_THAT(Submit(other, {WaitFor(Word(0), 0)}), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(linear().EnablePeerAccess({kDevice1}, kDevice0), IsOk());
  EXPECT_THAT(Submit(other, {WaitFor(Word(0), 0), WriteOf(Word(0), 3)}), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(other), IsOk());
  EXPECT_THAT(Read(kDevice0, Word(0)), IsOkAndHolds(3u));
}

TEST_P(MemoryOperationsTest, TheStreamMustBeThere) {
  EXPECT_THAT(Submit(Stream(kDevice0, 12345), {WriteOf(Word(0), 1)}),
              HasDriverCode(DriverCode::kInvalidHandle));
}

// It is a fault, as for any queued work.
TEST_P(MemoryOperationsTest, AWordMustStayThere) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(executor().Fill(kDevice0, range.base, {0, Bytes(4)}, 1), IsOk());
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  EXPECT_THAT(Submit(a_, {WaitFor(range.base, 1)}), IsOk());
  EXPECT_THAT(executor().QueryStream(a_), IsOkAndHolds(false));
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(a_), HasDriverCode(DriverCode::kLaunchFailed));
}

// To unmap a word that is queued, or to take access to it away, is told with the device and the
// call that queued it. A wait need not write.
TEST_P(MemoryOperationsTest, AQueuedWordIsToldWhereItGoes) {
  const AddressRange waited = Ready(1);
  const AddressRange written = Ready(1);
  for (const AddressRange& range : {waited, written}) {
    EXPECT_THAT(executor().Fill(kDevice0, range.base, {0, Bytes(4)}, 4), IsOk());
    EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
    Grant(range, For(kDevice1, Access::kReadWrite));
  }
  const Stream other(kDevice1);
  EXPECT_THAT(Submit(other, {WaitFor(waited.base, 1), WriteOf(written.base + Bytes(8), 2)}),
              IsOk());
  EXPECT_THAT(executor().QueryStream(other), IsOkAndHolds(false));
  Grant(waited, For(kDevice1, Access::kRead));
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
  Grant(written, For(kDevice1, Access::kRead));
  EXPECT_THAT(vmm().Unmap(waited), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(other), HasDriverCode(DriverCode::kLaunchFailed));
  const std::vector<Diagnostic> noticed = simulator_->diagnostics();
  ASSERT_THAT(noticed, ElementsAre(IsDiagnostic(DiagnosticKind::kAccessLoweredUnderPendingWork),
                                   IsDiagnostic(DiagnosticKind::kUnmapUnderPendingWork),
                                   IsDiagnostic(DiagnosticKind::kFaultOfQueuedWork)));
  const uint64_t wait = noticed[2].call_id;  // and the write behind it is the next
  const auto names = [](uint64_t call) {
    return AllOf(DiagnosticDeviceIs(kDevice1),
                 DiagnosticMessageIs(HasSubstr(absl::StrCat("by work queued by call ", call))));
  };
  EXPECT_THAT(noticed[0], names(wait + 1));
  EXPECT_THAT(noticed[1], names(wait));
}

// --- Waits that nothing ends ---------------------------------------------------------------------

// At once, if this is the only thread: a sanitizer has one of its own, which might do anything.
TEST_P(MemoryOperationsTest, AWaitThatNothingWillEndIsATimeout) {
  EXPECT_THAT(Submit(a_, {WaitFor(Word(0), 5)}), IsOk());
  const std::filesystem::directory_iterator threads("/proc/self/task");
  const bool alone = std::distance(begin(threads), end(threads)) == 2;  // and the machine's
  const std::string how = alone ? "nothing else can write them" : "the wait_budget_ms";
  EXPECT_THAT(Submit(a_, {WriteOf(Word(0), 5)}), IsOk()) << "which is behind it";
  EXPECT_THAT(executor().SynchronizeStream(a_), HasDriverCode(DriverCode::kLaunchTimeout));
  EXPECT_THAT(simulator_->diagnostics(),
              ElementsAre(AllOf(IsDiagnostic(DiagnosticKind::kEndlessWait),
                                DiagnosticMessageIs(AllOf(HasSubstr(" to reach 5, but they are 0"),
                                                          HasSubstr(how))))));
  EXPECT_THAT(executor().SynchronizeStream(b_), HasDriverCode(DriverCode::kLaunchTimeout));
}

// The thread that calls the program's functions is the simulator's own.
TEST_P(MemoryOperationsTest, AThreadThatCallsFunctionsEndsNoWait) {
  EXPECT_THAT(simulator_->host_functions().Submit("a test", a_, [](DriverCode) {}), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(a_), IsOk());
  EXPECT_THAT(Submit(a_, {WaitFor(Word(0), 5)}), IsOk());
  const std::filesystem::directory_iterator threads("/proc/self/task");
  if (std::distance(begin(threads), end(threads)) != 3) GTEST_SKIP() << "a sanitizer has another";
  EXPECT_THAT(executor().SynchronizeStream(a_), HasDriverCode(DriverCode::kLaunchTimeout));
  EXPECT_THAT(simulator_->diagnostics(),
              ElementsAre(AllOf(IsDiagnostic(DiagnosticKind::kEndlessWait),
                                DiagnosticMessageIs(HasSubstr("nothing else can write them")))));
}

TEST_P(MemoryOperationsTest, StreamsThatWaitForEachOtherWaitForever) {
  EXPECT_THAT(Submit(a_, {WaitFor(Word(0), 1), WriteOf(Word(1), 1)}), IsOk());
  EXPECT_THAT(Submit(b_, {WaitFor(Word(1), 1), WriteOf(Word(0), 1)}), IsOk());
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), HasDriverCode(DriverCode::kLaunchTimeout));
  EXPECT_EQ(simulator_->CountOf(DiagnosticKind::kEndlessWait), 1u);
}

// Only time can tell where others can write the word.
TEST_P(MemoryOperationsTest, AWaitForTheCpuIsATimeoutWhenItsTimeIsOver) {
  EXPECT_THAT(Submit(a_, {WaitFor(OnHost(0), 5)}), IsOk());
  const Clock::time_point before = Clock::now();
  EXPECT_THAT(executor().SynchronizeStream(a_), HasDriverCode(DriverCode::kLaunchTimeout));
  EXPECT_GE(Clock::now() - before, milliseconds(profile().wait_budget_ms));
  EXPECT_THAT(
      simulator_->diagnostics(),
      ElementsAre(AllOf(IsDiagnostic(DiagnosticKind::kEndlessWait),
                        DiagnosticMessageIs(HasSubstr("the wait_budget_ms of the profile")))));
}

// As long as the program does something else, a stream may wait.
TEST_P(MemoryOperationsTest, TheProgramMayTakeItsTime) {
  EXPECT_THAT(Submit(a_, {WaitFor(OnHost(0), 5)}), IsOk());
  std::this_thread::sleep_for(milliseconds(2 * profile().wait_budget_ms));
  EXPECT_THAT(executor().QueryStream(a_), IsOkAndHolds(false));
  __atomic_store_n(host_, 5, __ATOMIC_RELEASE);
  EXPECT_THAT(executor().SynchronizeStream(a_), IsOk());
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

// Memory that was made to be shared is written by whoever has it.
TEST_P(MemoryOperationsTest, MemoryForOtherProcessesNeedsTime) {
  const AddressRange range = Ready(1, Shareable());
  EXPECT_THAT(executor().Fill(kDevice0, range.base, {0, Bytes(4)}, 1), IsOk());
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  EXPECT_THAT(Submit(a_, {WaitFor(range.base, 5)}), IsOk());
  const Clock::time_point before = Clock::now();
  EXPECT_THAT(executor().SynchronizeStream(a_), HasDriverCode(DriverCode::kLaunchTimeout));
  EXPECT_GE(Clock::now() - before, milliseconds(profile().wait_budget_ms));
}

}  // namespace
}  // namespace twinmmu
