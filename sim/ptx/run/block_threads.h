// BlockThreads: the threads of a block as the alias monitor knows them.

#ifndef TWINMMU_SIM_PTX_RUN_BLOCK_THREADS_H_
#define TWINMMU_SIM_PTX_RUN_BLOCK_THREADS_H_

#include <array>
#include <cstdint>

#include "sim/coherence/monitor/alias_monitor.h"
#include "sim/ptx/operations/operation.h"

namespace twinmmu::ptx {

inline constexpr int kBarriers = 16;

// For one thread of the host at a time.
class BlockThreads {
 public:
  // Starts `threads` threads on multiprocessor `sm`, after what is in `before`. `monitor` must
  // outlive this object. `sites`: the id of the first site of their kernel.
  // `cluster`: as AliasMonitor::Start takes it.
  BlockThreads(coherence::AliasMonitor* monitor, uint32_t threads, int device, int sm,
               const coherence::Clocks& before, coherence::Site sites, coherence::ThreadId cluster,
               const coherence::Origin& origin);
  // Ends them, if End has not.
  ~BlockThreads();
  BlockThreads(const BlockThreads&) = delete;
  BlockThreads& operator=(const BlockThreads&) = delete;

  // Ends them. What they did goes into `clocks`.
  void End(coherence::Clocks* clocks);

  // Whether the monitor had ids for them. If not, they are not observed.
  bool known() const { return first_ != 0; }
  // The thread of lane 0 of a warp; the others follow.
  coherence::ThreadId FirstOf(int warp) const {
    return first_ + static_cast<coherence::ThreadId>(warp) * kLanes;
  }
  coherence::Site sites() const { return sites_; }

  // At a barrier of the block: lanes come, those that waited go on, all have gone on. These do
  // nothing where the threads are not known.
  void Arrive(int barrier, int warp, Lanes lanes) {
    Arrive(&meetings_[static_cast<size_t>(barrier)], warp, lanes);
  }
  void Leave(int barrier, int warp, Lanes lanes) {
    Leave(&meetings_[static_cast<size_t>(barrier)], warp, lanes);
  }
  // The same at a barrier that has `meeting`.
  void Arrive(coherence::AliasMonitor::Meeting* meeting, int warp, Lanes lanes);
  void Leave(coherence::AliasMonitor::Meeting* meeting, int warp, Lanes lanes);
  void Close(int barrier) { meetings_[static_cast<size_t>(barrier)] = {}; }
  // Lanes have waited for what is in `clocks`.
  void Boundary(int warp, Lanes lanes, const coherence::Clocks& clocks);
  // `go_on` go on where all of `met` came together.
  void Meet(int warp, Lanes met, Lanes go_on);

 private:
  coherence::AliasMonitor& monitor_;
  const uint32_t threads_;
  const coherence::Site sites_;
  const coherence::ThreadId first_;
  bool ended_ = false;
  std::array<coherence::AliasMonitor::Meeting, kBarriers> meetings_;
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_BLOCK_THREADS_H_
