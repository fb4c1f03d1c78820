// DriverLog: what the driver has to say of calls that fail, in words, for programs that ask.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_DRIVER_LOG_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_DRIVER_LOG_H_

#include <sys/time.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/strings/string_view.h"

namespace twinmmu::libcuda {

// The last lines are kept, and all are given to the program's call-backs as they come. Thread-safe.
class DriverLog {
 public:
  using Callback = void (*)(void* data, int level, char* message, size_t size);

  // Never destroyed: programs make calls when static objects are already gone.
  static DriverLog& Get();

  // A handle that is not 0.
  uint64_t Register(Callback callback, void* data);
  // Returns when no other thread is in the call-back any more.
  bool Unregister(uint64_t handle);

  // An error. Call-backs that make calls which fail are not called for those. Without memory for it
  // nothing is said.
  void Say(absl::string_view message);

  // How many lines there were.
  uint32_t end() const;
  // The lines from `first` on, with when they came and from whom; of those that are no more than
  // `room` bytes together the last. `cut`: some are missing. `end`: as end().
  std::string Lines(uint32_t first, size_t room, bool* cut, uint32_t* end) const;

 private:
  // In a child made by fork, where others may hold the lock for good: a log of its own, with
  // nothing in it and nobody who listens.
  static void AfterFork();

  struct Listener {
    Callback callback = nullptr;
    void* data = nullptr;
    bool listens = true;
    int calls = 0;  // that go on
  };
  // In parts, as few lines are ever read, and the host's time as people have it takes a lock that a
  // forked process may find held.
  struct Line {
    timeval time;
    uint64_t thread;
    std::string message;
  };
  static std::string InWords(const Line& line);

  // A call of it; false: it no longer listens.
  bool Begin(Listener* listener);
  void End(Listener* listener);

  static std::atomic<DriverLog*> log_;
  mutable std::mutex mutex_;
  std::condition_variable returned_;
  std::map<uint64_t, std::shared_ptr<Listener>> listeners_;
  uint64_t last_handle_ = 0;
  std::deque<Line> lines_;
  uint32_t end_ = 0;  // behind the last of lines_
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_DRIVER_LOG_H_
