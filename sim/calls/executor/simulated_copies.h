// SimulatedCopies: copies and fills.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_COPIES_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "api/call_macros.h"
#include "api/executor.h"
#include "sim/base/call_guard.h"
#include "sim/calls/executor/copy_operation.h"
#include "sim/calls/executor/simulated_streams.h"
#include "sim/calls/executor/sync_stream.h"
#include "sim/coherence/monitor/site_table.h"
#include "sim/memory/linear_allocation.h"
#include "sim/streams/operation_order.h"

namespace twinmmu {

class ObservedWork;
struct Fault;
struct SimulatorState;
struct Mmu;

// Copies of all forms are one: rows that are read, and rows that are written. They are translated
// page by page, and only if every page of every row is accessible. Work is checked at the call. It
// runs there too, or, if the profile says so, when the scheduler of the machine thinks fit: then it
// is translated anew, and what is no longer accessible is a fault.
class SimulatedCopies {
 public:
  // Both must outlive this object.
  SimulatedCopies(SimulatorState* state, SimulatedStreams* streams);

  TWINMMU_EXECUTOR_COPY_CALLS(TWINMMU_BODY, )
  TWINMMU_EXECUTOR_ASYNC_COPY_CALLS(TWINMMU_BODY, )

  enum class Returns {
    kWhenQueued,
    kWhenItMay,  // when it is queued, unless its memory wants to be done with when a call returns
    kWhenDone,
  };
  // Of a graph, an operation is checked when the graph is made, and done in each launch: what is
  // not there by then is a fault.
  enum class Part { kAll, kCheck, kWork };
  struct Asked {
    const char* call = "";  // the driver's name of the one that was asked for
    Stream stream;
    Returns returns = Returns::kWhenQueued;
    Part part = Part::kAll;
    uint32_t stack = 0;  // for the record of the run; 0: that of now
  };
  // An operation of any form. One without bytes is done, wherever its memory is; one that cannot be
  // done leaves everything as it was.
  absl::Status Do(const Asked& asked, CopyOperation operation);

  // What Executor does not have: see sim/calls/linear/linear_calls.h.
  absl::Status CopyHostToDevice(SyncStream on, DeviceAddress destination, const void* source,
                                Bytes size);
  absl::Status CopyDeviceToHost(SyncStream on, void* destination, DeviceAddress source, Bytes size);
  absl::Status CopyDeviceToDevice(SyncStream on, DeviceAddress destination, DeviceAddress source,
                                  Bytes size);
  absl::Status Fill(SyncStream on, DeviceAddress destination, const FillPattern& pattern,
                    uint64_t count);
  absl::Status Copy(SyncStream on, DeviceAddress destination, DeviceAddress source, Bytes size);
  absl::Status Copy(Stream stream, DeviceAddress destination, DeviceAddress source, Bytes size);
  absl::Status CopyPeer(SyncStream on, const PeerAddress& destination, const PeerAddress& source,
                        Bytes size);
  absl::Status CopyPeer(Stream stream, const PeerAddress& destination, const PeerAddress& source,
                        Bytes size);

 private:
  // An operation that is queued.
  struct QueuedCopy {
    CopyOperation operation;
    Asked asked;
    uint64_t call_id = 0;
    OperationOrder::Operation order;
  };

  absl::Status CopySides(const Asked& asked, const CopySide& written, const CopySide& read);
  absl::Status FillOnDevice(const Asked& asked, DeviceAddress destination,
                            const FillPattern& pattern, uint64_t count);

  // The way of every operation, its stream being checked: checked, then run or queued.
  absl::Status Submit(const Asked& asked, const SimulatedStreams::Queue& queue,
                      CopyOperation operation);
  // Does it beside calls that change other pages, if it is one row of few pages that can be done at
  // once. False: it is not, or cannot be done; all is as it was, but for what may be written.
  bool PerformBeside(const Asked& asked, CopyOperation* operation) const;
  // Whether it could be done now. With mmu_.mutex held, as the next one.
  absl::Status Check(const Asked& asked, const CopyOperation& operation) const;
  // OUT_OF_MEMORY: the host has no room for what is written for the first time. It would end the
  // process.
  absl::Status CheckRoomOnHost(const char* call, const CopyOperation& operation) const;
  StreamScheduler::Point Enqueue(const Asked& asked, const SimulatedStreams::Queue& queue,
                                 const CopyOperation& operation);
  absl::Status CheckFillBorders(const char* call, DeviceOrdinal device,
                                const AddressRange& range) const;
  absl::Status CheckWrappedFill(const char* call, DeviceOrdinal device, const AddressRange& range,
                                Bytes width) const;
  // What the side turns out to be. With mmu_.mutex held, as what follows.
  CopySide::Kind KindOf(const CopySide& side, const CopyShape& shape) const;
  bool IsSynchronous(const CopySide& side) const;
  // Whether that range is accessible, and whether all is that `operation` uses; if not, `fault`
  // says what is not.
  bool CanUse(const CopyOperation& operation, const CopySide& side, const AddressRange& range,
              Access access) const;
  bool CanPerform(const char* call, const CopyOperation& operation, Fault* fault) const;
  // The same at the call: memory of pools must be allocated, too.
  bool CanSubmit(const char* call, const CopyOperation& operation, Fault* fault) const;
  // Whether memory of the host, which the program can unmap, is there; if not, `fault` says what.
  bool IsThere(const char* call, const CopyShape& shape, const CopySide& side, Access access,
               Fault* fault) const;
  // `clocks`: of the operation, as for ObservedWork. False: it came to `fault`.
  bool Perform(const Asked& asked, const CopyOperation& operation, uint64_t call_id,
               coherence::Clocks* clocks, Fault* fault) const;
  // Each gives the address that is not there, for `access`; null: all were.
  const void* FillRow(const CopyOperation& operation, uint64_t row, bool by_words,
                      ObservedWork* told) const;
  const void* CopyRow(const CopyOperation& operation, uint64_t row, bool by_words,
                      ObservedWork* told, Access* access) const;
  // Calls visit(ObservedWork::Part, size) for each piece of `size` bytes from `offset` on in a row.
  template <typename Visit>
  void ForEachPiece(const CopyShape& shape, const CopySide& side, uint64_t row, uint64_t offset,
                    uint64_t size, const Visit& visit) const;
  // Calls visit(ObservedWork::Part, offset, size) for each piece of a row that is written: at
  // addresses of a multicast object, on each device.
  template <typename Visit>
  void ForEachWritten(const CopyShape& shape, const CopySide& side, uint64_t row,
                      const Visit& visit) const;
  // Reads now what `operation` is to write. Gives the address that is not there, or null.
  const void* TakeSource(CopyOperation* operation) const;
  // The place that accesses of the call have. Not known as long as nobody asks for it.
  coherence::Site SiteOf(const char* call) const;
  // Queued work: does what was asked for, or raises a fault and writes nothing.
  void Run(const QueuedCopy& queued) const;

  SimulatorState& state_;
  Mmu& mmu_;
  SimulatedStreams& streams_;
  const std::shared_ptr<const SiteSource> call_sites_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_COPIES_H_
