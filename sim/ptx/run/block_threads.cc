#include "sim/ptx/run/block_threads.h"

namespace twinmmu::ptx {

using Session = coherence::AliasMonitor::Session;

BlockThreads::BlockThreads(coherence::AliasMonitor* monitor, uint32_t threads, int device, int sm,
                           const coherence::Clocks& before, coherence::Site sites,
                           coherence::ThreadId cluster, const coherence::Origin& origin)
    : monitor_(*monitor),
      threads_(threads),
      sites_(sites),
      first_(monitor->Start(threads, device, sm, before, cluster, origin)) {}

BlockThreads::~BlockThreads() {
  coherence::Clocks clocks;
  End(&clocks);
}

void BlockThreads::End(coherence::Clocks* clocks) {
  if (!ended_) monitor_.End(first_, threads_, clocks);
  ended_ = true;
}

void BlockThreads::Arrive(coherence::AliasMonitor::Meeting* meeting, int warp, Lanes lanes) {
  if (known()) Session(&monitor_).Arrive(FirstOf(warp), lanes, meeting);
}

void BlockThreads::Leave(coherence::AliasMonitor::Meeting* meeting, int warp, Lanes lanes) {
  if (known()) Session(&monitor_).Leave(FirstOf(warp), lanes, meeting);
}

void BlockThreads::Boundary(int warp, Lanes lanes, const coherence::Clocks& clocks) {
  if (known()) Session(&monitor_).Boundary(FirstOf(warp), lanes, clocks);
}

void BlockThreads::Meet(int warp, Lanes met, Lanes go_on) {
  if (!known()) return;
  Session session(&monitor_);
  coherence::AliasMonitor::Meeting meeting;
  session.Arrive(FirstOf(warp), met, &meeting);
  session.Leave(FirstOf(warp), go_on, &meeting);
}

}  // namespace twinmmu::ptx
