// SimulatedExecutor: Executor on a software MMU.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_EXECUTOR_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "api/diagnostics.h"
#include "api/executor.h"
#include "sim/base/handle_table.h"
#include "sim/calls/executor/loaded_module.h"
#include "sim/calls/executor/observed_work.h"
#include "sim/coherence/monitor/site_table.h"
#include "sim/machine/machine_state.h"
#include "sim/memory/linear_allocation.h"
#include "sim/ptx/program/program.h"
#include "sim/streams/operation_order.h"
#include "sim/streams/sticky_error.h"
#include "sim/streams/stream_scheduler.h"

namespace twinmmu {

// Work is checked at the call. It runs there too, or, if the profile says so, when the scheduler of
// the machine thinks fit: then it is translated anew, and what is no longer accessible is a fault.
// Streams 0, 1 and 2 of a device are one, its default stream. (2 is that of the calling thread: for
// one thread there is no difference.) Definitions stand by subject: executor_copies.cc,
// executor_streams.cc, executor_kernels.cc.
class SimulatedExecutor : public Executor {
 public:
  // `machine` must outlive this object. Work that is still queued in it when this object goes must
  // not run any more.
  explicit SimulatedExecutor(MachineState* machine);
  ~SimulatedExecutor() override;

  absl::Status CopyHostToDevice(DeviceOrdinal device, DeviceAddress destination, const void* source,
                                Bytes size) override;
  absl::Status CopyDeviceToHost(DeviceOrdinal device, void* destination, DeviceAddress source,
                                Bytes size) override;
  absl::Status CopyDeviceToDevice(DeviceOrdinal device, DeviceAddress destination,
                                  DeviceAddress source, Bytes size) override;
  absl::Status Fill(DeviceOrdinal device, DeviceAddress destination, const FillPattern& pattern,
                    uint64_t count) override;
  absl::Status CopyHostToDevice(Stream stream, DeviceAddress destination, const void* source,
                                Bytes size) override;
  absl::Status CopyDeviceToHost(Stream stream, void* destination, DeviceAddress source,
                                Bytes size) override;
  absl::Status CopyDeviceToDevice(Stream stream, DeviceAddress destination, DeviceAddress source,
                                  Bytes size) override;
  absl::Status Fill(Stream stream, DeviceAddress destination, const FillPattern& pattern,
                    uint64_t count) override;

  absl::StatusOr<Stream> CreateStream(DeviceOrdinal device) override;
  absl::Status DestroyStream(Stream stream) override;
  absl::StatusOr<bool> QueryStream(Stream stream) override;
  absl::Status SynchronizeStream(Stream stream) override;
  absl::StatusOr<Event> CreateEvent(DeviceOrdinal device) override;
  absl::Status DestroyEvent(Event event) override;
  absl::Status RecordEvent(Event event, Stream stream) override;
  absl::Status WaitEvent(Stream stream, Event event) override;
  absl::StatusOr<bool> QueryEvent(Event event) override;
  absl::Status SynchronizeEvent(Event event) override;
  absl::Status SynchronizeDevice(DeviceOrdinal device) override;

  absl::StatusOr<Module> LoadModule(DeviceOrdinal device, absl::string_view ptx) override;
  absl::Status UnloadModule(Module module) override;
  absl::StatusOr<Kernel> GetKernel(Module module, absl::string_view name) override;
  absl::Status Launch(Stream stream, Kernel kernel, const LaunchConfig& config,
                      absl::Span<const void* const> arguments) override;

  // What Executor does not have: see sim/calls/linear/linear_calls.h.
  absl::Status Copy(DeviceOrdinal device, DeviceAddress destination, DeviceAddress source,
                    Bytes size);
  absl::Status Copy(Stream stream, DeviceAddress destination, DeviceAddress source, Bytes size);
  absl::Status CopyPeer(DeviceOrdinal device, const PeerAddress& destination,
                        const PeerAddress& source, Bytes size);
  absl::Status CopyPeer(Stream stream, const PeerAddress& destination, const PeerAddress& source,
                        Bytes size);

  // What is known of a module and of a kernel. InvalidArgument (INVALID_HANDLE), for `call`: there
  // is none.
  absl::StatusOr<LoadedModule> FindModule(const char* call, Module module) const;
  absl::StatusOr<LoadedKernel> FindKernel(const char* call, Kernel kernel) const;
  // From now on a launch of the kernel may ask for `bytes` of dynamic shared memory.
  // InvalidArgument (INVALID_VALUE): no block of this device can have that.
  absl::Status AllowDynamicShared(Kernel kernel, uint32_t bytes);

  // Work of another kind for a stream. There is such a stream, and no fault was raised.
  absl::Status CheckStreamOf(const char* call, Stream stream) {
    Queue queue;
    return CheckStream(call, stream, &queue);
  }
  // Runs `task` at the call or in its turn, as copies are run; not after a fault. It may not throw.
  absl::Status SubmitTask(const char* call, Stream stream, std::function<void()> task);

  // Writes a call that works into the history: its number.
  uint64_t NumberOf(const char* call, const AddressRange& range = {}) const;

  // The streams and events that were not destroyed.
  std::vector<Diagnostic> Leaks() const;

 private:
  // Of a stream: what runs, and what was promised about its order.
  struct QueueState {
    StreamScheduler::Queue work;
    OperationOrder::Line order;
  };
  using Queue = std::shared_ptr<const QueueState>;
  // What a stream was given up to some moment.
  struct Point {
    StreamScheduler::Point work;
    OperationOrder::Moment moment;
  };

  // What an operation writes or reads.
  struct Side {
    enum Kind {
      kNothing,
      // As it is passed:
      kMemory,    // mapped or plain
      kHost,      // a pointer of the host, which may lead to memory of devices
      kAnywhere,  // one or the other
      // What kHost can turn out to be:
      kHostMemory,   // mapped or plain
      kHostPointer,  // of the process, taken at its word
    };
    Kind kind = kNothing;
    DeviceOrdinal device;  // whose right counts
    AddressRange range;

    // What must not go away until the operation is done.
    AddressRange used() const { return kind == kHostPointer ? AddressRange() : range; }
  };
  // A copy or a fill of at least one byte.
  struct Operation {
    enum Kind { kCopy, kFill };
    Kind kind = kCopy;
    const char* call = "";  // the driver's name of the one that was asked for
    Stream stream;
    Side written;
    Side read;
    FillPattern pattern;
    // Once it is queued:
    bool synchronous = false;  // its memory wants to be done with when a call returns
    uint64_t call_number = 0;
    OperationOrder::Operation order;
  };
  enum class Returns {
    kWhenQueued,
    kWhenItMay,  // when it is queued, unless it is synchronous
    kWhenDone,
  };

  absl::Status CopySides(const char* call, Stream stream, const Side& written, const Side& read,
                         Returns returns);
  absl::Status FillOnDevice(const char* call, Stream stream, DeviceAddress destination,
                            const FillPattern& pattern, uint64_t count, Returns returns);

  // The way of every operation, its stream being checked: checked, then run or queued.
  absl::Status Submit(const Queue& queue, Operation& operation, Returns returns);
  absl::Status Enqueue(const Queue& queue, const Operation& operation, Returns returns);
  absl::Status CheckFillBorders(const char* call, DeviceOrdinal device,
                                const AddressRange& range) const;
  absl::Status CheckWrappedFill(const char* call, DeviceOrdinal device, const AddressRange& range,
                                Bytes width) const;
  // What the side turns out to be. With mmu_.mutex held, as what follows.
  Side::Kind KindOf(const Side& side) const;
  bool IsSynchronous(const Side& side) const;
  // Whether all that it uses is accessible; if not, `fault` says what.
  bool CanUse(const Operation& operation, const Side& side, Access access, Fault* fault) const;
  bool CanPerform(const Operation& operation, Fault* fault) const;
  // `past`: of the operation, as for ToldWork.
  void Perform(const Operation& operation, coherence::Past* past) const;
  template <typename Visit>
  void ForEachPiece(const Side& side, const Visit& visit) const;  // visit(ToldWork::Part, size)
  // The place that accesses of the call have. Not known as long as nobody asks for it.
  coherence::Site SiteOf(const char* call) const;
  // Queued work: does what was asked for, or raises a fault and writes nothing.
  void Run(const Operation& operation) const;

  absl::Status CheckDevice(const char* call, DeviceOrdinal device) const {
    return mmu_.HasDevice(device) ? absl::OkStatus() : NoSuchDevice(call, device);
  }
  absl::Status NoSuchDevice(const char* call, DeviceOrdinal device) const;
  // The device exists, and its context has had no fault.
  absl::Status CheckContext(const char* call, DeviceOrdinal device) const {
    return mmu_.HasDevice(device) ? machine_.sticky_error.Check(call) : NoSuchDevice(call, device);
  }
  // Also that there is such a stream; `queue` gets its queue.
  absl::Status CheckStream(const char* call, Stream stream, Queue* queue);
  // There is such an event; `point` gets what it stands for.
  absl::Status CheckEvent(const char* call, Event event, Point* point);

  Queue MakeQueue(DeviceOrdinal device);
  // Where nothing is bypassed: what was given to the queue up to now; the host waits for it.
  Point Record(const Queue& queue);
  void Finish(const Point& point);

  absl::Status NoSuchStream(const char* call, Stream stream) const;
  absl::Status NoSuchEvent(const char* call, Event event) const;

  absl::StatusOr<bool> Query(const char* call, const Point& point);

  // The program and its target. INVALID_IMAGE, INVALID_PTX, UNSUPPORTED_PTX_VERSION; NOT_SUPPORTED:
  // it is PTX, and something in it is not covered here.
  absl::StatusOr<LoadedModule> Compile(DeviceOrdinal device, absl::string_view text) const;
  // Memory for the variables of the program, with what they hold at first.
  absl::StatusOr<AddressRange> PlaceImage(DeviceOrdinal device, const ptx::Program& program);
  void FreeImage(const AddressRange& image);

  struct StreamState {
    DeviceOrdinal device;
    Queue queue;
    uint64_t made_by = 0;  // the number of the call
  };
  struct EventState {
    DeviceOrdinal device;
    Point point;
    uint64_t made_by = 0;
  };

  MachineState& machine_;
  Mmu& mmu_ = machine_.mmu;
  const std::shared_ptr<const SiteSource> call_sites_;
  std::vector<Queue> default_queues_;  // by device
  // Guards what follows; no other lock is taken, and nothing run, while it is held.
  mutable std::mutex mutex_;
  HandleTable<StreamState> streams_;
  HandleTable<EventState> events_;
  HandleTable<LoadedModule> modules_;
  HandleTable<LoadedKernel> kernels_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_EXECUTOR_H_
