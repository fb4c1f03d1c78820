// SimulatedStreams: streams and events.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_STREAMS_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_STREAMS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "api/call_macros.h"
#include "api/diagnostics.h"
#include "api/executor.h"
#include "sim/base/call_guard.h"
#include "sim/base/handle_table.h"
#include "sim/state/pooled_order.h"
#include "sim/streams/operation_order.h"
#include "sim/streams/stream_clocks.h"
#include "sim/streams/stream_scheduler.h"

namespace twinmmu {

struct SimulatorState;

// Streams 0, 1 and 2 of a device are one, its default stream. (2 is that of the calling thread;
// which is another one for each, sim/libcuda sees to.)
class SimulatedStreams {
 public:
  // Of a stream: what runs, and what was promised about its order.
  struct QueueState {
    StreamScheduler::Queue work;
    OperationOrder::Line order;
    StreamClocks::Line clock;
  };
  using Queue = std::shared_ptr<const QueueState>;
  // What a stream was given up to some moment.
  struct Point {
    StreamScheduler::Point work;
    OperationOrder::Moment moment;
    StreamClocks::Clock clock;
  };

  // `state` must outlive this object.
  explicit SimulatedStreams(SimulatorState* state);

  TWINMMU_EXECUTOR_STREAM_CALLS(TWINMMU_BODY, )

  // There is such a stream, and no fault was raised; `queue` gets its queue.
  absl::Status CheckStream(const char* call, Stream stream, Queue* queue) const;
  // Runs `task` at the call or in its turn, as copies are run; not after a fault. It may not throw.
  absl::Status SubmitTask(const char* call, Stream stream, std::function<void()> task);
  // What was given to the queue up to now.
  Point Record(const Queue& queue);
  // The same of its order alone: the work comes later.
  Point RecordOrder(const Queue& queue) const;
  // The event stands for `point` from now on, unless it was destroyed.
  void Set(Event event, Point point);
  // What the queue is given later waits for `point`.
  void Wait(const Queue& queue, const Point& point);
  // The host waits.
  void Finish(const Point& point);
  // Work is submitted to the queue by that call: what orders it.
  PooledWork Order(const Queue& queue, uint64_t call_id) const;

  // The streams and events that were not destroyed.
  std::vector<Diagnostic> Leaks() const;

 private:
  struct StreamState {
    DeviceOrdinal device;
    Queue queue;
    uint64_t made_by = 0;  // the id of the call
  };
  struct EventState {
    DeviceOrdinal device;
    Point point;
    uint64_t made_by = 0;
  };

  // There is such an event; `point` gets what it stands for.
  absl::Status CheckEvent(const char* call, Event event, Point* point) const;
  absl::Status NoSuchStream(const char* call, Stream stream) const;
  absl::Status NoSuchEvent(const char* call, Event event) const;
  Queue MakeQueue(DeviceOrdinal device);
  absl::StatusOr<bool> Query(const char* call, const Point& point);
  void Synchronized() const;

  SimulatorState& state_;
  std::vector<Queue> default_queues_;  // by device
  mutable std::mutex mutex_;           // guards what follows; a leaf
  HandleTable<StreamState> streams_;
  HandleTable<EventState> events_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_STREAMS_H_
