#include "sim/libcuda/calls/checkpoints/checkpoints.h"

namespace twinmmu::libcuda {

Checkpoints& Checkpoints::Get() {
  static Checkpoints* const the_one = new Checkpoints;
  return *the_one;
}

void Checkpoints::WaitUntilItRuns() {
  std::unique_lock lock(mutex_);
  runs_.wait(lock, [&] { return state_ == CheckpointState::kRunning; });
}

CheckpointState Checkpoints::state() {
  const std::lock_guard lock(mutex_);
  return state_;
}

bool Checkpoints::Change(CheckpointState from, CheckpointState to) {
  const std::lock_guard lock(mutex_);
  if (state_ != from) return false;
  state_ = to;
  holds_ = to != CheckpointState::kRunning;
  if (!holds_) runs_.notify_all();
  return true;
}

}  // namespace twinmmu::libcuda
