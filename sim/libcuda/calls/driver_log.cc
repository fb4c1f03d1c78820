#include "sim/libcuda/calls/driver_log.h"

#include <pthread.h>

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

}  // namespace

// When the library is loaded: a process that is forked while a thread made it would wait for that.
std::atomic<DriverLog*> DriverLog::log_{[] {
  pthread_atfork(nullptr, nullptr, AfterFork);
  return new DriverLog;
}()};

DriverLog& DriverLog::Get() { return *log_.load(std::memory_order_acquire); }

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

// "[02:54:27.812][139690696034112][CUDA][E] Requested 0 byte allocation\n"
std::string DriverLog::InWords(const Line& line) {
  tm local = {};
  localtime_r(&line.time.tv_sec, &local);
  char time[32];
  const size_t size = std::strftime(time, sizeof(time), "%T", &local);
  std::snprintf(time + size, sizeof(time) - size, ".%03d",
                static_cast<int>(line.time.tv_usec / 1000));
  return absl::StrCat("[", time, "][", line.thread, "][CUDA][E] ", line.message, "\n");
}

void DriverLog::Say(absl::string_view message) {
  try {
    Line line{{}, static_cast<uint64_t>(pthread_self()), std::string(message)};
    gettimeofday(&line.time, nullptr);
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
  size_t count = 0;
  std::string text;
  for (; count < asked; ++count) {
    std::string line = InWords(lines_[lines_.size() - 1 - count]);
    if (text.size() + line.size() > room) break;
    text = std::move(line) + text;
  }
  *cut = count < asked;
  return text;
}

}  // namespace twinmmu::libcuda
