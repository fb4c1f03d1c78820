// Calls from several threads at once; most telling under the thread sanitizer.

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using ThreadTest = MachineTest;
constexpr int kThreads = 4;
constexpr int kRounds = 300;

void InThreads(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

// Threads with ranges of their own do not disturb each other, and nothing is left behind.
TEST_F(ThreadTest, WorkOnRangesOfTheirOwn) {
  const Bytes free = vmm().GetMemoryInfo(kDevice0)->free;
  InThreads([&](int id) {
    for (int round = 0; round < kRounds; ++round) {
      const AddressRange range = Ready(1);
      const auto value = static_cast<uint32_t>(id * kRounds + round);
      EXPECT_THAT(Write(kDevice0, range.base, value), IsOk());
      EXPECT_THAT(Read(kDevice0, range.base), IsOkAndHolds(value));
      const AllocationHandle handle = *vmm().RetainAllocationHandle(range.base);
      EXPECT_THAT(vmm().Unmap(range), IsOk());
      EXPECT_THAT(vmm().Release(handle), IsOk());
      EXPECT_THAT(vmm().Release(handle), IsOk());
      EXPECT_THAT(vmm().AddressFree(range), IsOk());
    }
  });
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, free);
}

// Nor do those that map, grant and unmap granules side by side in one reservation, and sometimes
// memory that they all have, beside calls that take everything. Each sees what it did itself.
TEST_F(ThreadTest, MapSideBySide) {
  const Bytes free = vmm().GetMemoryInfo(kDevice0)->free;
  const AddressRange whole = Reserve(3 * kThreads);
  const AllocationHandle common = Create(1);
  InThreads([&](int id) {
    const AddressRange own =
        whole.subrange(3u * static_cast<uint64_t>(id) * kGranule, 2 * kGranule);
    const AddressRange last = At(own.end(), kGranule);
    const AllocationHandle handles[] = {Create(1), Create(1)};
    for (int round = 0; round < kRounds; ++round) {
      EXPECT_THAT(vmm().Map(At(own.base, kGranule), handles[0]), IsOk());
      EXPECT_THAT(vmm().Map(At(own.base + kGranule, kGranule), handles[1]), IsOk());
      EXPECT_EQ(AccessOf(kDevice0, own.base), 0);
      Grant(own, For(kDevice0, Access::kReadWrite));
      const auto value = static_cast<uint32_t>(id * kRounds + round);
      EXPECT_THAT(Write(kDevice0, own.base + kGranule, value), IsOk());
      EXPECT_THAT(Read(kDevice0, own.base + kGranule), IsOkAndHolds(value));
      if (round % 4 == 0) {
        EXPECT_THAT(vmm().Map(last, common), IsOk());
        EXPECT_THAT(vmm().AddressFree(Reserve(1)), IsOk());
        EXPECT_THAT(vmm().Unmap(last), IsOk());
      }
      EXPECT_THAT(vmm().Unmap(own), IsOk());
      EXPECT_EQ(AccessOf(kDevice0, own.base), -1);
    }
    for (const AllocationHandle handle : handles) EXPECT_THAT(vmm().Release(handle), IsOk());
  });
  EXPECT_THAT(vmm().Release(common), IsOk());
  EXPECT_THAT(vmm().AddressFree(whole), IsOk());
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, free);
  EXPECT_THAT(simulator_->leaks(), testing::IsEmpty());
}

// Linear memory neither, and copies between it and the host.
TEST_F(ThreadTest, WorkOnLinearMemoryOfTheirOwn) {
  const Bytes free = vmm().GetMemoryInfo(kDevice0)->free;
  InThreads([&](int id) {
    const LinearCalls::Context context{kDevice0, static_cast<uint64_t>(id) + 1};
    uint32_t words[2] = {};
    for (int round = 0; round < kRounds; ++round) {
      const DeviceAddress memory = *linear().Allocate(context, Bytes(sizeof(words)));
      EXPECT_THAT(linear().RegisterHost(context, words, Bytes(sizeof(words)), 0), IsOk());
      words[0] = static_cast<uint32_t>(id * kRounds + round);
      const DeviceAddress first(reinterpret_cast<uint64_t>(words));
      EXPECT_THAT(linear().Copy(kDevice0, memory, first, Bytes(4)), IsOk());
      EXPECT_THAT(linear().Copy(kDevice0, first + Bytes(4), memory, Bytes(4)), IsOk());
      EXPECT_EQ(words[1], words[0]);
      EXPECT_THAT(round % 2 == 0 ? linear().Free(memory) : absl::OkStatus(), IsOk());
      EXPECT_THAT(linear().FreeOwnedBy(context.owner), IsOk());
      EXPECT_THAT(linear().UnregisterHost(words),
                  HasDriverCode(DriverCode::kHostMemoryNotRegistered));
    }
  });
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, free);
}

// One thread unmaps and maps a range that others read: each read sees all of the memory or is
// refused, and the memory never goes away under it.
TEST_F(ThreadTest, ReadARangeThatIsRemapped) {
  const AddressRange range = Reserve(1);
  std::atomic<bool> done = false;
  InThreads([&](int id) {
    if (id == 0) {
      for (int round = 0; round < kRounds; ++round) {
        EXPECT_THAT(vmm().Release(MapNew(range.base, 1)), IsOk());
        Grant(range, For(kDevice0, Access::kReadWrite));
        EXPECT_THAT(vmm().Unmap(range), IsOk());
      }
      done = true;
      return;
    }
    std::vector<char> data(KiB(64).value());
    while (!done) {
      const absl::Status status =
          executor().CopyDeviceToHost(kDevice0, data.data(), range.base, Bytes(data.size()));
      EXPECT_TRUE(status.ok() || GetDriverCode(status) == DriverCode::kInvalidValue);
    }
  });
}

// Calls that are wrong are diagnosed from all threads, while others are right and read the lists.
TEST_F(ThreadTest, AreDiagnosedTogether) {
  constexpr int kWrong = kThreads - 2;
  const AddressRange shared = Reserve(1);
  InThreads([&](int id) {
    const AddressRange range = Reserve(1);
    for (int round = 0; round < kRounds; ++round) {
      if (id < kWrong) {
        EXPECT_THAT(vmm().Unmap(shared), IsOk());  // with a warning
        EXPECT_THAT(Read(kDevice0, shared.base), HasDriverCode(DriverCode::kInvalidValue));
        EXPECT_THAT(vmm().Map(shared, AllocationHandle(1), Bytes(0), 1),
                    HasDriverCode(DriverCode::kInvalidValue));
      } else if (id == kWrong) {
        EXPECT_THAT(vmm().Release(MapNew(range.base, 1)), IsOk());
        EXPECT_THAT(vmm().Unmap(range), IsOk());
      } else {
        simulator_->diagnostics();
        simulator_->leaks();
        simulator_->HistoryOf(shared.base);
      }
    }
  });
  EXPECT_EQ(simulator_->CountOf(DiagnosticKind::kUnmapOfNothing), uint64_t{kWrong} * kRounds);
  EXPECT_EQ(simulator_->CountOf(DiagnosticKind::kUseOfUnmapped), uint64_t{kWrong} * kRounds);
}

// Streams and events are made and destroyed from all threads.
TEST_F(ThreadTest, MakeStreamsAndEvents) {
  InThreads([&](int id) {
    const DeviceOrdinal device(id % 2);
    for (int round = 0; round < kRounds; ++round) {
      const Stream stream = *executor().CreateStream(device);
      const Event event = *executor().CreateEvent(device);
      EXPECT_THAT(executor().RecordEvent(event, stream), IsOk());
      EXPECT_THAT(executor().DestroyStream(stream), IsOk());
      EXPECT_THAT(executor().DestroyEvent(event), IsOk());
    }
  });
}

// A machine whose work is queued.
class QueueThreadTest : public MachineTest, public testing::WithParamInterface<StreamPolicy> {
 protected:
  QueueThreadTest() : MachineTest(WithPolicy(GetParam())) {}

  static Profile WithPolicy(StreamPolicy policy) {
    Profile profile = Profile::ReferenceH200(2);
    profile.stream_policy = policy;
    return profile;
  }
};

// Threads whose streams wait for each other's events all get through, each with its own data, while
// other memory comes and goes.
TEST_P(QueueThreadTest, WaitForEachOther) {
  const AddressRange range = Ready(1);
  std::vector<Stream> streams;
  std::vector<Event> events;
  for (int id = 0; id < kThreads; ++id) {
    streams.push_back(*executor().CreateStream(kDevice0));
    events.push_back(*executor().CreateEvent(kDevice0));
  }
  InThreads([&](int id) {
    const auto self = static_cast<size_t>(id);
    const size_t next = (self + 1) % kThreads;
    const DeviceAddress slot = range.base + Bytes(4 * self);
    for (uint32_t round = 1; round <= kRounds; ++round) {
      uint32_t word = 0;
      EXPECT_THAT(executor().Fill(streams[self], slot, {round, Bytes(4)}, 1), IsOk());
      EXPECT_THAT(executor().RecordEvent(events[self], streams[self]), IsOk());
      EXPECT_THAT(executor().WaitEvent(streams[self], events[next]), IsOk());
      EXPECT_THAT(executor().CopyDeviceToHost(streams[self], &word, slot, Bytes(4)), IsOk());
      EXPECT_THAT(executor().QueryStream(streams[next]), IsOk());
      EXPECT_THAT(round % 2 == 0 ? executor().SynchronizeStream(streams[self])
                                 : executor().SynchronizeDevice(kDevice0),
                  IsOk());
      EXPECT_EQ(word, round);
      EXPECT_THAT(vmm().Unmap(Ready(1)), IsOk());
      EXPECT_THAT(executor().SynchronizeEvent(events[next]), IsOk());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Policies, QueueThreadTest,
                         testing::Values(StreamPolicy::kDeferred, StreamPolicy::kSeeded));

}  // namespace
}  // namespace twinmmu
