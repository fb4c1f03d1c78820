#include "sim/calls/executor/simulated_copies.h"

#include <memory>
#include <new>
#include <set>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "api/record/event_writer.h"
#include "sim/base/errors.h"
#include "sim/calls/executor/observed_work.h"
#include "sim/diagnostics/alias_reports.h"
#include "sim/diagnostics/call_record.h"
#include "sim/diagnostics/pooled_uses.h"
#include "sim/diagnostics/run_events.h"
#include "sim/host/available_memory.h"
#include "sim/host/guarded_access.h"

namespace twinmmu {
namespace {

// What copies and fills of less take of the host nobody looks at.
constexpr Bytes kLarge = MiB(256);

// What was read when a copy was asked for, one row behind the other.
class RowsTaken : public BoxOfRows {
 public:
  explicit RowsTaken(const CopyShape& shape) : shape_(shape), bytes_(shape.width * shape.rows()) {}

  char* row(uint64_t number) { return bytes_.data() + number * shape_.width; }
  void ForEachPiece(uint64_t y, uint64_t z, uint64_t offset, uint64_t size,
                    absl::FunctionRef<void(char*, uint64_t)> visit) const override {
    const uint64_t row = z * shape_.height + y;
    visit(const_cast<char*>(bytes_.data()) + row * shape_.width + offset, size);
  }

 private:
  const CopyShape shape_;
  std::vector<char> bytes_;
};

Fault FaultAt(const char* call, const void* address, Access access) {
  const AddressRange byte{DeviceAddress(reinterpret_cast<uint64_t>(address)), Bytes(1), Bytes(0)};
  return Fault{call, byte, access, Location::Host()};
}

// Layers of one dimension are taken for rows of one layer: in memory of devices they lie a pitch
// apart, and the height counts only in front of the first, and for what is checked. Source: an H200
// with driver 580.159.
void PlaceLayers(const CopySide& array, CopySide* memory) {
  if (array.has_rows_for_layers && memory->kind == CopySide::kMemory) memory->layer = memory->pitch;
}

// What must not go away until the operation is done.
AddressRange UsedBy(const CopyOperation& operation, const CopySide& side) {
  const bool addressed = side.kind == CopySide::kMemory || side.kind == CopySide::kHostMemory;
  return addressed ? side.All(operation.shape) : AddressRange();
}

// The same of memory that the program has from elsewhere.
AddressRange AddressesOf(const CopyOperation& operation, const CopySide& side) {
  const bool addressed = side.kind == CopySide::kHostPointer;
  return addressed ? side.All(operation.shape) : UsedBy(operation, side);
}

// Why an array that is written or read cannot be; null: it can.
const char* WhyNoArray(const CopyOperation& operation) {
  const auto why = [](const CopySide& side) {
    return side.kind == CopySide::kArray ? side.array->WhyNot() : nullptr;
  };
  const char* const written = why(operation.written);
  return written != nullptr ? written : why(operation.read);
}

}  // namespace

SimulatedCopies::SimulatedCopies(SimulatorState* state, SimulatedStreams* streams)
    : state_(*state),
      mmu_(state->mmu),
      streams_(*streams),
      call_sites_(std::make_shared<const CallSites>()) {}

CopySide::Kind SimulatedCopies::KindOf(const CopySide& side, const CopyShape& shape) const {
  if (side.kind != CopySide::kHost && side.kind != CopySide::kAnywhere) return side.kind;
  const DeviceAddress passed = side.passed();
  const LinearAllocation* const linear = mmu_.linear.Find(passed);
  const bool managed = linear != nullptr && linear->managed();
  const bool of_devices = managed || mmu_.OverlapsDevices(side.All(shape));
  if (side.kind == CopySide::kHost) {
    return of_devices ? CopySide::kHostMemory : CopySide::kHostPointer;
  }
  if (linear != nullptr && linear->kind == LinearKind::kHostPool) return CopySide::kHostMemory;
  // Addresses that are mere numbers may be pointers too: memory first.
  return of_devices || !mmu_.At(passed).hole() ? CopySide::kMemory : CopySide::kHostPointer;
}

bool SimulatedCopies::IsSynchronous(const CopySide& side) const {
  if (side.kind == CopySide::kHostPointer) return true;
  const LinearAllocation* const linear = mmu_.linear.FindAll(side.first);
  return linear != nullptr && linear->sync_memops;
}

bool SimulatedCopies::CanUse(const CopyOperation& operation, const CopySide& side,
                             const AddressRange& range, Access access) const {
  const bool fill = operation.kind == CopyOperation::kFill;
  const bool can =
      fill ? mmu_.CanAccess(side.device, range, access) : mmu_.CanCopy(side.device, range, access);
  if (can) return true;
  const bool stores = access == Access::kReadWrite && side.kind == CopySide::kMemory;
  if (stores && mmu_.CanWriteReplicas(side.device, range)) return true;
  const LinearAllocation* const linear = mmu_.linear.FindAll(range);
  // A driver takes memory of a pool of the host for a pointer of the host, and for nothing else.
  const bool of_host_pool = linear != nullptr && linear->kind == LinearKind::kHostPool;
  if (of_host_pool && side.kind == CopySide::kMemory && !fill) return false;
  // Copies reach linear memory of all devices, but that of pools as kernels do.
  const bool everywhere = linear != nullptr && !fill && linear->kind != LinearKind::kPool;
  if (everywhere || (linear != nullptr && mmu_.linear.CanReach(side.device, *linear))) return true;
  return side.kind == CopySide::kHostMemory && mmu_.CpuCanAccess(range, access);
}

// From the first byte to the last: a driver wants the gaps between rows to be accessible, too. In
// memory of devices the first byte is the one whose address was passed, so that no row is in an
// allocation behind that. Source: 324 copies on an H200 with driver 580.159.
bool SimulatedCopies::CanPerform(const char* call, const CopyOperation& operation,
                                 Fault* fault) const {
  const auto can_use = [&](const CopySide& side, Access access) {
    const bool of_host = side.kind == CopySide::kHostMemory;
    if (side.kind != CopySide::kMemory && !of_host) return true;
    const AddressRange range = of_host ? side.All(operation.shape) : side.Passed(operation.shape);
    if (CanUse(operation, side, range, access)) return true;
    *fault = Fault{call, range, access, of_host ? Location::Host() : Location::Device(side.device)};
    return false;
  };
  return can_use(operation.written, Access::kReadWrite) && can_use(operation.read, Access::kRead);
}

// A piece may be freed in the order of streams before the work of a call runs, and its memory is
// still there.
bool SimulatedCopies::CanSubmit(const char* call, const CopyOperation& operation,
                                Fault* fault) const {
  if (!CanPerform(call, operation, fault)) return false;
  const auto is_allocated = [&](const CopySide& side, Access access) {
    const AddressRange range = UsedBy(operation, side);
    const LinearAllocation* const linear = range.empty() ? nullptr : mmu_.linear.Find(range.base);
    if (linear == nullptr || !linear->of_pool()) return true;
    const PooledPiece* const piece = mmu_.pooled.FindAll(range);
    if (piece != nullptr && piece->freed_by == 0) return true;
    *fault = Fault{call, range, access, Location::Device(side.device)};
    return false;
  };
  return is_allocated(operation.written, Access::kReadWrite) &&
         is_allocated(operation.read, Access::kRead);
}

template <typename Visit>
void SimulatedCopies::ForEachPiece(const CopyShape& shape, const CopySide& side, uint64_t row,
                                   uint64_t offset, uint64_t size, const Visit& visit) const {
  if (side.kind == CopySide::kArray) {
    return side.array->ForEachPiece(row % shape.height, row / shape.height, offset, size,
                                    [&](char* memory, uint64_t length) {
                                      visit(ObservedWork::Part{memory, {}}, length);
                                    });
  }
  DeviceAddress at = side.Rows(shape, row, row + 1).base + Bytes(offset);
  if (side.kind == CopySide::kHostPointer) {
    return visit(ObservedWork::Part{reinterpret_cast<char*>(at.value()), DeviceAddress(0)}, size);
  }
  mmu_.ForEachPiece(AddressRange{at, Bytes(size), Bytes(0)}, [&](char* memory, uint64_t length) {
    visit(ObservedWork::Part{memory, at}, length);
    at = at + Bytes(length);
  });
}

template <typename Visit>
void SimulatedCopies::ForEachWritten(const CopyShape& shape, const CopySide& side, uint64_t row,
                                     const Visit& visit) const {
  if (side.kind == CopySide::kMemory) {
    const AddressRange range = side.Rows(shape, row, row + 1);
    if (ABSL_PREDICT_FALSE(mmu_.IsMulticast(range.base))) {
      mmu_.ForEachReplica(range, [&](const Replica& replica, DeviceAddress at, uint64_t length) {
        visit(ObservedWork::Part{replica.memory, at, replica.pages}, (at - range.base).value(),
              length);
      });
      return;
    }
  }
  uint64_t done = 0;
  ForEachPiece(shape, side, row, 0, shape.width,
               [&](const ObservedWork::Part& to, uint64_t length) {
                 visit(to, std::exchange(done, done + length), length);
               });
}

coherence::Site SimulatedCopies::SiteOf(const char* call) const {
  return SiteOfCall(state_, call_sites_, call);
}

// The gaps between rows need not be there.
bool SimulatedCopies::IsThere(const char* call, const CopyShape& shape, const CopySide& side,
                              Access access, Fault* fault) const {
  const bool addressed = side.kind == CopySide::kMemory || side.kind == CopySide::kHostMemory;
  const LinearAllocation* const linear =
      addressed && shape.rows() != 0 ? mmu_.linear.FindAll(side.Rows(shape, 0, 1)) : nullptr;
  const bool of_host =
      side.kind == CopySide::kHostPointer || (linear != nullptr && !linear->on_device());
  if (!of_host || FindInaccessible(side.All(shape), access) == nullptr) return true;
  for (uint64_t row = 0; row < shape.rows(); ++row) {
    const void* const missing = FindInaccessible(side.Rows(shape, row, row + 1), access);
    if (missing == nullptr) continue;
    *fault = FaultAt(call, missing, access);
    return false;
  }
  return true;
}

bool SimulatedCopies::Perform(const Asked& asked, const CopyOperation& operation, uint64_t call_id,
                              coherence::Clocks* clocks, Fault* fault) const {
  ObservedWork told(&state_, asked.stream.device(), SiteOf(asked.call), call_id, clocks);
  const uint64_t begin_ns = state_.events == nullptr ? 0 : record::EventWriter::Now();
  // Kernels may poll the same memory. One that is launched from now on waits for the lock first.
  const bool by_words = state_.scheduler.HasKernels();
  const uint64_t rows = operation.shape.rows();
  Access access = Access::kReadWrite;
  for (uint64_t row = 0; row < rows; ++row) {
    const void* const missing = operation.kind == CopyOperation::kFill
                                    ? FillRow(operation, row, by_words, &told)
                                    : CopyRow(operation, row, by_words, &told, &access);
    if (missing == nullptr) continue;
    *fault = FaultAt(asked.call, missing, access);
    return false;
  }
  if (ABSL_PREDICT_FALSE(state_.events != nullptr)) {
    TellCopy(state_, {asked.stream, asked.stack, begin_ns}, operation.kind == CopyOperation::kFill,
             AddressesOf(operation, operation.written), AddressesOf(operation, operation.read),
             operation.shape.width * rows);
  }
  return true;
}

const void* SimulatedCopies::FillRow(const CopyOperation& operation, uint64_t row, bool by_words,
                                     ObservedWork* told) const {
  const FillPattern& pattern = operation.pattern;
  const void* missing = nullptr;
  const auto fill = [&](const ObservedWork::Part& to, uint64_t, uint64_t length) {
    if (missing != nullptr) return;
    told->Write(to, {}, length, [&] {
      missing = GuardedFill(to.memory, length, pattern.value, pattern.width.value(), by_words);
      return missing == nullptr;
    });
  };
  ForEachWritten(operation.shape, operation.written, row, fill);
  return missing;
}

const void* SimulatedCopies::CopyRow(const CopyOperation& operation, uint64_t row, bool by_words,
                                     ObservedWork* told, Access* access) const {
  const CopyShape& shape = operation.shape;
  const void* missing = nullptr;
  // Undefined for the caller if they overlap, not for us.
  const auto move = [&](char* to, const char* from, uint64_t size) {
    missing = from == nullptr ? GuardedFill(to, size, 0, 1, by_words)
                              : GuardedCopy(to, from, size, by_words);
    const bool of_written = missing >= to && missing < to + size;
    if (missing != nullptr) *access = of_written ? Access::kReadWrite : Access::kRead;
    return missing == nullptr;
  };
  ForEachWritten(
      shape, operation.written, row, [&](ObservedWork::Part to, uint64_t offset, uint64_t length) {
        if (to.memory == nullptr || missing != nullptr) return;
        ForEachPiece(shape, operation.read, row, offset, length,
                     [&](const ObservedWork::Part& from, uint64_t n) {
                       if (missing != nullptr) return;
                       told->Write(to, from, n, [&] { return move(to.memory, from.memory, n); });
                       to = to.Behind(n);
                     });
      });
  return missing;
}

const void* SimulatedCopies::TakeSource(CopyOperation* operation) const {
  const CopyShape& shape = operation->shape;
  const auto taken = std::make_shared<RowsTaken>(shape);
  const void* missing = nullptr;
  for (uint64_t row = 0; row < shape.rows(); ++row) {
    char* to = taken->row(row);
    ForEachPiece(shape, operation->read, row, 0, shape.width,
                 [&](const ObservedWork::Part& from, uint64_t size) {
                   if (from.memory != nullptr && missing == nullptr) {
                     missing = GuardedCopy(to, from.memory, size, false);
                   }
                   to += size;
                 });
  }
  operation->read.kind = CopySide::kArray;
  operation->read.array = taken;
  operation->reads_at_call = false;
  return missing;
}

void SimulatedCopies::Run(const QueuedCopy& queued) const {
  if (state_.sticky_error.HasFault()) return;
  coherence::Clocks clocks = state_.order.Begin(queued.order);
  mmu_.FollowTeams();
  const std::shared_lock lock(mmu_.mutex);
  Fault fault;
  const bool can = CanPerform(queued.asked.call, queued.operation, &fault);
  const char* const missing = can ? WhyNoArray(queued.operation) : nullptr;
  if (missing != nullptr) {
    state_.sticky_error.Raise(queued.asked.call, DriverCode::kLaunchFailed, missing);
    return ReportFault(state_, queued.call_id, queued.asked.call, queued.asked.stream.device(),
                       missing);
  }
  const absl::Status room =
      can ? CheckRoomOnHost(queued.asked.call, queued.operation) : absl::OkStatus();
  if (!room.ok()) {
    return state_.sticky_error.Raise(queued.asked.call, DriverCode::kLaunchFailed,
                                     std::string(room.message()));
  }
  if (!can || !Perform(queued.asked, queued.operation, queued.call_id, &clocks, &fault)) {
    // As an H100 was seen to do.
    if (queued.asked.part == Part::kWork && queued.operation.kind == CopyOperation::kFill) {
      state_.sticky_error.Raise(queued.asked.call, DriverCode::kLaunchFailed, fault.Reason());
    } else {
      state_.sticky_error.Raise(fault);
    }
    return ReportFault(state_, queued.call_id, fault);
  }
  state_.others.Ended(queued.order.submission(), queued.call_id, clocks);
  state_.order.End(queued.order, clocks);
}

absl::Status SimulatedCopies::Do(const Asked& asked, CopyOperation operation) {
  SimulatedStreams::Queue queue;
  const absl::Status known = streams_.CheckStream(asked.call, asked.stream, &queue);
  if (!known.ok() || operation.shape.empty()) return known;
  return Submit(asked, queue, std::move(operation));
}

absl::Status SimulatedCopies::CheckRoomOnHost(const char* call,
                                              const CopyOperation& operation) const {
  const CopyShape& shape = operation.shape;
  const Bytes size(shape.width * shape.rows());
  if (size < kLarge) return absl::OkStatus();
  // The last part of it is what the host needs to go on.
  const Bytes left = AvailableMemory();
  const Bytes available = left - left / 16;
  Bytes needed = operation.reads_at_call ? size : Bytes(0);
  if (needed + size <= available) return absl::OkStatus();
  std::set<const char*> seen;  // aliases of one page lead to the same memory
  for (uint64_t row = 0; row < shape.rows(); ++row) {
    ForEachWritten(shape, operation.written, row,
                   [&](const ObservedWork::Part& to, uint64_t, uint64_t length) {
                     if (to.memory == nullptr || !seen.insert(to.memory).second) return;
                     needed = needed + UntouchedBytes(to.memory, length);
                   });
  }
  if (needed <= available) return absl::OkStatus();
  return Fail(DriverCode::kOutOfMemory, call, "it takes ", ToString(needed),
              " of the host that simulates it, which has ", ToString(available), " left");
}

absl::Status SimulatedCopies::Check(const Asked& asked, const CopyOperation& operation) const {
  Fault fault;
  const CopyShape& shape = operation.shape;
  if (!CanSubmit(asked.call, operation, &fault)) return RefuseFault(state_, fault);
  const absl::Status room = CheckRoomOnHost(asked.call, operation);
  if (!room.ok()) return room;
  const bool can = IsThere(asked.call, shape, operation.written, Access::kReadWrite, &fault) &&
                   IsThere(asked.call, shape, operation.read, Access::kRead, &fault);
  return can ? absl::OkStatus() : RefuseFault(state_, fault);
}

bool SimulatedCopies::PerformBeside(const Asked& asked, CopyOperation* operation) const {
  if (asked.part != Part::kAll || operation->shape.rows() != 1) return false;
  if (Bytes(operation->shape.width) >= kLarge || state_.events != nullptr) return false;
  StripedMutex::Stripes stripes = 0;
  for (const CopySide* side : {&operation->written, &operation->read}) {
    if (side->kind == CopySide::kArray) return false;
    const AddressRange passed = side->Passed(operation->shape);
    if (!mmu_.window.range().overlaps(passed)) continue;
    const StripedMutex::Stripes own = mmu_.StripesOf(passed);
    if (own == 0) return false;
    stripes |= own;
  }
  if (stripes == 0) stripes = 1;  // any, for who holds the whole alone
  const CopySide::Kind written = operation->written.kind;
  const CopySide::Kind read = operation->read.kind;
  const SharedStripesLock lock(mmu_.mutex, stripes);
  operation->written.kind = KindOf(operation->written, operation->shape);
  operation->read.kind = KindOf(operation->read, operation->shape);
  Fault fault;
  if (state_.IsBypassed() && CanSubmit(asked.call, *operation, &fault) &&
      IsThere(asked.call, operation->shape, operation->written, Access::kReadWrite, &fault) &&
      IsThere(asked.call, operation->shape, operation->read, Access::kRead, &fault) &&
      Perform(asked, *operation, 0, nullptr, &fault)) {
    return true;
  }
  operation->written.kind = written;
  operation->read.kind = read;
  return false;
}

absl::Status SimulatedCopies::Submit(const Asked& asked, const SimulatedStreams::Queue& queue,
                                     CopyOperation operation) {
  mmu_.FollowTeams();
  if (PerformBeside(asked, &operation)) return absl::OkStatus();
  bool waits = asked.returns == Returns::kWhenDone;
  {
    const std::shared_lock lock(mmu_.mutex);
    operation.written.kind = KindOf(operation.written, operation.shape);
    operation.read.kind = KindOf(operation.read, operation.shape);
    if (asked.part != Part::kWork) {
      const absl::Status can = Check(asked, operation);
      if (!can.ok() || asked.part == Part::kCheck) return can;
    }
    PlaceLayers(operation.written, &operation.read);
    PlaceLayers(operation.read, &operation.written);
    if (asked.part == Part::kAll && state_.IsBypassed() && WhyNoArray(operation) == nullptr) {
      Fault fault;
      const bool done = Perform(asked, operation, 0, nullptr, &fault);
      return done ? absl::OkStatus() : RefuseFault(state_, fault);
    }
    waits = waits || (asked.returns == Returns::kWhenItMay &&
                      (IsSynchronous(operation.written) || IsSynchronous(operation.read)));
    const void* const missing = operation.reads_at_call ? TakeSource(&operation) : nullptr;
    if (missing != nullptr) {
      return RefuseFault(state_, FaultAt(asked.call, missing, Access::kRead));
    }
  }
  const StreamScheduler::Point done = Enqueue(asked, queue, operation);
  if (!waits) return absl::OkStatus();
  streams_.Finish({done, state_.order.Record(queue->order), state_.clocks.Record(queue->clock)});
  return state_.sticky_error.Check(asked.call);
}

StreamScheduler::Point SimulatedCopies::Enqueue(const Asked& asked,
                                                const SimulatedStreams::Queue& queue,
                                                const CopyOperation& operation) {
  const AddressRange written = UsedBy(operation, operation.written);
  const AddressRange read = UsedBy(operation, operation.read);
  QueuedCopy queued{operation, asked,
                    RecordCall(state_, asked.call, written.empty() ? read : written),
                    state_.order.Submit(queue->order)};
  if (ABSL_PREDICT_FALSE(state_.events != nullptr)) queued.asked.stack = state_.events->Stack();
  if (state_.clocks.active()) {
    const PooledWork work = streams_.Order(queue, queued.call_id);
    for (const AddressRange& range : {written, read}) {
      NoteUse(state_, asked.call, asked.stream.device(), work, range);
    }
  }
  return state_.scheduler.Submit(queue->work, {[this, queued](Turn) {
                                                 Run(queued);
                                                 return Progress::kDone;
                                               },
                                               asked.stream,
                                               {written, read},
                                               queued.call_id});
}

// A fill whose size wraps to that of `range`, perhaps to nothing. The driver looks all the same
// whether its first element can be written.
absl::Status SimulatedCopies::CheckWrappedFill(const char* call, DeviceOrdinal device,
                                               const AddressRange& range, Bytes width) const {
  const AddressRange first{range.base, width, Bytes(0)};
  const std::shared_lock lock(mmu_.mutex);
  if (!mmu_.CanAccess(device, first, Access::kReadWrite) && mmu_.linear.FindAll(first) == nullptr) {
    return RefuseFault(state_, Fault{call, first, Access::kReadWrite, Location::Device(device)});
  }
  WarnOfCall(state_, call, range, {DiagnosticKind::kFillWraps, range.base}, "the size wraps to ",
             range.size);
  return absl::OkStatus();
}

// No mapping of `range` behind the first one is such that the driver would refuse to fill it.
absl::Status SimulatedCopies::CheckFillBorders(const char* call, DeviceOrdinal device,
                                               const AddressRange& range) const {
  const bool refuses = mmu_.profile.quirks.fill_refuses_what_host_sees_behind_border;
  if (!refuses || device != DeviceOrdinal(0)) return absl::OkStatus();
  const std::shared_lock lock(mmu_.mutex);
  if (!mmu_.CanAccess(device, range, Access::kReadWrite)) return absl::OkStatus();  // found later
  for (DeviceAddress border = mmu_.RangeOf(*mmu_.MappingAt(range.base)).end(); border < range.end();
       border = mmu_.RangeOf(*mmu_.MappingAt(border)).end()) {
    if (mmu_.At(border).access(mmu_.host) == Access::kNone) continue;
    return InvalidValue(call, "range ", ToString(range), " goes on at ", ToString(border),
                        ", where the host has access");
  }
  return absl::OkStatus();
}

absl::Status SimulatedCopies::CopySides(const Asked& asked, const CopySide& written,
                                        const CopySide& read) {
  SimulatedStreams::Queue queue;
  const absl::Status known = streams_.CheckStream(asked.call, asked.stream, &queue);
  if (!known.ok() || written.first.empty()) return known;
  for (const CopySide* side : {&written, &read}) {
    const absl::Status exists = state_.CheckDevice(asked.call, side->device);
    if (!exists.ok()) return exists;
    const bool is_null = side->kind != CopySide::kMemory && side->first.base == DeviceAddress(0);
    if (is_null) return InvalidValue(asked.call, "the host pointer is null");
  }
  CopyOperation operation;
  operation.shape.width = written.first.size.value();
  operation.written = written;
  operation.read = read;
  return Submit(asked, queue, std::move(operation));
}

absl::Status SimulatedCopies::FillOnDevice(const Asked& asked, DeviceAddress destination,
                                           const FillPattern& pattern, uint64_t count) {
  const char* const call = asked.call;
  const DeviceOrdinal device = asked.stream.device();
  SimulatedStreams::Queue queue;
  const absl::Status known = streams_.CheckStream(call, asked.stream, &queue);
  if (!known.ok()) return known;
  const Bytes width = pattern.width;
  if (width != Bytes(1) && width != Bytes(2) && width != Bytes(4)) {
    return InvalidValue(call, "width ", ToString(width), " is not 1, 2 or 4");
  }
  if (count == 0) return absl::OkStatus();
  const Bytes size = width * count;
  const AddressRange range{destination, size, Bytes(0)};
  const bool wraps = size / width != count;
  if (wraps && !mmu_.profile.quirks.fill_size_wraps) {
    const std::shared_lock lock(mmu_.mutex);
    return RefuseCall(state_, call, range, {DiagnosticKind::kFillWraps, destination},
                      "the size wraps to ", size);
  }
  if (!destination.IsAligned(width)) {
    return InvalidValue(call, "address ", ToString(destination), " is not a multiple of ",
                        ToString(width));
  }
  if (wraps) {
    const absl::Status passed = CheckWrappedFill(call, device, range, width);
    if (!passed.ok() || size == Bytes(0)) return passed;
  }
  const absl::Status borders = CheckFillBorders(call, device, range);
  if (!borders.ok()) return borders;
  CopyOperation operation;
  operation.kind = CopyOperation::kFill;
  operation.shape.width = size.value();
  operation.written = CopySide{CopySide::kMemory, device, range};
  operation.pattern = pattern;
  return Submit(asked, queue, std::move(operation));
}

}  // namespace twinmmu
