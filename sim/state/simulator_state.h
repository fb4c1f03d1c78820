// SimulatorState: all that a simulated machine consists of and remembers.

#ifndef TWINMMU_SIM_STATE_SIMULATOR_STATE_H_
#define TWINMMU_SIM_STATE_SIMULATOR_STATE_H_

#include <cstddef>
#include <functional>
#include <shared_mutex>

#include "absl/status/status.h"
#include "api/allocation.h"
#include "api/diagnostic_log.h"
#include "sim/coherence/monitor/alias_monitor.h"
#include "sim/coherence/monitor/site_table.h"
#include "sim/host/window.h"
#include "sim/mmu/mmu.h"
#include "sim/profile/profile.h"
#include "sim/state/call_history.h"
#include "sim/state/pooled_order.h"
#include "sim/streams/operation_order.h"
#include "sim/streams/process_races.h"
#include "sim/streams/sticky_error.h"
#include "sim/streams/stream_clocks.h"
#include "sim/streams/stream_scheduler.h"

namespace twinmmu {

namespace record {
class EventWriter;
}

// Thread safety: `mmu` and `history` say who may do what to them; the others guard themselves, and
// may be asked with or without mmu.mutex. Queued work runs without it.
struct SimulatorState {
  SimulatorState(const Profile& profile, Window window, size_t calls_remembered = 0,
                 size_t diagnostics_kept = 0, DiagnosticObserver observer = nullptr);

  SiteTable sites;                                  // of the accesses that `aliases` observes
  coherence::AliasMonitor::Report on_alias_hazard;  // may be null; set before anything runs
  coherence::AliasMonitor aliases;                  // of pages with several mappings
  Mmu mmu;
  std::function<void(const ProcessRace&)> on_process_race;  // as on_alias_hazard
  ProcessRaces others;                                      // who have memory of this machine, too
  OperationOrder order;                                     // as `aliases` wants to know it
  StreamClocks clocks;                                      // the same for `pooled_order`
  PooledOrder pooled_order;
  // The host has waited for work; may be null, set before anything runs, called without a lock.
  std::function<void()> on_synchronized;
  StickyError sticky_error;
  StreamScheduler scheduler;
  History history;
  DiagnosticLog log;
  record::EventWriter* events = nullptr;  // may stay null; set before anything runs

  // The device exists; and no fault has ended its context.
  absl::Status CheckDevice(const char* call, DeviceOrdinal device) const {
    return mmu.HasDevice(device) ? absl::OkStatus() : NoSuchDevice(call, device);
  }
  absl::Status CheckContext(const char* call, DeviceOrdinal device) const {
    return mmu.HasDevice(device) ? sticky_error.Check(call) : NoSuchDevice(call, device);
  }

  // Whether nobody has to be told what becomes of memory with one address, nor when it can be seen.
  bool HasPlainMemory() const {
    return events == nullptr && !mmu.watched() && !mmu.profile.mappings_seen_late;
  }

  // Whether work can be done at the call that asks for it without a word to `scheduler` or `order`:
  // nothing is queued, and nobody has to know what came after what.
  bool IsBypassed() const {
    return scheduler.IsBypassed() && !aliases.active() && !clocks.active();
  }
  // To be called without a lock where the program has waited for work: what was late is there.
  void CatchUp() {
    if (mmu.profile.memory_returns_late || mmu.profile.mappings_seen_late) CatchUpNow();
  }
  // Tells other processes of an operation that `call` asked for, before its end. To be called
  // without a lock.
  void TellOthers(const OperationOrder::Operation& operation, uint64_t call,
                  const coherence::Clocks& after) {
    if (!others.enabled()) return;
    const std::shared_lock lock(mmu.mutex);
    others.Ended(operation.submission(), call, after);
  }
  // Returns when all work is done that the device was given before.
  void FinishDevice(DeviceOrdinal device) {
    if (IsBypassed()) return;
    scheduler.FinishDevice(device);
    order.HostWaited(device);
    clocks.HostWaited(device);
  }

 private:
  [[gnu::cold]] void CatchUpNow();
  [[gnu::cold]] static absl::Status NoSuchDevice(const char* call, DeviceOrdinal device);
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_STATE_SIMULATOR_STATE_H_
