// Where the scheduler is bypassed all work is done: waiting is only a check of what is waited for.

#include "sim/calls/executor/simulated_streams.h"

#include <utility>

#include "sim/base/errors.h"
#include "sim/diagnostics/call_record.h"
#include "sim/diagnostics/leaks.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {
namespace {

// CU_STREAM_PER_THREAD, the greatest of the values that name a default stream: 0, 1, 2.
constexpr uint64_t kLastDefaultStream = 2;

}  // namespace

SimulatedStreams::SimulatedStreams(SimulatorState* state) : state_(*state) {
  for (int i = 0; i < state_.mmu.profile.device_count(); ++i) {
    default_queues_.push_back(MakeQueue(DeviceOrdinal(i)));
  }
}

SimulatedStreams::Queue SimulatedStreams::MakeQueue(DeviceOrdinal device) {
  return std::make_shared<const QueueState>(QueueState{state_.scheduler.MakeQueue(device),
                                                       state_.order.MakeLine(device),
                                                       state_.clocks.MakeLine(device)});
}

SimulatedStreams::Point SimulatedStreams::Record(const Queue& queue) {
  const StreamScheduler::Point work = state_.scheduler.Record(queue->work);
  return {work, state_.order.Record(queue->order), state_.clocks.Record(queue->clock)};
}

SimulatedStreams::Point SimulatedStreams::RecordOrder(const Queue& queue) const {
  return {StreamScheduler::Point(), state_.order.Record(queue->order),
          state_.clocks.Record(queue->clock)};
}

void SimulatedStreams::Set(Event event, Point point) {
  const std::lock_guard lock(mutex_);
  EventState* const state = events_.Find(event.value());
  if (state != nullptr) std::swap(state->point, point);
}

void SimulatedStreams::Wait(const Queue& queue, const Point& point) {
  state_.clocks.Wait(queue->clock, point.clock);
  state_.order.Wait(queue->order, point.moment);
  state_.scheduler.Wait(queue->work, point.work);
}

PooledWork SimulatedStreams::Order(const Queue& queue, uint64_t call_id) const {
  PooledWork work;
  work.call_id = call_id;
  if (state_.clocks.active()) work.place = state_.clocks.Submit(queue->clock, &work.before);
  return work;
}

void SimulatedStreams::Finish(const Point& point) {
  state_.scheduler.Finish(point.work);
  state_.order.HostWaited(point.moment);
  state_.clocks.HostWaited(point.clock);
}

// Of a call that is there to wait.
void SimulatedStreams::Synchronized() const {
  if (state_.clocks.active() && state_.on_synchronized) state_.on_synchronized();
}

std::vector<Diagnostic> SimulatedStreams::Leaks() const {
  std::vector<Diagnostic> leaks;
  const auto add = [&](DiagnosticKind kind, Call call, uint64_t call_id, DeviceOrdinal device) {
    leaks.push_back(LeakOf(kind, NameOf(call), call_id));
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

absl::Status SimulatedStreams::NoSuchStream(const char* call, Stream stream) const {
  return RefuseUnknown(state_, call, DiagnosticKind::kUseOfUnknownStream, "stream ", stream.value(),
                       stream.device());
}

absl::Status SimulatedStreams::NoSuchEvent(const char* call, Event event) const {
  return RefuseUnknown(state_, call, DiagnosticKind::kUseOfUnknownEvent, "event ", event.value(),
                       event.device());
}

absl::Status SimulatedStreams::CheckStream(const char* call, Stream stream, Queue* queue) const {
  const absl::Status usable = state_.CheckContext(call, stream.device());
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

absl::Status SimulatedStreams::CheckEvent(const char* call, Event event, Point* point) const {
  const absl::Status known = state_.CheckDevice(call, event.device());
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

absl::StatusOr<Stream> SimulatedStreams::DoCreateStream(DeviceOrdinal device) {
  const absl::Status usable = state_.CheckContext("cuStreamCreate", device);
  if (!usable.ok()) return usable;
  StreamState state{device, MakeQueue(device), RecordCall(state_, "cuStreamCreate")};
  const std::lock_guard lock(mutex_);
  return Stream(device, streams_.Insert(std::move(state)));
}

// What a destroyed stream has queued stays with the scheduler.
absl::Status SimulatedStreams::DoDestroyStream(Stream stream) {
  static constexpr char kCall[] = "cuStreamDestroy";
  const absl::Status known = state_.CheckDevice(kCall, stream.device());
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

absl::StatusOr<bool> SimulatedStreams::DoQueryStream(Stream stream) {
  static constexpr char kCall[] = "cuStreamQuery";
  Queue queue;
  const absl::Status usable = CheckStream(kCall, stream, &queue);
  if (!usable.ok()) return usable;
  if (state_.IsBypassed()) return true;
  return Query(kCall, Record(queue));
}

absl::Status SimulatedStreams::DoSynchronizeStream(Stream stream) {
  static constexpr char kCall[] = "cuStreamSynchronize";
  Queue queue;
  const absl::Status usable = CheckStream(kCall, stream, &queue);
  if (!usable.ok()) return usable;
  if (!state_.IsBypassed()) {
    Finish(Record(queue));
    Synchronized();
  }
  state_.CatchUp();
  return state_.sticky_error.Check(kCall);
}

absl::Status SimulatedStreams::SubmitTask(const char* call, Stream stream,
                                          std::function<void()> task) {
  Queue queue;
  const absl::Status usable = CheckStream(call, stream, &queue);
  if (!usable.ok()) return usable;
  if (state_.IsBypassed()) {
    task();
    return absl::OkStatus();
  }
  const uint64_t call_id = RecordCall(state_, call);
  const OperationOrder::Operation order = state_.order.Submit(queue->order);
  const auto run = [this, order, task = std::move(task)](Turn) {
    if (state_.sticky_error.HasFault()) return Progress::kDone;
    const coherence::Clocks clocks = state_.order.Begin(order);
    task();
    state_.order.End(order, clocks);
    return Progress::kDone;
  };
  state_.scheduler.Submit(queue->work, {run, stream, {}, call_id});
  return absl::OkStatus();
}

absl::StatusOr<Event> SimulatedStreams::DoCreateEvent(DeviceOrdinal device) {
  const absl::Status usable = state_.CheckContext("cuEventCreate", device);
  if (!usable.ok()) return usable;
  const uint64_t made_by = RecordCall(state_, "cuEventCreate");
  const std::lock_guard lock(mutex_);
  return Event(device, events_.Insert(EventState{device, {}, made_by}));
}

absl::Status SimulatedStreams::DoDestroyEvent(Event event) {
  static constexpr char kCall[] = "cuEventDestroy";
  const absl::Status known = state_.CheckDevice(kCall, event.device());
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

absl::Status SimulatedStreams::DoRecordEvent(Event event, Stream stream) {
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
  if (state_.IsBypassed()) return absl::OkStatus();
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

absl::Status SimulatedStreams::DoWaitEvent(Stream stream, Event event) {
  static constexpr char kCall[] = "cuStreamWaitEvent";
  Queue queue;
  Point point;
  absl::Status usable = CheckStream(kCall, stream, &queue);
  if (usable.ok()) usable = CheckEvent(kCall, event, &point);
  if (!usable.ok() || state_.IsBypassed()) return usable;
  Wait(queue, point);
  return absl::OkStatus();
}

absl::StatusOr<bool> SimulatedStreams::DoQueryEvent(Event event) {
  static constexpr char kCall[] = "cuEventQuery";
  Point point;
  const absl::Status known = CheckEvent(kCall, event, &point);
  if (!known.ok()) return known;
  return Query(kCall, point);
}

// A fault that shows meanwhile is an answer too.
absl::StatusOr<bool> SimulatedStreams::Query(const char* call, const Point& point) {
  const bool bypassed = state_.IsBypassed();
  const bool done = bypassed || state_.scheduler.Query(point.work);
  if (done && !bypassed) {
    state_.order.HostWaited(point.moment);
    state_.clocks.HostWaited(point.clock);
  }
  const absl::Status usable = state_.sticky_error.Check(call);
  if (!usable.ok()) return usable;
  return done;
}

absl::Status SimulatedStreams::DoSynchronizeEvent(Event event) {
  static constexpr char kCall[] = "cuEventSynchronize";
  Point point;
  const absl::Status known = CheckEvent(kCall, event, &point);
  if (!known.ok()) return known;
  if (!state_.IsBypassed()) {
    Finish(point);
    Synchronized();
  }
  state_.CatchUp();
  return state_.sticky_error.Check(kCall);
}

absl::Status SimulatedStreams::DoSynchronizeDevice(DeviceOrdinal device) {
  static constexpr char kCall[] = "cuCtxSynchronize";
  const absl::Status known = state_.CheckDevice(kCall, device);
  if (!known.ok()) return known;
  state_.FinishDevice(device);
  Synchronized();
  state_.CatchUp();
  return state_.sticky_error.Check(kCall);
}

}  // namespace twinmmu
