// VirtualMemoryPool: addresses, arguments, and what is allocated. The cache, work and other devices
// are in pool_cache_tests.cc, pool_work_tests.cc and pool_grant_tests.cc.

#include <limits>

#include "api/testing/matchers.h"
#include "conformance/allocators/error_matchers.h"
#include "conformance/allocators/pool_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

constexpr Bytes kMost = Bytes(std::numeric_limits<uint64_t>::max());

// --- Make --------------------------------------------------------------------------------------

TEST_P(PoolTest, ReservesAddressesAndNoMemory) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(1000));
  EXPECT_EQ(pool->Capacity(), Pages(1000));
  EXPECT_EQ(pool->PageSize(), granule());
  EXPECT_TRUE(pool->BaseAddress().IsAligned(granule()));
  EXPECT_EQ(pool->PhysicalMemoryUsage(), Bytes(0));
  EXPECT_EQ(pool->Stats().calls.total(), 0);
  ExpectTaken(Bytes(0));
}

TEST_P(PoolTest, RoundsTheCapacityUpToPages) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool,
                               VirtualMemoryPool::Make(&vmm(), nullptr, Bytes(1), Granules()));
  EXPECT_EQ(pool->Capacity(), granule());
  EXPECT_THAT(pool->Allocate(Bytes(0), granule()), IsOk());
}

TEST_P(PoolTest, RoundsSmallPagesUpToTheGranularity) {
  PageOptions options;
  options.page_size = KiB(64);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(4, options));
  EXPECT_EQ(pool->PageSize(), RoundUp(KiB(64), granule()));
  EXPECT_THAT(pool->Allocate(Bytes(0), pool->PageSize()), IsOk());
}

TEST_P(PoolTest, HasPagesLargerThanTheGranularity) {
  PageOptions options;
  options.page_size = 4 * granule();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(9, options));
  EXPECT_EQ(pool->PageSize(), 4 * granule());
  EXPECT_EQ(pool->Capacity(), 12 * granule());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress address,
                               pool->Allocate(4 * granule(), 8 * granule()));
  EXPECT_THAT(Fill({address, 8 * granule(), Bytes(0)}, 5), IsOk());
  EXPECT_EQ(pool->Stats().calls.create, 2);
}

TEST_P(PoolTest, RefusesPageSizesThatAreNoPowerOfTwoOrTooSmall) {
  for (const Bytes size : {Bytes(0), Bytes(1), KiB(32), KiB(48), KiB(96), MiB(3), kMost}) {
    PageOptions options;
    options.page_size = size;
    EXPECT_THAT(MakePool(4, options),
                IsError(StatusCode::kInvalidArgument,
                        HasSubstr("page_size " + ToString(size) +
                                  " is not a power of two of at least 64 KiB")));
  }
}

TEST_P(PoolTest, RefusesPagesLargerThanAllAddresses) {
  PageOptions options;
  options.page_size = Bytes(uint64_t{1} << 63);
  EXPECT_THAT(MakePool(1, options), StatusIs(StatusCode::kResourceExhausted));
}

TEST_P(PoolTest, RefusesACapacityOfNothingOrBeyond64Bits) {
  EXPECT_THAT(VirtualMemoryPool::Make(&vmm(), &executor(), Bytes(0)),
              IsError(StatusCode::kInvalidArgument, HasSubstr("capacity is 0")));
  EXPECT_THAT(VirtualMemoryPool::Make(&vmm(), &executor(), kMost),
              IsError(StatusCode::kInvalidArgument,
                      AllOf(HasSubstr(ToString(kMost)), HasSubstr("64 bits"))));
}

TEST_P(PoolTest, SaysHowManyAddressesCouldNotBeHad) {
  EXPECT_THAT(VirtualMemoryPool::Make(&vmm(), &executor(), TiB(1 << 16)),
              IsError(StatusCode::kResourceExhausted, HasSubstr(ToString(TiB(1 << 16)))));
}

TEST_P(PoolTest, RefusesNoDriver) {
  EXPECT_THAT(VirtualMemoryPool::Make(nullptr, &executor(), granule()),
              IsError(StatusCode::kInvalidArgument, HasSubstr("vmm is null")));
}

// --- Allocate ----------------------------------------------------------------------------------

TEST_P(PoolTest, GivesMemoryAtTheOffset) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(8));
  EXPECT_THAT(pool->Allocate(Pages(3), Pages(2)), IsOkAndHolds(pool->BaseAddress() + Pages(3)));
  EXPECT_THAT(pool->Allocate(Pages(0), Pages(1)), IsOkAndHolds(pool->BaseAddress()));
  EXPECT_THAT(pool->Allocate(Pages(7), Pages(1)), IsOkAndHolds(pool->BaseAddress() + Pages(7)));
  ASSERT_THAT(Fill(RangeOf(pool, 3, 2), 3), IsOk());
  ASSERT_THAT(Fill(RangeOf(pool, 0), 1), IsOk());
  ExpectFilled(RangeOf(pool, 3, 2), 3);
  ExpectFilled(RangeOf(pool, 0), 1);
}

TEST_P(PoolTest, NeedsNoExecutor) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool,
                               VirtualMemoryPool::Make(&vmm(), nullptr, Pages(4), Granules()));
  EXPECT_THAT(pool->Allocate(Pages(0), Pages(2)), IsOk());
  EXPECT_THAT(pool->Deallocate(Pages(0), Pages(2)), IsOk());
  EXPECT_THAT(pool->Close(), IsOk());
}

TEST_P(PoolTest, KnowsWhatIsMapped) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(8));
  ASSERT_THAT(pool->Allocate(Pages(2), Pages(1)), IsOk());
  ASSERT_THAT(pool->Allocate(Pages(3), Pages(2)), IsOk());
  EXPECT_TRUE(pool->IsMapped(Pages(2), Pages(3)));
  EXPECT_TRUE(pool->IsMapped(Pages(2) + Bytes(1), Bytes(1)));
  EXPECT_FALSE(pool->IsMapped(Pages(1), Pages(2)));
  EXPECT_FALSE(pool->IsMapped(Pages(2) - Bytes(1), Bytes(2)));
  EXPECT_FALSE(pool->IsMapped(Pages(4), Pages(2)));
  EXPECT_FALSE(pool->IsMapped(Pages(0), Pages(8)));
}

TEST_P(PoolTest, HasNothingMappedOfSizeZeroOrBeyondTheCapacity) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(2));
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(2)), IsOk());
  EXPECT_FALSE(pool->IsMapped(Pages(0), Bytes(0)));
  EXPECT_FALSE(pool->IsMapped(Bytes(1), Bytes(0)));
  EXPECT_FALSE(pool->IsMapped(Pages(2), Bytes(0)));
  EXPECT_FALSE(pool->IsMapped(Pages(1), Pages(2)));
  EXPECT_FALSE(pool->IsMapped(Pages(2), Bytes(1)));
  EXPECT_FALSE(pool->IsMapped(kMost, kMost));
  EXPECT_FALSE(pool->IsMapped(Bytes(1), kMost));
}

TEST_P(PoolTest, RefusesSizeZero) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(2));
  EXPECT_THAT(pool->Allocate(Pages(1), Bytes(0)),
              IsError(StatusCode::kInvalidArgument, HasSubstr("size is 0")));
  EXPECT_THAT(pool->Deallocate(Pages(1), Bytes(0)),
              IsError(StatusCode::kInvalidArgument, HasSubstr("size is 0")));
}

TEST_P(PoolTest, RefusesPartsOfPages) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(4));
  const auto names = [&](Bytes offset, Bytes size) {
    return IsError(StatusCode::kInvalidArgument,
                   HasSubstr("offset " + ToString(offset) + " and size " + ToString(size) +
                             " must both be multiples of the page size, " + ToString(granule())));
  };
  for (const auto& [offset, size] :
       {std::pair(Bytes(1), Pages(1)), std::pair(Pages(1), Pages(1) + KiB(4)),
        std::pair(Pages(1) - Bytes(1), Bytes(1)), std::pair(kMost, kMost)}) {
    EXPECT_THAT(pool->Allocate(offset, size), names(offset, size));
    EXPECT_THAT(pool->Deallocate(offset, size), names(offset, size));
  }
}

TEST_P(PoolTest, RefusesWhatLiesBeyondTheCapacity) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(4));
  const Bytes last_page = Bytes(0) - granule();  // of 64 bits
  const auto names = [&](Bytes offset, Bytes size) {
    return IsError(StatusCode::kOutOfRange,
                   HasSubstr("offset " + ToString(offset) + ", size " + ToString(size) +
                             " lies beyond the capacity, " + ToString(Pages(4))));
  };
  for (const auto& [offset, size] :
       {std::pair(Pages(4), Pages(1)), std::pair(Pages(3), Pages(2)), std::pair(Pages(0), Pages(5)),
        std::pair(last_page, Pages(1)), std::pair(last_page, Pages(2)),
        std::pair(Pages(1), last_page), std::pair(Pages(2), last_page)}) {
    EXPECT_THAT(pool->Allocate(offset, size), names(offset, size));
    EXPECT_THAT(pool->Deallocate(offset, size), names(offset, size));
  }
}

TEST_P(PoolTest, NamesWhatIsAlreadyAllocated) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(8));
  ASSERT_THAT(pool->Allocate(Pages(2), Pages(3)), IsOk());
  ASSERT_THAT(Fill(RangeOf(pool, 2, 3), 7), IsOk());
  const MemoryStats before = pool->Stats();
  EXPECT_THAT(
      pool->Allocate(Pages(0), Pages(4)),
      IsError(StatusCode::kAlreadyExists, HasSubstr("offset " + ToString(Pages(2)) + ", size " +
                                                    ToString(Pages(2)) + " of it")));
  EXPECT_THAT(pool->Allocate(Pages(3), Pages(1)), StatusIs(StatusCode::kAlreadyExists));
  EXPECT_EQ(pool->Stats().calls, before.calls);
  EXPECT_FALSE(pool->IsMapped(Pages(1), Pages(1)));
  ExpectFilled(RangeOf(pool, 2, 3), 7);
}

TEST_P(PoolTest, GivesTheErrorOfImpossibleProperties) {
  PageOptions options = Granules();
  options.properties.type = AllocationType::kManaged;
  ExpectDiagnostics({DiagnosticKind::kGranularityOfImpossible});
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(2, options));
  const absl::StatusOr<DeviceAddress> address = pool->Allocate(Pages(0), Pages(1));
  EXPECT_THAT(address,
              HasDriverCode(GetDriverCode(vmm().Create(granule(), options.properties).status())));
  EXPECT_THAT(std::string(address.status().message()), HasSubstr("page 1 of 1"));
  EXPECT_FALSE(pool->IsMapped(Pages(0), Pages(1)));
}

// --- Deallocate --------------------------------------------------------------------------------

TEST_P(PoolTest, TakesPartsOfWhatWasAllocatedAndKeepsTheNeighbours) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(8));
  ASSERT_THAT(pool->Allocate(Pages(1), Pages(5)), IsOk());
  for (uint64_t page = 1; page < 6; ++page) ASSERT_THAT(Fill(RangeOf(pool, page), page), IsOk());
  ASSERT_THAT(pool->Deallocate(Pages(2), Pages(2)), IsOk());
  EXPECT_FALSE(pool->IsMapped(Pages(2), Pages(1)));
  EXPECT_FALSE(pool->IsMapped(Pages(3), Pages(1)));
  for (const uint64_t page : {1, 4, 5}) {
    EXPECT_TRUE(pool->IsMapped(Pages(page), Pages(1)));
    ExpectFilled(RangeOf(pool, page), page);
  }
}

TEST_P(PoolTest, TakesSeveralAllocationsSideBySide) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(8));
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(2)), IsOk());
  ASSERT_THAT(pool->Allocate(Pages(3), Pages(3)), IsOk());
  ASSERT_THAT(pool->Allocate(Pages(2), Pages(1)), IsOk());
  ASSERT_THAT(Fill(RangeOf(pool, 0), 1), IsOk());
  ASSERT_THAT(Fill(RangeOf(pool, 5), 5), IsOk());
  const uint64_t unmaps = pool->Stats().calls.unmap;
  ASSERT_THAT(pool->Deallocate(Pages(1), Pages(4)), IsOk());
  EXPECT_EQ(pool->Stats().calls.unmap, unmaps + 1);
  EXPECT_EQ(pool->Stats().in_use, Pages(2));
  ExpectFilled(RangeOf(pool, 0), 1);
  ExpectFilled(RangeOf(pool, 5), 5);
}

TEST_P(PoolTest, NamesWhatIsNotAllocated) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(8));
  EXPECT_THAT(pool->Deallocate(Pages(0), Pages(1)), StatusIs(StatusCode::kNotFound));
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(2)), IsOk());
  ASSERT_THAT(pool->Allocate(Pages(4), Pages(4)), IsOk());
  const MemoryStats before = pool->Stats();
  EXPECT_THAT(
      pool->Deallocate(Pages(1), Pages(4)),
      IsError(StatusCode::kNotFound, HasSubstr("offset " + ToString(Pages(2)) + ", size " +
                                               ToString(Pages(2)) + " of it is not allocated")));
  EXPECT_EQ(pool->Stats().calls, before.calls);
  EXPECT_TRUE(pool->IsMapped(Pages(0), Pages(2)));
  EXPECT_TRUE(pool->IsMapped(Pages(4), Pages(4)));
}

TEST_P(PoolTest, RefusesASecondDeallocate) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(4));
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(2)), IsOk());
  ASSERT_THAT(pool->Deallocate(Pages(0), Pages(2)), IsOk());
  EXPECT_THAT(pool->Deallocate(Pages(0), Pages(2)), StatusIs(StatusCode::kNotFound));
}

// --- Stats -------------------------------------------------------------------------------------

TEST_P(PoolTest, UsesThePhysicalMemoryThatItSays) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(8, WithCache(Pages(1))));
  const auto expect_used = [&](uint64_t pages) {
    EXPECT_EQ(pool->PhysicalMemoryUsage(), Pages(pages));
    ExpectTaken(Pages(pages));
  };
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(4)), IsOk());
  expect_used(4);
  ASSERT_THAT(pool->Deallocate(Pages(1), Pages(3)), IsOk());
  expect_used(2);  // one of them cached
  ASSERT_THAT(pool->Compact(), IsOk());
  expect_used(1);
  ASSERT_THAT(pool->Close(), IsOk());
  expect_used(0);
}

TEST_P(PoolTest, CountsWhatIsInUseAndTheMostThatEverWas) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(8));
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(4)), IsOk());
  ASSERT_THAT(pool->Deallocate(Pages(0), Pages(3)), IsOk());
  ASSERT_THAT(pool->Allocate(Pages(5), Pages(1)), IsOk());
  const MemoryStats stats = pool->Stats();
  EXPECT_EQ(stats.in_use, Pages(2));
  EXPECT_EQ(stats.peak, Pages(4));
  EXPECT_EQ(stats.leaving, Bytes(0));
  EXPECT_EQ(stats.cached, Pages(2));
  EXPECT_EQ(stats.cached_pages, 2);
  EXPECT_EQ(stats.commits, 2);
  EXPECT_EQ(stats.decommits, 1);
}

// --- Close -------------------------------------------------------------------------------------

TEST_P(PoolTest, ReturnsEverythingAtClose) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(8));
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(2)), IsOk());
  ASSERT_THAT(pool->Allocate(Pages(4), Pages(2)), IsOk());
  ASSERT_THAT(pool->Deallocate(Pages(1), Pages(1)), IsOk());
  EXPECT_THAT(pool->Close(), IsOk());
  EXPECT_EQ(pool->PhysicalMemoryUsage(), Bytes(0));
  EXPECT_EQ(pool->Stats().in_use, Bytes(0));
  ExpectTaken(Bytes(0));
  // The addresses are free as well.
  ReserveOptions there;
  there.hint = pool->BaseAddress();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange again, vmm().AddressReserve(Pages(8), there));
  EXPECT_EQ(again.base, pool->BaseAddress());
  EXPECT_THAT(vmm().AddressFree(again), IsOk());
}

TEST_P(PoolTest, RefusesEveryCallAfterClose) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(4));
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(1)), IsOk());
  ASSERT_THAT(pool->Close(), IsOk());
  const auto closed = IsError(StatusCode::kFailedPrecondition, HasSubstr("closed"));
  EXPECT_THAT(pool->Allocate(Pages(0), Pages(1)), closed);
  EXPECT_THAT(pool->Deallocate(Pages(0), Pages(1)), closed);
  EXPECT_THAT(pool->Grant(device(), Access::kRead), closed);
  EXPECT_THAT(pool->Compact(), closed);
  EXPECT_FALSE(pool->IsMapped(Pages(0), Pages(1)));
  EXPECT_THAT(pool->Close(), IsOk());
}

INSTANTIATE_TEST_SUITE_P(On, PoolTest, testing::ValuesIn(Implementations()), NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
