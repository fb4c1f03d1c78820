// Rest: a pause of a thread that looks again and again whether others got on.

#ifndef TWINMMU_SIM_STREAMS_REST_H_
#define TWINMMU_SIM_STREAMS_REST_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace twinmmu {

// It waits for the CPU or another process: at first it only lets others go first, then nobody looks
// for a while, and longer and longer. Not thread-safe.
class Rest {
 public:
  // `lock` is released meanwhile; it is over at once when `wakes` is notified.
  void Take(std::condition_variable& wakes, std::unique_lock<std::mutex>& lock) {
    if (yields_ < kYields) {
      ++yields_;
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
      return;
    }
    wakes.wait_for(lock, pause_);
    pause_ = std::min(2 * pause_, kLongest);
  }

 private:
  static constexpr int kYields = 50;
  static constexpr std::chrono::microseconds kLongest{1000};

  int yields_ = 0;
  std::chrono::microseconds pause_{50};
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_STREAMS_REST_H_
