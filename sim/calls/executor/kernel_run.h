// KernelRun: a launch as work of a stream.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_KERNEL_RUN_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_KERNEL_RUN_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/allocation.h"
#include "api/diagnostic_words.h"
#include "api/driver_error.h"
#include "sim/diagnostics/neighbours.h"
#include "sim/diagnostics/run_events.h"
#include "sim/ptx/program/program.h"
#include "sim/ptx/run/grid.h"
#include "sim/state/pooled_order.h"
#include "sim/state/simulator_state.h"
#include "sim/streams/operation_order.h"
#include "sim/streams/stream_scheduler.h"

namespace twinmmu {

// Ends all contexts, as a kernel does that faults. `misuse` and `words` tell why.
void RaiseFault(SimulatorState* state, DeviceOrdinal device, DriverCode code, const Misuse& misuse,
                uint64_t call_id, const std::string& words);

// Runs a grid a turn at a time, and ends all contexts if it faults, or if it has executed more than
// the profile allows. Not thread-safe but for what says so.
class KernelRun {
 public:
  // `state` must outlive this object. `call_id`: of the launch, in the history; `operation` and
  // `work`: in the order of operations. A launch with programmatic stream serialization may run
  // early. `idle`: blocks of kernels before.
  KernelRun(SimulatorState* state, ptx::Launch launch, uint64_t call_id,
            OperationOrder::Operation operation, PooledWork work,
            const std::shared_ptr<ptx::IdleBlocks>& idle);

  // For the record of the run: where it was launched. Before it runs.
  void SetTold(const ToldWork& told) { told_ = told; }

  // Throws nothing. Once contexts have a fault there is nothing to do any more.
  Progress Run(Turn turn);
  // The same while the kernel ahead of it goes on. Never kDone.
  Progress RunEarly(Turn turn);
  // Whether the kernel behind it may start. May be called while Run is.
  bool LetsNextStart() const { return grid_.LetsNextStart(); }

  // Whether it has used the mapping of this id. May be called while Run is.
  bool HasUsed(uint32_t mapping) const { return grid_.HasUsed(mapping); }

 private:
  void Begin();
  // Looks at what it has used of pools by now.
  void NoteUses();
  // There is nothing more to do.
  Progress End();
  uint64_t AmountOf(Turn turn) const;
  // Whether it has run, or waited, for longer than the profile allows. `waited`: in this turn no
  // thread got anywhere.
  bool IsOverBudget(bool waited);
  // The same since its blocks last stored results.
  bool IsFruitless() const;
  uint64_t OfEachThread(uint64_t work) const;
  void Fault(const ptx::GridFault& fault);
  void OverBudget();
  void Report(const ptx::AsyncHazard& hazard);
  void Report(const ptx::DivergentBarrier& barrier);
  // Those of the module that lie in memory.
  std::vector<Neighbour> Variables() const;

  SimulatorState& state_;
  Mmu& mmu_ = state_.mmu;
  const DeviceOrdinal device_;
  const std::string kernel_;
  const uint64_t call_id_;
  // For what is said of a fault: whose variables lie where.
  const std::shared_ptr<const ptx::Program> program_;
  const DeviceAddress image_;
  const std::shared_ptr<const std::vector<AddressRange>> managed_;
  DeviceAddress workspace_;  // of a cooperative launch, until it ends
  const OperationOrder::Operation operation_;
  const PooledWork work_;
  const bool early_;  // may run so
  bool begun_ = false;
  bool reached_ = false;     // what is ahead of it is over
  bool ran_to_end_ = false;  // early
  const uint64_t threads_;   // no more than some
  ToldWork told_;
  uint64_t waited_ = 0;  // what its waiting has cost
  uint64_t shared_;      // the amount of the next turn that others may wait for
  std::chrono::steady_clock::time_point last_turn_;
  const int host_threads_;  // that run its blocks
  ptx::Grid grid_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_KERNEL_RUN_H_
