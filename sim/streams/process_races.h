// ProcessRaces: accesses of memory that several processes have, and that nothing orders.

#ifndef TWINMMU_SIM_STREAMS_PROCESS_RACES_H_
#define TWINMMU_SIM_STREAMS_PROCESS_RACES_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/coherence/model/vector_clock.h"
#include "sim/coherence/monitor/alias_monitor.h"
#include "sim/host/access_log.h"

namespace twinmmu {

// An operation of this process accessed what one of another process did.
struct ProcessRace {
  coherence::SharedUse use;
  uint64_t call = 0;  // that asked for it
  LoggedAccess other;
};

// Each operation that is over tells the others, by the AccessLog of the memory, which bytes it
// accessed, and looks at what they told. One of another process came before if its host
//
//   had waited for it, or for work behind it, when this one was asked for, or
//   had an event for other processes behind it, for whose record this one waited, or the host.
//
// Time tells the order of what different processes do: who waits, and then tells the other by
// whatever means, has waited earlier. Where processes have flags in memory that they share, nothing
// is told of them. Where the host has no memory, less is told.
//
// Thread-safe. The lock of the monitor may not be held. `report` is called with a lock held, and
// may not call this.
class ProcessRaces {
 public:
  using Report = std::function<void(const ProcessRace&)>;
  using Words = std::function<std::string(coherence::Site)>;

  // `monitor` must outlive this object. Not `enabled`: nothing is done.
  ProcessRaces(coherence::AliasMonitor* monitor, bool enabled, Words words, Report report);

  bool enabled() const { return enabled_; }
  // Other processes may have these bytes from now on, as long as somebody holds `log`, in which the
  // first of them has the number `offset`.
  void Share(const char* memory, uint64_t size, const std::shared_ptr<AccessLog>& log,
             Bytes offset = Bytes(0)) noexcept;

  // When an operation was asked for; 0: before anything was shared.
  using Submission = uint64_t;
  Submission Submit() const;
  // It is over; it came after what is in `before`.
  void Ended(Submission submission, uint64_t call, const coherence::Clocks& before) noexcept;

  // The host has waited for all that is in `clocks`; an event that other processes have was
  // recorded behind that, and is over.
  void HostWaited(const coherence::Clocks& clocks) noexcept;
  void Recorded(const coherence::Clocks& clocks) noexcept;
  // A record of another process is over, for which that thread stands, or the host has waited.
  void Awaited(coherence::ThreadId thread) noexcept;
  void HostAwaited() noexcept;

 private:
  struct Region {
    const char* last = nullptr;
    uint64_t offset = 0;
    std::weak_ptr<AccessLog> log;
  };
  using Regions = std::map<const char*, Region>;  // by their first bytes
  // An access that was told of.
  struct Told {
    std::weak_ptr<AccessLog> log;
    AccessLog::Number number;
    coherence::ThreadId thread;
    bool waited = false;
    bool recorded = false;
  };
  struct Await {
    coherence::ThreadId thread;
    uint64_t time;
  };

  // With mutex_ held.
  void Forget(const char* memory, uint64_t size);
  const Regions::value_type* RegionOf(const char* memory) const;
  void ForgetOldest();
  void Tell(Submission submission, uint64_t known, uint64_t call, coherence::SharedUse use);
  void TellPart(Submission submission, uint64_t known, ProcessRace race,
                const Regions::value_type& region);
  void Compare(Submission submission, uint64_t known, const AccessLog& log,
               const ProcessRace& race);
  template <typename Visit>
  void ForEachLog(const Visit& visit) const;
  // Sets the time of all that is in `clocks` and was not set before.
  template <typename Set>
  void SetNow(const coherence::Clocks& clocks, bool Told::*is_set, const Set& set);
  void Know(uint64_t time);

  coherence::AliasMonitor& monitor_;
  const bool enabled_;
  const Words words_;
  const Report report_;
  const uint64_t process_;
  std::atomic<bool> shares_{false};  // anything
  std::mutex mutex_;                 // guards the rest
  uint64_t known_ = 0;               // the records of others that the host has waited for
  Regions regions_;
  std::deque<Told> accesses_;  // the last ones
  std::deque<Await> awaits_;
  bool flagged_ = false;
  std::set<std::pair<coherence::Site, std::string>> reported_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_STREAMS_PROCESS_RACES_H_
