// CallRecord: one call while it runs.

#ifndef TWINMMU_SIM_DIAGNOSTICS_CALL_RECORD_H_
#define TWINMMU_SIM_DIAGNOSTICS_CALL_RECORD_H_

#include <new>
#include <string>
#include <tuple>
#include <type_traits>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "api/diagnostic_words.h"
#include "api/executor.h"
#include "sim/base/errors.h"
#include "sim/diagnostics/explain.h"
#include "sim/diagnostics/run_events.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {

// Gives a call its id, writes it into the history, and reports what is wrong with it. What is
// reported never changes what a call does: where there is no memory for it, it is counted only.
//
// A call that ends without Done() is refused, and written as that: where the client is to blame by
// Refuse(), else by the destructor, which locks mmu.mutex. So the record of a call that can fail in
// another way than by Refuse() is made before the lock.
class CallRecord {
 public:
  CallRecord(SimulatorState& state, Call call, const AddressRange& range, uint64_t detail = 0)
      : state_(state), call_(call), range_(range), detail_(detail) {}
  // Of one that was written before, under this id.
  CallRecord(SimulatorState& state, Call call, const AddressRange& range, uint64_t detail,
             uint64_t id)
      : state_(state), call_(call), done_(true), id_(id), range_(range), detail_(detail) {}
  ~CallRecord() {
    if (!done_) Drop();
  }
  CallRecord(const CallRecord&) = delete;
  CallRecord& operator=(const CallRecord&) = delete;

  const char* name() const { return NameOf(call_); }

  // Of a call that is ordered in a stream.
  void SetStream(Stream stream) { stream_ = stream; }

  // With mmu.mutex held alone: the id of the call; and it has done this, which cannot fail.
  uint64_t id() {
    if (id_ == 0) id_ = state_.history.NextId();
    return id_;
  }
  void Done(const AddressRange& range, uint64_t detail) {
    done_ = true;
    const CallEvent event{id(), call_, false, range, detail};
    state_.history.Write(event);
    if (ABSL_PREDICT_FALSE(state_.events != nullptr)) TellCall(state_, event, stream_);
  }

  // The same with those stripes of mmu.mutex held alone.
  uint64_t IdBeside(StripedMutex::Stripes stripes) {
    if (id_ == 0) id_ = state_.history.NextIdBeside(stripes);
    return id_;
  }
  void DoneBeside(StripedMutex::Stripes stripes, const AddressRange& range, uint64_t detail) {
    done_ = true;
    state_.history.WriteBeside(CallEvent{IdBeside(stripes), call_, false, range, detail});
  }

  // With mmu.mutex held, if only shared; this holds for all that follows. A call that changed
  // nothing and was not refused.
  void DoneShared() { WriteShared(false); }

  // An error that the client is to blame for. Phrases and parts that are no text become text here.
  template <typename... Parts>
  [[gnu::cold, gnu::noinline]] absl::Status Refuse(const Misuse& misuse, const Parts&... parts) {
    return RefuseWith(DriverCode::kInvalidValue, misuse, parts...);
  }
  template <typename... Parts>
  [[gnu::cold, gnu::noinline]] absl::Status RefuseWith(DriverCode code, const Misuse& misuse,
                                                       const Parts&... parts) {
    Report(Severity::kError, misuse, parts...);
    WriteShared(true);
    return Fail(code, name(), Text(parts)...);  // last, since it may find no memory
  }
  // What the driver lets pass; the same. Before Done().
  template <typename... Parts>
  [[gnu::cold, gnu::noinline]] void Warn(const Misuse& misuse, const Parts&... parts) {
    Report(Severity::kWarning, misuse, parts...);
  }
  template <typename... Parts>
  void Report(Severity severity, const Misuse& misuse, const Parts&... parts) {
    if (!state_.log.Count(misuse.kind)) return state_.log.Drop(misuse.kind);
    try {
      Keep(severity, misuse, absl::StrCat(words::InWords(parts)...));
    } catch (const std::bad_alloc&) {
      state_.log.Drop(misuse.kind);
    }
  }

 private:
  // For the status: ranges with their alignment.
  template <typename T>
  static decltype(auto) Text(const T& part) {
    if constexpr (std::is_same_v<T, AddressRange>) {
      return ToString(part);
    } else {
      return words::InWords(part);
    }
  }
  template <typename... Parts>
  static std::string Text(const std::tuple<Parts...>& phrase) {
    return std::apply([](const Parts&... parts) { return absl::StrCat(Text(parts)...); }, phrase);
  }
  void Keep(Severity severity, const Misuse& misuse, std::string message);
  void WriteShared(bool refused);
  [[gnu::cold]] void Drop();

  SimulatorState& state_;
  const Call call_;
  bool done_ = false;
  uint64_t id_ = 0;
  Stream stream_;
  const AddressRange range_;
  const uint64_t detail_;
};

// The rest is for calls that are known by name only. The first two lock mmu.mutex; the others want
// it held, if only shared.

// Writes a call that works into the history: its id.
uint64_t RecordCall(SimulatorState& state, const char* name, const AddressRange& range = {});

// INVALID_HANDLE: the handle `value` names nothing, or nothing any more. `what`: "stream ".
[[gnu::cold]] absl::Status RefuseUnknown(SimulatorState& state, const char* name,
                                         DiagnosticKind kind, const char* what, uint64_t value,
                                         DeviceOrdinal device);

// A call that is refused, and one that the driver lets pass.
template <typename... Parts>
[[gnu::cold, gnu::noinline]] absl::Status RefuseCall(SimulatorState& state, DriverCode code,
                                                     const char* name, const AddressRange& range,
                                                     const Misuse& misuse, const Parts&... parts) {
  return CallRecord(state, FindCall(name), range).RefuseWith(code, misuse, parts...);
}
template <typename... Parts>
[[gnu::cold, gnu::noinline]] absl::Status RefuseCall(SimulatorState& state, const char* name,
                                                     const AddressRange& range,
                                                     const Misuse& misuse, const Parts&... parts) {
  return RefuseCall(state, DriverCode::kInvalidValue, name, range, misuse, parts...);
}
template <typename... Parts>
[[gnu::cold, gnu::noinline]] void WarnOfCall(SimulatorState& state, const char* name,
                                             const AddressRange& range, const Misuse& misuse,
                                             const Parts&... parts) {
  CallRecord call(state, FindCall(name), range);
  call.Warn(misuse, parts...);
  call.DoneShared();
}

// NOT_SUPPORTED, and a warning: the simulator does not have `part` of what drivers do, such as
// "arrays of format 0x91". Locks the MMU.
[[gnu::cold]] absl::Status RefuseUncovered(SimulatorState& state, const char* name,
                                           DeviceOrdinal device, absl::string_view part);

// An access that is not possible: found at the call, which is refused.
[[gnu::cold]] absl::Status RefuseFault(SimulatorState& state, const Fault& fault);
// What shows only when the work of a call runs, which had this id. Throws nothing.
void ReportFault(SimulatorState& state, uint64_t id, const Fault& fault);
// The same of what has no address, in words.
void ReportFault(SimulatorState& state, uint64_t id, const char* call, DeviceOrdinal device,
                 const char* why);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_DIAGNOSTICS_CALL_RECORD_H_
