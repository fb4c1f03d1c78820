// SimulatedCopies: copies and fills.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_COPIES_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_COPIES_H_

#include <cstdint>
#include <memory>

#include "api/call_macros.h"
#include "api/executor.h"
#include "sim/base/call_guard.h"
#include "sim/calls/executor/simulated_streams.h"
#include "sim/coherence/monitor/site_table.h"
#include "sim/memory/linear_allocation.h"
#include "sim/streams/operation_order.h"

namespace twinmmu {

struct Fault;
struct SimulatorState;
struct Mmu;

// Translated page by page, and only if every page is accessible. Work is checked at the call. It
// runs there too, or, if the profile says so, when the scheduler of the machine thinks fit: then it
// is translated anew, and what is no longer accessible is a fault.
class SimulatedCopies {
 public:
  // Both must outlive this object.
  SimulatedCopies(SimulatorState* state, SimulatedStreams* streams);

  TWINMMU_EXECUTOR_COPY_CALLS(TWINMMU_BODY, )
  TWINMMU_EXECUTOR_ASYNC_COPY_CALLS(TWINMMU_BODY, )

  // What Executor does not have: see sim/calls/linear/linear_calls.h.
  absl::Status Copy(DeviceOrdinal device, DeviceAddress destination, DeviceAddress source,
                    Bytes size);
  absl::Status Copy(Stream stream, DeviceAddress destination, DeviceAddress source, Bytes size);
  absl::Status CopyPeer(DeviceOrdinal device, const PeerAddress& destination,
                        const PeerAddress& source, Bytes size);
  absl::Status CopyPeer(Stream stream, const PeerAddress& destination, const PeerAddress& source,
                        Bytes size);

 private:
  // What an operation writes or reads.
  struct Side {
    enum Kind {
      kNothing,
      // As it is passed:
      kMemory,    // mapped or linear
      kHost,      // a pointer of the host, which may lead to memory of devices
      kAnywhere,  // one or the other
      // What kHost can turn out to be:
      kHostMemory,   // mapped or linear
      kHostPointer,  // of the process, taken at its word
    };
    Kind kind = kNothing;
    DeviceOrdinal device;  // whose access counts
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
    uint64_t call_id = 0;
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
  absl::Status Submit(const SimulatedStreams::Queue& queue, Operation& operation, Returns returns);
  absl::Status Enqueue(const SimulatedStreams::Queue& queue, const Operation& operation,
                       Returns returns);
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
  // Whether memory of the host, which the program can unmap, is there; if not, `fault` says what.
  bool IsThere(const Operation& operation, const Side& side, Access access, Fault* fault) const;
  static Fault FaultAt(const Operation& operation, const void* address, Access access);
  // `clocks`: of the operation, as for ObservedWork. False: it came to `fault`.
  bool Perform(const Operation& operation, coherence::Clocks* clocks, Fault* fault) const;
  template <typename Visit>
  void ForEachPiece(const Side& side, const Visit& visit) const;  // visit(ObservedWork::Part, size)
  // The place that accesses of the call have. Not known as long as nobody asks for it.
  coherence::Site SiteOf(const char* call) const;
  // Queued work: does what was asked for, or raises a fault and writes nothing.
  void Run(const Operation& operation) const;

  SimulatorState& state_;
  Mmu& mmu_;
  SimulatedStreams& streams_;
  const std::shared_ptr<const SiteSource> call_sites_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_SIMULATED_COPIES_H_
