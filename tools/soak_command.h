// twinmmu soak: random programs over the pool and the buffers, for as long as one likes.

#ifndef TWINMMU_TOOLS_SOAK_COMMAND_H_
#define TWINMMU_TOOLS_SOAK_COMMAND_H_

#include <functional>
#include <ostream>
#include <vector>

#include "api/diagnostics.h"
#include "api/driver.h"
#include "conformance/framework/target.h"

namespace twinmmu {

// Runs programs from --seed on for --minutes, or until there were --steps, prints what came of it
// to `out`, and at the end what `diagnostics`, which may be null, says of the driver. Returns the
// exit code of the program: 0 only without a difference, and with all memory back.
int RunSoak(const conformance::TargetFactory& target,
            const std::function<std::vector<Diagnostic>(Driver&)>& diagnostics, std::ostream& out);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_SOAK_COMMAND_H_
