// FairSharedMutex: who excludes whom, and that nobody waits for ever.

#include "sim/base/fair_shared_mutex.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace twinmmu {
namespace {

// Runs `body(thread)` in `count` threads, and waits for them.
template <typename Body>
void InThreads(int count, const Body& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

// Readers are in together: each of these waits for the other one inside.
TEST(FairSharedMutexTest, ReadersShare) {
  FairSharedMutex mutex;
  std::atomic<int> inside{0};
  InThreads(2, [&](int) {
    const std::shared_lock lock(mutex);
    for (++inside; inside < 2;) std::this_thread::yield();
  });
  EXPECT_EQ(inside, 2);
}

// A writer is alone, among writers and readers.
TEST(FairSharedMutexTest, AWriterIsAlone) {
  FairSharedMutex mutex;
  uint64_t a = 0;
  uint64_t b = 0;
  std::atomic<int> torn{0};
  InThreads(4, [&](int thread) {
    for (int i = 0; i < 2000; ++i) {
      if (thread % 2 == 0) {
        const std::unique_lock lock(mutex);
        ++a;
        std::this_thread::yield();
        ++b;
      } else {
        const std::shared_lock lock(mutex);
        if (a != b) ++torn;
      }
    }
  });
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(a, 4000u);
  EXPECT_EQ(b, 4000u);
}

// A reader that comes after a writer that waits is kept out: while this test reads, another reader
// goes in and out until the writer has come, and not for ever.
TEST(FairSharedMutexTest, AWriterGetsItsTurn) {
  constexpr uint64_t kForEver = 10'000'000;
  FairSharedMutex mutex;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> rounds{0};
  mutex.lock_shared();
  std::thread writer([&] { const std::unique_lock lock(mutex); });
  std::thread reader([&] {
    while (!stop && rounds < kForEver) {
      const std::shared_lock lock(mutex);
      ++rounds;
    }
  });
  uint64_t seen = 0;
  for (int idle = 0; idle < 100'000 && rounds < kForEver; ++idle) {
    std::this_thread::yield();
    if (rounds != seen) idle = 0;
    seen = rounds;
  }
  stop = true;
  mutex.unlock_shared();
  reader.join();
  writer.join();
  EXPECT_LT(rounds, kForEver);
}

}  // namespace
}  // namespace twinmmu
