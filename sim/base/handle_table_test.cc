// Handles and pools: names of the dead are told from names of the living.

#include "sim/base/handle_table.h"

#include "gtest/gtest.h"
#include "sim/base/pool.h"

namespace twinmmu {
namespace {

// A value finds its object, is never 0, and finds nothing once the object is gone.
TEST(HandleTableTest, FindsTheLivingOnly) {
  HandleTable<int> table;
  const uint64_t a = table.Insert(7);
  EXPECT_NE(a, 0u);
  ASSERT_NE(table.Find(a), nullptr);
  EXPECT_EQ(*table.Find(a), 7);
  table.Erase(HandleTable<int>::IndexOf(a));
  EXPECT_EQ(table.Find(a), nullptr);
  EXPECT_EQ(table.size(), 0u);
}

// The slot of a dead object is used again, its value is not.
TEST(HandleTableTest, NeverReusesAValue) {
  HandleTable<int> table;
  const uint64_t a = table.Insert(1);
  table.Erase(HandleTable<int>::IndexOf(a));
  const uint64_t b = table.Insert(2);
  EXPECT_EQ(HandleTable<int>::IndexOf(a), HandleTable<int>::IndexOf(b));
  EXPECT_NE(a, b);
  EXPECT_EQ(table.Find(a), nullptr);
}

// Values that nobody gave out find nothing.
TEST(HandleTableTest, KnowsInventedValues) {
  HandleTable<int> table;
  const uint64_t a = table.Insert(1);
  for (const uint64_t value : {uint64_t{0}, uint64_t{1}, a + 1, a << 32, ~uint64_t{0}}) {
    EXPECT_EQ(table.Find(value), nullptr) << value;
  }
}

// Records do not move when a pool grows, and a removed number is used again.
TEST(PoolTest, KeepsRecordsInPlace) {
  Pool<int> pool;
  const uint32_t first = pool.Add(41);
  const int* place = &pool[first];
  for (int i = 0; i < 5000; ++i) pool.Add(i);
  EXPECT_EQ(&pool[first], place);
  EXPECT_EQ(pool[first], 41);
  pool.Remove(first);
  EXPECT_EQ(pool.size(), 5000u);
  EXPECT_EQ(pool.Add(42), first);
}

}  // namespace
}  // namespace twinmmu
