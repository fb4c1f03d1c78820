#include "sim/calls/arrays/box_copies.h"

#include <shared_mutex>
#include <utility>

#include "sim/calls/arrays/simulated_sparse_arrays.h"
#include "sim/diagnostics/call_record.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {
namespace {

// a * b + c, if 64 bits hold it.
bool MultiplyAdd(uint64_t a, uint64_t b, uint64_t c, uint64_t* result) {
  return !__builtin_mul_overflow(a, b, result) && !__builtin_add_overflow(*result, c, result);
}

// The rows of a side, whose pitch and height are given; false: they end beyond all addresses.
bool PlaceRows(const BoxEnd& end, const CopyShape& shape, CopySide* side) {
  uint64_t row = 0;
  uint64_t offset = 0;
  uint64_t start = 0;
  uint64_t layer = 0;
  uint64_t size = 0;
  uint64_t stop = 0;
  const bool fits = MultiplyAdd(end.offset.z, end.height, end.offset.y, &row) &&
                    MultiplyAdd(row, end.pitch, end.offset.x, &offset) &&
                    MultiplyAdd(1, end.base.value(), offset, &start) &&
                    (shape.depth == 1 || MultiplyAdd(end.pitch, end.height, 0, &layer)) &&
                    MultiplyAdd(shape.depth - 1, layer, shape.width, &size) &&
                    MultiplyAdd(shape.height - 1, end.pitch, size, &size) &&
                    MultiplyAdd(1, start, size, &stop);
  side->first = AddressRange{DeviceAddress(start), Bytes(shape.width), Bytes(0)};
  side->before = Bytes(offset);
  side->pitch = Bytes(end.pitch);
  side->layer = Bytes(layer);
  return fits;
}

template <typename... Parts>
absl::Status Impossible(SimulatorState& state, const char* call, const Parts&... parts) {
  const std::shared_lock lock(state.mmu.mutex);
  return RefuseCall(state, call, AddressRange(), {DiagnosticKind::kImpossibleCopy}, parts...);
}

}  // namespace

absl::Status BoxCopies::Refuse(const char* call, const char* reason) {
  return guard_.Guard(call, [&] { return Impossible(state_, call, reason); });
}

bool BoxCopies::IsMapped(const BoxEnd& end) const {
  if (end.memory == BoxEnd::kHost) return false;
  const std::shared_lock lock(state_.mmu.mutex);
  const LinearAllocation* const linear = state_.mmu.linear.Find(end.base);
  return linear != nullptr ? linear->kind == LinearKind::kPool
                           : state_.mmu.MappingAt(end.base) != nullptr;
}

absl::StatusOr<CopySide> BoxCopies::RowsOf(const char* call, const char* side, const BoxEnd& end,
                                           const CopyShape& shape) {
  if (end.base == DeviceAddress(0)) return Impossible(state_, call, side, ": the memory is null");
  BoxEnd given = end;
  uint64_t row = 0;
  uint64_t rows = 0;
  if (!MultiplyAdd(1, end.offset.x, shape.width, &row) ||
      !MultiplyAdd(1, end.offset.y, shape.height, &rows)) {
    return Impossible(state_, call, side, ": the rows end beyond all addresses");
  }
  if (end.pitch == 0) given.pitch = row;
  if (given.pitch < row && (given.pitch < shape.width || !IsMapped(end))) {
    return Impossible(state_, call, side, ": pitch ", end.pitch, " is smaller than a row of ",
                      shape.width, " bytes at ", end.offset.x);
  }
  if (end.height == 0) given.height = rows;
  if (given.height < rows && (given.height < shape.height || !IsMapped(end))) {
    return Impossible(state_, call, side, ": height ", end.height, " is smaller than a layer of ",
                      shape.height, " rows at ", end.offset.y);
  }
  CopySide placed;
  placed.kind = end.memory == BoxEnd::kHost     ? CopySide::kHost
                : end.memory == BoxEnd::kDevice ? CopySide::kMemory
                                                : CopySide::kAnywhere;
  placed.device = end.device;
  if (!PlaceRows(given, shape, &placed)) {
    return Impossible(state_, call, side, ": the rows end beyond all addresses");
  }
  return placed;
}

absl::StatusOr<CopySide> BoxCopies::SideOf(const char* call, const char* side, const BoxEnd& end,
                                           const CopyShape& shape) {
  if (end.memory < BoxEnd::kHost || end.memory > BoxEnd::kAnywhere) {
    return Impossible(state_, call, side, ": there is no memory type ", end.memory);
  }
  const absl::Status exists = state_.CheckDevice(call, end.device);
  if (!exists.ok()) return exists;
  if (end.memory != BoxEnd::kArray) {
    return shape.empty() ? CopySide() : RowsOf(call, side, end, shape);
  }
  if (end.level != 0) return Impossible(state_, call, side, ": level ", end.level, " is not 0");
  if (end.array.value() == 0) return Impossible(state_, call, side, ": the array is null");
  return arrays_.BoxIn(call, end.array, end.offset, shape);
}

absl::StatusOr<CopyOperation> BoxCopies::OperationOf(const char* call, const BoxCopy& box) {
  CopyOperation operation;
  operation.shape = box.shape;
  operation.reads_at_call = box.reads_at_call;
  absl::StatusOr<CopySide> written = SideOf(call, "destination", box.to, box.shape);
  if (!written.ok()) return written.status();
  absl::StatusOr<CopySide> read = SideOf(call, "source", box.from, box.shape);
  if (!read.ok()) return read.status();
  operation.written = *std::move(written);
  operation.read = *std::move(read);
  return operation;
}

absl::Status BoxCopies::Copy(const SimulatedCopies::Asked& asked, absl::Span<const BoxCopy> boxes,
                             size_t* failed) {
  return guard_.Guard(asked.call, [&] {
    const absl::Status usable = state_.CheckContext(asked.call, asked.stream.device());
    if (!usable.ok()) return usable;
    for (size_t i = 0; i < boxes.size(); ++i) {
      absl::StatusOr<CopyOperation> operation = OperationOf(asked.call, boxes[i]);
      if (!operation.ok()) return operation.status();
      const absl::Status done = copies_.Do(asked, *std::move(operation));
      if (done.ok()) continue;
      if (failed != nullptr) *failed = i;
      return done;
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<CopyOperation> BoxCopies::Describe(const char* call, const BoxCopy& box) {
  return guard_.Guard(call, [&] { return OperationOf(call, box); });
}

absl::StatusOr<CopyOperation> BoxCopies::FillOf(const char* call, DeviceOrdinal device,
                                                DeviceAddress destination, uint64_t pitch,
                                                const FillPattern& pattern, uint64_t width,
                                                uint64_t height) {
  const uint64_t element = pattern.width.value();
  CopyOperation operation;
  operation.kind = CopyOperation::kFill;
  operation.pattern = pattern;
  if (!MultiplyAdd(width, element, 0, &operation.shape.width)) {
    return Impossible(state_, call, width, " elements of ", pattern.width,
                      " end beyond all addresses");
  }
  operation.shape.height = height;
  if (width == 0 || height == 0) return operation;
  if (!destination.IsAligned(pattern.width)) {
    return Impossible(state_, call, "address ", destination, " is not a multiple of ",
                      pattern.width);
  }
  if (height > 1 && (pitch < operation.shape.width || pitch % element != 0)) {
    return Impossible(state_, call, "pitch ", pitch, " is smaller than a row of ",
                      operation.shape.width, " bytes, or not a multiple of ", pattern.width);
  }
  BoxEnd end;
  end.base = destination;
  end.pitch = pitch;
  operation.written.kind = CopySide::kMemory;
  operation.written.device = device;
  if (!PlaceRows(end, operation.shape, &operation.written)) {
    return Impossible(state_, call, "its rows end beyond all addresses");
  }
  return operation;
}

absl::StatusOr<CopyOperation> BoxCopies::DescribeFill(const char* call, DeviceOrdinal device,
                                                      DeviceAddress destination, uint64_t pitch,
                                                      const FillPattern& pattern, uint64_t width,
                                                      uint64_t height) {
  return guard_.Guard(
      call, [&] { return FillOf(call, device, destination, pitch, pattern, width, height); });
}

absl::Status BoxCopies::Fill(const SimulatedCopies::Asked& asked, DeviceAddress destination,
                             uint64_t pitch, const FillPattern& pattern, uint64_t width,
                             uint64_t height) {
  return guard_.Guard(asked.call, [&] {
    const DeviceOrdinal device = asked.stream.device();
    const absl::Status usable = state_.CheckContext(asked.call, device);
    if (!usable.ok()) return usable;
    absl::StatusOr<CopyOperation> operation =
        FillOf(asked.call, device, destination, pitch, pattern, width, height);
    return operation.ok() ? copies_.Do(asked, *std::move(operation)) : operation.status();
  });
}

}  // namespace twinmmu
