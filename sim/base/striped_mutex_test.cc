// StripedMutex: who excludes whom, and that nobody waits for ever.

#include "sim/base/striped_mutex.h"

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

constexpr uint64_t kForEver = 10'000'000;

// Until a reader that counts its rounds makes no more, or has made so many.
void WaitUntilKeptOut(const std::atomic<uint64_t>& rounds) {
  uint64_t seen = 0;
  for (int idle = 0; idle < 100'000 && rounds < kForEver; ++idle) {
    std::this_thread::yield();
    if (rounds != seen) idle = 0;
    seen = rounds;
  }
}

// Readers are in together: each of these waits for the other one inside.
TEST(StripedMutexTest, ReadersShare) {
  StripedMutex mutex;
  std::atomic<int> inside{0};
  InThreads(2, [&](int) {
    const std::shared_lock lock(mutex);
    for (++inside; inside < 2;) std::this_thread::yield();
  });
  EXPECT_EQ(inside, 2);
}

// A writer is alone, among writers and readers.
TEST(StripedMutexTest, AWriterIsAlone) {
  StripedMutex mutex;
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
TEST(StripedMutexTest, AWriterGetsItsTurn) {
  StripedMutex mutex;
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
  WaitUntilKeptOut(rounds);
  stop = true;
  mutex.unlock_shared();
  reader.join();
  writer.join();
  EXPECT_LT(rounds, kForEver);
}

// Who holds other stripes is no hindrance: each of these waits for the other one inside.
TEST(StripedMutexTest, StripesAreApart) {
  StripedMutex mutex;
  std::atomic<int> inside{0};
  InThreads(2, [&](int thread) {
    const StripesLock lock(mutex, thread == 0 ? 0b0011 : 0b1100);
    for (++inside; inside < 2;) std::this_thread::yield();
  });
  EXPECT_EQ(inside, 2);
}

// Who shares a stripe is in together with others that do, and with who shares the whole.
TEST(StripedMutexTest, ReadersOfAStripeShare) {
  StripedMutex mutex;
  std::atomic<int> inside{0};
  const auto meet = [&] {
    for (++inside; inside < 3;) std::this_thread::yield();
  };
  InThreads(3, [&](int thread) {
    if (thread == 0) {
      const std::shared_lock lock(mutex);
      meet();
    } else {
      const SharedStripesLock lock(mutex, 0b1);
      meet();
    }
  });
  EXPECT_EQ(inside, 3);
}

// Two numbers that are the same for everybody but the one writer, under stripe 3.
struct Pair {
  void Write() {
    ++a;
    std::this_thread::yield();
    ++b;
  }
  void Read() {
    if (a != b) ++torn;
  }
  uint64_t a = 0;
  uint64_t b = 0;
  std::atomic<int> torn{0};
};

// Who holds a stripe alone is alone with what it guards, whichever way the others come.
TEST(StripedMutexTest, AWriterOfAStripeIsAlone) {
  constexpr int kWriters = 4;
  constexpr int kRounds = 100;
  StripedMutex mutex;
  Pair pair;
  std::atomic<int> writing{kWriters};
  InThreads(8, [&](int thread) {
    for (int i = 0; thread < kWriters && i < kRounds; ++i) {
      if (thread == 0) {
        const std::unique_lock lock(mutex);
        pair.Write();
      } else {
        const StripesLock lock(mutex, thread == 1 ? 0b1100 : 0b1000);
        pair.Write();
      }
    }
    if (thread < kWriters) --writing;
    while (writing != 0) {
      if (thread % 2 == 0) {
        const SharedStripesLock lock(mutex, thread == 6 ? 0b1000 : 0b11000);
        pair.Read();
      } else {
        const std::shared_lock lock(mutex);
        pair.Read();
      }
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(pair.torn, 0);
  EXPECT_EQ(pair.a, uint64_t{kWriters} * kRounds);
  EXPECT_EQ(pair.b, uint64_t{kWriters} * kRounds);
}

// Stripes that are taken together keep nobody waiting for ever, whatever the others take.
TEST(StripedMutexTest, SeveralStripesAreTakenTogether) {
  StripedMutex mutex;
  uint64_t sum = 0;
  InThreads(4, [&](int thread) {
    for (int i = 0; i < 5000; ++i) {
      if (thread == 3 && i % 8 == 0) {
        const std::unique_lock lock(mutex);
        ++sum;
      } else {
        const StripesLock lock(mutex, 1u << thread | 1u << (thread + 1) % 4 | 1u << 31);
        ++sum;
      }
    }
  });
  EXPECT_EQ(sum, 20000u);
}

// A writer, of a stripe or the whole, keeps out who shares that stripe after it has come.
TEST(StripedMutexTest, AWriterGetsItsTurnBeforeReadersOfAStripe) {
  for (const bool whole : {false, true}) {
    StripedMutex mutex;
    std::atomic<bool> stop{false};
    std::atomic<bool> inside{false};
    std::atomic<uint64_t> rounds{0};
    std::thread first([&] {
      const SharedStripesLock lock(mutex, 0b1);
      for (inside = true; !stop;) std::this_thread::yield();
    });
    while (!inside) std::this_thread::yield();
    std::thread writer([&] {
      if (whole) {
        const std::unique_lock lock(mutex);
      } else {
        const StripesLock lock(mutex, 0b1);
      }
    });
    std::thread reader([&] {
      while (!stop && rounds < kForEver) {
        const SharedStripesLock lock(mutex, 0b1);
        ++rounds;
      }
    });
    WaitUntilKeptOut(rounds);
    stop = true;
    first.join();
    reader.join();
    writer.join();
    EXPECT_LT(rounds, kForEver);
  }
}

// Who has the whole, if only shared, sees how often stripes were held alone.
TEST(StripedMutexTest, CountsWrites) {
  StripedMutex mutex;
  mutex.lock_shared();
  EXPECT_EQ(mutex.writes(), 0u);
  mutex.unlock_shared();
  { const StripesLock lock(mutex, 0b11); }
  { const SharedStripesLock lock(mutex, 0b11); }
  mutex.lock_shared();
  EXPECT_EQ(mutex.writes(), 2u);
  mutex.unlock_shared();
  { const StripesLock lock(mutex, 0b100); }
  mutex.lock();
  EXPECT_EQ(mutex.writes(), 3u);
  mutex.unlock();
}

}  // namespace
}  // namespace twinmmu
