#include "sim/calls/executor/simulated_executor.h"

#include "sim/diagnostics/alias_reports.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {

SimulatedExecutor::SimulatedExecutor(SimulatorState* state)
    : state_(*state), streams_(state), copies_(state, &streams_), modules_(state, &streams_) {
  state_.on_alias_hazard = [state](const coherence::AliasHazard& hazard) {
    ReportAliasHazard(*state, hazard);
  };
  state_.on_process_race = [state](const ProcessRace& race) { ReportProcessRace(*state, race); };
}

SimulatedExecutor::~SimulatedExecutor() { state_.scheduler.Stop(); }

#define TWINMMU_GUARDED_PART(part, id, result, method, ...) \
  TWINMMU_GUARDED_BY(guard_, SimulatedExecutor, part.Do##method, result, method, __VA_ARGS__)
TWINMMU_EXECUTOR_COPY_CALLS(TWINMMU_GUARDED_PART, copies_)
TWINMMU_EXECUTOR_ASYNC_COPY_CALLS(TWINMMU_GUARDED_PART, copies_)
TWINMMU_EXECUTOR_STREAM_CALLS(TWINMMU_GUARDED_PART, streams_)
TWINMMU_EXECUTOR_MODULE_CALLS(TWINMMU_GUARDED_PART, modules_)
#undef TWINMMU_GUARDED_PART

}  // namespace twinmmu
