// DiagnosticLog: what was noticed so far.

#ifndef TWINMMU_SIM_DIAGNOSTIC_LOG_H_
#define TWINMMU_SIM_DIAGNOSTIC_LOG_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "api/diagnostics.h"

namespace twinmmu {

// Keeps the first diagnostics in full, and counts all, by kind. Thread-safe.
class DiagnosticLog {
 public:
  explicit DiagnosticLog(size_t kept)
      : kept_(kept), full_(kept == 0), counts_(AllDiagnostics().size()) {
    diagnostics_.reserve(kept);
  }

  // Counts one, and says whether there is room to keep it. Cannot fail.
  bool Count(DiagnosticKind kind) {
    const std::lock_guard lock(mutex_);
    ++counts_[static_cast<size_t>(kind)];
    return !IsFull();
  }
  // Whether no more are kept.
  bool IsFull() const { return full_.load(std::memory_order_relaxed); }
  // Keeps one that was counted, if there still is room. Cannot fail.
  void Keep(Diagnostic diagnostic) {
    const std::lock_guard lock(mutex_);
    if (diagnostics_.size() < kept_) diagnostics_.push_back(std::move(diagnostic));
    if (diagnostics_.size() == kept_) full_.store(true, std::memory_order_relaxed);
  }

  std::vector<Diagnostic> Kept() const {
    const std::lock_guard lock(mutex_);
    return diagnostics_;
  }
  uint64_t CountOf(DiagnosticKind kind) const {
    const std::lock_guard lock(mutex_);
    const auto index = static_cast<size_t>(kind);
    return index < counts_.size() ? counts_[index] : 0;
  }

 private:
  const size_t kept_;
  std::atomic<bool> full_;
  mutable std::mutex mutex_;  // a leaf: nothing else is locked while it is held
  std::vector<Diagnostic> diagnostics_;
  std::vector<uint64_t> counts_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_DIAGNOSTIC_LOG_H_
