// VirtualMemoryPool, called by several threads at once.

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "api/testing/matchers.h"
#include "conformance/allocators/pool_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

constexpr uint64_t kThreads = 4;
constexpr int kRounds = 20;

class PoolThreadTest : public PoolTest {
 protected:
  static void Run(const std::function<void(uint64_t)>& body) {
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_P(PoolThreadTest, ServesThemSideBySide) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(2 * kThreads, WithCache(Pages(3))));
  Run([&](uint64_t thread) {
    const Bytes offset = Pages(2 * thread);
    for (int round = 0; round < kRounds; ++round) {
      EXPECT_THAT(pool->Allocate(offset, Pages(2)), IsOkAndHolds(pool->BaseAddress() + offset));
      EXPECT_TRUE(pool->IsMapped(offset, Pages(2)));
      EXPECT_THAT(pool->Grant(device(), Access::kReadWrite), IsOk());
      EXPECT_LE(pool->Stats().in_use, Pages(2 * kThreads));
      EXPECT_THAT(pool->Deallocate(offset, Pages(2)), IsOk());
      EXPECT_THAT(pool->Compact(), IsOk());
    }
  });
  EXPECT_EQ(pool->Stats().in_use, Bytes(0));
  EXPECT_EQ(pool->Stats().commits, kThreads * kRounds);
}

TEST_P(PoolThreadTest, GivesOneOffsetToOneOfThem) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(1));
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> got{0};
    Run([&](uint64_t) {
      if (pool->Allocate(Pages(0), Pages(1)).ok()) ++got;
    });
    EXPECT_EQ(got, 1);
    EXPECT_THAT(pool->Deallocate(Pages(0), Pages(1)), IsOk());
  }
}

TEST_P(PoolThreadTest, ClosesOnce) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Pool pool, MakePool(4));
  ASSERT_THAT(pool->Allocate(Pages(0), Pages(2)), IsOk());
  Run([&](uint64_t) { EXPECT_THAT(pool->Close(), IsOk()); });
  EXPECT_EQ(pool->Stats().calls.unmap, 1);
}

INSTANTIATE_TEST_SUITE_P(On, PoolThreadTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
