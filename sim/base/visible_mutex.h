// VisibleMutex: std::mutex, of which others see whether it is held.

#ifndef TWINMMU_SIM_BASE_VISIBLE_MUTEX_H_
#define TWINMMU_SIM_BASE_VISIBLE_MUTEX_H_

#include <atomic>
#include <cstdint>

namespace twinmmu {

// For std::lock_guard and its like.
class VisibleMutex {
 public:
  VisibleMutex() = default;
  VisibleMutex(const VisibleMutex&) = delete;
  VisibleMutex& operator=(const VisibleMutex&) = delete;

  bool try_lock() {
    uint32_t word = kFree;
    return word_.compare_exchange_strong(word, kHeld);
  }
  void lock() {
    if (!try_lock()) LockLater();
  }
  void unlock() {
    if (word_.exchange(kFree) == kAwaited) WakeOne();
  }
  // In one order with all that is done here and to other atomics: who locks and then looks at
  // something, and who changes that and then asks here, do not miss each other.
  bool held() const { return word_.load() != kFree; }

 private:
  static constexpr uint32_t kFree = 0;
  static constexpr uint32_t kHeld = 1;
  static constexpr uint32_t kAwaited = 2;  // held, and somebody may sleep until it is not

  [[gnu::cold, gnu::noinline]] void LockLater();
  [[gnu::cold, gnu::noinline]] void WakeOne();

  std::atomic<uint32_t> word_{kFree};  // the host's futex
};

// Tries `done` a few times, which is what it takes until others have left, most often: within a
// microsecond. To sleep and be woken takes several. The pauses grow, so that many who wait do not
// keep those inside from leaving.
template <typename Done>
bool SpinUntil(const Done& done) {
  constexpr int kLongestPause = 1 << 7;
  for (int pause = 1; pause <= kLongestPause; pause *= 2) {
    for (int i = 0; i < pause; ++i) __builtin_ia32_pause();
    if (done()) return true;
  }
  return false;
}

}  // namespace twinmmu

#endif  // TWINMMU_SIM_BASE_VISIBLE_MUTEX_H_
