// The checkpoint state of the process: running, locked, or checkpointed.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_CHECKPOINTS_CHECKPOINTS_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_CHECKPOINTS_CHECKPOINTS_H_

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace twinmmu::libcuda {

// CUprocessState, as far as a process gets here.
enum class CheckpointState : int { kRunning = 0, kLocked = 1, kCheckpointed = 2 };

// There is one, for good. Thread-safe.
class Checkpoints {
 public:
  static Checkpoints& Get();

  // Read by every call.
  bool HoldsCalls() const { return holds_.load(std::memory_order_relaxed); }
  // Until the process runs again.
  void WaitUntilItRuns();

  CheckpointState state();
  // False: the process is not in state `from`.
  bool Change(CheckpointState from, CheckpointState to);

 private:
  std::atomic<bool> holds_{false};
  std::mutex mutex_;
  std::condition_variable runs_;
  CheckpointState state_ = CheckpointState::kRunning;
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_CHECKPOINTS_CHECKPOINTS_H_
