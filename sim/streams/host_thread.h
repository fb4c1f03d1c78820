// HostThread: the thread that calls functions of the program for streams.

#ifndef TWINMMU_SIM_STREAMS_HOST_THREAD_H_
#define TWINMMU_SIM_STREAMS_HOST_THREAD_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "sim/base/fork_count.h"
#include "sim/streams/stream_scheduler.h"

namespace twinmmu {

// Calls functions one at a time, in the order in which they were given, with no lock held. It has
// no thread before the first one. Thread-safe.
class HostThread : public std::enable_shared_from_this<HostThread> {
 public:
  // A function that may not throw; its thread may end in it.
  class Call {
   public:
    explicit Call(std::function<void()> function) : function_(std::move(function)) {}
    bool is_done() const { return done_; }

   private:
    friend class HostThread;

    std::function<void()> function_;
    std::atomic<bool> done_ = false;
    std::shared_ptr<Call> next_;
  };

  // `scheduler` is told when a function has returned, and must outlive Stop.
  explicit HostThread(StreamScheduler* scheduler) : scheduler_(*scheduler) {}
  // Made after a fork, or stopped.
  ~HostThread();
  HostThread(const HostThread&) = delete;
  HostThread& operator=(const HostThread&) = delete;

  // Each call once. False: the host gives no thread now, and the function will not be called.
  bool Give(const std::shared_ptr<Call>& call);
  // The same, by this thread.
  void CallNow(Call* call);
  // Returns when no function runs any more; those that were not called yet are dropped.
  void Stop();

 private:
  using Lock = std::unique_lock<std::mutex>;

  bool StartThread();
  void Run();

  StreamScheduler& scheduler_;
  const uint32_t forks_ = ForkCount();
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::unique_ptr<std::thread> thread_;
  std::shared_ptr<Call> first_;
  Call* last_ = nullptr;
  bool running_ = false;
  bool stopped_ = false;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_STREAMS_HOST_THREAD_H_
