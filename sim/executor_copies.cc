// Copies and fills: translated page by page, and only if every page is accessible.

#include <cstring>
#include <shared_mutex>

#include "sim/call_record.h"
#include "sim/errors.h"
#include "sim/simulated_executor.h"

namespace twinmmu {
namespace {

// Repeats the low `width` bytes of `value` from `memory` on; `size` is a multiple of the width.
void Repeat(char* memory, uint64_t size, uint32_t value, uint64_t width) {
  if (width == 1) {
    std::memset(memory, static_cast<int>(value & 0xff), size);
    return;
  }
  for (uint64_t done = 0; done < size; done += width) std::memcpy(memory + done, &value, width);
}

}  // namespace

bool SimulatedExecutor::CanPerform(const Operation& operation, Fault* fault) const {
  const auto host_can = [&](const void* memory, Bytes size, Access access) {
    const AddressRange range{DeviceAddress(reinterpret_cast<uint64_t>(memory)), size, Bytes(0)};
    const bool in_window = mmu_.window.claimed() && mmu_.window.range().overlaps(range);
    if (!in_window || mmu_.CpuCanAccess(range, access)) return true;
    *fault = Fault{operation.call, range, access, Location::Host()};
    return false;
  };
  const DeviceOrdinal device = operation.stream.device();
  const auto device_can = [&](const AddressRange& range, Access access) {
    if (range.empty()) return true;
    const bool can = operation.kind == Operation::kFill ? mmu_.CanAccess(device, range, access)
                                                        : mmu_.CanCopy(device, range, access);
    if (can) return true;
    *fault = Fault{operation.call, range, access, Location::Device(device)};
    return false;
  };
  const bool from_host = operation.kind == Operation::kHostToDevice;
  const bool to_host = operation.kind == Operation::kDeviceToHost;
  return (!from_host || host_can(operation.source, operation.written.size, Access::kRead)) &&
         (!to_host || host_can(operation.destination, operation.read.size, Access::kReadWrite)) &&
         device_can(operation.written, Access::kReadWrite) &&
         device_can(operation.read, Access::kRead);
}

void SimulatedExecutor::Perform(const Operation& operation) const {
  switch (operation.kind) {
    case Operation::kHostToDevice: {
      const char* from = static_cast<const char*>(operation.source);
      return mmu_.ForEachPiece(operation.written, [&](char* to, uint64_t length) {
        std::memcpy(to, from, length);
        from += length;
      });
    }
    case Operation::kDeviceToHost: {
      char* to = static_cast<char*>(operation.destination);
      return mmu_.ForEachPiece(operation.read, [&](const char* from, uint64_t length) {
        std::memcpy(to, from, length);
        to += length;
      });
    }
    case Operation::kDeviceToDevice: {
      Bytes done;
      return mmu_.ForEachPiece(operation.written, [&](char* to, uint64_t length) {
        const AddressRange part = operation.read.subrange(done, Bytes(length));
        mmu_.ForEachPiece(part, [&](const char* from, uint64_t n) {
          std::memmove(to, from, n);  // undefined for the caller if they overlap, not for us
          to += n;
        });
        done = done + Bytes(length);
      });
    }
    case Operation::kFill: {
      const FillPattern& pattern = operation.pattern;
      return mmu_.ForEachPiece(operation.written, [&](char* to, uint64_t length) {
        Repeat(to, length, pattern.value, pattern.width.value());
      });
    }
  }
}

void SimulatedExecutor::Run(const Operation& operation) const {
  if (mmu_.contexts.HasFault()) return;
  const std::shared_lock lock(mmu_.mutex);
  Fault fault;
  if (!CanPerform(operation, &fault)) {
    mmu_.contexts.Raise(fault);
    return ReportFault(mmu_, operation.call_number, fault);
  }
  Perform(operation);
}

absl::Status SimulatedExecutor::Submit(const Queue& queue, const Operation& operation,
                                       Returns returns) {
  {
    const std::shared_lock lock(mmu_.mutex);
    Fault fault;
    if (!CanPerform(operation, &fault)) return RefuseFault(mmu_, fault);
    if (mmu_.scheduler.eager()) {
      Perform(operation);
      return absl::OkStatus();
    }
  }
  return Enqueue(queue, operation, returns);
}

// A fill whose size wraps to that of `range`, perhaps to nothing. The driver looks all the same
// whether its first element can be written.
absl::Status SimulatedExecutor::CheckWrappedFill(const char* call, DeviceOrdinal device,
                                                 const AddressRange& range, Bytes width) const {
  const AddressRange first{range.base, width, Bytes(0)};
  const std::shared_lock lock(mmu_.mutex);
  if (!mmu_.CanAccess(device, first, Access::kReadWrite)) {
    return RefuseFault(mmu_, Fault{call, first, Access::kReadWrite, Location::Device(device)});
  }
  WarnOfCall(mmu_, call, range, {DiagnosticKind::kFillWraps, range.base}, "the size wraps to ",
             range.size);
  return absl::OkStatus();
}

// No mapping of `range` behind the first one is such that the driver would refuse to fill it.
absl::Status SimulatedExecutor::CheckFillBorders(const char* call, DeviceOrdinal device,
                                                 const AddressRange& range) const {
  const bool refuses = mmu_.profile.quirks.fill_refuses_what_host_sees_behind_border;
  if (!refuses || device != DeviceOrdinal(0)) return absl::OkStatus();
  const std::shared_lock lock(mmu_.mutex);
  if (!mmu_.CanAccess(device, range, Access::kReadWrite)) return absl::OkStatus();  // found later
  for (DeviceAddress border = mmu_.RangeOf(*mmu_.MappingAt(range.base)).end(); border < range.end();
       border = mmu_.RangeOf(*mmu_.MappingAt(border)).end()) {
    if (mmu_.At(border).access(mmu_.host) == Access::kNone) continue;
    return InvalidValue(call, "range ", ToString(range), " goes on at ", ToString(border),
                        ", where the host has a right");
  }
  return absl::OkStatus();
}

absl::Status SimulatedExecutor::Enqueue(const Queue& queue, const Operation& operation,
                                        Returns returns) {
  Operation numbered = operation;
  numbered.call_number =
      NumberOf(operation.call, operation.written.empty() ? operation.read : operation.written);
  const StreamScheduler::Point done =
      mmu_.scheduler.Submit(queue, {[this, numbered] { Run(numbered); },
                                    operation.stream,
                                    operation.call,
                                    {operation.written, operation.read},
                                    numbered.call_number});
  if (returns == Returns::kWhenQueued) return absl::OkStatus();
  mmu_.scheduler.Finish(done);
  return mmu_.contexts.Check(operation.call);
}

absl::Status SimulatedExecutor::WriteFromHost(const char* call, Stream stream,
                                              DeviceAddress destination, const void* source,
                                              Bytes size, Returns returns) {
  Queue queue;
  const absl::Status known = CheckStream(call, stream, &queue);
  if (!known.ok() || size == Bytes(0)) return known;
  if (source == nullptr) return InvalidValue(call, "the host pointer is null");
  Operation operation;
  operation.kind = Operation::kHostToDevice;
  operation.call = call;
  operation.stream = stream;
  operation.written = AddressRange{destination, size, Bytes(0)};
  operation.source = source;
  return Submit(queue, operation, returns);
}

absl::Status SimulatedExecutor::ReadToHost(const char* call, Stream stream, void* destination,
                                           DeviceAddress source, Bytes size, Returns returns) {
  Queue queue;
  const absl::Status known = CheckStream(call, stream, &queue);
  if (!known.ok() || size == Bytes(0)) return known;
  if (destination == nullptr) return InvalidValue(call, "the host pointer is null");
  Operation operation;
  operation.kind = Operation::kDeviceToHost;
  operation.call = call;
  operation.stream = stream;
  operation.read = AddressRange{source, size, Bytes(0)};
  operation.destination = destination;
  return Submit(queue, operation, returns);
}

absl::Status SimulatedExecutor::CopyOnDevice(const char* call, Stream stream,
                                             DeviceAddress destination, DeviceAddress source,
                                             Bytes size) {
  Queue queue;
  const absl::Status known = CheckStream(call, stream, &queue);
  if (!known.ok() || size == Bytes(0)) return known;
  Operation operation;
  operation.kind = Operation::kDeviceToDevice;
  operation.call = call;
  operation.stream = stream;
  operation.written = AddressRange{destination, size, Bytes(0)};
  operation.read = AddressRange{source, size, Bytes(0)};
  return Submit(queue, operation, Returns::kWhenQueued);
}

absl::Status SimulatedExecutor::FillOnDevice(const char* call, Stream stream,
                                             DeviceAddress destination, const FillPattern& pattern,
                                             uint64_t count) {
  Queue queue;
  const absl::Status known = CheckStream(call, stream, &queue);
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
    return RefuseCall(mmu_, call, range, {DiagnosticKind::kFillWraps, destination},
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
  operation.written = range;
  operation.pattern = pattern;
  return Submit(queue, operation, Returns::kWhenQueued);
}

// Without a stream: on the default stream, and the host's memory is not needed afterwards.

absl::Status SimulatedExecutor::CopyHostToDevice(DeviceOrdinal device, DeviceAddress destination,
                                                 const void* source, Bytes size) {
  return WriteFromHost("cuMemcpyHtoD", Stream(device), destination, source, size,
                       Returns::kWhenDone);
}

absl::Status SimulatedExecutor::CopyDeviceToHost(DeviceOrdinal device, void* destination,
                                                 DeviceAddress source, Bytes size) {
  return ReadToHost("cuMemcpyDtoH", Stream(device), destination, source, size, Returns::kWhenDone);
}

absl::Status SimulatedExecutor::CopyDeviceToDevice(DeviceOrdinal device, DeviceAddress destination,
                                                   DeviceAddress source, Bytes size) {
  return CopyOnDevice("cuMemcpyDtoD", Stream(device), destination, source, size);
}

absl::Status SimulatedExecutor::Fill(DeviceOrdinal device, DeviceAddress destination,
                                     const FillPattern& pattern, uint64_t count) {
  return FillOnDevice("cuMemset", Stream(device), destination, pattern, count);
}

absl::Status SimulatedExecutor::CopyHostToDevice(Stream stream, DeviceAddress destination,
                                                 const void* source, Bytes size) {
  return WriteFromHost("cuMemcpyHtoDAsync", stream, destination, source, size,
                       Returns::kWhenQueued);
}

absl::Status SimulatedExecutor::CopyDeviceToHost(Stream stream, void* destination,
                                                 DeviceAddress source, Bytes size) {
  return ReadToHost("cuMemcpyDtoHAsync", stream, destination, source, size, Returns::kWhenQueued);
}

absl::Status SimulatedExecutor::CopyDeviceToDevice(Stream stream, DeviceAddress destination,
                                                   DeviceAddress source, Bytes size) {
  return CopyOnDevice("cuMemcpyDtoDAsync", stream, destination, source, size);
}

absl::Status SimulatedExecutor::Fill(Stream stream, DeviceAddress destination,
                                     const FillPattern& pattern, uint64_t count) {
  return FillOnDevice("cuMemsetAsync", stream, destination, pattern, count);
}

}  // namespace twinmmu
