// FairSharedMutex: who excludes whom, and that nobody waits for ever.

#include "sim/fair_shared_mutex.h"

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

// Readers of whom one is always inside do not keep a writer out: each leaves only when the other is
// in, until the writer was there. (If they do, this test does not end.)
TEST(FairSharedMutexTest, AWriterGetsItsTurn) {
  FairSharedMutex mutex;
  std::atomic<bool> written{false};
  std::atomic<uint64_t> entered[2] = {{0}, {0}};
  InThreads(3, [&](int thread) {
    if (thread == 2) {
      while (entered[0] < 2 || entered[1] < 2) std::this_thread::yield();
      const std::unique_lock lock(mutex);
      written = true;
      return;
    }
    const int other = 1 - thread;
    while (!written) {
      const std::shared_lock lock(mutex);
      const uint64_t seen = entered[other];
      ++entered[thread];
      // A writer that waits keeps the other one out; then there is nothing to wait for.
      for (int i = 0; i < 1000 && entered[other] == seen; ++i) std::this_thread::yield();
    }
  });
  EXPECT_TRUE(written);
}

}  // namespace
}  // namespace twinmmu
