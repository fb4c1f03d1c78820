#include "sim/ptx/run/observed_step.h"

#include "sim/ptx/run/block.h"

namespace twinmmu::ptx {

namespace {

// All but the place of what a step accesses.
coherence::MonitoredAccess AccessOf(Warp* warp, const Step& step) {
  const BlockThreads& threads = warp->block().threads();
  coherence::MonitoredAccess access;
  access.size = step.memory.size();
  access.armed = true;
  if (threads.known()) access.thread = threads.FirstOf(warp->number());
  access.strength = step.memory.strength;
  access.call = warp->block().grid().launch->call_id;
  if (threads.sites() != SiteTable::kUnknown) {
    access.site = threads.sites() + warp->frame().function->first_site +
                  static_cast<uint32_t>(step.instruction);
  }
  return access;
}

}  // namespace

coherence::MonitoredAccess ObservedRun(Warp* warp, const Step& step, char* memory,
                                       coherence::AddressId address) {
  coherence::MonitoredAccess access = AccessOf(warp, step);
  access.memory = memory;
  access.address = address;
  if (address == 0) access.shared = warp->block().shared().data();
  return access;
}

ObservedStep::ObservedStep(Warp* warp, const Step& step)
    : ObservedStep(warp, step, warp->observed()) {}

ObservedStep::ObservedStep(Warp* warp, const Step& step, const ObservedLanes& observed)
    : observed_(observed),
      access_(AccessOf(warp, step)),
      lanes_(access_.thread != 0 ? observed_.lanes : 0),
      first_(access_.thread),
      session_(&warp->block().aliases()) {}

}  // namespace twinmmu::ptx
