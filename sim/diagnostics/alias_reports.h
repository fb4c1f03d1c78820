// What is said of accesses through several addresses of one memory that are not in order.

#ifndef TWINMMU_SIM_DIAGNOSTICS_ALIAS_REPORTS_H_
#define TWINMMU_SIM_DIAGNOSTICS_ALIAS_REPORTS_H_

#include <cstdint>
#include <string>

#include "sim/coherence/monitor/alias_monitor.h"
#include "sim/coherence/monitor/site_table.h"
#include "sim/state/call_history.h"
#include "sim/state/simulator_state.h"
#include "sim/streams/process_races.h"

namespace twinmmu {

// Calls as places that access memory, for the table of sites: the part is the id of the call.
class CallSites : public SiteSource {
 public:
  std::string SiteInWords(uint32_t part, uint32_t) const override {
    return NameOf(static_cast<Call>(part));
  }
};

// The place that accesses of a call have. `calls`: a CallSites. Not known as long as nobody asks
// for it.
coherence::Site SiteOfCall(SimulatorState& state, const std::shared_ptr<const SiteSource>& calls,
                           const char* call);

// Reports a hazard: whoever made the second access holds mmu.mutex, if only shared, and the lock of
// the monitor; no other is taken but that of the log and of the sites. Throws nothing.
void ReportAliasHazard(SimulatorState& state, const coherence::AliasHazard& hazard);
// The same of one with another process; the lock is that of `state.others`.
void ReportProcessRace(SimulatorState& state, const ProcessRace& race);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_DIAGNOSTICS_ALIAS_REPORTS_H_
