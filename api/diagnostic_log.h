// DiagnosticLog: what a reporter of misuse has noticed so far.

#ifndef TWINMMU_API_DIAGNOSTIC_LOG_H_
#define TWINMMU_API_DIAGNOSTIC_LOG_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "api/diagnostics.h"

namespace twinmmu {

// Called with each diagnostic as it is noticed: its kind, and all of it, or null if only counted.
using DiagnosticObserver = std::function<void(DiagnosticKind, const Diagnostic*)>;

// Keeps the first diagnostics in full, and counts all by kind. Thread-safe. The caller that counts
// a diagnostic then keeps or drops it.
class DiagnosticLog {
 public:
  explicit DiagnosticLog(size_t kept, DiagnosticObserver observer = nullptr)
      : kept_(kept),
        observer_(std::move(observer)),
        full_(kept == 0),
        counts_(AllDiagnostics().size()) {
    diagnostics_.reserve(kept);
  }

  // Counts one; true if there is room to keep it. Cannot fail.
  bool Count(DiagnosticKind kind) {
    const std::lock_guard lock(mutex_);
    ++counts_[static_cast<size_t>(kind)];
    return !IsFull();
  }
  // True if no more are kept.
  bool IsFull() const { return full_.load(std::memory_order_relaxed); }
  // Drops one that was counted, because its text could not be made.
  void Drop(DiagnosticKind kind) {
    if (observer_) observer_(kind, nullptr);
  }
  // Keeps one that was counted, if there is still room. Cannot fail.
  void Keep(Diagnostic diagnostic) {
    if (observer_) observer_(diagnostic.kind, &diagnostic);
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
  const DiagnosticObserver observer_;
  std::atomic<bool> full_;
  mutable std::mutex mutex_;  // a leaf: nothing else is locked while it is held
  std::vector<Diagnostic> diagnostics_;
  std::vector<uint64_t> counts_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_DIAGNOSTIC_LOG_H_
