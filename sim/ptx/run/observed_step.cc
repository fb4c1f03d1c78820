#include "sim/ptx/run/observed_step.h"

#include "sim/ptx/run/block.h"

namespace twinmmu::ptx {

ObservedStep::ObservedStep(Warp* warp, const Step& step)
    : ObservedStep(warp, step, warp->observed()) {}

ObservedStep::ObservedStep(Warp* warp, const Step& step, const ObservedLanes& observed)
    : observed_(observed),
      lanes_(warp->block().threads().known() ? observed_.lanes : 0),
      first_(warp->block().threads().FirstOf(warp->number())),
      session_(&warp->block().aliases()) {
  access_.size = step.memory.size();
  access_.strength = step.memory.strength;
  access_.call = warp->block().grid().launch->call_id;
  const coherence::Site sites = warp->block().threads().sites();
  if (sites == SiteTable::kUnknown) return;
  access_.site =
      sites + warp->frame().function->first_site + static_cast<uint32_t>(step.instruction);
}

}  // namespace twinmmu::ptx
