// UsedMappings: which mappings a kernel has used so far.

#ifndef TWINMMU_SIM_MMU_USED_MAPPINGS_H_
#define TWINMMU_SIM_MMU_USED_MAPPINGS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>

#include "absl/container/btree_set.h"

namespace twinmmu {

// By their ids, which no two mappings of a machine share; and which pieces of pools, whose ids are
// of the same numbers. Thread-safe; takes no other lock.
class UsedMappings {
 public:
  // Cheap where it is known already. Where the host has no memory left it is forgotten.
  void Add(uint32_t id) {
    std::atomic<uint32_t>& latest = latest_[id % latest_.size()];
    if (latest.load(std::memory_order_relaxed) == id) return;
    const std::lock_guard lock(mutex_);
    try {
      ids_.insert(id);
      latest.store(id, std::memory_order_relaxed);
    } catch (const std::bad_alloc&) {
    }
  }

  bool Contains(uint32_t id) const {
    const std::lock_guard lock(mutex_);
    return ids_.contains(id);
  }

 private:
  std::array<std::atomic<uint32_t>, 256> latest_{};  // of those with the same remainder
  mutable std::mutex mutex_;
  absl::btree_set<uint32_t> ids_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_MMU_USED_MAPPINGS_H_
