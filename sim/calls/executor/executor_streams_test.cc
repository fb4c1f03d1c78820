// Work that runs later than it was asked for: its order, its faults, and the memory that it finds.

#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "sim/calls/executor/host_functions.h"
#include "sim/calls/executor/memory_operations.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

constexpr auto kFault = DriverCode::kIllegalAddress;

Profile WithPolicy(StreamPolicy policy, uint64_t seed = 0) {
  Profile profile = Profile::ReferenceH200(2);
  profile.stream_policy = policy;
  profile.stream_seed = seed;
  return profile;
}

// A machine that runs nothing before it must, and a granule of it to work in.
class DeferredTest : public MachineTest {
 protected:
  DeferredTest() : MachineTest(WithPolicy(StreamPolicy::kDeferred)) {}

  absl::Status FillWord(Stream stream, DeviceAddress address, uint32_t value) {
    return executor().Fill(stream, address, {value, Bytes(4)}, 1);
  }
  void ExpectRuined(DeviceOrdinal device) {
    uint32_t word = 0;
    EXPECT_THAT(executor().SynchronizeDevice(device), HasDriverCode(kFault));
    EXPECT_THAT(executor().SynchronizeStream(Stream(device)), HasDriverCode(kFault));
    EXPECT_THAT(executor().QueryStream(Stream(device)), HasDriverCode(kFault));
    EXPECT_THAT(executor().CopyDeviceToHost(device, &word, range_.base, Bytes(4)),
                HasDriverCode(kFault));
    EXPECT_THAT(executor().Fill(Stream(device), range_.base, {}, 4), HasDriverCode(kFault));
    EXPECT_THAT(executor().CreateStream(device), HasDriverCode(kFault));
    EXPECT_THAT(executor().CreateEvent(device), HasDriverCode(kFault));
    EXPECT_THAT(vmm().GetMemoryInfo(device), HasDriverCode(kFault));
    EXPECT_THAT(vmm().GetAddressRange(device, range_.base), HasDriverCode(kFault));
  }

  const AddressRange range_ = Ready(1);
  const Stream stream_ = *executor().CreateStream(kDevice0);
};

// A created stream does not wait for the default stream, nor does that one wait for it.
TEST_F(DeferredTest, RunsWhatIsSynchronised) {
  EXPECT_THAT(FillWord(Stream(kDevice0), range_.base, 1), IsOk());
  EXPECT_THAT(FillWord(stream_, range_.base + Bytes(4), 2), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(stream_), IsOk());
  EXPECT_THAT(executor().QueryStream(stream_), IsOkAndHolds(true));
  EXPECT_THAT(executor().QueryStream(Stream(kDevice0)), IsOkAndHolds(false));
  EXPECT_THAT(FillWord(stream_, range_.base, 3), IsOk());
  EXPECT_THAT(Read(kDevice0, range_.base), IsOkAndHolds(1u));
  EXPECT_THAT(Read(kDevice0, range_.base + Bytes(4)), IsOkAndHolds(2u));
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  EXPECT_THAT(Read(kDevice0, range_.base), IsOkAndHolds(3u));
}

// The default stream is the same under all its names, and that of calls without a stream.
TEST_F(DeferredTest, HasOneDefaultStream) {
  EXPECT_THAT(executor().Fill(kDevice0, range_.base, {1, Bytes(4)}, 1), IsOk());
  for (const uint64_t name : {0, 1, 2}) {
    const Stream stream(kDevice0, name);
    EXPECT_THAT(
        executor().CopyDeviceToDevice(stream, range_.base + Bytes(4), range_.base, Bytes(4)),
        IsOk());
    EXPECT_THAT(FillWord(stream, range_.base, static_cast<uint32_t>(name) + 2), IsOk());
  }
  EXPECT_THAT(Read(kDevice0, range_.base + Bytes(4)), IsOkAndHolds(3u));
}

// The memory of the host is read and written when the work runs, not at the call.
TEST_F(DeferredTest, UsesHostMemoryWhenItRuns) {
  uint32_t sent = 1;
  uint32_t received = 0;
  EXPECT_THAT(executor().CopyHostToDevice(stream_, range_.base, &sent, Bytes(4)), IsOk());
  EXPECT_THAT(executor().CopyDeviceToHost(stream_, &received, range_.base, Bytes(4)), IsOk());
  sent = 2;
  EXPECT_EQ(received, 0u);
  EXPECT_THAT(executor().SynchronizeStream(stream_), IsOk());
  EXPECT_EQ(received, 2u);
}

// Queued work does not outlive the machine, and its host memory is left alone.
TEST_F(DeferredTest, DropsWorkWithTheMachine) {
  uint32_t received = 7;
  EXPECT_THAT(executor().CopyDeviceToHost(stream_, &received, range_.base, Bytes(4)), IsOk());
  simulator_.reset();
  EXPECT_EQ(received, 7u);
}

// An event stands for the work before its last record; a wait keeps to the record that it found.
TEST_F(DeferredTest, EventsStandForTheirLastRecord) {
  const Event event = *executor().CreateEvent(kDevice0);
  const Stream reader = *executor().CreateStream(kDevice0);
  EXPECT_THAT(FillWord(stream_, range_.base, 1), IsOk());
  EXPECT_THAT(executor().RecordEvent(event, stream_), IsOk());
  EXPECT_THAT(executor().WaitEvent(reader, event), IsOk());
  EXPECT_THAT(FillWord(stream_, range_.base, 2), IsOk());
  EXPECT_THAT(executor().RecordEvent(event, stream_), IsOk());
  EXPECT_THAT(FillWord(stream_, range_.base, 3), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(reader), IsOk());
  EXPECT_THAT(Read(kDevice0, range_.base), IsOkAndHolds(1u));
  EXPECT_THAT(executor().QueryEvent(event), IsOkAndHolds(false));
  EXPECT_THAT(executor().SynchronizeEvent(event), IsOk());
  EXPECT_THAT(executor().QueryEvent(event), IsOkAndHolds(true));
  EXPECT_THAT(Read(kDevice0, range_.base), IsOkAndHolds(2u));
}

// A stream of one device waits for an event of the other, also where stream and event are gone.
TEST_F(DeferredTest, WaitsAcrossDevices) {
  Grant(range_, For(kDevice1, Access::kReadWrite));
  const Event event = *executor().CreateEvent(kDevice0);
  EXPECT_THAT(FillWord(stream_, range_.base, 5), IsOk());
  EXPECT_THAT(executor().RecordEvent(event, stream_), IsOk());
  EXPECT_THAT(executor().WaitEvent(Stream(kDevice1), event), IsOk());
  EXPECT_THAT(executor().DestroyEvent(event), IsOk());
  EXPECT_THAT(executor().DestroyStream(stream_), IsOk());
  EXPECT_THAT(Read(kDevice1, range_.base), IsOkAndHolds(5u));
}

// Memory that is gone when the work runs is a fault: at the next synchronise, and for good, but
// calls on virtual memory go on. It ends the context of the other device too.
TEST_F(DeferredTest, FaultsWhereMemoryIsGone) {
  EXPECT_THAT(FillWord(stream_, range_.base, 1), IsOk());
  const AllocationHandle handle = *vmm().RetainAllocationHandle(range_.base);
  EXPECT_THAT(vmm().Unmap(range_), IsOk());
  const absl::Status status = executor().SynchronizeStream(stream_);
  EXPECT_THAT(status, HasDriverCode(kFault));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("cuMemsetAsync"));
  EXPECT_THAT(vmm().Map(range_, handle), IsOk());
  Grant(range_, For(kDevice0, Access::kReadWrite));
  Grant(range_, For(kDevice1, Access::kReadWrite));
  ExpectRuined(kDevice0);
  ExpectRuined(kDevice1);
}

// Access that was lowered is a fault too, for the source as for the destination.
TEST_F(DeferredTest, FaultsWhereAAccessIsLowered) {
  Grant(range_, For(kDevice1, Access::kReadWrite));
  uint32_t word = 6;
  EXPECT_THAT(FillWord(stream_, range_.base, 1), IsOk());
  EXPECT_THAT(executor().CopyDeviceToHost(Stream(kDevice1), &word, range_.base, Bytes(4)), IsOk());
  Grant(range_, For(kDevice0, Access::kRead));
  Grant(range_, For(kDevice1, Access::kNone));
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), HasDriverCode(kFault));
  EXPECT_THAT(executor().SynchronizeDevice(kDevice1), HasDriverCode(kFault));
  EXPECT_EQ(word, 6u);
}

// Work behind a fault does not run any more, on no stream of the device.
TEST_F(DeferredTest, RunsNothingAfterAFault) {
  const AddressRange other = Ready(1);
  const Stream second = *executor().CreateStream(kDevice0);
  uint32_t behind = 7;
  uint32_t beside = 7;
  EXPECT_THAT(FillWord(stream_, range_.base, 1), IsOk());
  EXPECT_THAT(executor().CopyDeviceToHost(stream_, &behind, other.base, Bytes(4)), IsOk());
  EXPECT_THAT(executor().CopyDeviceToHost(second, &beside, other.base, Bytes(4)), IsOk());
  EXPECT_THAT(vmm().Unmap(range_), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(stream_), HasDriverCode(kFault));
  EXPECT_THAT(executor().SynchronizeStream(second), HasDriverCode(kFault));
  EXPECT_EQ(behind, 7u);
  EXPECT_EQ(beside, 7u);
}

// What waits for an event of a device that has a fault does not wait for ever.
TEST_F(DeferredTest, AFaultEndsWaits) {
  const AddressRange other = Reserve(1);
  MapNew(other.base, 1);
  Grant(other, For(kDevice1, Access::kReadWrite));
  const Event event = *executor().CreateEvent(kDevice0);
  EXPECT_THAT(FillWord(stream_, range_.base, 1), IsOk());
  EXPECT_THAT(executor().RecordEvent(event, stream_), IsOk());
  EXPECT_THAT(executor().WaitEvent(Stream(kDevice1), event), IsOk());
  EXPECT_THAT(FillWord(Stream(kDevice1), other.base, 2), IsOk());
  EXPECT_THAT(vmm().Unmap(range_), IsOk());
  EXPECT_THAT(executor().SynchronizeDevice(kDevice1), HasDriverCode(kFault));
  EXPECT_THAT(executor().SynchronizeEvent(event), HasDriverCode(kFault));
}

// A function that was called before the fault may still use what the program has.
TEST_F(DeferredTest, AContextEndsAfterAFunctionThatAFaultFinds) {
  std::atomic<bool> begun = false;
  std::atomic<bool> go = false;
  std::atomic<bool> ended = false;
  const auto function = [&](DriverCode) {
    begun = true;
    while (!go) std::this_thread::yield();
    ended = true;
  };
  ASSERT_THAT(simulator_->host_functions().Submit("a test", stream_, function), IsOk());
  while (!begun) std::this_thread::yield();
  // The thread that calls the function may run other streams, too: this one waits for the unmap.
  const Stream other = *executor().CreateStream(kDevice0);
  const AddressRange flag = Ready(1);
  MemoryOperation wait;
  wait.address = flag.base;
  wait.width = Bytes(4);
  wait.value = 1;
  EXPECT_THAT(simulator_->memory_operations().Submit("a test", other, {&wait, 1}), IsOk());
  EXPECT_THAT(FillWord(other, range_.base, 1), IsOk());
  EXPECT_THAT(vmm().Unmap(range_), IsOk());
  EXPECT_THAT(FillWord(*executor().CreateStream(kDevice0), flag.base, 1), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(other), HasDriverCode(kFault));
  std::thread lets([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    go = true;
  });
  EXPECT_THAT(linear().FreeOwnedBy(5), IsOk());
  EXPECT_TRUE(ended);
  lets.join();
}

// Addresses are translated when the work runs: what is mapped there by then is what it uses.
TEST_F(DeferredTest, TranslatesWhenItRuns) {
  const AllocationHandle old = *vmm().RetainAllocationHandle(range_.base);
  EXPECT_THAT(FillWord(stream_, range_.base, 1), IsOk());
  EXPECT_THAT(vmm().Unmap(range_), IsOk());
  MapNew(range_.base, 1);
  Grant(range_, For(kDevice0, Access::kReadWrite));
  EXPECT_THAT(executor().SynchronizeStream(stream_), IsOk());
  EXPECT_THAT(Read(kDevice0, range_.base), IsOkAndHolds(1u));
  const AddressRange again = Reserve(1);
  EXPECT_THAT(vmm().Map(again, old), IsOk());
  Grant(again, For(kDevice0, Access::kRead));
  EXPECT_THAT(Read(kDevice0, again.base), IsOkAndHolds(0u));
}

// A host pointer into the window that the CPU may no longer use is a fault, not a crash.
TEST_F(DeferredTest, FaultsWhereTheHostLostItsAccess) {
  if (!profile().window.claimed) GTEST_SKIP() << "needs a claimed window";
  const AddressRange host = Reserve(1);
  MapNew(host.base, 1, On(Location::Host()));
  Grant(host, ForHost(Access::kReadWrite));
  EXPECT_THAT(executor().CopyDeviceToHost(stream_, reinterpret_cast<void*>(host.base.value()),
                                          range_.base, Bytes(4)),
              IsOk());
  Grant(host, ForHost(Access::kNone));
  EXPECT_THAT(executor().SynchronizeStream(stream_), HasDriverCode(kFault));
}

// A random program of several streams, each with a slot of memory. A stream fills its slot, or
// copies another's into it, which events order both ways. Returns what the slots hold in the end.
std::vector<uint32_t> RunProgram(uint64_t program, const Profile& profile) {
  constexpr uint64_t kStreams = 4;
  const auto simulator = *Simulator::Create(profile);
  Vmm& vmm = **simulator->vmm();
  Executor& executor = **simulator->executor();
  const AddressRange range = *vmm.AddressReserve(kGranule);
  EXPECT_THAT(vmm.Map(range, *vmm.Create(kGranule, {})), IsOk());
  EXPECT_THAT(vmm.SetAccess(range, std::array{For(kDevice0, Access::kReadWrite)}), IsOk());
  std::vector<Stream> streams;
  for (uint64_t i = 0; i < kStreams; ++i) streams.push_back(*executor.CreateStream(kDevice0));
  const Event event = *executor.CreateEvent(kDevice0);
  const auto slot = [&](uint64_t i) { return range.base + Bytes(4 * i); };
  const auto order = [&](uint64_t before, uint64_t after) {
    EXPECT_THAT(executor.RecordEvent(event, streams[before]), IsOk());
    EXPECT_THAT(executor.WaitEvent(streams[after], event), IsOk());
  };
  std::mt19937_64 random(program);
  for (uint32_t step = 1; step <= 100; ++step) {
    const uint64_t to = random() % kStreams;
    const uint64_t from = random() % kStreams;
    if (from == to) {
      EXPECT_THAT(executor.Fill(streams[to], slot(to), {step, Bytes(4)}, 1), IsOk());
    } else {
      order(from, to);
      EXPECT_THAT(executor.CopyDeviceToDevice(streams[to], slot(to), slot(from), Bytes(4)), IsOk());
      order(to, from);
    }
    if (random() % 20 == 0) (void)executor.QueryStream(streams[from]);
    if (random() % 30 == 0) {
      EXPECT_THAT(executor.SynchronizeStream(streams[to]), IsOk());
    }
  }
  EXPECT_THAT(executor.SynchronizeDevice(kDevice0), IsOk());
  std::vector<uint32_t> words(kStreams);
  EXPECT_THAT(executor.CopyDeviceToHost(kDevice0, words.data(), range.base, Bytes(4 * kStreams)),
              IsOk());
  return words;
}

// A program that synchronises as it should computes the same under every policy.
TEST(StreamPolicyTest, APolicyDoesNotChangeResults) {
  for (uint64_t program = 1; program <= 10; ++program) {
    const auto expected = RunProgram(program, WithPolicy(StreamPolicy::kEager));
    EXPECT_EQ(RunProgram(program, WithPolicy(StreamPolicy::kDeferred)), expected) << program;
    for (uint64_t seed = 0; seed < 10; ++seed) {
      EXPECT_EQ(RunProgram(program, WithPolicy(StreamPolicy::kSeeded, seed)), expected)
          << program << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace twinmmu
