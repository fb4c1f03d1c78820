// Two threads at one range. Those at ranges of their own are in streams.cc.

#include <array>
#include <atomic>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/fixtures/child_checks.h"
#include "conformance/fixtures/queue_fixture.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

constexpr int kRounds = 200;

// Calls `second` again and again, from when `first` begins until it ends.
template <typename First, typename Second>
void RunTogether(const First& first, const Second& second) {
  std::atomic<bool> begun(false);
  std::atomic<bool> done(false);
  std::thread other([&] {
    do {
      second();
      begun = true;
    } while (!done);
  });
  while (!begun) std::this_thread::yield();
  first();
  done = true;
  other.join();
}

// Works with the unbooked interface: the ledger is for one thread. Each test leaves things as the
// ledger knows them.
class RaceTest : public MappedTest {
 protected:
  absl::Status GrantUnbooked(const AddressRange& range, Access access) {
    const AccessGrant grant{here(), access};
    return unbooked_vmm().SetAccess(range, absl::MakeConstSpan(&grant, 1));
  }
};

}  // namespace

CONFORMANCE_TEST(RaceTest, THREAD_2, DataIsLeftAloneWhileNeighboursComeAndGo) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle other,
                               vmm().Create(allocation_size(), properties()));
  ASSERT_THAT(Write(mapping(), 2), IsOk());
  absl::Status copied;
  absl::Status mapped;
  uint32_t lost = 0;
  uint32_t word = 0;
  const auto copy = [&] {
    uint32_t sent = ++word;
    uint32_t received = 0;
    const DeviceAddress at = mapping().end() - Bytes(4);
    copied.Update(executor().CopyHostToDevice(device(), at, &sent, Bytes(4)));
    copied.Update(executor().CopyDeviceToHost(device(), &received, at, Bytes(4)));
    if (received != sent) ++lost;
  };
  const auto map_and_unmap = [&] {
    for (int round = 0; round < kRounds; ++round) {
      mapped.Update(unbooked_vmm().Map(Granules(4, 4), other));
      mapped.Update(GrantUnbooked(Granules(4, 4), Access::kReadWrite));
      mapped.Update(unbooked_vmm().Unmap(Granules(4, 4)));
    }
  };
  RunTogether(map_and_unmap, copy);
  EXPECT_THAT(mapped, IsOk());
  EXPECT_THAT(copied, IsOk());
  EXPECT_EQ(lost, 0u);
  ExpectHolds(mapping().subrange(Bytes(0), allocation_size() - granule()), 2);
}

CONFORMANCE_TEST(RaceTest, THREAD_3, AReaderSeesAMappingOrNone) {
  absl::Status mapped;
  std::array<int, 3> seen = {};  // no access, nothing mapped, anything else
  const auto read = [&] {
    const auto access = unbooked_vmm().GetAccess(here(), Granules(4, 1).base);
    const bool none = access.ok() && *access == Access::kNone;
    const bool nothing = GetDriverCode(access.status()) == DriverCode::kInvalidValue;
    ++seen[none ? 0 : nothing ? 1 : 2];
  };
  const auto map_and_unmap = [&] {
    for (int round = 0; round < kRounds; ++round) {
      mapped.Update(unbooked_vmm().Map(Granules(4, 4), handle()));
      mapped.Update(unbooked_vmm().Unmap(Granules(4, 4)));
    }
  };
  RunTogether(map_and_unmap, read);
  EXPECT_THAT(mapped, IsOk());
  EXPECT_EQ(seen[2], 0) << "beside " << seen[0] << " mappings and " << seen[1] << " empty places";
  ExpectUnmapped(Granules(4, 4));
}

CONFORMANCE_TEST(RaceTest, THREAD_4, AReaderSeesARightThatWasSetOrNone) {
  ASSERT_THAT(Write(mapping(), 4), IsOk());
  absl::Status set;
  int others = 0;
  const auto read = [&] {
    const auto access = unbooked_vmm().GetAccess(here(), mapping().base);
    const bool expected = access.ok() && (*access == Access::kNone || *access == Access::kRead ||
                                          *access == Access::kReadWrite);
    if (!expected) ++others;
  };
  const auto change = [&] {
    for (int round = 0; round < kRounds; ++round) {
      set.Update(GrantUnbooked(mapping(), round % 2 == 0 ? Access::kReadWrite : Access::kRead));
    }
  };
  RunTogether(change, read);
  EXPECT_THAT(set, IsOk());
  EXPECT_EQ(others, 0);
  EXPECT_THAT(vmm().GetAccess(here(), mapping().base), IsOkAndHolds(Access::kRead));
  EXPECT_THAT(Write(mapping(), 5), HasDriverCode(DriverCode::kInvalidValue));
  ExpectHolds(mapping(), 4);
}

CONFORMANCE_TEST(RaceTest, THREAD_5, OfTwoThatMapOneWins) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle other,
                               vmm().Create(allocation_size(), properties()));
  const AddressRange range = Granules(4, 4);
  // How many of kRounds rounds have had one winner, after whom one handle is mapped.
  const auto count_single_winners = [&] {
    int single = 0;
    for (int round = 0; round < kRounds; ++round) {
      std::array<absl::Status, 2> results;
      std::atomic<int> ready(0);
      const auto map = [&](int i, AllocationHandle handle) {
        for (++ready; ready < 2;) std::this_thread::yield();
        results[i] = unbooked_vmm().Map(range, handle);
      };
      std::thread first(map, 0, handle());
      map(1, other);
      first.join();
      const auto winner = unbooked_vmm().RetainAllocationHandle(range.base);
      const bool as_mapped = winner.ok() && *winner == (results[0].ok() ? handle() : other);
      if (as_mapped && results[0].ok() != results[1].ok()) ++single;
      if (winner.ok()) unbooked_vmm().Release(*winner).IgnoreError();
      unbooked_vmm().Unmap(range).IgnoreError();
    }
    return single;
  };
  if (!Deviates(Deviation::kRacingCallsAreNotOrdered)) {
    EXPECT_EQ(count_single_winners(), kRounds);
    return;
  }
  ExpectInChildOrEnd("about to race", [&](ChildChecks& checks) {
    std::cerr << "about to race" << std::endl;
    if (count_single_winners() == kRounds) {
      checks.Expect("some round has two winners", absl::OkStatus(), DriverCode::kInvalidValue);
    }
  });
}

namespace {

// What one thread does, on its own reservation and allocation; the first error, or OK.
absl::Status MapAndUnmapOften(Vmm& vmm, Executor& executor, Bytes granule, uint32_t seed) {
  const absl::StatusOr<AddressRange> range = vmm.AddressReserve(granule);
  if (!range.ok()) return range.status();
  const absl::StatusOr<AllocationHandle> handle = vmm.Create(granule, AllocationProperties());
  if (!handle.ok()) return handle.status();
  absl::Status status;
  const DeviceOrdinal device(0);
  const AccessGrant grant{Location::Device(device), Access::kReadWrite};
  for (uint32_t round = 0; round < 50; ++round) {
    status.Update(vmm.Map(*range, *handle));
    status.Update(vmm.SetAccess(*range, absl::MakeConstSpan(&grant, 1)));
    uint32_t word = seed + round;
    status.Update(executor.CopyHostToDevice(device, range->base, &word, Bytes(4)));
    word = 0;
    status.Update(executor.CopyDeviceToHost(device, &word, range->base, Bytes(4)));
    if (status.ok() && word != seed + round) status = absl::InternalError("read another's data");
    status.Update(vmm.Unmap(*range));
  }
  status.Update(vmm.Release(*handle));
  status.Update(vmm.AddressFree(*range));
  return status;
}

}  // namespace

CONFORMANCE_TEST(ConformanceTest, THREAD_1, PrivateRangesDoNotDisturbEachOther) {
  constexpr size_t kThreads = 4;
  std::vector<absl::Status> results(kThreads);
  std::vector<std::thread> threads;
  std::atomic<size_t> ready = 0;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, &results, &ready, i] {
      for (++ready; ready < kThreads;) std::this_thread::yield();
      results[i] =
          MapAndUnmapOften(unbooked_vmm(), executor(), granule(), static_cast<uint32_t>(i) << 16);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(results, ::testing::Each(IsOk()));
}

}  // namespace twinmmu::conformance
