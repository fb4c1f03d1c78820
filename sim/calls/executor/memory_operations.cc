#include "sim/calls/executor/memory_operations.h"

#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "sim/calls/executor/memory_operation_run.h"
#include "sim/diagnostics/alias_reports.h"
#include "sim/diagnostics/call_record.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {

bool MemoryOperation::HoldsFor(uint64_t word) const {
  const uint64_t bits = width == Bytes(4) ? 0xffff'ffff : ~uint64_t{0};
  switch (condition) {
    case kGreaterOrEqual:
      return ((word - value) & bits) <= bits / 2;
    case kEqual:
      return ((word ^ value) & bits) == 0;
    case kAnd:
      return (word & value & bits) != 0;
    case kNor:
      break;
  }
  return (~(word | value) & bits) != 0;
}

MemoryOperations::MemoryOperations(SimulatorState* state, SimulatedStreams* streams)
    : state_(*state), streams_(*streams), call_sites_(std::make_shared<const CallSites>()) {}

absl::Status MemoryOperations::Submit(const char* call, Stream stream,
                                      absl::Span<const MemoryOperation> operations) {
  return guard_.Guard(call, [&]() -> absl::Status {
    SimulatedStreams::Queue queue;
    const absl::Status known = streams_.CheckStream(call, stream, &queue);
    if (!known.ok()) return known;
    for (const MemoryOperation& operation : operations) {
      const absl::Status possible = Check(call, stream, operation);
      if (!possible.ok()) return possible;
    }
    std::vector<StreamScheduler::Work> works;
    for (const MemoryOperation& operation : operations) {
      works.push_back(WorkOf(call, stream, queue, operation));
    }
    if (!works.empty()) state_.scheduler.Submit(queue->work, std::move(works));
    return absl::OkStatus();
  });
}

absl::Status MemoryOperations::Check(const char* call, Stream stream,
                                     const MemoryOperation& operation) {
  if (!operation.address.IsAligned(operation.width)) {
    return InvalidValue(call, "address ", ToString(operation.address), " is not a multiple of ",
                        ToString(operation.width));
  }
  const AddressRange range = operation.range();
  const std::shared_lock lock(state_.mmu.mutex);
  if (!CanUseWord(state_.mmu, stream.device(), range, Access::kRead)) {
    return RefuseFault(state_,
                       Fault{call, range, Access::kRead, Location::Device(stream.device())});
  }
  const LinearAllocation* const linear = state_.mmu.linear.Find(range.base);
  if (linear != nullptr && !linear->range.contains(range)) {
    WarnOfCall(state_, call, range,
               {DiagnosticKind::kUseBeyondMemory, linear->range.base, std::nullopt, stream.device(),
                linear->made_by},
               "the word at ", range, " ends behind the allocation");
  }
  return absl::OkStatus();
}

StreamScheduler::Work MemoryOperations::WorkOf(const char* call, Stream stream,
                                               const SimulatedStreams::Queue& queue,
                                               const MemoryOperation& operation) {
  const uint64_t call_id = RecordCall(state_, call, operation.range());
  const auto run = std::make_shared<MemoryOperationRun>(
      &state_, call, stream, operation, call_id, state_.order.Submit(queue->order), call_sites_);
  StreamScheduler::Work work;
  work.run = [run](Turn turn) { return run->Run(turn); };
  work.stream = stream;
  work.call_id = call_id;
  const bool waits = operation.kind == MemoryOperation::kWait;
  work.ranges[waits ? 1 : 0] = operation.range();
  work.kernel = waits;
  if (waits) work.needs_streams = [run] { return run->NeedsStreams(); };
  return work;
}

}  // namespace twinmmu
