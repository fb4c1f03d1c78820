#include "sim/streams/host_thread.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "sim/streams/library_thread.h"

namespace twinmmu {

HostThread::~HostThread() {
  if (ForkCount() != forks_) thread_.release();  // the parent's
}

bool HostThread::Give(const std::shared_ptr<Call>& call) {
  const Lock lock(mutex_);
  if (stopped_) {
    call->done_ = true;
    return true;
  }
  if (thread_ == nullptr && !StartThread()) return false;
  Call* const last = std::exchange(last_, call.get());
  (last == nullptr ? first_ : last->next_) = call;
  changed_.notify_all();
  return true;
}

void HostThread::Stop() {
  if (ForkCount() != forks_) return;
  Lock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !running_; });
  const std::unique_ptr<std::thread> thread = std::move(thread_);
  lock.unlock();
  if (thread != nullptr) thread->join();
  while (first_ != nullptr) first_ = std::move(first_->next_);  // not one within the other
}

// With mutex_ held. False: the host gives no thread.
bool HostThread::StartThread() {
  thread_ = StartLibraryThread([self = shared_from_this()] { self->Run(); });
  if (thread_ != nullptr) scheduler_.AddThreads(1);
  return thread_ != nullptr;
}

void HostThread::Run() {
  Lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopped_ || first_ != nullptr; });
    if (stopped_) break;
    const std::shared_ptr<Call> call = first_;
    first_ = std::move(call->next_);
    if (first_ == nullptr) last_ = nullptr;
    running_ = true;
    lock.unlock();
    bool returned = false;
    const absl::Cleanup end = [&] {
      lock.lock();
      running_ = false;
      if (!returned) {  // the thread ends: another one takes its place
        scheduler_.AddThreads(-1);
        if (thread_ != nullptr) thread_->detach();
        thread_ = nullptr;
        if (!stopped_ && first_ != nullptr) StartThread();
        lock.unlock();
      }
      changed_.notify_all();
    };
    CallNow(call.get());
    returned = true;
  }
  scheduler_.AddThreads(-1);
}

void HostThread::CallNow(Call* call) {
  const absl::Cleanup end = [&] {
    call->done_ = true;
    scheduler_.Wake();
  };
  std::exchange(call->function_, nullptr)();
}

}  // namespace twinmmu
