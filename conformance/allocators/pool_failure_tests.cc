// VirtualMemoryPool, while calls of the driver fail.

#include <memory>
#include <utility>

#include "api/allocators/virtual_memory_pool.h"
#include "api/testing/matchers.h"
#include "conformance/allocators/error_matchers.h"
#include "conformance/allocators/failure_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kPages = 12;

class PoolFailureTest : public FailureTest {
 protected:
  using Pool = std::shared_ptr<VirtualMemoryPool>;

  absl::StatusOr<Pool> TryMake(Bytes cache) {
    absl::StatusOr<std::unique_ptr<VirtualMemoryPool>> pool =
        VirtualMemoryPool::Make(&faulty_vmm(), &faulty_executor(), Pages(kPages), WithCache(cache));
    if (!pool.ok()) return pool.status();
    return Pool(*std::move(pool));
  }
  // With three pages cached, and pages 0, 1, 4 and 5 in use and marked.
  Pool MakePool(Bytes cache = GiB(1)) {
    Pool pool = TryMake(cache).value();
    EXPECT_THAT(pool->Allocate(Pages(0), Pages(6)), IsOk());
    EXPECT_THAT(pool->Allocate(Pages(8), Pages(1)), IsOk());
    MarkAll(*pool);
    EXPECT_THAT(pool->Deallocate(Pages(2), Pages(2)), IsOk());
    EXPECT_THAT(pool->Deallocate(Pages(8), Pages(1)), IsOk());
    return pool;
  }
  // Both sweeps over `operation`, which is done to a pool that `make` makes.
  void Sweep(const std::function<Pool()>& make,
             const std::function<absl::Status(VirtualMemoryPool&)>& operation,
             bool all_or_nothing = true) {
    const auto subject = [&] {
      const Pool pool = make();
      return Subject{[pool, operation] { return operation(*pool); },
                     [this, pool] { return Describe(*pool); },
                     [this, pool] { return CloseChecked(*pool); }, all_or_nothing};
    };
    FailEachCall(faults(), subject);
    FailEachTwoCalls(faults(), subject);
  }
  void Sweep(const std::function<absl::Status(VirtualMemoryPool&)>& operation,
             bool all_or_nothing = true) {
    Sweep([this] { return MakePool(); }, operation, all_or_nothing);
  }

  std::string Describe(const VirtualMemoryPool& pool) {
    const MemoryStats stats = pool.Stats();
    EXPECT_EQ(pool.PhysicalMemoryUsage(), stats.in_use + stats.leaving + stats.cached);
    std::string words = ToString(pool.BaseAddress()) + ": " + FailureTest::Describe(stats);
    uint64_t in_use = 0;
    for (uint64_t page = 0; page < kPages; ++page) {
      if (!pool.IsMapped(Pages(page), Pages(1))) continue;
      ++in_use;
      words += DescribePage(pool.BaseAddress() + Pages(page));
    }
    EXPECT_EQ(stats.in_use, Pages(in_use));
    return words;
  }
  void MarkAll(const VirtualMemoryPool& pool) {
    for (uint64_t page = 0; page < kPages; ++page) {
      if (!pool.IsMapped(Pages(page), Pages(1))) continue;
      EXPECT_THAT(Mark(pool.BaseAddress() + Pages(page), 100 + page), IsOk());
    }
  }
  // Expects that no memory is used twice.
  absl::Status CloseChecked(VirtualMemoryPool& pool) {
    if (pool.Grant(device(), Access::kReadWrite).ok()) MarkAll(pool);
    for (uint64_t page = 0; page < kPages; ++page) {
      if (!pool.IsMapped(Pages(page), Pages(1))) continue;
      ExpectMarked(pool.BaseAddress() + Pages(page), 100 + page);
    }
    return pool.Close();
  }
};

// --- Each call of each operation ---------------------------------------------------------------

TEST_P(PoolFailureTest, MakeLeavesNothingBehind) {
  const auto subject = [&] {
    const auto made = std::make_shared<Pool>();
    return Subject{[this, made] {
                     absl::StatusOr<Pool> pool = TryMake(Pages(2));
                     if (pool.ok()) *made = *std::move(pool);
                     return pool.status();
                   },
                   [this] { return ToString(FreeMemory()); }, [made] { return (*made)->Close(); }};
  };
  FailEachCall(faults(), subject);
}

TEST_P(PoolFailureTest, AllocateOfCachedAndNewPages) {
  Sweep([&](auto& pool) { return pool.Allocate(Pages(6), Pages(5)).status(); });
}

TEST_P(PoolFailureTest, AllocateBetweenOthers) {
  Sweep([&](auto& pool) { return pool.Allocate(Pages(2), Pages(2)).status(); });
}

TEST_P(PoolFailureTest, AllocateWithGrants) {
  Sweep(
      [&] {
        Pool pool = MakePool();
        for (const DeviceOrdinal by : accessors()) {
          EXPECT_THAT(pool->Grant(by, Access::kReadWrite), IsOk());
        }
        return pool;
      },
      [&](auto& pool) { return pool.Allocate(Pages(6), Pages(5)).status(); });
}

TEST_P(PoolFailureTest, AllocateWhenWorkIsDoneElsewhere) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream stream, executor().CreateStream(device()));
  Sweep(
      [&] {
        Pool pool = MakePool();
        EXPECT_THAT(pool->Deallocate(Pages(0), Pages(1), {stream}), IsOk());
        EXPECT_THAT(pool->Deallocate(Pages(4), Pages(1), {stream}), IsOk());
        EXPECT_THAT(executor().SynchronizeStream(stream), IsOk());
        return pool;
      },
      [&](auto& pool) { return pool.Allocate(Pages(6), Pages(5)).status(); },
      /*all_or_nothing=*/false);  // what was given up before goes
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
}

TEST_P(PoolFailureTest, Deallocate) {
  Sweep([&](auto& pool) { return pool.Deallocate(Pages(4), Pages(2)); });
}

TEST_P(PoolFailureTest, DeallocateOfAPart) {
  Sweep([&](auto& pool) { return pool.Deallocate(Pages(5), Pages(1)); });
}

TEST_P(PoolFailureTest, DeallocateBeyondTheCacheLimit) {
  Sweep([&] { return MakePool(Pages(4)); },
        [&](auto& pool) { return pool.Deallocate(Pages(4), Pages(2)); });
}

TEST_P(PoolFailureTest, DeallocateAfterWork) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream stream, executor().CreateStream(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Event event, executor().CreateEvent(device()));
  ASSERT_THAT(executor().RecordEvent(event, stream), IsOk());
  Sweep([&](auto& pool) { return pool.Deallocate(Pages(4), Pages(2), {stream, event, stream}); });
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
  EXPECT_THAT(executor().DestroyEvent(event), IsOk());
}

TEST_P(PoolFailureTest, Compact) {
  Sweep([&](auto& pool) { return pool.Compact().status(); }, /*all_or_nothing=*/false);
}

TEST_P(PoolFailureTest, GrantOverSeveralRuns) {
  for (const DeviceOrdinal by : accessors()) {
    Sweep([&](auto& pool) { return pool.Grant(by, Access::kRead); });
  }
}

TEST_P(PoolFailureTest, TakingAAccessOverSeveralRuns) {
  for (const DeviceOrdinal by : accessors()) {
    Sweep(
        [&] {
          Pool pool = MakePool();
          EXPECT_THAT(pool->Grant(by, Access::kReadWrite), IsOk());
          return pool;
        },
        [&](auto& pool) { return pool.Grant(by, Access::kNone); });
  }
}

TEST_P(PoolFailureTest, Close) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream stream, executor().CreateStream(device()));
  Sweep(
      [&] {
        Pool pool = MakePool();
        EXPECT_THAT(pool->Deallocate(Pages(0), Pages(1), {stream}), IsOk());
        return pool;
      },
      [&](auto& pool) { return pool.Close(); }, /*all_or_nothing=*/false);
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
}

// --- What the sweeps do not look at ------------------------------------------------------------

TEST_P(PoolFailureTest, SaysWhichPageFoundNoMemory) {
  faulty_vmm().SetMemoryBudget(device(), Pages(6));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, TryMake(Pages(1)));
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(4)), IsOk());
  ASSERT_THAT(pool->Deallocate(Pages(3), Pages(1)), IsOk());
  MarkAll(*pool);
  const std::string before = Describe(*pool);
  const absl::Status status = pool->Allocate(Pages(4), Pages(8)).status();
  EXPECT_THAT(status, IsError(StatusCode::kResourceExhausted, HasSubstr("page 4 of 8")));
  EXPECT_THAT(status, HasDriverCode(DriverCode::kOutOfMemory));
  EXPECT_EQ(Describe(*pool), before);
  EXPECT_THAT(pool->Allocate(Pages(4), Pages(3)), IsOk());
}

TEST_P(PoolFailureTest, KeepsWhatItCannotTakeBackUntilTheDriverDoes) {
  const Pool pool = MakePool();
  faults().FailNth(2, DriverCode::kNotPermitted, {DriverCall::kMap});
  faults().FailEvery(1, DriverCode::kInvalidContext, {DriverCall::kUnmap});
  EXPECT_THAT(pool->Allocate(Pages(6), Pages(2)), HasDriverCode(DriverCode::kNotPermitted));
  EXPECT_EQ(pool->Stats().leaving, Pages(1));
  EXPECT_FALSE(pool->IsMapped(Pages(6), Pages(1)));
  Describe(*pool);

  const absl::Status refused = pool->Allocate(Pages(5 + 1), Pages(3)).status();
  EXPECT_THAT(refused, HasDriverCode(DriverCode::kInvalidContext));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("refuses to unmap"));
  EXPECT_THAT(pool->Allocate(Pages(7), Pages(3)), IsOk());

  faults().Clear();
  EXPECT_THAT(pool->Allocate(Pages(6), Pages(1)), IsOk());
  EXPECT_EQ(pool->Stats().leaving, Bytes(0));
  EXPECT_THAT(CloseChecked(*pool), IsOk());
}

TEST_P(PoolFailureTest, ClosesInSeveralAttempts) {
  const Pool pool = MakePool();
  faults().FailNth(2, DriverCode::kNotPermitted, {DriverCall::kUnmap});
  EXPECT_THAT(pool->Close(), HasDriverCode(DriverCode::kNotPermitted));
  EXPECT_FALSE(pool->IsMapped(Pages(0), Pages(1)));
  EXPECT_TRUE(pool->IsMapped(Pages(4), Pages(2)));
  EXPECT_EQ(pool->Stats().in_use, Pages(2));
  ExpectMarked(pool->BaseAddress() + Pages(4), 104);
  EXPECT_THAT(pool->Close(), IsOk());
  EXPECT_EQ(pool->PhysicalMemoryUsage(), Bytes(0));
}

TEST_P(PoolFailureTest, DoesNotUnmapWhatItCouldNotWaitFor) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream stream, executor().CreateStream(device()));
  const Pool pool = MakePool();
  ASSERT_THAT(pool->Deallocate(Pages(0), Pages(1), {stream}), IsOk());
  faults().FailNth(1, DriverCode::kOperatingSystem, {DriverCall::kSynchronizeEvent});
  const std::string before = Describe(*pool);
  EXPECT_THAT(pool->Close(), HasDriverCode(DriverCode::kOperatingSystem));
  EXPECT_EQ(Describe(*pool), before);
  EXPECT_THAT(pool->Close(), IsOk());
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
}

TEST_P(PoolFailureTest, ClosesWhenTheContextsAreLost) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream stream, executor().CreateStream(device()));
  const Pool pool = MakePool();
  ASSERT_THAT(pool->Deallocate(Pages(0), Pages(1), {stream}), IsOk());
  faults().FailEvery(1, DriverCode::kIllegalAddress,
                     {DriverCall::kSynchronizeEvent, DriverCall::kQueryEvent});
  EXPECT_THAT(pool->Close(), IsOk());
  EXPECT_EQ(pool->PhysicalMemoryUsage(), Bytes(0));
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
}

TEST_P(PoolFailureTest, ReportsWhatItsDestructorCouldNotReturn) {
  Pool pool = TryMake(Bytes(0)).value();
  ASSERT_THAT(pool->Allocate(Pages(1), Pages(1)), IsOk());
  const AddressRange all{pool->BaseAddress(), pool->Capacity(), Bytes(0)};
  const AddressRange page = all.subrange(Pages(1), Pages(1));
  faults().FailEvery(1, DriverCode::kNotPermitted, {DriverCall::kUnmap});
  pool.reset();
  EXPECT_THAT(TakeDestructorErrors(),
              ElementsAre(IsError(StatusCode::kPermissionDenied,
                                  HasSubstr("memory at " + ToString(all.base) + " is leaked"))));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle,
                               vmm().RetainAllocationHandle(page.base));
  EXPECT_THAT(vmm().Unmap(page), IsOk());
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_THAT(vmm().AddressFree(all), IsOk());
}

INSTANTIATE_TEST_SUITE_P(On, PoolFailureTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
