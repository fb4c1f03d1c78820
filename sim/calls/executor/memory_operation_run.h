// MemoryOperationRun: a wait for a word of memory, or a write of one, as work of a stream.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_MEMORY_OPERATION_RUN_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_MEMORY_OPERATION_RUN_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "api/executor.h"
#include "sim/calls/executor/memory_operations.h"
#include "sim/calls/executor/observed_work.h"
#include "sim/coherence/model/vector_clock.h"
#include "sim/coherence/monitor/site_table.h"
#include "sim/mmu/mmu.h"
#include "sim/state/simulator_state.h"
#include "sim/streams/operation_order.h"
#include "sim/streams/stream_scheduler.h"

namespace twinmmu {

// Whether work of `device` may use the word that begins at `range`. What ends behind its linear
// allocation is taken. With mmu.mutex held, if only shared.
bool CanUseWord(const Mmu& mmu, DeviceOrdinal device, const AddressRange& range, Access access);

// Not thread-safe but for what says so.
class MemoryOperationRun {
 public:
  // `state` must outlive this object. `call_id`: of the call, in the history; `order`: in the order
  // of operations; `call_sites`: of SiteOfCall.
  MemoryOperationRun(SimulatorState* state, const char* call, Stream stream,
                     const MemoryOperation& operation, uint64_t call_id,
                     OperationOrder::Operation order, std::shared_ptr<const SiteSource> call_sites);

  // Throws nothing. A word that has gone is a fault.
  Progress Run(Turn turn);
  // As StreamScheduler::Work has it.
  bool NeedsStreams() const { return needs_streams_; }

 private:
  // False: the word is not what is waited for, or there is a fault.
  bool Perform(Fault* fault);
  // Of the two kinds; with mmu.mutex held, if only shared. `missing` gets the address that is not
  // there.
  bool Look(const ObservedWork::Part& word, const void** missing);
  bool Write(const ObservedWork::Part& word, const void** missing);
  ObservedWork Observed();
  bool IsOverBudget(Turn turn);
  void Raise(const Fault& fault);
  void Endless(Turn turn);

  SimulatorState& state_;
  Mmu& mmu_ = state_.mmu;
  const char* const call_;
  const Stream stream_;
  const MemoryOperation operation_;
  const uint64_t call_id_;
  const OperationOrder::Operation order_;
  const std::shared_ptr<const SiteSource> call_sites_;
  bool begun_ = false;
  coherence::Clocks clocks_;
  uint64_t seen_ = 0;  // the word, when it was looked at last
  std::atomic<bool> needs_streams_{false};
  std::chrono::steady_clock::time_point last_turn_;
  std::chrono::microseconds waited_{0};  // while the program waited for it
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_MEMORY_OPERATION_RUN_H_
