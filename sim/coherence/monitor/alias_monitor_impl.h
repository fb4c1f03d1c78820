// The monitor behind its lock: what is armed, who runs, and the machines that it drives.

#ifndef TWINMMU_SIM_COHERENCE_MONITOR_ALIAS_MONITOR_IMPL_H_
#define TWINMMU_SIM_COHERENCE_MONITOR_ALIAS_MONITOR_IMPL_H_

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/coherence/model/hazard_checker.h"
#include "sim/coherence/model/operational_model.h"
#include "sim/coherence/model/page_map.h"
#include "sim/coherence/model/value_choice.h"
#include "sim/coherence/monitor/alias_monitor.h"

namespace twinmmu::coherence {

inline LocationId LocationOf(const char* memory) { return reinterpret_cast<uintptr_t>(memory); }

// What lies there, of 1 or 4 bytes, aligned. Others may write at the same time.
inline uint64_t ReadMemory(LocationId location, uint32_t size) {
  if (size == sizeof(uint32_t)) {
    return __atomic_load_n(reinterpret_cast<const uint32_t*>(location), __ATOMIC_RELAXED);
  }
  return __atomic_load_n(reinterpret_cast<const uint8_t*>(location), __ATOMIC_RELAXED);
}

struct AliasMonitor::Meeting::Gathered {
  Gathering gathering;
};

class AliasMonitor::Impl {
 public:
  Impl(const AliasOptions& options, Report report)
      : options_(options),
        report_(std::move(report)),
        keeps_values_(options.policy != Policy::kCoherent),
        ordering_(options.modes),
        checker_(options.limit / 2),
        values_(OperationalModel::kMaxWrites, options.limit / 4),
        flags_(1, options.limit / 4) {}

  std::mutex& mutex() { return mutex_; }

  // Does what may need memory. If there is none, all is forgotten.
  template <typename Work>
  void Try(const Work& work) noexcept {
    if (blind_) return;
    try {
      work();
    } catch (const std::bad_alloc&) {
      Lose();
    }
  }

  // Whether anything is armed now.
  bool Arm(uint64_t size) {
    armed_ += size;
    return armed_ != 0;
  }
  bool Disarm(const char* memory, uint64_t size);
  ThreadId Start(uint32_t threads, int device, int sm, const Clocks& clocks, ThreadId cluster);
  void End(ThreadId first, uint32_t threads, Clocks* clocks);
  bool HostWaited(const Clocks& clocks);

  // Whether weak accesses have only to be noted.
  bool IsOnlyNoted(const MonitoredAccess& access) const {
    return !keeps_values_ && !access.strength.IsStrong();
  }
  void NoteAll(const MonitoredAccess& access, uint32_t lanes, char* const* memory, bool writes);
  // Whether nothing is to be done after a store.
  bool IsQuicklyDone(const MonitoredAccess& access) const {
    return IsOnlyNoted(access) && flags_.empty();
  }
  const char* Load(const MonitoredAccess& access, char* older);
  void BeforeStore(const MonitoredAccess& access);
  void AfterStore(const MonitoredAccess& access);
  const char* BeforeAtomic(const MonitoredAccess& access, char* older);
  void AfterAtomic(const MonitoredAccess& access, bool wrote);
  void AfterRangeLoad(const MonitoredAccess& access, uint64_t size, char* copied);
  void BeforeRangeStore(const MonitoredAccess& access, uint64_t size);
  void AfterRangeStore(const MonitoredAccess& access, uint64_t size);
  void InvalidateCache(ThreadId thread) {
    if (options_.policy == Policy::kL1) caches_.Invalidate(SmOf(thread));
  }
  template <typename Work>
  void ForLanes(ThreadId first, uint32_t lanes, bool invalidates, const Work& work);
  Ordering& ordering() { return ordering_; }

 private:
  // Part of an access: a word, or a byte of a word that was accessed by bytes.
  struct Piece {
    LocationId location;
    uint32_t size;
    int choice = OperationalModel::kInitialWrite;  // the write that is read
    int newest = OperationalModel::kInitialWrite;
  };
  using Pieces = std::vector<Piece>;

  void Lose();
  void ForgetAccesses();
  void Forget();
  bool Notes(const MonitoredAccess& access) const {
    return (access.armed || access.strength.IsStrong()) && ordering_.Runs(access.thread);
  }
  AccessEvent EventOf(const MonitoredAccess& access) const {
    return ordering_.Last(access.thread, access.address, access.site);
  }
  void Check(const MonitoredAccess& access, const AccessEvent& event, bool writes);
  void CheckRange(const MonitoredAccess& access, uint64_t size, const AccessEvent& event,
                  bool writes);
  void ReportHazards(const MonitoredAccess& access, uint64_t at, uint64_t size);
  static void Split(OperationalModel* view, const char* memory, uint64_t size, Pieces* pieces);
  bool LoadValues(const MonitoredAccess& access, uint64_t size, const AccessEvent& event,
                  bool atomic, char* older);
  void ChooseValue(const MonitoredAccess& access, const AccessEvent& event, bool atomic,
                   Piece* piece);
  void TouchValues(const char* memory, uint64_t size);
  void StoreValues(const MonitoredAccess& access, uint64_t size, const AccessEvent& event,
                   bool atomic);
  void LoadFlag(const MonitoredAccess& access, const AccessEvent& event);
  void StoreFlag(const MonitoredAccess& access, const AccessEvent& event, bool atomic);
  void ForgetFlag(const MonitoredAccess& access);
  uint64_t SmOf(ThreadId thread) const;

  const AliasOptions options_;
  const Report report_;
  const bool keeps_values_;
  std::mutex mutex_;  // guards the rest
  uint64_t armed_ = 0;
  ThreadId next_thread_ = 1;
  ThreadId first_noted_ = 1;  // since all was forgotten
  uint64_t running_ = 0;      // Start without End
  bool blind_ = false;        // notes nothing until nothing runs
  bool exhausted_ = false;    // no ids of threads are left

  Ordering ordering_;
  HazardChecker checker_;
  OperationalModel values_;  // of armed memory, unless Policy::kCoherent
  OperationalModel flags_;   // what strong accesses wrote last, anywhere
  Caches caches_;
  std::unordered_map<ThreadId, uint64_t> sms_;    // by the first thread of a block
  std::unordered_map<uint64_t, uint32_t> older_;  // how often a thread got one, of that address
  std::set<std::tuple<Site, Site, Hazard>> reported_;

  // Reused.
  std::vector<HazardReport> reports_;
  std::vector<AccessEvent> observed_;
  Pieces pieces_;
  // Of the atomic operation under way: what it read.
  AccessEvent atomic_;
  Pieces atomic_pieces_;
};

template <typename Work>
void AliasMonitor::Impl::ForLanes(ThreadId first, uint32_t lanes, bool invalidates,
                                  const Work& work) {
  Try([&] {
    if (invalidates && lanes != 0) InvalidateCache(first);
    for (; lanes != 0; lanes &= lanes - 1) {
      const ThreadId thread = first + static_cast<ThreadId>(__builtin_ctz(lanes));
      if (ordering_.Runs(thread)) work(thread);
    }
  });
}

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_MONITOR_ALIAS_MONITOR_IMPL_H_
