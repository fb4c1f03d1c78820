// What the host has left of memory.

#include "sim/host/available_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

constexpr size_t kPage = 4096;

TEST(AvailableMemoryTest, ThereIsSomeAndNotAllThatThereCanBe) {
  EXPECT_GT(AvailableMemory(), MiB(1));
  EXPECT_LT(AvailableMemory(), GiB(1 << 20));
}

// The folder of a control group, with what its files say.
class ControlGroupTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(folder_, ""); }
  void Write(const std::string& file, const std::string& text) const {
    std::ofstream(folder_ + file) << text << "\n";
  }

  static std::string NewFolder() {
    std::string name = testing::TempDir() + "/memory_XXXXXX";
    return mkdtemp(name.data()) != nullptr ? name : "";
  }
  const std::string folder_ = NewFolder();
};

TEST_F(ControlGroupTest, HasWhatItHasNotTakenAndWhatItsFilesKeep) {
  Write("/memory.max", "10000000");
  Write("/memory.current", "9000000");
  EXPECT_EQ(AvailableMemory(folder_), Bytes(1'000'000)) << "without statistics";
  Write("/memory.stat", "anon 5000000\ninactive_file 30000\nactive_file 200\nslab 7");
  EXPECT_EQ(AvailableMemory(folder_), Bytes(1'030'200));
}

TEST_F(ControlGroupTest, HasNothingBeyondItsLimit) {
  Write("/memory.max", "10000000");
  Write("/memory.current", "10500000");
  EXPECT_EQ(AvailableMemory(folder_), Bytes(0));
  Write("/memory.stat", "inactive_file 600000");
  EXPECT_EQ(AvailableMemory(folder_), Bytes(100'000));
  Write("/memory.stat", "inactive_file 20000000");
  EXPECT_EQ(AvailableMemory(folder_), Bytes(10'000'000)) << "not more than all";
}

TEST_F(ControlGroupTest, WithoutALimitThereIsWhatTheMachineHas) {
  Write("/memory.max", "max");
  Write("/memory.current", "9000000");
  EXPECT_GT(AvailableMemory(folder_), MiB(1));
  Write("/memory.max", "1");
  std::remove((folder_ + "/memory.current").c_str());
  EXPECT_GT(AvailableMemory(folder_), MiB(1)) << "nobody says what is taken";
}

// Private memory and memory files alike; pages count that are touched in part.
TEST(AvailableMemoryTest, PagesThatWereWrittenAreTouched) {
  for (const int kind : {MAP_PRIVATE, MAP_SHARED}) {
    SCOPED_TRACE(kind);
    void* const mapped =
        mmap(nullptr, 40'000 * kPage, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    char* const memory = static_cast<char*>(mapped);
    ASSERT_EQ(madvise(memory, 40'000 * kPage, MADV_NOHUGEPAGE), 0);
    EXPECT_EQ(UntouchedBytes(memory, 40'000 * kPage), Bytes(40'000 * kPage));
    memory[0] = memory[5 * kPage + 7] = memory[30'000 * kPage] = 1;
    EXPECT_EQ(UntouchedBytes(memory, 40'000 * kPage), Bytes(39'997 * kPage));
    EXPECT_EQ(UntouchedBytes(memory + 4 * kPage + 9, kPage), Bytes(kPage));
    munmap(memory, 40'000 * kPage);
  }
}

}  // namespace
}  // namespace twinmmu
