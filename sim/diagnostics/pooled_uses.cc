#include "sim/diagnostics/pooled_uses.h"

#include <new>
#include <optional>
#include <shared_mutex>

#include "sim/diagnostics/call_record.h"

namespace twinmmu {
namespace {

void Check(SimulatorState& state, const char* name, DeviceOrdinal device, const PooledWork& work,
           const PooledPiece& piece) {
  const std::optional<OrderFinding> finding = state.pooled_order.Used(piece.buffer_id, work);
  if (!finding.has_value()) return;
  Misuse misuse{DiagnosticKind::kUseBeforeAllocation, piece.range.base, std::nullopt, device};
  CallRecord call(state, FindCall(name), piece.range, 0, work.call_id);
  switch (finding->kind) {
    case OrderFinding::kUseBeforeAllocation:
      return call.Report(Severity::kError, misuse, "nothing orders it behind the allocation of ",
                         piece.range, " by call ", finding->cause);
    case OrderFinding::kUseAfterFree:
      misuse.kind = DiagnosticKind::kUseAfterFreeInStream;
      return call.Report(Severity::kError, misuse, "it comes after the free of ", piece.range,
                         " by call ", finding->cause);
    case OrderFinding::kUnorderedFree:
      misuse.kind = DiagnosticKind::kUnorderedFreeInStream;
      return call.Report(Severity::kError, misuse, "nothing orders it and the free of ",
                         piece.range, " by call ", finding->cause);
  }
}

}  // namespace

void NoteUse(SimulatorState& state, const char* name, DeviceOrdinal device, const PooledWork& work,
             const AddressRange& range) {
  const std::shared_lock lock(state.mmu.mutex);
  try {
    state.mmu.pooled.ForEachIn(
        range, [&](const PooledPiece& piece) { Check(state, name, device, work, piece); });
  } catch (const std::bad_alloc&) {
    // Then it is not noted.
  }
}

void NoteUsesOfKernel(SimulatorState& state, const char* name, DeviceOrdinal device,
                      const PooledWork& work, absl::FunctionRef<bool(uint64_t)> has_used) {
  try {
    state.mmu.pooled.ForEach([&](const PooledPiece& piece) {
      if (has_used(piece.buffer_id)) Check(state, name, device, work, piece);
    });
  } catch (const std::bad_alloc&) {
    // Then they are not noted.
  }
}

}  // namespace twinmmu
