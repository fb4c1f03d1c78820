// The thread of a StreamScheduler: what runs when no call comes.

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "sim/base/fork_count.h"
#include "sim/streams/library_thread.h"
#include "sim/streams/rest.h"
#include "sim/streams/stream_scheduler.h"

namespace twinmmu {
namespace {

// How long no call comes before the thread takes over.
constexpr std::chrono::milliseconds kQuiet(100);

}  // namespace

void StreamScheduler::Stop() {
  if (ForkCount() != forks_) return;
  {
    const Lock lock(mutex_);
    stopped_ = true;
  }
  wakes_thread_.notify_all();
  if (thread_ != nullptr) thread_->join();
  thread_ = nullptr;
}

void StreamScheduler::Wake() {
  const Lock lock(mutex_);
  progress_.notify_all();
  wakes_thread_.notify_all();
}

void StreamScheduler::StartThread() {
  if (thread_ != nullptr) return wakes_thread_.notify_all();
  if (stopped_) return;
  thread_ = StartLibraryThread([this] {  // where there is none, kernels run in calls only
    const absl::Cleanup replace = [this] { ReplaceThread(); };
    RunThread();
  });
}

// A host function may end the thread that calls it, which may be this one.
void StreamScheduler::ReplaceThread() {
  const Lock lock(mutex_);
  if (stopped_) return;
  thread_->detach();
  thread_ = nullptr;
  StartThread();
}

void StreamScheduler::RunThread() {
  Lock lock(mutex_);
  while (!stopped_) {
    if (kernels_ == 0 && !wait_ended_) {
      wakes_thread_.wait(lock);
      continue;
    }
    uint64_t seen = calls_;
    const auto quiet = std::chrono::steady_clock::now() + kQuiet;
    Rest rest;
    while (!stopped_ && functions_ == 0 && std::chrono::steady_clock::now() < quiet) {
      if (waits_ == 0) {
        wakes_thread_.wait_until(lock, quiet,
                                 [&] { return stopped_ || waits_ != 0 || functions_ != 0; });
      } else if (RunWaits(lock)) {
        rest = Rest();
      } else {
        rest.Take(wakes_thread_, lock, Rest::kOfWaits);
      }
    }
    while (!stopped_ && pending_ != 0 && (calls_ == seen || functions_ != 0)) {
      const bool got_on = RunOthers(nullptr, nullptr, Turn::kUnasked, lock);
      seen = calls_;
      // Where nothing got anywhere it is the CPU's turn, or that of a call that runs something.
      if (got_on) {
        rest = Rest();
      } else {
        rest.Take(wakes_thread_, lock, waits_ == kernels_ ? Rest::kOfWaits : Rest::kOfKernels);
      }
    }
  }
}

}  // namespace twinmmu
