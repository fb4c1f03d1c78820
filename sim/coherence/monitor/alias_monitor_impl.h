// The monitor behind its lock: what is armed, who runs, and the machines that it drives.

#ifndef TWINMMU_SIM_COHERENCE_MONITOR_ALIAS_MONITOR_IMPL_H_
#define TWINMMU_SIM_COHERENCE_MONITOR_ALIAS_MONITOR_IMPL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
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
#include "sim/coherence/monitor/shared_accesses.h"
#include "sim/coherence/monitor/written_bytes.h"

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
    return IsActive();
  }
  bool Disarm(const char* memory, uint64_t size);
  void ForgetBytes(const char* memory, uint64_t size) noexcept;
  // These may be called while all else is blind.
  void SetFresh(const char* memory, uint64_t size) noexcept;
  void SetWritten(const char* memory, uint64_t size) noexcept;
  void Share(const char* memory, uint64_t size) noexcept {
    Try([&] { shared_.Add(LocationOf(memory), size); });
  }
  void Unshare(const char* memory) { shared_.Remove(LocationOf(memory)); }
  std::vector<SharedUse> TakeShared(uint64_t call, bool* flagged);
  // Of the threads from `first` on that start together.
  void SetOrigin(ThreadId first, const Origin& origin);
  void SetHost(const Clocks& clocks) { host_ = clocks; }
  ThreadId Start(uint32_t threads, int device, int sm, const Clocks& clocks, ThreadId cluster);
  void End(ThreadId first, uint32_t threads, Clocks* clocks);
  bool HostWaited(const Clocks& clocks);

  // Whether weak accesses have only to be noted.
  bool IsOnlyNoted(const MonitoredAccess& access) const {
    return !keeps_values_ && !access.strength.IsStrong();
  }
  void NoteAll(const MonitoredAccess& access, uint32_t lanes, char* const* memory, bool writes);
  // The threads from access.thread on access memory one behind the other, in one page.
  void NoteRow(const MonitoredAccess& access, uint32_t threads, bool writes);
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
  // Of so many blocks it is kept which ones they are.
  static constexpr size_t kMaxOrigins = size_t{1} << 16;

  // Part of an access: a word, or a byte of a word that was accessed by bytes.
  struct Piece {
    LocationId location;
    uint32_t size;
    int choice = OperationalModel::kInitialWrite;  // the write that is read
    int newest = OperationalModel::kInitialWrite;
  };
  using Pieces = std::vector<Piece>;

  bool IsActive() const { return options_.watch_all || armed_ != 0; }
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
  void CheckOrder(const MonitoredAccess& access, const AccessEvent& event, bool writes);
  // What the access does with memory that nothing has written.
  void NoteWritten(const MonitoredAccess& access, const char* memory, uint64_t size, bool writes) {
    if (options_.tell_unwritten && !written_.empty() && access.shared == nullptr) {
      CheckWritten(access, memory, size, writes);
    }
  }
  void CheckWritten(const MonitoredAccess& access, const char* memory, uint64_t size, bool writes);
  void NoteShared(const MonitoredAccess& access, const AccessEvent& event, const char* memory,
                  uint64_t size, bool writes) {
    if (shared_.empty() || access.shared != nullptr) return;
    shared_.Note(access.call, event, LocationOf(memory), size, writes);
  }
  void CheckRange(const MonitoredAccess& access, uint64_t size, const AccessEvent& event,
                  bool writes);
  void ReportHazards(const MonitoredAccess& access, uint64_t at, uint64_t size);
  AliasHazard::Side SideOf(const AccessEvent& event, const Strength& strength, bool writes) const;
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
  std::map<ThreadId, Origin> origins_;  // where all memory is watched: by the first of the threads
  Clocks host_;                         // the same: what the host has waited for
  WrittenBytes written_;                // the same
  std::set<Site> unwritten_;            // who was told of
  SharedAccesses shared_;               // the same
  bool flagged_ = false;                // any of it is used for flags

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
