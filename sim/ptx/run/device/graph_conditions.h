// GraphConditions: what kernels of graphs decide by cudaGraphSetConditional.

#ifndef TWINMMU_SIM_PTX_RUN_DEVICE_GRAPH_CONDITIONS_H_
#define TWINMMU_SIM_PTX_RUN_DEVICE_GRAPH_CONDITIONS_H_

#include <cstdint>
#include <map>
#include <mutex>

namespace twinmmu::ptx {

// Of a machine, by handle. A handle is used once. Thread-safe; a leaf.
class GraphConditions {
 public:
  // Of value 0.
  uint64_t Add() {
    const std::lock_guard lock(mutex_);
    values_.emplace(last_ + 1, 0);
    return ++last_;
  }
  void Remove(uint64_t handle) {
    const std::lock_guard lock(mutex_);
    values_.erase(handle);
  }
  // Does nothing where there is no such condition.
  void Set(uint64_t handle, uint32_t value) {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(handle);
    if (found != values_.end()) found->second = value;
  }
  // 0 where there is none.
  uint32_t Get(uint64_t handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(handle);
    return found == values_.end() ? 0 : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, uint32_t> values_;
  uint64_t last_ = 0;
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_DEVICE_GRAPH_CONDITIONS_H_
