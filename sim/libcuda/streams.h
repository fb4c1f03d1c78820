// Streams: what the program's streams and events are made of, beside their work.

#ifndef TWINMMU_SIM_LIBCUDA_STREAMS_H_
#define TWINMMU_SIM_LIBCUDA_STREAMS_H_

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/libcuda/contexts.h"

namespace twinmmu::libcuda {

// The range of priorities. Source: an H200 with driver 580.159.
inline constexpr int kLeastPriority = 0;
inline constexpr int kGreatestPriority = -5;

struct StreamRecord {
  Context* context = nullptr;
  unsigned int flags = 0;
  int priority = 0;
  uint64_t id = 0;
};

struct EventRecord {
  Context* context = nullptr;
  unsigned int flags = 0;
  std::optional<std::chrono::steady_clock::time_point> recorded;
};

// By id, as the simulator's executor gives them. Thread-safe.
template <typename Record>
class Records {
 public:
  void Add(uint64_t id, const Record& record) {
    const std::unique_lock lock(mutex_);
    records_[id] = record;
  }
  // False: there was none.
  bool Remove(uint64_t id) {
    const std::unique_lock lock(mutex_);
    return records_.erase(id) != 0;
  }
  std::optional<Record> Find(uint64_t id) const {
    const std::shared_lock lock(mutex_);
    const auto found = records_.find(id);
    if (found == records_.end()) return std::nullopt;
    return found->second;
  }
  // Calls change(record) if there is one.
  template <typename Change>
  void Edit(uint64_t id, const Change& change) {
    const std::unique_lock lock(mutex_);
    const auto found = records_.find(id);
    if (found != records_.end()) change(found->second);
  }
  // Calls visit(id, record) for each.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    const std::shared_lock lock(mutex_);
    for (const auto& [id, record] : records_) visit(id, record);
  }
  // Takes away those of a context: their ids.
  std::vector<uint64_t> RemoveOf(const Context& context) {
    std::vector<uint64_t> removed;
    const std::unique_lock lock(mutex_);
    for (auto at = records_.begin(); at != records_.end();) {
      if (at->second.context == &context) {
        removed.push_back(at->first);
        at = records_.erase(at);
      } else {
        ++at;
      }
    }
    return removed;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<uint64_t, Record> records_;
};

struct Streams {
  Records<StreamRecord> streams;
  Records<EventRecord> events;
  std::atomic<uint64_t> last_id{0};
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_STREAMS_H_
