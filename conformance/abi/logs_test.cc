// The driver's log of calls that failed.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

using Callback = void (*)(void*, int, char*, size_t);
const Function<CUresult(Callback, void*, void**)> add("cuLogsRegisterCallback");
const Function<CUresult(void*)> take_away("cuLogsUnregisterCallback");
const Function<CUresult(unsigned*, unsigned)> current("cuLogsCurrent");
const Function<CUresult(unsigned*, char*, size_t*, unsigned)> dump("cuLogsDumpToMemory");
const Function<CUresult(unsigned*, const char*, unsigned)> dump_to_file("cuLogsDumpToFile");

constexpr char kReturning[] = "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemAlloc_v2";

struct Line {
  int level;
  std::string words;
};

void Keep(void* lines, int level, char* words, size_t size) {
  static_cast<std::vector<Line>*>(lines)->push_back({level, std::string(words, size)});
}

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class LogsTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    if (HasFatalFailure()) return;
    if (DriverVersion() < 12090) GTEST_SKIP() << "the driver is older than these functions";
  }
  static void FailOnce() {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc(&address, 0), CUDA_ERROR_INVALID_VALUE);
  }
};

TEST_F(LogsTest, CallbacksAreToldWhyACallFailed) {
  std::vector<Line> lines;
  void* handle = nullptr;
  ASSERT_EQ(add(Keep, &lines, &handle), CUDA_SUCCESS);
  FailOnce();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].words, "") << "the reason";
  EXPECT_EQ(lines[1].words, kReturning);
  EXPECT_EQ(lines[1].level, 0);
  EXPECT_EQ(take_away(handle), CUDA_SUCCESS);
  FailOnce();
  EXPECT_EQ(lines.size(), 2u) << "no longer";
}

TEST_F(LogsTest, ThereIsNoCallbackWithoutAFunction) {
  void* handle = nullptr;
  EXPECT_EQ(add(nullptr, nullptr, &handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(take_away(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LogsTest, NothingIsSaidOfCallsThatWork) {
  std::vector<Line> lines;
  void* handle = nullptr;
  ASSERT_EQ(add(Keep, &lines, &handle), CUDA_SUCCESS);
  const Buffer buffer(100);
  EXPECT_EQ(lines.size(), 0u);
  EXPECT_EQ(take_away(handle), CUDA_SUCCESS);
}

TEST_F(LogsTest, IteratorGoesToTheEnd) {
  unsigned first = 0;
  EXPECT_EQ(current(&first, 0), CUDA_SUCCESS);
  FailOnce();
  unsigned end = 0;
  EXPECT_EQ(current(&end, 0), CUDA_SUCCESS);
  EXPECT_EQ(end, first + 2);
  std::vector<char> text(4096);
  size_t size = text.size();
  EXPECT_EQ(dump(&first, text.data(), &size, 0), CUDA_SUCCESS);
  EXPECT_EQ(first, end);
  EXPECT_EQ(size, std::string(text.data()).size());
  EXPECT_NE(std::string(text.data()).find(std::string("[CUDA][E] ") + kReturning + "\n"),
            std::string::npos)
      << text.data();
}

TEST_F(LogsTest, AFileHasTheLinesFromTheIteratorOn) {
  FailOnce();
  unsigned first = 0;
  unsigned end = 0;
  EXPECT_EQ(current(&first, 0), CUDA_SUCCESS);
  FailOnce();
  EXPECT_EQ(current(&end, 0), CUDA_SUCCESS);
  const std::string path = testing::TempDir() + "lines";
  EXPECT_EQ(dump_to_file(&first, path.c_str(), 0), CUDA_SUCCESS);
  EXPECT_EQ(first, end);
  const std::string text = TextOf(path);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_NE(text.find(std::string("[CUDA][E] ") + kReturning + "\n"), std::string::npos) << text;
  EXPECT_EQ(dump_to_file(&first, path.c_str(), 0), CUDA_SUCCESS);
  EXPECT_EQ(TextOf(path), "") << "no line since";
  EXPECT_EQ(dump_to_file(nullptr, path.c_str(), 0), CUDA_SUCCESS);
  EXPECT_NE(TextOf(path).find(text), std::string::npos) << "all lines";
}

TEST_F(LogsTest, WithoutAnIteratorAllLinesAreDumped) {
  FailOnce();
  std::vector<char> text(1 << 20);
  size_t size = text.size();
  EXPECT_EQ(dump(nullptr, text.data(), &size, 0), CUDA_SUCCESS);
  EXPECT_EQ(size, std::string(text.data()).size());
  EXPECT_GE(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(size), '\n'), 2);
}

TEST_F(LogsTest, ABufferTooSmallForALineIsRefused) {
  unsigned first = 0;
  EXPECT_EQ(current(&first, 0), CUDA_SUCCESS);
  FailOnce();
  char text[10];
  size_t size = sizeof(text);
  EXPECT_EQ(dump(&first, text, &size, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(size, 0u);
}

TEST_F(LogsTest, NothingIsNull) {
  char text[100];
  size_t size = sizeof(text);
  unsigned first = 0;
  EXPECT_EQ(current(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(dump(&first, nullptr, &size, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(dump(&first, text, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(dump_to_file(&first, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(dump_to_file(&first, "/nowhere/at/all", 0), CUDA_ERROR_INVALID_VALUE);
}

// Its data may go then.
TEST_F(LogsTest, ACallbackInAnotherThreadHasReturnedWhenItIsTakenAway) {
  struct Seen {
    std::atomic<bool> entered{false};
    std::atomic<bool> returned{false};
  };
  Seen seen;
  const auto stay = [](void* data, int, char*, size_t) {
    Seen& of_callback = *static_cast<Seen*>(data);
    of_callback.entered = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    of_callback.returned = true;
  };
  void* handle = nullptr;
  ASSERT_EQ(add(stay, &seen, &handle), CUDA_SUCCESS);
  std::thread other([&] {
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    FailOnce();
  });
  while (!seen.entered) std::this_thread::yield();
  EXPECT_EQ(take_away(handle), CUDA_SUCCESS);
  EXPECT_TRUE(seen.returned);
  other.join();
}

TEST_F(LogsTest, ACallbackMayTakeItselfAway) {
  struct Self {
    void* handle = nullptr;
    int calls = 0;
  };
  Self self;
  const auto leave = [](void* data, int, char*, size_t) {
    ++static_cast<Self*>(data)->calls;
    EXPECT_EQ(take_away(static_cast<Self*>(data)->handle), CUDA_SUCCESS);
  };
  ASSERT_EQ(add(leave, &self, &self.handle), CUDA_SUCCESS);
  FailOnce();
  EXPECT_EQ(self.calls, 1);
}

}  // namespace
}  // namespace twinmmu::abi
