// Streams and events. Where the scheduler is bypassed all work is done: waiting is only a check of
// what is waited for.

#include <mutex>
#include <shared_mutex>
#include <utility>

#include "sim/base/errors.h"
#include "sim/calls/executor/simulated_executor.h"
#include "sim/diagnostics/alias_reports.h"
#include "sim/diagnostics/call_record.h"
#include "sim/diagnostics/leaks.h"

namespace twinmmu {
namespace {

// CU_STREAM_PER_THREAD, the greatest of the values that name a default stream: 0, 1, 2.
constexpr uint64_t kLastDefaultStream = 2;

}  // namespace

SimulatedExecutor::SimulatedExecutor(MachineState* machine)
    : machine_(*machine), call_sites_(std::make_shared<const CallSites>()) {
  machine_.on_alias_hazard = [machine](const coherence::AliasHazard& hazard) {
    ReportAliasHazard(*machine, hazard);
  };
  for (int i = 0; i < mmu_.profile.device_count(); ++i) {
    default_queues_.push_back(MakeQueue(DeviceOrdinal(i)));
  }
}

SimulatedExecutor::~SimulatedExecutor() { machine_.scheduler.Stop(); }

SimulatedExecutor::Queue SimulatedExecutor::MakeQueue(DeviceOrdinal device) {
  return std::make_shared<const QueueState>(
      QueueState{machine_.scheduler.MakeQueue(device), machine_.order.MakeLine(device)});
}

SimulatedExecutor::Point SimulatedExecutor::Record(const Queue& queue) {
  const StreamScheduler::Point work = machine_.scheduler.Record(queue->work);
  return {work, machine_.order.Record(queue->order)};
}

void SimulatedExecutor::Finish(const Point& point) {
  machine_.scheduler.Finish(point.work);
  machine_.order.HostWaited(point.moment);
}

absl::Status SimulatedExecutor::NoSuchDevice(const char* call, DeviceOrdinal device) const {
  return Fail(DriverCode::kInvalidDevice, call, ToString(device), " does not exist");
}

uint64_t SimulatedExecutor::NumberOf(const char* call, const AddressRange& range) const {
  const std::shared_lock lock(mmu_.mutex);
  return RecordCall(machine_, call, range);
}

std::vector<Diagnostic> SimulatedExecutor::Leaks() const {
  std::vector<Diagnostic> leaks;
  const auto add = [&](DiagnosticKind kind, Call call, uint64_t number, DeviceOrdinal device) {
    leaks.push_back(LeakOf(kind, NameOf(call), number));
    leaks.back().device = device;
  };
  const std::lock_guard lock(mutex_);
  streams_.ForEach([&](uint64_t, const StreamState& state) {
    add(DiagnosticKind::kLeakedStream, Call::kCreateStream, state.made_by, state.device);
  });
  events_.ForEach([&](uint64_t, const EventState& state) {
    add(DiagnosticKind::kLeakedEvent, Call::kCreateEvent, state.made_by, state.device);
  });
  return leaks;
}

absl::Status SimulatedExecutor::NoSuchStream(const char* call, Stream stream) const {
  const Misuse misuse{DiagnosticKind::kUseOfUnknownStream, std::nullopt, std::nullopt,
                      stream.device()};
  const std::shared_lock lock(mmu_.mutex);
  return RefuseCall(machine_, DriverCode::kInvalidHandle, call, AddressRange(), misuse, "stream ",
                    stream.value(), " of ", stream.device(), " does not exist");
}

absl::Status SimulatedExecutor::NoSuchEvent(const char* call, Event event) const {
  const Misuse misuse{DiagnosticKind::kUseOfUnknownEvent, std::nullopt, std::nullopt,
                      event.device()};
  const std::shared_lock lock(mmu_.mutex);
  return RefuseCall(machine_, DriverCode::kInvalidHandle, call, AddressRange(), misuse, "event ",
                    event.value(), " of ", event.device(), " does not exist");
}

absl::Status SimulatedExecutor::CheckStream(const char* call, Stream stream, Queue* queue) {
  const absl::Status usable = CheckContext(call, stream.device());
  if (!usable.ok()) return usable;
  if (stream.value() <= kLastDefaultStream) {
    *queue = default_queues_[static_cast<size_t>(stream.device().value())];
    return absl::OkStatus();
  }
  {
    const std::lock_guard lock(mutex_);
    const StreamState* state = streams_.Find(stream.value());
    if (state != nullptr && state->device == stream.device()) {
      *queue = state->queue;
      return absl::OkStatus();
    }
  }
  return NoSuchStream(call, stream);
}

absl::Status SimulatedExecutor::CheckEvent(const char* call, Event event, Point* point) {
  const absl::Status known = CheckDevice(call, event.device());
  if (!known.ok()) return known;
  {
    const std::lock_guard lock(mutex_);
    const EventState* state = events_.Find(event.value());
    if (state != nullptr && state->device == event.device()) {
      *point = state->point;
      return absl::OkStatus();
    }
  }
  return NoSuchEvent(call, event);
}

absl::StatusOr<Stream> SimulatedExecutor::CreateStream(DeviceOrdinal device) {
  const absl::Status usable = CheckContext("cuStreamCreate", device);
  if (!usable.ok()) return usable;
  StreamState state{device, MakeQueue(device), NumberOf("cuStreamCreate")};
  const std::lock_guard lock(mutex_);
  return Stream(device, streams_.Insert(std::move(state)));
}

// What a destroyed stream has queued stays with the scheduler.
absl::Status SimulatedExecutor::DestroyStream(Stream stream) {
  static constexpr char kCall[] = "cuStreamDestroy";
  const absl::Status known = CheckDevice(kCall, stream.device());
  if (!known.ok()) return known;
  {
    const std::lock_guard lock(mutex_);
    const StreamState* state = streams_.Find(stream.value());
    if (state != nullptr && state->device == stream.device()) {
      streams_.Erase(HandleTable<StreamState>::IndexOf(stream.value()));
      return absl::OkStatus();
    }
  }
  return NoSuchStream(kCall, stream);
}

absl::StatusOr<bool> SimulatedExecutor::QueryStream(Stream stream) {
  static constexpr char kCall[] = "cuStreamQuery";
  Queue queue;
  const absl::Status usable = CheckStream(kCall, stream, &queue);
  if (!usable.ok()) return usable;
  if (machine_.IsBypassed()) return true;
  return Query(kCall, Record(queue));
}

absl::Status SimulatedExecutor::SynchronizeStream(Stream stream) {
  static constexpr char kCall[] = "cuStreamSynchronize";
  Queue queue;
  const absl::Status usable = CheckStream(kCall, stream, &queue);
  if (!usable.ok() || machine_.IsBypassed()) return usable;
  Finish(Record(queue));
  return machine_.sticky_error.Check(kCall);
}

absl::Status SimulatedExecutor::SubmitTask(const char* call, Stream stream,
                                           std::function<void()> task) {
  Queue queue;
  const absl::Status usable = CheckStream(call, stream, &queue);
  if (!usable.ok()) return usable;
  if (machine_.IsBypassed()) {
    task();
    return absl::OkStatus();
  }
  const uint64_t number = NumberOf(call);
  const OperationOrder::Operation order = machine_.order.Submit(queue->order);
  const auto run = [this, order, task = std::move(task)](Turn) {
    if (machine_.sticky_error.HasFault()) return Progress::kDone;
    const coherence::Past past = machine_.order.Begin(order);
    task();
    machine_.order.End(order, past);
    return Progress::kDone;
  };
  machine_.scheduler.Submit(queue->work, {run, stream, call, {}, number});
  return absl::OkStatus();
}

absl::StatusOr<Event> SimulatedExecutor::CreateEvent(DeviceOrdinal device) {
  const absl::Status usable = CheckContext("cuEventCreate", device);
  if (!usable.ok()) return usable;
  const uint64_t made_by = NumberOf("cuEventCreate");
  const std::lock_guard lock(mutex_);
  return Event(device, events_.Insert(EventState{device, {}, made_by}));
}

absl::Status SimulatedExecutor::DestroyEvent(Event event) {
  static constexpr char kCall[] = "cuEventDestroy";
  const absl::Status known = CheckDevice(kCall, event.device());
  if (!known.ok()) return known;
  {
    const std::lock_guard lock(mutex_);
    const EventState* state = events_.Find(event.value());
    if (state != nullptr && state->device == event.device()) {
      events_.Erase(HandleTable<EventState>::IndexOf(event.value()));
      return absl::OkStatus();
    }
  }
  return NoSuchEvent(kCall, event);
}

absl::Status SimulatedExecutor::RecordEvent(Event event, Stream stream) {
  static constexpr char kCall[] = "cuEventRecord";
  Point point;
  Queue queue;
  absl::Status usable = CheckEvent(kCall, event, &point);
  if (usable.ok()) usable = CheckStream(kCall, stream, &queue);
  if (!usable.ok()) return usable;
  if (event.device() != stream.device()) {
    return Fail(DriverCode::kInvalidHandle, kCall, "the event is of ", ToString(event.device()),
                ", the stream of ", ToString(stream.device()));
  }
  if (machine_.IsBypassed()) return absl::OkStatus();
  point = Record(queue);
  {
    const std::lock_guard lock(mutex_);
    EventState* state = events_.Find(event.value());
    if (state != nullptr) {
      std::swap(state->point, point);
      return absl::OkStatus();
    }
  }
  return NoSuchEvent(kCall, event);  // destroyed meanwhile
}

absl::Status SimulatedExecutor::WaitEvent(Stream stream, Event event) {
  static constexpr char kCall[] = "cuStreamWaitEvent";
  Queue queue;
  Point point;
  absl::Status usable = CheckStream(kCall, stream, &queue);
  if (usable.ok()) usable = CheckEvent(kCall, event, &point);
  if (!usable.ok() || machine_.IsBypassed()) return usable;
  machine_.order.Wait(queue->order, point.moment);
  machine_.scheduler.Wait(queue->work, point.work);
  return absl::OkStatus();
}

absl::StatusOr<bool> SimulatedExecutor::QueryEvent(Event event) {
  static constexpr char kCall[] = "cuEventQuery";
  Point point;
  const absl::Status known = CheckEvent(kCall, event, &point);
  if (!known.ok()) return known;
  return Query(kCall, point);
}

// A fault that shows meanwhile is an answer too.
absl::StatusOr<bool> SimulatedExecutor::Query(const char* call, const Point& point) {
  const bool bypassed = machine_.IsBypassed();
  const bool done = bypassed || machine_.scheduler.Query(point.work);
  if (done && !bypassed) machine_.order.HostWaited(point.moment);
  const absl::Status usable = machine_.sticky_error.Check(call);
  if (!usable.ok()) return usable;
  return done;
}

absl::Status SimulatedExecutor::SynchronizeEvent(Event event) {
  static constexpr char kCall[] = "cuEventSynchronize";
  Point point;
  const absl::Status known = CheckEvent(kCall, event, &point);
  if (!known.ok()) return known;
  if (!machine_.IsBypassed()) Finish(point);
  return machine_.sticky_error.Check(kCall);
}

absl::Status SimulatedExecutor::SynchronizeDevice(DeviceOrdinal device) {
  static constexpr char kCall[] = "cuCtxSynchronize";
  const absl::Status known = CheckDevice(kCall, device);
  if (!known.ok()) return known;
  machine_.FinishDevice(device);
  return machine_.sticky_error.Check(kCall);
}

}  // namespace twinmmu
