// FairSharedMutex: std::shared_mutex, but a writer gets its turn, and alone it costs one
// std::mutex.

#ifndef TWINMMU_SIM_BASE_FAIR_SHARED_MUTEX_H_
#define TWINMMU_SIM_BASE_FAIR_SHARED_MUTEX_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace twinmmu {

// The C++ library's shared_mutex prefers readers: threads that copy without a pause would keep an
// unmap waiting for ever. Here readers enter through the writers' mutex, so that nobody gets past a
// writer that waits; it must therefore not be locked shared twice by one thread. For
// std::unique_lock and std::shared_lock.
class FairSharedMutex {
 public:
  FairSharedMutex() = default;
  FairSharedMutex(const FairSharedMutex&) = delete;
  FairSharedMutex& operator=(const FairSharedMutex&) = delete;

  void lock() {
    Enter();
    if (readers_.load(std::memory_order_acquire) != 0) WaitForReaders();
  }
  void unlock() { entrance_.unlock(); }

  void lock_shared() {
    Enter();
    readers_.fetch_add(1, std::memory_order_relaxed);
    entrance_.unlock();
  }
  void unlock_shared() {
    // Either this reader sees the writer that waits, or that writer sees it gone.
    if (readers_.fetch_sub(1) == 1 && writer_waits_.load()) WakeWriter();
  }

 private:
  void Enter() {
    if (!entrance_.try_lock()) EnterLater();
  }
  // Who is inside leaves within a microsecond, most often; to sleep and be woken takes several. The
  // pauses grow, so that many who wait do not keep the one inside from leaving.
  [[gnu::cold, gnu::noinline]] void EnterLater() {
    constexpr int kLongestPause = 1 << 7;
    for (int pause = 1; pause <= kLongestPause; pause *= 2) {
      for (int i = 0; i < pause; ++i) __builtin_ia32_pause();
      if (entrance_.try_lock()) return;
    }
    entrance_.lock();
  }
  [[gnu::cold, gnu::noinline]] void WaitForReaders() {
    std::unique_lock lock(waiting_);
    writer_waits_.store(true);
    none_left_.wait(lock, [this] { return readers_.load() == 0; });
    writer_waits_.store(false);
  }
  [[gnu::cold, gnu::noinline]] void WakeWriter() {
    const std::lock_guard lock(waiting_);
    none_left_.notify_one();
  }

  std::mutex entrance_;  // held by a writer, and by a reader while it enters
  std::atomic<uint32_t> readers_{0};
  std::atomic<bool> writer_waits_{false};
  std::mutex waiting_;
  std::condition_variable none_left_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_BASE_FAIR_SHARED_MUTEX_H_
