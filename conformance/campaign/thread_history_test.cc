// Histories written by hand: which of them an order explains.

#include "conformance/linearizability/thread_history.h"

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "api/testing/forwarding.h"
#include "api/testing/matchers.h"
#include "conformance/instances/random/random_sim.h"
#include "conformance/random/checker.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance::linearizability {
namespace {

using random::Call;
using random::CallKind;
using random::Checker;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What others do while work waits for its turn.
class Interrupted : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;
  absl::Status SynchronizeDevice(DeviceOrdinal device) override {
    if (meanwhile != nullptr) std::exchange(meanwhile, nullptr)();
    return ForwardingExecutor::SynchronizeDevice(device);
  }

  std::function<void()> meanwhile;
};

// One granule, at the reservation in slot 0.
Call OnGranule(CallKind kind) {
  Call call;
  call.kind = kind;
  call.address.slot = 0;
  call.handle.slot = 0;
  call.size.granules = 1;
  return call;
}

Call Grant(Access access) {
  Call call = OnGranule(CallKind::kSetAccess);
  call.grants = {{Location::Device(DeviceOrdinal(0)), access}};
  return call;
}

Call Fill() {
  Call call = OnGranule(CallKind::kFill);
  call.pattern.width = Bytes(1);
  call.count = 8;
  call.stream = random::StreamOperand::kDefault;
  return call;
}

// On a machine whose work runs when somebody waits for it. There is a granule of memory and one of
// addresses.
class ThreadHistoryTest : public testing::Test {
 protected:
  void SetUp() override {
    Profile profile = *Profile::Named("reference");
    ASSERT_THAT(profile.SetStreamPolicy("deferred"), IsOk());
    subject_ = *random::SimSubject(profile)();
    vmm_.emplace(*subject_.driver->vmm());
    interrupted_.emplace(*subject_.driver->executor());
    executor_.emplace(&*interrupted_);
    before_.emplace(&*vmm_, &*executor_, subject_.parameters, false);
    Before(OnGranule(CallKind::kAddressReserve));
    Before(OnGranule(CallKind::kCreate));
  }

  void Before(const Call& call) { ASSERT_EQ(before_->Do(call).difference, ""); }
  void MapBefore() {
    Before(OnGranule(CallKind::kMap));
    Before(Grant(Access::kReadWrite));
  }

  // The call, made now by a thread of its own.
  Operation Make(const Call& call, uint64_t begin, uint64_t end) {
    Operation made{++threads_, call, Tape(), begin, end};
    Checker own = *before_;
    const Tape::Inserted inserted(&made.tape, false);
    own.Do(call);
    return made;
  }
  // A fill during which `call` is made: first the fill, then that call.
  std::vector<Operation> FillDuring(const Call& call) {
    std::vector<Operation> made;
    std::vector<Operation> meanwhile;
    interrupted_->meanwhile = [&] { std::thread([&] { meanwhile = {Make(call, 2, 3)}; }).join(); };
    made.push_back(Make(Fill(), 1, 4));
    made.insert(made.end(), meanwhile.begin(), meanwhile.end());
    return made;
  }

  random::Subject subject_;
  std::optional<TapedVmm> vmm_;
  std::optional<Interrupted> interrupted_;
  std::optional<TapedExecutor> executor_;
  std::optional<Checker> before_;

 private:
  int threads_ = 0;
};

// Memory goes while a fill waits for its turn: the fill was taken before, and faults.
TEST_F(ThreadHistoryTest, AFillFaultsWhoseMemoryIsUnmappedMeanwhile) {
  MapBefore();
  std::vector<Operation> history = FillDuring(OnGranule(CallKind::kUnmap));
  ASSERT_EQ(history[0].tape.codes().back(), DriverCode::kIllegalAddress);
  Orders orders = Explain(*before_, history);
  ASSERT_THAT(orders.ends, SizeIs(1)) << Print(history);
  const std::optional<random::Difference> left = orders.ends[0].CleanUp();
  EXPECT_FALSE(left.has_value()) << left->what;
}

// The same where the memory stays, and only the access goes.
TEST_F(ThreadHistoryTest, AFillFaultsWhoseAccessIsReducedMeanwhile) {
  MapBefore();
  std::vector<Operation> history = FillDuring(Grant(Access::kRead));
  ASSERT_EQ(history[0].tape.codes().back(), DriverCode::kIllegalAddress);
  EXPECT_THAT(Explain(*before_, history).ends, SizeIs(1)) << Print(history);
}

// A fault cannot come of what happens after the call that tells of it.
TEST_F(ThreadHistoryTest, NoFillFaultsWhoseMemoryIsUnmappedLater) {
  MapBefore();
  std::vector<Operation> history = FillDuring(OnGranule(CallKind::kUnmap));
  history[1].begin = 5;
  history[1].end = 6;
  EXPECT_THAT(Explain(*before_, history).ends, IsEmpty()) << Print(history);
}

// Nor is a fill taken whose memory had gone before the call.
TEST_F(ThreadHistoryTest, NoFillFaultsWhoseMemoryWasUnmappedBefore) {
  MapBefore();
  std::vector<Operation> history = FillDuring(OnGranule(CallKind::kUnmap));
  history[0].begin = 5;
  history[0].end = 6;
  EXPECT_THAT(Explain(*before_, history).ends, IsEmpty()) << Print(history);
}

// The machine has faulted, and is otherwise as before: nobody in the history took the memory.
TEST_F(ThreadHistoryTest, NoFillFaultsWhoseMemoryStays) {
  MapBefore();
  std::vector<Operation> history = FillDuring(OnGranule(CallKind::kUnmap));
  history.pop_back();
  Make(OnGranule(CallKind::kMap), 5, 6);
  Make(Grant(Access::kReadWrite), 7, 8);
  EXPECT_THAT(Explain(*before_, history).ends, IsEmpty()) << Print(history);
}

// The orders of ten calls at once are 3.6 million. They meet again where the same calls are done,
// and the state is the same.
TEST_F(ThreadHistoryTest, OrdersThatComeToTheSameAreTriedOnce) {
  std::vector<Operation> history;
  for (uint64_t i = 0; i < 10; ++i) {
    history.push_back(Make(OnGranule(CallKind::kGetMemoryInfo), 1 + i, 11 + i));
  }
  const Orders orders = Explain(*before_, history);
  EXPECT_THAT(orders.ends, SizeIs(1)) << Print(history);
  EXPECT_LE(orders.tried, 10u * 1024);
}

// Of two orders that explain the answers only one ends in the machine's state. Asking whether the
// other does must not change that state.
TEST_F(ThreadHistoryTest, AnOrderThatEndsInAnotherStateLeavesNothingBehind) {
  const Operation unmap = Make(OnGranule(CallKind::kUnmap), 2, 3);
  std::vector<Operation> history = {Make(OnGranule(CallKind::kMap), 1, 4), unmap};
  Orders orders = Explain(*before_, history);
  ASSERT_THAT(orders.ends, SizeIs(1)) << Print(history);
  const std::optional<random::Difference> left = orders.ends[0].CleanUp();
  EXPECT_FALSE(left.has_value()) << left->what;
}

}  // namespace
}  // namespace twinmmu::conformance::linearizability
