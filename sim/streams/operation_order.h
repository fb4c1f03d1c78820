// OperationOrder: which operations of streams were over before another one started, for the alias
// monitor.

#ifndef TWINMMU_SIM_STREAMS_OPERATION_ORDER_H_
#define TWINMMU_SIM_STREAMS_OPERATION_ORDER_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "api/allocation.h"
#include "sim/coherence/model/vector_clock.h"
#include "sim/coherence/monitor/alias_monitor.h"
#include "sim/streams/process_races.h"

namespace twinmmu {

// Observes what a program says about the order of its work (streams, events, waits of the host),
// and of when work begins and ends, which others decide. An operation comes after
//
//   what its stream has done before,
//   what its stream was made to wait for before it was submitted,
//   what the host had waited for when it submitted it: all threads of the host count as one.
//
// A kernel that starts early, beside the kernel ahead of it on its stream, begins after what that
// one began after; it comes after the rest where it waits for it.
//
// Each operation has a past (see AliasMonitor), which is empty where nothing was ever armed; then
// all of this costs next to nothing. Where the host has no memory for a past, more counts as
// ordered than is.
//
// Thread-safe. Only MakeLine, Record, Wait and Submit throw std::bad_alloc, and then nothing has
// changed.
class OperationOrder {
 private:
  struct LineState;
  struct Cell;
  // A past, unless all was forgotten since.
  struct Known {
    coherence::Clocks clocks;
    uint64_t generation = 0;
  };

 public:
  // The operations of one stream.
  using Line = std::shared_ptr<LineState>;

  // What was submitted up to some time; by default nothing.
  class Moment {
   private:
    friend class OperationOrder;
    void Add(const std::shared_ptr<Cell>& cell);

    Known known_;                                 // of what was over
    std::vector<std::shared_ptr<Cell>> pending_;  // what was not: of each line the last one
  };

  // One that was submitted.
  class Operation {
   public:
    const ProcessRaces::Submission& submission() const { return submission_; }

   private:
    friend class OperationOrder;

    Line line_;
    std::shared_ptr<Cell> cell_;
    Moment waits_;
    Known host_;
    ProcessRaces::Submission submission_;
    bool early_ = false;
  };

  // Both must outlive this object.
  OperationOrder(coherence::AliasMonitor* monitor, ProcessRaces* others, int devices);

  Line MakeLine(DeviceOrdinal device);
  // What the line was given up to now.
  Moment Record(const Line& line) const;
  // What the line is given later waits for `moment`.
  void Wait(const Line& line, const Moment& moment);
  enum class Kind {
    kOther,  // a copy, a fill
    kKernel,
    kEarlyKernel,  // starts early, if what is ahead of it is a kernel
  };
  Operation Submit(const Line& line, Kind kind = Kind::kOther);

  // The operation begins, all that it waits for being over: what that is. Then it ends: `clocks` is
  // what it began with, and what it did.
  coherence::Clocks Begin(const Operation& operation);
  // Of one that began early, once all that is ahead of it on its stream is over: what that is.
  coherence::Clocks Reached(const Operation& operation);
  void End(const Operation& operation, const coherence::Clocks& clocks);

  // The host has waited until all of `moment` was over; or all that the device was given before.
  void HostWaited(const Moment& moment);
  void HostWaited(DeviceOrdinal device);
  // All of `moment` was over when an event that other processes have was.
  void RecordedForOthers(const Moment& moment);

 private:
  // With mutex_ held, as what follows.
  void Join(const Known& known, Known* into) const;
  void Join(const Moment& moment, Known* into) const;
  // The same; where there is no memory for it, it becomes all that there ever was.
  template <typename What>
  void JoinOrAll(const What& what, Known* into) const;
  // Keeps of what is over only its past.
  void Compact(Moment* moment) const;
  void NotifyMonitor();

  coherence::AliasMonitor& monitor_;
  ProcessRaces& others_;
  mutable std::mutex mutex_;  // guards what follows, lines and cells; the monitor's comes after it
  uint64_t generation_ = 1;
  uint64_t last_line_ = 0;
  uint64_t running_ = 0;        // operations that were submitted and are not over
  Known host_;                  // what it has waited for
  std::vector<Known> devices_;  // what each of them has done
  Known everything_;            // for where there is no memory
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_STREAMS_OPERATION_ORDER_H_
