#include "sim/libcuda/calls/driver_log.h"

#include <pthread.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "sim/libcuda/calls/exception_guard.h"

namespace twinmmu::libcuda {
namespace {

constexpr size_t kMostLines = 100;
constexpr int kError = 0;  // CU_LOG_LEVEL_ERROR

thread_local bool in_callback = false;

// "[02:54:27.812][139690696034112][CUDA][E] Requested 0 byte allocation\n"
std::string LineOf(absl::string_view message) {
  timeval now = {};
  gettimeofday(&now, nullptr);
  tm local = {};
  localtime_r(&now.tv_sec, &local);
  char time[32];
  const size_t size = std::strftime(time, sizeof(time), "%T", &local);
  std::snprintf(time + size, sizeof(time) - size, ".%03d", static_cast<int>(now.tv_usec / 1000));
  return absl::StrCat("[", time, "][", static_cast<uint64_t>(pthread_self()), "][CUDA][E] ",
                      message, "\n");
}

}  // namespace

std::atomic<DriverLog*> DriverLog::log_{nullptr};

DriverLog& DriverLog::Get() {
  static const int followed = [] {
    log_ = new DriverLog;
    return pthread_atfork(nullptr, nullptr, AfterFork);
  }();
  static_cast<void>(followed);
  return *log_.load(std::memory_order_acquire);
}

void DriverLog::AfterFork() {
  log_ = new DriverLog;
  in_callback = false;
}

uint64_t DriverLog::Register(Callback callback, void* data) {
  auto listener = std::make_shared<Listener>();
  listener->callback = callback;
  listener->data = data;
  const std::lock_guard lock(mutex_);
  listeners_[++last_handle_] = std::move(listener);
  return last_handle_;
}

bool DriverLog::Unregister(uint64_t handle) {
  std::unique_lock lock(mutex_);
  const auto found = listeners_.find(handle);
  if (found == listeners_.end()) return false;
  const std::shared_ptr<Listener> listener = std::move(found->second);
  listeners_.erase(found);
  listener->listens = false;
  // A call-back may end itself.
  if (!in_callback) returned_.wait(lock, [&] { return listener->calls == 0; });
  return true;
}

bool DriverLog::Begin(Listener* listener) {
  const std::lock_guard lock(mutex_);
  if (listener->listens) ++listener->calls;
  return listener->listens;
}

void DriverLog::End(Listener* listener) {
  const std::lock_guard lock(mutex_);
  --listener->calls;
  returned_.notify_all();
}

void DriverLog::Say(absl::string_view message) {
  try {
    std::string line = LineOf(message);
    std::vector<std::shared_ptr<Listener>> listeners;
    {
      const std::lock_guard lock(mutex_);
      lines_.push_back(std::move(line));
      ++end_;
      if (lines_.size() > kMostLines) lines_.pop_front();
      if (listeners_.empty() || in_callback) return;
      for (const auto& [handle, listener] : listeners_) listeners.push_back(listener);
    }
    std::string text(message);
    in_callback = true;
    for (const std::shared_ptr<Listener>& listener : listeners) {
      if (!Begin(listener.get())) continue;
      const absl::Cleanup end = [&] { End(listener.get()); };  // also where the thread ends in it
      CallBack([&] { listener->callback(listener->data, kError, text.data(), text.size()); });
    }
    in_callback = false;
  } catch (const std::bad_alloc&) {
  }
}

uint32_t DriverLog::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

std::string DriverLog::Lines(uint32_t first, size_t room, bool* cut, uint32_t* end) const {
  const std::lock_guard lock(mutex_);
  *end = end_;
  const size_t asked = std::min<size_t>(end_ - std::min(first, end_), lines_.size());
  size_t size = 0;
  size_t count = 0;
  while (count < asked && size + lines_[lines_.size() - 1 - count].size() <= room) {
    size += lines_[lines_.size() - 1 - count].size();
    ++count;
  }
  *cut = count < asked;
  std::string text;
  for (size_t i = lines_.size() - count; i < lines_.size(); ++i) text += lines_[i];
  return text;
}

}  // namespace twinmmu::libcuda
