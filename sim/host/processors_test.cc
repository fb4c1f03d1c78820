// How many processors of the host this process may use at once.

#include "sim/host/processors.h"

#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace twinmmu {
namespace {

class ProcessorsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (Processors("/no/folder") < 2) GTEST_SKIP() << "the host has one processor";
    ASSERT_EQ(mkdir((folder_ + "/cpu").c_str(), 0700), 0);
  }
  void Write(const std::string& file, const std::string& text) const {
    std::ofstream(folder_ + file) << text << "\n";
  }

  static std::string NewFolder() {
    std::string name = testing::TempDir() + "/groups_XXXXXX";
    return mkdtemp(name.data()) != nullptr ? name : "";
  }
  const std::string folder_ = NewFolder();
  const int all_ = Processors("/no/folder");
};

TEST_F(ProcessorsTest, WithoutControlGroupsThereAreThoseOfTheHost) {
  EXPECT_EQ(Processors(folder_), all_);
  EXPECT_LE(all_, static_cast<int>(std::thread::hardware_concurrency()));
}

TEST_F(ProcessorsTest, AContainerHasTheTimeOfSome) {
  Write("/cpu.max", "100000 100000");
  EXPECT_EQ(Processors(folder_), 1);
  Write("/cpu.max", "max 100000");
  EXPECT_EQ(Processors(folder_), all_);
  Write("/cpu.max", "900000000 100000");
  EXPECT_EQ(Processors(folder_), all_) << "more than there are";
}

TEST_F(ProcessorsTest, PartOfAProcessorIsOne) {
  Write("/cpu.max", "10000 100000");
  EXPECT_EQ(Processors(folder_), 1);
  Write("/cpu.max", "100001 100000");
  EXPECT_EQ(Processors(folder_), 2);
  Write("/cpu.max", "200001 100000");
  EXPECT_EQ(Processors(folder_), std::min(all_, 3));
}

TEST_F(ProcessorsTest, TheFirstVersionOfControlGroupsHasTwoFiles) {
  Write("/cpu/cpu.cfs_quota_us", "50000");
  Write("/cpu/cpu.cfs_period_us", "50000");
  EXPECT_EQ(Processors(folder_), 1);
  Write("/cpu/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(Processors(folder_), all_);
}

TEST_F(ProcessorsTest, WhatIsNoNumberIsNone) {
  for (const char* const text : {"", "much", "100000", "100000 0", "-100000 100000"}) {
    Write("/cpu.max", text);
    EXPECT_EQ(Processors(folder_), all_) << text;
  }
}

// It is the thread's own, so that the others' stay.
TEST_F(ProcessorsTest, AProcessMayBeKeptToSome) {
  int count = 0;
  std::thread kept([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    count = Processors(folder_);
  });
  kept.join();
  EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace twinmmu
