// StreamClocks: what comes before what in the order of streams, as the program said it.

#ifndef TWINMMU_SIM_STREAMS_STREAM_CLOCKS_H_
#define TWINMMU_SIM_STREAMS_STREAM_CLOCKS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "api/allocation.h"
#include "sim/coherence/model/vector_clock.h"

namespace twinmmu {

// A stream orders its own work, an event that it waits for the work of another one, and a wait of
// the host what is submitted later to any stream. When work runs does not matter here: two pieces
// of work that nothing orders may run in either order, whichever was seen.
//
// Only some work has a place: that of stream-ordered memory. A clock says of each stream up to
// which place all comes before something. Until Start() nobody has to tell anything.
//
// Thread-safe. All but active() may throw std::bad_alloc, and then nothing has changed.
class StreamClocks {
 private:
  struct LineState;
  struct EndedLines;

 public:
  using Line = std::shared_ptr<LineState>;  // the order of one stream
  using Clock = coherence::VectorClock;
  // One piece of work; by default none, which comes before everything.
  struct Place {
    uint32_t line = 0;
    uint32_t number = 0;
  };

  explicit StreamClocks(int devices);

  // From now on everything is told.
  void Start() { active_.store(true, std::memory_order_relaxed); }
  bool active() const { return active_.load(std::memory_order_relaxed); }

  Line MakeLine(DeviceOrdinal device);
  // Work is submitted: its place, and what comes before it.
  Place Submit(const Line& line, Clock* before);
  // What comes before that which the line is given next: all that it was given so far, too.
  Clock Record(const Line& line) const;
  // What the line is given later comes after that.
  void Wait(const Line& line, const Clock& clock);
  // What is submitted later comes after that; or after all that the device was given.
  void HostWaited(const Clock& clock);
  void HostWaited(DeviceOrdinal device);
  // What the host has waited for.
  Clock host() const;

  static bool Has(const Clock& clock, const Place& place) {
    return clock.Get(place.line) >= place.number;
  }

 private:
  std::atomic<bool> active_{false};
  mutable std::mutex mutex_;  // guards what follows, and lines; a leaf
  uint32_t last_line_ = 0;
  const std::shared_ptr<EndedLines> ended_;
  Clock host_;
  std::vector<Clock> devices_;  // all that each of them was given
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_STREAMS_STREAM_CLOCKS_H_
