// What is alive, within its bound.

#include "tools/views/live_memory.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "tools/views/told_events.h"

namespace twinmmu {
namespace {

constexpr uint64_t kBase = 0x7000'0000'0000;

class LiveMemoryTest : public testing::Test, public record::EventSink {
 protected:
  void Add(const record::Event& event, const record::Stack& stack) override {
    memory_.Apply(event, stack);
  }
  int Count() const {
    int count = 0;
    memory_.ForEach([&](const LiveObject&) { ++count; });
    return count;
  }

  LiveMemory memory_{3};
  ToldEvents told_{this};
};

TEST_F(LiveMemoryTest, WhatIsMadeBeyondTheMostIsCounted) {
  for (uint64_t i = 0; i < 5; ++i) told_.Reserve(kBase + i * 4096, 4096);
  EXPECT_EQ(Count(), 3);
  EXPECT_EQ(memory_.totals().reserved, 3u * 4096);
  EXPECT_EQ(memory_.LeftOut(), "2 objects: there were more than 3 at once");
}

// What it does not know may end as well.
TEST_F(LiveMemoryTest, WhatEndsMakesRoom) {
  for (uint64_t i = 0; i < 5; ++i) told_.Reserve(kBase + i * 4096, 4096);
  for (uint64_t i = 0; i < 5; ++i) told_.AddressFree(kBase + i * 4096, 4096);
  told_.Reserve(kBase, 8192);
  EXPECT_EQ(Count(), 1);
  EXPECT_EQ(memory_.totals().reserved, 8192u);
}

// A block that goes in its middle is two.
TEST_F(LiveMemoryTest, ABlockFallsApartWithinTheMost) {
  told_.Reserve(kBase, 1 << 20);
  told_.Create(1, 4096);
  told_.AllocateFromPool(kBase, 3 * 4096);
  told_.FreeToPool(kBase + 4096, 4096);
  EXPECT_EQ(Count(), 3);
  EXPECT_EQ(memory_.LeftOut(), "1 objects: there were more than 3 at once");
}

TEST_F(LiveMemoryTest, NothingIsLeftOutOtherwise) {
  for (uint64_t i = 0; i < 5; ++i) {
    told_.Reserve(kBase, 4096);
    told_.AddressFree(kBase, 4096);
  }
  EXPECT_EQ(memory_.LeftOut(), "");
}

}  // namespace
}  // namespace twinmmu
