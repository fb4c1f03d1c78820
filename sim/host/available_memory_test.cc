// What the host has left of memory.

#include "sim/host/available_memory.h"

#include <sys/mman.h>

#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

constexpr size_t kPage = 4096;

TEST(AvailableMemoryTest, ThereIsSomeAndNotAllThatThereCanBe) {
  EXPECT_GT(AvailableMemory(), MiB(1));
  EXPECT_LT(AvailableMemory(), GiB(1 << 20));
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
