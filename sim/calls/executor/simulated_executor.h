// SimulatedExecutor: Executor on a software MMU.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_EXECUTOR_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_EXECUTOR_H_

#include "api/call_macros.h"
#include "api/executor.h"
#include "sim/base/call_guard.h"
#include "sim/calls/executor/simulated_copies.h"
#include "sim/calls/executor/simulated_modules.h"
#include "sim/calls/executor/simulated_streams.h"

namespace twinmmu {

class SimulatedExecutor : public Executor {
 public:
  // `state` must outlive this object. What is still queued in it when this object goes does not
  // run any more.
  explicit SimulatedExecutor(SimulatorState* state);
  ~SimulatedExecutor() override;

  TWINMMU_EXECUTOR_CALLS(TWINMMU_OVERRIDE, )

  // For who has a guard of its own.
  SimulatedStreams& streams() { return streams_; }
  SimulatedCopies& copies() { return copies_; }
  SimulatedModules& modules() { return modules_; }

 private:
  SimulatorState& state_;
  SimulatedStreams streams_;
  SimulatedCopies copies_;
  SimulatedModules modules_;
  const CallGuard guard_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_EXECUTOR_H_
