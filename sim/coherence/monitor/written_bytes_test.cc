#include "sim/coherence/monitor/written_bytes.h"

#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace twinmmu::coherence {
namespace {

constexpr LocationId kBase = 16 * kPageBytes;

TEST(WrittenBytesTest, WhatNobodySaidIsWritten) {
  WrittenBytes bytes;
  EXPECT_FALSE(bytes.HasFresh(kBase, 100));
  bytes.SetWritten(kBase, 100);
  EXPECT_TRUE(bytes.empty());
}

TEST(WrittenBytesTest, FreshBytesAreFreshUntilTheyAreWritten) {
  WrittenBytes bytes;
  bytes.SetFresh(kBase + 100, 3 * kPageBytes);
  EXPECT_FALSE(bytes.HasFresh(kBase, 100));
  EXPECT_TRUE(bytes.HasFresh(kBase, 101));
  bytes.SetWritten(kBase + 100, 4);
  EXPECT_FALSE(bytes.HasFresh(kBase + 100, 4));
  EXPECT_TRUE(bytes.HasFresh(kBase + 100, 5));
  bytes.SetWritten(kBase + 104, 3 * kPageBytes - 4);
  EXPECT_FALSE(bytes.HasFresh(kBase, 4 * kPageBytes));
}

// What is given away again is fresh again, and what lies beside it stays as it is.
TEST(WrittenBytesTest, BytesBecomeFreshAgain) {
  WrittenBytes bytes;
  bytes.SetFresh(kBase, 256);
  bytes.SetWritten(kBase, 64);
  bytes.SetFresh(kBase, 32);
  EXPECT_TRUE(bytes.HasFresh(kBase, 32));
  EXPECT_FALSE(bytes.HasFresh(kBase + 32, 32));
  EXPECT_TRUE(bytes.HasFresh(kBase + 64, 1));
}

TEST(WrittenBytesTest, AgreesWithAByteForEachByte) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    WrittenBytes bytes;
    std::vector<bool> fresh(6 * kPageBytes);
    for (int step = 0; step < 300; ++step) {
      const uint64_t first = random() % fresh.size();
      const uint64_t most = random() % 2 == 0 ? 16 : fresh.size();
      const uint64_t size = 1 + random() % std::min<uint64_t>(most, fresh.size() - first);
      bool any = false;
      for (uint64_t i = first; i < first + size; ++i) any = any || fresh[i];
      ASSERT_EQ(bytes.HasFresh(kBase + first, size), any) << "round " << round << ", step " << step;
      const bool writes = random() % 3 != 0;
      if (writes) {
        bytes.SetWritten(kBase + first, size);
      } else {
        bytes.SetFresh(kBase + first, size);
      }
      for (uint64_t i = first; i < first + size; ++i) fresh[i] = !writes;
    }
  }
}

}  // namespace
}  // namespace twinmmu::coherence
