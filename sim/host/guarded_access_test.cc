#include "sim/host/guarded_access.h"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "gtest/gtest.h"

namespace twinmmu {
namespace {

constexpr uint64_t kPage = 4096;

AddressRange At(const void* memory, uint64_t size) {
  return AddressRange{DeviceAddress(reinterpret_cast<uint64_t>(memory)), Bytes(size), Bytes(0)};
}

// Three pages, of which the last one cannot be used and the one before can only be read. What was
// unmapped could be there again, for another thread.
class GuardedAccessTest : public testing::Test {
 protected:
  GuardedAccessTest() {
    void* const mapped =
        mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    memory_ = static_cast<char*>(mapped);
    std::memset(memory_, 'x', 2 * kPage);
    EXPECT_EQ(mprotect(memory_ + kPage, kPage, PROT_READ), 0);
    EXPECT_EQ(mprotect(memory_ + 2 * kPage, kPage, PROT_NONE), 0);
  }
  ~GuardedAccessTest() override { munmap(memory_, 3 * kPage); }

  char* memory_ = nullptr;
  char own_[3 * kPage] = {};
};

TEST_F(GuardedAccessTest, ACopyNamesAnAddressThatIsNotThere) {
  EXPECT_EQ(munmap(memory_ + 2 * kPage, kPage), 0);
  EXPECT_EQ(GuardedCopy(own_, memory_ + 2 * kPage, 8, false), memory_ + 2 * kPage);
}

TEST_F(GuardedAccessTest, ACopyNamesTheAddressThatCannotBeUsed) {
  for (const bool by_words : {false, true}) {
    EXPECT_EQ(GuardedCopy(own_, memory_, 2 * kPage, by_words), nullptr);
    EXPECT_EQ(own_[2 * kPage - 1], 'x');
    const void* const fault = GuardedCopy(own_, memory_, 3 * kPage, by_words);
    EXPECT_GE(fault, memory_ + 2 * kPage);
    EXPECT_LT(fault, memory_ + 3 * kPage);
  }
}

TEST_F(GuardedAccessTest, ACopyNamesTheAddressThatCannotBeWritten) {
  EXPECT_EQ(GuardedCopy(memory_ + kPage - 8, own_, 8, false), nullptr);
  EXPECT_EQ(GuardedCopy(memory_ + kPage, own_, 8, false), memory_ + kPage);
}

TEST_F(GuardedAccessTest, AFillNamesTheAddressThatCannotBeWritten) {
  for (const bool by_words : {false, true}) {
    EXPECT_EQ(GuardedFill(memory_, 8, 7, 1, by_words), nullptr);
    EXPECT_EQ(memory_[7], 7);
    EXPECT_EQ(GuardedFill(memory_ + kPage, 8, 7, 4, by_words), memory_ + kPage);
  }
}

TEST_F(GuardedAccessTest, ALookFindsWhatCannotBeUsedAndChangesNothing) {
  EXPECT_EQ(FindInaccessible(At(memory_, 2 * kPage), Access::kRead), nullptr);
  EXPECT_EQ(FindInaccessible(At(memory_ + 5, 3 * kPage - 5), Access::kRead), memory_ + 2 * kPage);
  EXPECT_EQ(FindInaccessible(At(memory_ + 5, kPage - 5), Access::kReadWrite), nullptr);
  EXPECT_EQ(FindInaccessible(At(memory_ + 5, kPage), Access::kReadWrite), memory_ + kPage);
  EXPECT_EQ(memory_[5], 'x');
}

TEST_F(GuardedAccessTest, AddressesThatNoProgramHasAreNotTouched) {
  const auto* const beyond = reinterpret_cast<const char*>(uint64_t{0xdeadbeef} << 32);
  EXPECT_EQ(GuardedCopy(own_, beyond, 8, false), beyond);
  const auto* const last = reinterpret_cast<const char*>(~uint64_t{0});
  EXPECT_EQ(GuardedCopy(own_, last, 8, false), last);
}

TEST_F(GuardedAccessTest, ThreadsFaultOnTheirOwn) {
  std::thread threads[4];
  for (std::thread& thread : threads) {
    thread = std::thread([this] {
      char own[8];
      for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(GuardedCopy(own, memory_, 8, false), nullptr);
        EXPECT_EQ(GuardedCopy(own, memory_ + 2 * kPage, 8, false), memory_ + 2 * kPage);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

using GuardedAccessDeathTest = GuardedAccessTest;

// What the program itself does wrong ends it as before.
TEST_F(GuardedAccessDeathTest, OtherFaultsStayFatal) {
  const auto fault = [this] {
    signal(SIGSEGV, SIG_DFL);
    EXPECT_EQ(GuardedCopy(own_, memory_ + 2 * kPage, 8, false), memory_ + 2 * kPage);
    static_cast<volatile char*>(memory_)[2 * kPage] = 1;
  };
  EXPECT_EXIT(fault(), testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(GuardedAccessDeathTest, AHandlerOfTheProgramGetsOtherFaults) {
  const auto fault = [this] {
    signal(SIGSEGV, [](int) { _exit(7); });
    EXPECT_EQ(GuardedCopy(own_, memory_ + 2 * kPage, 8, false), memory_ + 2 * kPage);
    static_cast<volatile char*>(memory_)[2 * kPage] = 1;
  };
  EXPECT_EXIT(fault(), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace twinmmu
