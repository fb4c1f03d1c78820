#include "sim/calls/executor/simulated_copies.h"

#include <new>
#include <shared_mutex>

#include "sim/base/errors.h"
#include "sim/calls/executor/observed_work.h"
#include "sim/diagnostics/alias_reports.h"
#include "sim/diagnostics/call_record.h"
#include "sim/host/guarded_access.h"

namespace twinmmu {
namespace {

AddressRange Span(DeviceAddress base, Bytes size) { return AddressRange{base, size, Bytes(0)}; }
AddressRange Span(const void* base, Bytes size) {
  return Span(DeviceAddress(reinterpret_cast<uint64_t>(base)), size);
}

}  // namespace

Fault SimulatedCopies::FaultAt(const Operation& operation, const void* address, Access access) {
  return Fault{operation.call, Span(address, Bytes(1)), access, Location::Host()};
}

SimulatedCopies::SimulatedCopies(SimulatorState* state, SimulatedStreams* streams)
    : state_(*state),
      mmu_(state->mmu),
      streams_(*streams),
      call_sites_(std::make_shared<const CallSites>()) {}

SimulatedCopies::Side::Kind SimulatedCopies::KindOf(const Side& side) const {
  if (side.kind != Side::kHost && side.kind != Side::kAnywhere) return side.kind;
  const bool of_devices = mmu_.OverlapsDevices(side.range);
  if (side.kind == Side::kHost) return of_devices ? Side::kHostMemory : Side::kHostPointer;
  // Addresses that are mere numbers may be pointers too: memory first.
  return of_devices || !mmu_.At(side.range.base).hole() ? Side::kMemory : Side::kHostPointer;
}

bool SimulatedCopies::IsSynchronous(const Side& side) const {
  if (side.kind == Side::kHostPointer) return true;
  const LinearAllocation* const linear = mmu_.linear.FindAll(side.range);
  return linear != nullptr && linear->sync_memops;
}

bool SimulatedCopies::CanUse(const Operation& operation, const Side& side, Access access,
                             Fault* fault) const {
  if (side.kind == Side::kNothing || side.kind == Side::kHostPointer) return true;
  const bool fill = operation.kind == Operation::kFill;
  const bool can = fill ? mmu_.CanAccess(side.device, side.range, access)
                        : mmu_.CanCopy(side.device, side.range, access);
  if (can) return true;
  const LinearAllocation* const linear = mmu_.linear.FindAll(side.range);
  if (linear != nullptr && (!fill || mmu_.linear.CanReach(side.device, *linear))) return true;
  const bool by_host = side.kind == Side::kHostMemory;
  if (by_host && mmu_.CpuCanAccess(side.range, access)) return true;
  *fault = Fault{operation.call, side.range, access,
                 by_host ? Location::Host() : Location::Device(side.device)};
  return false;
}

bool SimulatedCopies::CanPerform(const Operation& operation, Fault* fault) const {
  return CanUse(operation, operation.written, Access::kReadWrite, fault) &&
         CanUse(operation, operation.read, Access::kRead, fault);
}

template <typename Visit>
void SimulatedCopies::ForEachPiece(const Side& side, const Visit& visit) const {
  DeviceAddress at = side.range.base;
  if (side.kind == Side::kHostPointer) {
    return visit(ObservedWork::Part{reinterpret_cast<char*>(at.value()), DeviceAddress(0)},
                 side.range.size.value());
  }
  mmu_.ForEachPiece(side.range, [&](char* memory, uint64_t length) {
    visit(ObservedWork::Part{memory, at}, length);
    at = at + Bytes(length);
  });
}

coherence::Site SimulatedCopies::SiteOf(const char* call) const {
  if (!state_.aliases.active()) return SiteTable::kUnknown;
  try {
    return state_.sites.Add(call_sites_, static_cast<uint32_t>(FindCall(call)), 1, call);
  } catch (const std::bad_alloc&) {
    return SiteTable::kUnknown;
  }
}

bool SimulatedCopies::IsThere(const Operation& operation, const Side& side, Access access,
                              Fault* fault) const {
  const LinearAllocation* const linear =
      side.kind == Side::kHostMemory || side.kind == Side::kMemory ? mmu_.linear.FindAll(side.range)
                                                                   : nullptr;
  const bool of_host =
      side.kind == Side::kHostPointer || (linear != nullptr && !linear->on_device());
  if (!of_host) return true;
  const void* const missing = FindInaccessible(side.range, access);
  if (missing != nullptr) *fault = FaultAt(operation, missing, access);
  return missing == nullptr;
}

bool SimulatedCopies::Perform(const Operation& operation, coherence::Clocks* clocks,
                              Fault* fault) const {
  ObservedWork told(&state_, operation.stream.device(), SiteOf(operation.call), operation.call_id,
                    clocks);
  // Kernels may poll the same memory. One that is launched from now on waits for the lock first.
  const bool by_words = state_.scheduler.HasKernels();
  const void* missing = nullptr;
  if (operation.kind == Operation::kFill) {
    const FillPattern& pattern = operation.pattern;
    ForEachPiece(operation.written, [&](const ObservedWork::Part& to, uint64_t length) {
      if (missing != nullptr) return;
      told.Write(to, {}, length, [&] {
        missing = GuardedFill(to.memory, length, pattern.value, pattern.width.value(), by_words);
        return missing == nullptr;
      });
    });
    if (missing != nullptr) *fault = FaultAt(operation, missing, Access::kReadWrite);
    return missing == nullptr;
  }
  Access access = Access::kRead;
  Side rest = operation.read;
  ForEachPiece(operation.written, [&](ObservedWork::Part to, uint64_t length) {
    rest.range.size = Bytes(length);
    ForEachPiece(rest, [&](const ObservedWork::Part& from, uint64_t n) {
      if (missing != nullptr) return;
      told.Write(to, from, n, [&] {
        // Undefined for the caller if they overlap, not for us.
        missing = GuardedCopy(to.memory, from.memory, n, by_words);
        const bool of_written = missing >= to.memory && missing < to.memory + n;
        if (of_written) access = Access::kReadWrite;
        return missing == nullptr;
      });
      to = to.Behind(n);
    });
    rest.range.base = rest.range.base + Bytes(length);
  });
  if (missing != nullptr) *fault = FaultAt(operation, missing, access);
  return missing == nullptr;
}

void SimulatedCopies::Run(const Operation& operation) const {
  if (state_.sticky_error.HasFault()) return;
  coherence::Clocks clocks = state_.order.Begin(operation.order);
  const std::shared_lock lock(mmu_.mutex);
  Fault fault;
  if (!CanPerform(operation, &fault) || !Perform(operation, &clocks, &fault)) {
    state_.sticky_error.Raise(fault);
    return ReportFault(state_, operation.call_id, fault);
  }
  state_.order.End(operation.order, clocks);
}

absl::Status SimulatedCopies::Submit(const SimulatedStreams::Queue& queue, Operation& operation,
                                     Returns returns) {
  {
    const std::shared_lock lock(mmu_.mutex);
    operation.written.kind = KindOf(operation.written);
    operation.read.kind = KindOf(operation.read);
    Fault fault;
    const bool can = CanPerform(operation, &fault) &&
                     IsThere(operation, operation.written, Access::kReadWrite, &fault) &&
                     IsThere(operation, operation.read, Access::kRead, &fault);
    if (!can) return RefuseFault(state_, fault);
    if (state_.IsBypassed()) {
      const bool done = Perform(operation, nullptr, &fault);
      return done ? absl::OkStatus() : RefuseFault(state_, fault);
    }
    operation.synchronous = IsSynchronous(operation.written) || IsSynchronous(operation.read);
  }
  return Enqueue(queue, operation, returns);
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

absl::Status SimulatedCopies::Enqueue(const SimulatedStreams::Queue& queue,
                                      const Operation& operation, Returns returns) {
  Operation numbered = operation;
  const AddressRange written = operation.written.used();
  const AddressRange read = operation.read.used();
  numbered.call_id = RecordCall(state_, operation.call, written.empty() ? read : written);
  numbered.order = state_.order.Submit(queue->order);
  const StreamScheduler::Point done =
      state_.scheduler.Submit(queue->work, {[this, numbered](Turn) {
                                              Run(numbered);
                                              return Progress::kDone;
                                            },
                                            operation.stream,
                                            operation.call,
                                            {written, read},
                                            numbered.call_id});
  const bool waits =
      returns == Returns::kWhenDone || (returns == Returns::kWhenItMay && operation.synchronous);
  if (!waits) return absl::OkStatus();
  streams_.Finish({done, state_.order.Record(queue->order)});
  return state_.sticky_error.Check(operation.call);
}

absl::Status SimulatedCopies::CopySides(const char* call, Stream stream, const Side& written,
                                        const Side& read, Returns returns) {
  SimulatedStreams::Queue queue;
  const absl::Status known = streams_.CheckStream(call, stream, &queue);
  if (!known.ok() || written.range.empty()) return known;
  for (const Side* side : {&written, &read}) {
    const absl::Status exists = state_.CheckDevice(call, side->device);
    if (!exists.ok()) return exists;
    const bool is_null = side->kind != Side::kMemory && side->range.base == DeviceAddress(0);
    if (is_null) return InvalidValue(call, "the host pointer is null");
  }
  Operation operation;
  operation.call = call;
  operation.stream = stream;
  operation.written = written;
  operation.read = read;
  return Submit(queue, operation, returns);
}

absl::Status SimulatedCopies::FillOnDevice(const char* call, Stream stream,
                                           DeviceAddress destination, const FillPattern& pattern,
                                           uint64_t count, Returns returns) {
  SimulatedStreams::Queue queue;
  const absl::Status known = streams_.CheckStream(call, stream, &queue);
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
    const absl::Status passed = CheckWrappedFill(call, stream.device(), range, width);
    if (!passed.ok() || size == Bytes(0)) return passed;
  }
  const absl::Status borders = CheckFillBorders(call, stream.device(), range);
  if (!borders.ok()) return borders;
  Operation operation;
  operation.kind = Operation::kFill;
  operation.call = call;
  operation.stream = stream;
  operation.written = Side{Side::kMemory, stream.device(), range};
  operation.pattern = pattern;
  return Submit(queue, operation, returns);
}

// Without a stream: on the default stream, and the host's memory is not needed afterwards.

absl::Status SimulatedCopies::DoCopyHostToDevice(DeviceOrdinal device, DeviceAddress destination,
                                                 const void* source, Bytes size) {
  return CopySides("cuMemcpyHtoD", Stream(device), {Side::kMemory, device, Span(destination, size)},
                   {Side::kHost, device, Span(source, size)}, Returns::kWhenDone);
}

absl::Status SimulatedCopies::DoCopyDeviceToHost(DeviceOrdinal device, void* destination,
                                                 DeviceAddress source, Bytes size) {
  return CopySides("cuMemcpyDtoH", Stream(device), {Side::kHost, device, Span(destination, size)},
                   {Side::kMemory, device, Span(source, size)}, Returns::kWhenDone);
}

absl::Status SimulatedCopies::DoCopyDeviceToDevice(DeviceOrdinal device, DeviceAddress destination,
                                                   DeviceAddress source, Bytes size) {
  return CopySides("cuMemcpyDtoD", Stream(device), {Side::kMemory, device, Span(destination, size)},
                   {Side::kMemory, device, Span(source, size)}, Returns::kWhenItMay);
}

absl::Status SimulatedCopies::DoFill(DeviceOrdinal device, DeviceAddress destination,
                                     const FillPattern& pattern, uint64_t count) {
  return FillOnDevice("cuMemset", Stream(device), destination, pattern, count, Returns::kWhenItMay);
}

absl::Status SimulatedCopies::Copy(DeviceOrdinal device, DeviceAddress destination,
                                   DeviceAddress source, Bytes size) {
  return CopySides("cuMemcpy", Stream(device), {Side::kAnywhere, device, Span(destination, size)},
                   {Side::kAnywhere, device, Span(source, size)}, Returns::kWhenItMay);
}

absl::Status SimulatedCopies::CopyPeer(DeviceOrdinal device, const PeerAddress& destination,
                                       const PeerAddress& source, Bytes size) {
  return CopySides("cuMemcpyPeer", Stream(device),
                   {Side::kAnywhere, destination.device, Span(destination.address, size)},
                   {Side::kAnywhere, source.device, Span(source.address, size)},
                   Returns::kWhenItMay);
}

absl::Status SimulatedCopies::DoCopyHostToDevice(Stream stream, DeviceAddress destination,
                                                 const void* source, Bytes size) {
  return CopySides("cuMemcpyHtoDAsync", stream,
                   {Side::kMemory, stream.device(), Span(destination, size)},
                   {Side::kHost, stream.device(), Span(source, size)}, Returns::kWhenQueued);
}

absl::Status SimulatedCopies::DoCopyDeviceToHost(Stream stream, void* destination,
                                                 DeviceAddress source, Bytes size) {
  return CopySides("cuMemcpyDtoHAsync", stream,
                   {Side::kHost, stream.device(), Span(destination, size)},
                   {Side::kMemory, stream.device(), Span(source, size)}, Returns::kWhenQueued);
}

absl::Status SimulatedCopies::DoCopyDeviceToDevice(Stream stream, DeviceAddress destination,
                                                   DeviceAddress source, Bytes size) {
  return CopySides("cuMemcpyDtoDAsync", stream,
                   {Side::kMemory, stream.device(), Span(destination, size)},
                   {Side::kMemory, stream.device(), Span(source, size)}, Returns::kWhenQueued);
}

absl::Status SimulatedCopies::DoFill(Stream stream, DeviceAddress destination,
                                     const FillPattern& pattern, uint64_t count) {
  return FillOnDevice("cuMemsetAsync", stream, destination, pattern, count, Returns::kWhenQueued);
}

absl::Status SimulatedCopies::Copy(Stream stream, DeviceAddress destination, DeviceAddress source,
                                   Bytes size) {
  return CopySides("cuMemcpyAsync", stream,
                   {Side::kAnywhere, stream.device(), Span(destination, size)},
                   {Side::kAnywhere, stream.device(), Span(source, size)}, Returns::kWhenQueued);
}

absl::Status SimulatedCopies::CopyPeer(Stream stream, const PeerAddress& destination,
                                       const PeerAddress& source, Bytes size) {
  return CopySides("cuMemcpyPeerAsync", stream,
                   {Side::kAnywhere, destination.device, Span(destination.address, size)},
                   {Side::kAnywhere, source.device, Span(source.address, size)},
                   Returns::kWhenQueued);
}

}  // namespace twinmmu
