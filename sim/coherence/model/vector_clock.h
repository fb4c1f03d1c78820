// VectorClock: how much of each thread's accesses came before something.

#ifndef TWINMMU_SIM_COHERENCE_MODEL_VECTOR_CLOCK_H_
#define TWINMMU_SIM_COHERENCE_MODEL_VECTOR_CLOCK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace twinmmu::coherence {

using ThreadId = uint32_t;
using Epoch = uint32_t;  // of one thread: its accesses, counted from 1

// Immutable data that copies share, so that all threads that left a barrier together pay for it
// once. Get costs a binary search, or less where the ids of threads lie close; a Join with the
// same data nothing, any other Join the sum of the sizes.
class VectorClock {
 public:
  static constexpr Epoch kAll = ~Epoch{0};
  using Entry = std::pair<ThreadId, Epoch>;
  using Range = std::pair<ThreadId, ThreadId>;  // first and last

  // What of `thread` is in it; 0: nothing.
  Epoch Get(ThreadId thread) const {
    if (data_ == nullptr) return 0;
    // Where no id is left out, it is there.
    const std::vector<Entry>& threads = data_->threads;
    const size_t place = thread - data_->first;
    return place < threads.size() && threads[place].first == thread ? threads[place].second
                                                                    : Search(*data_, thread);
  }
  void Raise(ThreadId thread, Epoch epoch);
  // The same for many: sorted by thread, each once.
  void Raise(std::vector<Entry> entries);
  // All of the threads from `first` to `last`, which have ended.
  void AddEnded(ThreadId first, ThreadId last);
  void Join(const VectorClock& other);
  bool empty() const { return data_ == nullptr; }

  // Shares its data with `other`, so that they are equal.
  bool Shares(const VectorClock& other) const { return data_ == other.data_; }
  // The greatest range of threads of which it has all; {1, 0}: none.
  Range EndedRange() const;
  // Whether it has all of the threads of the range.
  bool HasAll(const Range& range) const;
  // Takes threads together that have ended, `runs` says of which from a first to a last any still
  // runs: as if all that they did were in it, and all of some between them.
  void Coarsen(const std::function<bool(ThreadId first, ThreadId last)>& runs);
  // How many threads it knows one by one.
  size_t entries() const { return data_ == nullptr ? 0 : data_->threads.size(); }

  // The same for equal clocks.
  void AppendTo(std::vector<uint64_t>* key) const;

 private:
  struct Data {
    std::vector<Entry> threads;  // sorted
    ThreadId first = 0;          // of them
    std::vector<Range> ended;    // sorted, disjoint, with gaps between
  };
  static Epoch Search(const Data& data, ThreadId thread);
  static bool Includes(const Data& a, const Data& b);
  static Data Merge(const Data& a, const Data& b);
  void Set(Data data);
  void Add(Data data);

  std::shared_ptr<const Data> data_;
};

// The same for proxies: what of it has passed a fence.proxy.async since; one behind an alias fence;
// an alias fence behind it; and another one behind that.
struct ProxyClocks {
  VectorClock async;
  VectorClock alias_async;
  VectorClock async_alias;
  VectorClock async_alias_async;
};

// What came before something: everything; what of it has passed an alias fence since; and what has
// passed the first half of one (fence.proxy.alias.release). The latter two are parts of the first.
struct Clocks {
  VectorClock all;
  VectorClock passed;
  VectorClock half;
  std::shared_ptr<const ProxyClocks> proxies;  // null: there was no fence.proxy.async

  void Join(const Clocks& other) {
    all.Join(other.all);
    passed.Join(other.passed);
    half.Join(other.half);
    if (other.proxies != nullptr) JoinProxies(other);
  }
  void JoinProxies(const Clocks& other);
  bool empty() const { return all.empty() && proxies == nullptr; }
  bool Shares(const Clocks& other) const {
    return all.Shares(other.all) && passed.Shares(other.passed) && half.Shares(other.half) &&
           proxies == other.proxies;
  }
  void AppendTo(std::vector<uint64_t>* key) const {
    all.AppendTo(key);
    passed.AppendTo(key);
    half.AppendTo(key);
    if (proxies == nullptr) return;
    for (const VectorClock* const clock : {&proxies->async, &proxies->alias_async,
                                           &proxies->async_alias, &proxies->async_alias_async}) {
      clock->AppendTo(key);
    }
  }
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_MODEL_VECTOR_CLOCK_H_
