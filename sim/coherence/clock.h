// Clock: how much of each thread's accesses came before something.

#ifndef TWINMMU_SIM_COHERENCE_CLOCK_H_
#define TWINMMU_SIM_COHERENCE_CLOCK_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace twinmmu::coherence {

using ThreadId = uint32_t;
using Epoch = uint32_t;  // of one thread: its accesses, counted from 1

// Immutable data that copies share, so that all threads that left a barrier together pay for it
// once. Get costs a binary search, a Join with the same data nothing, any other Join the sum of the
// sizes.
class Clock {
 public:
  static constexpr Epoch kAll = ~Epoch{0};

  // What of `thread` is in it; 0: nothing.
  Epoch Get(ThreadId thread) const;
  void Raise(ThreadId thread, Epoch epoch);
  // All of the threads from `first` to `last`, which have ended.
  void AddEnded(ThreadId first, ThreadId last);
  void Join(const Clock& other);
  bool empty() const { return data_ == nullptr; }

  // The same for equal clocks.
  void AppendTo(std::vector<uint64_t>* key) const;

 private:
  struct Data {
    std::vector<std::pair<ThreadId, Epoch>> threads;   // sorted
    std::vector<std::pair<ThreadId, ThreadId>> ended;  // sorted, disjoint, with gaps between
  };
  static Data Merge(const Data& a, const Data& b);

  std::shared_ptr<const Data> data_;
};

// What came before something: everything; what of it has passed an alias fence since; and what has
// passed the first half of one (fence.proxy.alias.release).
struct Past {
  Clock all;
  Clock passed;
  Clock half;

  void Join(const Past& other) {
    all.Join(other.all);
    passed.Join(other.passed);
    half.Join(other.half);
  }
  void AppendTo(std::vector<uint64_t>* key) const {
    all.AppendTo(key);
    passed.AppendTo(key);
    half.AppendTo(key);
  }
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_CLOCK_H_
