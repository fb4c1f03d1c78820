#include "sim/diagnostics/call_record.h"

#include <optional>
#include <shared_mutex>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/strings/string_view.h"
#include "api/record/event.h"
#include "sim/diagnostics/run_events.h"

namespace twinmmu {

void CallRecord::Keep(Severity severity, const Misuse& misuse, std::string message) {
  if (id_ == 0) id_ = state_.history.NextIdShared();
  Diagnostic diagnostic = DiagnosticOf(misuse, severity, name(), id_, range_, std::move(message));
  if (misuse.address.has_value()) diagnostic.history = HistoryOf(state_, *misuse.address);
  if (misuse.handle.has_value()) diagnostic.history = HistoryOf(state_, *misuse.handle);
  state_.log.Keep(std::move(diagnostic));
}

void CallRecord::WriteShared(bool refused) {
  done_ = true;
  if (id_ == 0) id_ = state_.history.NextIdShared();
  const CallEvent event{id_, call_, refused, range_, detail_};
  state_.history.WriteShared(event);
  if (ABSL_PREDICT_FALSE(state_.events != nullptr)) TellCall(state_, event, stream_);
}

uint64_t RecordCall(SimulatorState& state, const char* name, const AddressRange& range) {
  const std::shared_lock lock(state.mmu.mutex);
  const uint64_t id = state.history.NextIdShared();
  state.history.WriteShared(CallEvent{id, FindCall(name), false, range, 0});
  return id;
}

absl::Status RefuseUnknown(SimulatorState& state, const char* name, DiagnosticKind kind,
                           const char* what, uint64_t value, DeviceOrdinal device) {
  const std::shared_lock lock(state.mmu.mutex);
  return RefuseCall(state, DriverCode::kInvalidHandle, name, AddressRange(),
                    {kind, std::nullopt, std::nullopt, device}, what, value, " of ", device,
                    " does not exist");
}

absl::Status RefuseUncovered(SimulatorState& state, const char* name, DeviceOrdinal device,
                             absl::string_view part) {
  const Misuse misuse{DiagnosticKind::kFunctionNotSimulated, std::nullopt, std::nullopt, device};
  CallRecord record(state, FindCall(name), AddressRange());
  {
    const std::shared_lock lock(state.mmu.mutex);
    record.Warn(misuse, "not simulated: ", part);
  }
  return Fail(DriverCode::kNotSupported, name, "not simulated: ", part);
}

absl::Status RefuseFault(SimulatorState& state, const Fault& fault) {
  return RefuseCall(state, fault.call, fault.range, WhyFault(state, fault), fault.Reason());
}

void ReportFault(SimulatorState& state, uint64_t id, const Fault& fault) {
  Misuse misuse = WhyFault(state, fault);
  misuse.why = misuse.kind;
  misuse.kind = DiagnosticKind::kFaultOfQueuedWork;
  CallRecord call(state, FindCall(fault.call), fault.range, 0, id);
  call.Report(Severity::kError, misuse, "when its work ran, range ", fault.range,
              " was not wholly mapped with ", fault.access, " access for ", fault.location);
  if (ABSL_PREDICT_TRUE(state.events == nullptr)) return;
  const bool of_device = fault.location.type == LocationType::kDevice;
  TellFault(state, DeviceOrdinal(of_device ? fault.location.id : record::kHost), fault.range.base,
            fault.Reason());
}

void ReportFault(SimulatorState& state, uint64_t id, const char* call, DeviceOrdinal device,
                 const char* why) {
  const Misuse misuse{DiagnosticKind::kFaultOfQueuedWork, std::nullopt, std::nullopt, device};
  CallRecord record(state, FindCall(call), AddressRange(), 0, id);
  record.Report(Severity::kError, misuse, "when its work ran, ", why);
  if (ABSL_PREDICT_FALSE(state.events != nullptr)) TellFault(state, device, DeviceAddress(0), why);
}

void CallRecord::Drop() {
  const std::shared_lock lock(state_.mmu.mutex);
  WriteShared(true);
}

}  // namespace twinmmu
