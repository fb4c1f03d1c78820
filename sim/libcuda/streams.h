// Streams: what the program's streams and events are made of, beside their work.

#ifndef TWINMMU_SIM_LIBCUDA_STREAMS_H_
#define TWINMMU_SIM_LIBCUDA_STREAMS_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <utility>

#include "api/diagnostics.h"
#include "api/driver_error.h"
#include "sim/libcuda/contexts.h"

namespace twinmmu {
class SharedEvent;
}

namespace twinmmu::libcuda {

// The range of priorities. Source: an H200 with driver 580.159.
inline constexpr int kLeastPriority = 0;
inline constexpr int kGreatestPriority = -5;

// The longest value is that of a window with an access policy.
using StreamAttribute = std::array<char, 32>;

struct StreamRecord {
  Context* context = nullptr;
  unsigned int flags = 0;
  int priority = 0;
  uint64_t id = 0;
  Context* green = nullptr;  // that it was made in
  // What was set of it by cuStreamSetAttribute, by attribute. Nothing of it takes part in memory.
  std::map<int, StreamAttribute> attributes = {};
};

struct EventRecord {
  Context* context = nullptr;
  unsigned int flags = 0;
  std::optional<std::chrono::steady_clock::time_point> recorded;
  std::shared_ptr<SharedEvent> shared;  // of one that other processes may use
};

// By id, as the simulator's executor gives them. Only what makes a Prepared needs memory.
// Thread-safe.
template <typename Record>
class Records {
  using ById = std::map<uint64_t, Record>;

 public:
  // A record that is made before its object is: adding it cannot fail.
  class Prepared {
   public:
    explicit Prepared(const Record& record) {
      ById made;
      node_ = made.extract(made.emplace(0, record).first);
    }
    Record* operator->() { return &node_.mapped(); }

   private:
    friend class Records;
    typename ById::node_type node_;
  };

  // In the place of what there may be.
  void Add(uint64_t id, Prepared record) {
    record.node_.key() = id;
    const std::unique_lock lock(mutex_);
    auto added = records_.insert(std::move(record.node_));
    if (!added.inserted) std::swap(added.position->second, added.node.mapped());
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
  // Takes away those for which matches(record), then calls visit(id) for each.
  template <typename Matches, typename Visit>
  void RemoveIf(const Matches& matches, const Visit& visit) {
    ById removed;
    {
      const std::unique_lock lock(mutex_);
      for (auto at = records_.begin(); at != records_.end();) {
        const auto next = std::next(at);
        if (matches(at->second)) removed.insert(records_.extract(at));
        at = next;
      }
    }
    for (const auto& [id, record] : removed) visit(id);
  }
  // The same for those of a context.
  template <typename Visit>
  void RemoveOf(const Context& context, const Visit& visit) {
    RemoveIf([&](const Record& record) { return record.context == &context; }, visit);
  }

 private:
  mutable std::shared_mutex mutex_;
  ById records_;
};

// Thrown where a stream cannot be used: because of a capture, or of who uses it.
struct Refusal {
  DriverCode code;
  // What the report says of it.
  DiagnosticKind kind = {};
  const char* details = nullptr;  // null: nothing
};

// 0 and 1 name the default stream of a context, and 2 that of the calling thread in it, which has a
// record from when it is first named. Others have greater ones.
inline constexpr uint64_t kLegacyStream = 1;
inline constexpr uint64_t kPerThreadStream = 2;
inline constexpr uint64_t kLastDefaultStream = kPerThreadStream;

// Which stream is the default one of a thread, by context. Thread-safe.
class ThreadStreams {
 public:
  using Thread = std::thread::id;
  using ByContext = std::map<const Context*, uint64_t>;

  // 0: there is none.
  uint64_t Find(const Context& context, Thread thread) const {
    const std::lock_guard lock(mutex_);
    const auto streams = streams_.find(thread);
    if (streams == streams_.end()) return 0;
    const auto found = streams->second.find(&context);
    return found == streams->second.end() ? 0 : found->second;
  }
  void Set(const Context& context, Thread thread, uint64_t stream) {
    const std::lock_guard lock(mutex_);
    streams_[thread][&context] = stream;
  }
  // Takes away those of a thread.
  ByContext Take(Thread thread) {
    const std::lock_guard lock(mutex_);
    auto taken = streams_.extract(thread);
    return taken.empty() ? ByContext() : std::move(taken.mapped());
  }
  void RemoveOf(const Context& context) {
    const std::lock_guard lock(mutex_);
    for (auto& [thread, streams] : streams_) streams.erase(&context);
  }

 private:
  mutable std::mutex mutex_;  // guards what follows; a leaf
  std::map<Thread, ByContext> streams_;
};

// The identity of the default stream of a context (cuStreamGetId); others have greater ones.
inline constexpr uint64_t kLegacyStreamId = 1;

struct Streams {
  uint64_t NextId() { return kLegacyStreamId + ++last_id; }

  Records<StreamRecord> streams;
  Records<StreamRecord> legacy_streams;  // whose attributes were set, by the handle of the context
  ThreadStreams of_threads;
  Records<EventRecord> events;
  std::atomic<uint64_t> last_id{0};
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_STREAMS_H_
