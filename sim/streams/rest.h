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
// for a while, and longer and longer, up to `longest`. Not thread-safe.
class Rest {
 public:
  // A kernel that polls may do so in many steps, and is to be quick.
  static constexpr std::chrono::microseconds kOfKernels{50};
  static constexpr std::chrono::microseconds kOfWaits{1000};

  // `lock` is released meanwhile; it is over at once when `wakes` is notified.
  void Take(std::condition_variable& wakes, std::unique_lock<std::mutex>& lock,
            std::chrono::microseconds longest) {
    if (yields_ < kYields) {
      ++yields_;
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
      return;
    }
    pause_ = std::min(pause_, longest);
    wakes.wait_for(lock, pause_);
    pause_ *= 2;
  }

 private:
  static constexpr int kYields = 50;

  int yields_ = 0;
  std::chrono::microseconds pause_ = kOfKernels;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_STREAMS_REST_H_
