// Streams and events. All work is done when the call that asked for it returns, so that waiting is
// only a check of what is waited for.

#include <mutex>

#include "sim/errors.h"
#include "sim/simulated_executor.h"

namespace twinmmu {
namespace {

// CU_STREAM_PER_THREAD, the greatest of the values that name a default stream: 0, 1, 2.
constexpr uint64_t kLastDefaultStream = 2;

}  // namespace

absl::Status SimulatedExecutor::CheckDevice(const char* call, DeviceOrdinal device) const {
  if (mmu_.HasDevice(device)) return absl::OkStatus();
  return Fail(DriverCode::kInvalidDevice, call, ToString(device), " does not exist");
}

absl::Status SimulatedExecutor::CheckStream(const char* call, Stream stream) {
  const absl::Status known = CheckDevice(call, stream.device());
  if (!known.ok() || stream.value() <= kLastDefaultStream) return known;
  const std::lock_guard lock(mutex_);
  const StreamState* state = streams_.Find(stream.value());
  if (state != nullptr && state->device == stream.device()) return absl::OkStatus();
  return Fail(DriverCode::kInvalidHandle, call, "stream ", stream.value(), " of ",
              ToString(stream.device()), " does not exist");
}

absl::Status SimulatedExecutor::CheckEvent(const char* call, Event event) {
  const absl::Status known = CheckDevice(call, event.device());
  if (!known.ok()) return known;
  const std::lock_guard lock(mutex_);
  const EventState* state = events_.Find(event.value());
  if (state != nullptr && state->device == event.device()) return absl::OkStatus();
  return Fail(DriverCode::kInvalidHandle, call, "event ", event.value(), " of ",
              ToString(event.device()), " does not exist");
}

absl::StatusOr<Stream> SimulatedExecutor::CreateStream(DeviceOrdinal device) {
  const absl::Status known = CheckDevice("cuStreamCreate", device);
  if (!known.ok()) return known;
  const std::lock_guard lock(mutex_);
  return Stream(device, streams_.Insert(StreamState{device}));
}

absl::Status SimulatedExecutor::DestroyStream(Stream stream) {
  constexpr char kCall[] = "cuStreamDestroy";
  const absl::Status known = CheckDevice(kCall, stream.device());
  if (!known.ok()) return known;
  const std::lock_guard lock(mutex_);
  const StreamState* state = streams_.Find(stream.value());
  if (state == nullptr || state->device != stream.device()) {
    return Fail(DriverCode::kInvalidHandle, kCall, "stream ", stream.value(), " of ",
                ToString(stream.device()), " does not exist, or is the default stream");
  }
  streams_.Erase(HandleTable<StreamState>::IndexOf(stream.value()));
  return absl::OkStatus();
}

absl::StatusOr<bool> SimulatedExecutor::QueryStream(Stream stream) {
  const absl::Status known = CheckStream("cuStreamQuery", stream);
  if (!known.ok()) return known;
  return true;
}

absl::Status SimulatedExecutor::SynchronizeStream(Stream stream) {
  return CheckStream("cuStreamSynchronize", stream);
}

absl::StatusOr<Event> SimulatedExecutor::CreateEvent(DeviceOrdinal device) {
  const absl::Status known = CheckDevice("cuEventCreate", device);
  if (!known.ok()) return known;
  const std::lock_guard lock(mutex_);
  return Event(device, events_.Insert(EventState{device}));
}

absl::Status SimulatedExecutor::DestroyEvent(Event event) {
  constexpr char kCall[] = "cuEventDestroy";
  const absl::Status known = CheckDevice(kCall, event.device());
  if (!known.ok()) return known;
  const std::lock_guard lock(mutex_);
  const EventState* state = events_.Find(event.value());
  if (state == nullptr || state->device != event.device()) {
    return Fail(DriverCode::kInvalidHandle, kCall, "event ", event.value(), " of ",
                ToString(event.device()), " does not exist");
  }
  events_.Erase(HandleTable<EventState>::IndexOf(event.value()));
  return absl::OkStatus();
}

absl::Status SimulatedExecutor::RecordEvent(Event event, Stream stream) {
  constexpr char kCall[] = "cuEventRecord";
  absl::Status valid = CheckEvent(kCall, event);
  if (valid.ok()) valid = CheckStream(kCall, stream);
  if (!valid.ok()) return valid;
  if (event.device() != stream.device()) {
    return Fail(DriverCode::kInvalidHandle, kCall, "the event is of ", ToString(event.device()),
                ", the stream of ", ToString(stream.device()));
  }
  return absl::OkStatus();
}

absl::Status SimulatedExecutor::WaitEvent(Stream stream, Event event) {
  constexpr char kCall[] = "cuStreamWaitEvent";
  const absl::Status valid = CheckStream(kCall, stream);
  return valid.ok() ? CheckEvent(kCall, event) : valid;
}

absl::StatusOr<bool> SimulatedExecutor::QueryEvent(Event event) {
  const absl::Status known = CheckEvent("cuEventQuery", event);
  if (!known.ok()) return known;
  return true;
}

absl::Status SimulatedExecutor::SynchronizeEvent(Event event) {
  return CheckEvent("cuEventSynchronize", event);
}

absl::Status SimulatedExecutor::SynchronizeDevice(DeviceOrdinal device) {
  return CheckDevice("cuCtxSynchronize", device);
}

}  // namespace twinmmu
