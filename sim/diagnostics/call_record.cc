#include "sim/diagnostics/call_record.h"

#include <shared_mutex>
#include <utility>

namespace twinmmu {

void CallRecord::Keep(Severity severity, const Misuse& misuse, std::string message) {
  if (number_ == 0) number_ = machine_.history.NextNumberShared();
  Diagnostic diagnostic =
      DiagnosticOf(misuse, severity, name(), number_, range_, std::move(message));
  if (misuse.address.has_value()) diagnostic.history = HistoryOf(machine_, *misuse.address);
  if (misuse.handle.has_value()) diagnostic.history = HistoryOf(machine_, *misuse.handle);
  machine_.log.Keep(std::move(diagnostic));
}

void CallRecord::WriteShared(bool refused) {
  done_ = true;
  if (number_ == 0) number_ = machine_.history.NextNumberShared();
  machine_.history.WriteShared(CallEvent{number_, call_, refused, range_, detail_});
}

uint64_t RecordCall(MachineState& machine, const char* name, const AddressRange& range) {
  const std::shared_lock lock(machine.mmu.mutex);
  const uint64_t number = machine.history.NextNumberShared();
  machine.history.WriteShared(CallEvent{number, FindCall(name), false, range, 0});
  return number;
}

absl::Status RefuseUnknown(MachineState& machine, const char* name, DiagnosticKind kind,
                           const char* what, uint64_t value, DeviceOrdinal device) {
  const std::shared_lock lock(machine.mmu.mutex);
  return RefuseCall(machine, DriverCode::kInvalidHandle, name, AddressRange(),
                    {kind, std::nullopt, std::nullopt, device}, what, value, " of ", device,
                    " does not exist");
}

absl::Status RefuseFault(MachineState& machine, const Fault& fault) {
  return RefuseCall(machine, fault.call, fault.range, WhyFault(machine, fault), fault.Reason());
}

void ReportFault(MachineState& machine, uint64_t number, const Fault& fault) {
  Misuse misuse = WhyFault(machine, fault);
  misuse.why = misuse.kind;
  misuse.kind = DiagnosticKind::kFaultOfQueuedWork;
  CallRecord call(machine, FindCall(fault.call), fault.range, 0, number);
  call.Report(Severity::kError, misuse, "when its work ran, range ", fault.range,
              " was not wholly mapped with ", fault.access, " access for ", fault.location);
}

void CallRecord::Drop() {
  const std::shared_lock lock(machine_.mmu.mutex);
  WriteShared(true);
}

}  // namespace twinmmu
