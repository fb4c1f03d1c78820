#include "sim/ptx/run/observed_step.h"

#include "sim/ptx/run/block.h"

namespace twinmmu::ptx {

Telling::Telling(Warp* warp, const Step& step) : Telling(warp, step, warp->told()) {}

Telling::Telling(Warp* warp, const Step& step, const ToldLanes& told)
    : told_(told),
      lanes_(warp->block().threads().known() ? told_.lanes : 0),
      first_(warp->block().threads().FirstOf(warp->number())),
      session_(&warp->block().aliases()) {
  access_.size = step.memory.size();
  access_.strength = step.memory.strength;
  access_.call = warp->block().grid().launch->call_number;
  const coherence::Site sites = warp->block().threads().sites();
  if (sites == SiteTable::kUnknown) return;
  access_.site =
      sites + warp->frame().function->first_site + static_cast<uint32_t>(step.instruction);
}

}  // namespace twinmmu::ptx
