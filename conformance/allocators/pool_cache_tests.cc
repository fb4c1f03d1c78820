// VirtualMemoryPool: reuse of pages, and the driver calls of each operation.

#include "api/testing/matchers.h"
#include "conformance/allocators/pool_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

class PoolCacheTest : public PoolTest {
 protected:
  // What `operation` did to the counts of calls.
  template <typename F>
  static DriverCallCounts CallsOf(const Pool& pool, const F& operation) {
    const DriverCallCounts before = pool->Stats().calls;
    EXPECT_THAT(operation(), IsOk());
    return pool->Stats().calls - before;
  }
  // In the order of the fields.
  static DriverCallCounts Calls(uint64_t create, uint64_t release, uint64_t map, uint64_t unmap,
                                uint64_t set_access) {
    return {create, release, map, unmap, set_access};
  }
};

TEST_P(PoolCacheTest, AllocatesByOneCreateAndMapPerPageAndOneSetAccess) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(8));
  EXPECT_EQ(CallsOf(pool, [&] { return pool->Allocate(Pages(2), Pages(5)); }),
            Calls(5, 0, 5, 0, 1));
}

TEST_P(PoolCacheTest, DeallocatesByOneUnmap) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(8));
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(8)), IsOk());
  EXPECT_EQ(CallsOf(pool, [&] { return pool->Deallocate(Pages(2), Pages(5)); }),
            Calls(0, 0, 0, 1, 0));
}

TEST_P(PoolCacheTest, UsesCachedPagesBeforeItCreatesNewOnes) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(16));
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(3)), IsOk());
  ASSERT_THAT(pool->Deallocate(Pages(0), Pages(3)), IsOk());
  EXPECT_EQ(pool->Stats().cached, Pages(3));
  EXPECT_EQ(CallsOf(pool, [&] { return pool->Allocate(Pages(8), Pages(5)); }),
            Calls(2, 0, 5, 0, 1));
  EXPECT_EQ(pool->Stats().cached, Bytes(0));
  EXPECT_EQ(pool->PhysicalMemoryUsage(), Pages(5));
}

TEST_P(PoolCacheTest, KeepsAGibibyteUnlessTold) {
  PageOptions large;
  large.page_size = RoundUp(MiB(512), granule());
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const Pool pool, VirtualMemoryPool::Make(&vmm(), &executor(), 3 * large.page_size, large));
  ASSERT_THAT(pool->Allocate(Bytes(0), 3 * large.page_size), IsOk());
  ASSERT_THAT(pool->Deallocate(Bytes(0), 3 * large.page_size), IsOk());
  EXPECT_EQ(pool->Stats().cached, GiB(1));
}

TEST_P(PoolCacheTest, ReleasesWhatIsBeyondTheLimit) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool,
                               MakePool(8, WithCache(Pages(3) - Bytes(1))));  // two whole pages
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(5)), IsOk());
  EXPECT_EQ(CallsOf(pool, [&] { return pool->Deallocate(Pages(0), Pages(5)); }),
            Calls(0, 3, 0, 1, 0));
  EXPECT_EQ(pool->Stats().cached_pages, 2);
}

TEST_P(PoolCacheTest, KeepsNothingWithALimitOfZero) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(8, WithCache(Bytes(0))));
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(2)), IsOk());
  ASSERT_THAT(pool->Deallocate(Pages(0), Pages(2)), IsOk());
  EXPECT_EQ(pool->PhysicalMemoryUsage(), Bytes(0));
}

TEST_P(PoolCacheTest, SaysHowMuchCompactReturned) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(8));
  EXPECT_THAT(pool->Compact(), IsOkAndHolds(Bytes(0)));
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(4)), IsOk());
  ASSERT_THAT(Fill(RangeOf(pool, 0), 9), IsOk());
  ASSERT_THAT(pool->Deallocate(Pages(1), Pages(3)), IsOk());
  const DriverCallCounts calls = CallsOf(pool, [&] {
    const absl::StatusOr<Bytes> returned = pool->Compact();
    EXPECT_THAT(returned, IsOkAndHolds(Pages(3)));
    return returned;
  });
  EXPECT_EQ(calls, Calls(0, 3, 0, 0, 0));
  EXPECT_EQ(pool->PhysicalMemoryUsage(), Pages(1));
  ExpectFilled(RangeOf(pool, 0), 9);
}

TEST_P(PoolCacheTest, NeverUsesOnePageTwice) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(8));
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(3)), IsOk());
  ASSERT_THAT(pool->Deallocate(Pages(0), Pages(2)), IsOk());
  ASSERT_THAT(pool->Allocate(Pages(4), Pages(4)), IsOk());
  for (const uint64_t page : {2, 4, 5, 6, 7}) {
    ASSERT_THAT(Fill(RangeOf(pool, page), page), IsOk());
  }
  for (const uint64_t page : {2, 4, 5, 6, 7}) ExpectFilled(RangeOf(pool, page), page);
}

INSTANTIATE_TEST_SUITE_P(On, PoolCacheTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
