// StripedMutex: a shared mutex of stripes, which calls that need only some of them take beside one
// another.

#ifndef TWINMMU_SIM_BASE_STRIPED_MUTEX_H_
#define TWINMMU_SIM_BASE_STRIPED_MUTEX_H_

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "sim/base/visible_mutex.h"

namespace twinmmu {

// As a whole it is a std::shared_mutex whose writers get their turn, for std::unique_lock and
// std::shared_lock. StripesLock and SharedStripesLock take stripes of it: who holds a stripe alone
// excludes all but those that hold other stripes; who shares a stripe does not exclude those that
// share the whole, either.
//
// A writer first keeps others from entering (a stripe by its mutex, the whole by `entrance_`), then
// looks who is inside and waits for them. Who shares a stripe first counts itself as inside, in a
// place that few threads use, and then looks for writers; where there is one it leaves, and enters
// as a writer would. So nobody gets past a writer that waits, and readers of one stripe write to no
// memory in common. No thread may hold any of it twice.
class StripedMutex {
 public:
  static constexpr int kStripes = 32;
  using Stripes = uint32_t;  // a set: bit i for stripe i

  StripedMutex() = default;
  StripedMutex(const StripedMutex&) = delete;
  StripedMutex& operator=(const StripedMutex&) = delete;

  void lock() {
    entrance_.lock();
    CloseStripes();
    if (HasReaders(~Stripes{0})) AwaitReaders(~Stripes{0});
  }
  void unlock() { entrance_.unlock(); }

  void lock_shared() {
    entrance_.lock();
    CloseStripes();
    sharers_.fetch_add(1);
    entrance_.unlock();
  }
  void unlock_shared() {
    sharers_.fetch_sub(1);
    WakeWriters();
  }

  // With the whole held, if only shared: how often stripes were held alone before.
  uint64_t writes() const { return writes_.load(std::memory_order_relaxed); }

 private:
  friend class StripesLock;
  friend class SharedStripesLock;

  struct alignas(64) Stripe {
    VisibleMutex mutex;
    uint64_t writes = 0;  // guarded by it
  };
  // Who shares stripes, of the threads with one place.
  struct alignas(64) Place {
    std::array<std::atomic<uint32_t>, kStripes> inside = {};
  };
  static constexpr int kPlaces = 16;

  template <typename Visit>
  static void ForEach(Stripes stripes, const Visit& visit) {
    for (; stripes != 0; stripes &= stripes - 1) visit(__builtin_ctz(stripes));
  }

  void LockStripes(Stripes stripes) {
    EnterStripes(stripes);
    if (HasReaders(stripes)) AwaitReaders(stripes);
    ForEach(stripes, [&](int i) { ++stripes_[i].writes; });
  }
  void UnlockStripes(Stripes stripes) {
    ForEach(stripes, [&](int i) { stripes_[i].mutex.unlock(); });
  }
  Place& LockStripesShared(Stripes stripes) {
    Place& place = places_[MyPlace()];
    if (!TryEnter(stripes, place)) EnterLater(stripes, place);
    return place;
  }
  void UnlockStripesShared(Stripes stripes, Place& place) {
    ForEach(stripes, [&](int i) { place.inside[i].fetch_sub(1); });
    WakeWriters();
  }

  // Counts itself as inside; false: there is a writer, so it left again.
  bool TryEnter(Stripes stripes, Place& place) {
    ForEach(stripes, [&](int i) { place.inside[i].fetch_add(1); });
    if (!IsClosed(stripes)) return true;
    UnlockStripesShared(stripes, place);
    return false;
  }
  // Whether somebody holds one of those stripes alone, or the whole, or waits for others to leave.
  bool IsClosed(Stripes stripes) const {
    bool closed = entrance_.held();
    ForEach(stripes, [&](int i) { closed = closed || stripes_[i].mutex.held(); });
    return closed;
  }
  // Takes the mutexes of stripes, with the entrance open: always in the same order.
  void EnterStripes(Stripes stripes) {
    ForEach(stripes, [&](int i) { stripes_[i].mutex.lock(); });
    if (entrance_.held()) EnterThroughEntrance(stripes);
  }
  // With the entrance held: from now on nobody holds a stripe alone.
  void CloseStripes() {
    uint64_t writes = 0;
    for (Stripe& stripe : stripes_) {
      if (stripe.mutex.held()) {
        const std::lock_guard lock(stripe.mutex);
      }
      writes += stripe.writes;
    }
    writes_.store(writes, std::memory_order_relaxed);
  }
  // Whether anybody shares one of those stripes, or the whole.
  bool HasReaders(Stripes stripes) const {
    if (sharers_.load() != 0) return true;
    const int used = places_used_.load();
    for (int place = 0; place < used; ++place) {
      for (Stripes rest = stripes; rest != 0; rest &= rest - 1) {
        if (places_[place].inside[__builtin_ctz(rest)].load() != 0) return true;
      }
    }
    return false;
  }
  // Either this reader sees the writer that waits, or that writer sees it gone.
  void WakeWriters() {
    if (waiting_writers_.load() != 0) WakeWritersNow();
  }
  int MyPlace() {
    if (place_of_thread_ < 0 || place_of_thread_ >= places_used_.load(std::memory_order_relaxed)) {
      UsePlace();
    }
    return place_of_thread_;
  }

  [[gnu::cold, gnu::noinline]] void UsePlace();
  [[gnu::cold, gnu::noinline]] void EnterThroughEntrance(Stripes stripes);
  [[gnu::cold, gnu::noinline]] void EnterLater(Stripes stripes, Place& place);
  [[gnu::cold, gnu::noinline]] void AwaitReaders(Stripes stripes);
  [[gnu::cold, gnu::noinline]] void WakeWritersNow();

  // In each mutex; -1: it has none yet. A shared library reads it without a call, too.
  [[gnu::tls_model("initial-exec")]] static inline thread_local int place_of_thread_ = -1;

  alignas(64) VisibleMutex entrance_;    // held by who has the whole alone, or enters to share it
  std::atomic<uint32_t> sharers_{0};     // of the whole
  std::atomic<int> places_used_{0};      // of `places_`
  std::atomic<int> waiting_writers_{0};  // for readers to leave
  std::atomic<uint64_t> writes_{0};
  std::array<Stripe, kStripes> stripes_;
  std::array<Place, kPlaces> places_;
  std::mutex waiting_;
  std::condition_variable reader_left_;
};

// Holds stripes alone.
class StripesLock {
 public:
  StripesLock(StripedMutex& mutex, StripedMutex::Stripes stripes)
      : mutex_(mutex), stripes_(stripes) {
    mutex_.LockStripes(stripes_);
  }
  ~StripesLock() { mutex_.UnlockStripes(stripes_); }
  StripesLock(const StripesLock&) = delete;
  StripesLock& operator=(const StripesLock&) = delete;

 private:
  StripedMutex& mutex_;
  const StripedMutex::Stripes stripes_;
};

// Shares stripes.
class SharedStripesLock {
 public:
  SharedStripesLock(StripedMutex& mutex, StripedMutex::Stripes stripes)
      : mutex_(mutex), stripes_(stripes), place_(mutex_.LockStripesShared(stripes_)) {}
  ~SharedStripesLock() { mutex_.UnlockStripesShared(stripes_, place_); }
  SharedStripesLock(const SharedStripesLock&) = delete;
  SharedStripesLock& operator=(const SharedStripesLock&) = delete;

 private:
  StripedMutex& mutex_;
  const StripedMutex::Stripes stripes_;
  StripedMutex::Place& place_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_BASE_STRIPED_MUTEX_H_
