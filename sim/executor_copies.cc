// Copies and fills: translated page by page, and only if every page is accessible.

#include <cstring>
#include <shared_mutex>

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

absl::Status SimulatedExecutor::CheckDeviceRange(const char* call, DeviceOrdinal device,
                                                 const AddressRange& range, Access access) const {
  if (mmu_.CanAccess(device, range, access)) return absl::OkStatus();
  return InvalidValue(call, "range ", ToString(range), " is not wholly mapped with ",
                      ToString(access), " access for ", ToString(device));
}

absl::Status SimulatedExecutor::CheckHostRange(const char* call, const void* memory, Bytes size,
                                               Access access) const {
  if (memory == nullptr) return InvalidValue(call, "the host pointer is null");
  const AddressRange range{DeviceAddress(reinterpret_cast<uint64_t>(memory)), size, Bytes(0)};
  const bool in_window = mmu_.window.claimed() && mmu_.window.range().overlaps(range);
  if (!in_window || mmu_.CpuCanAccess(range, access)) return absl::OkStatus();
  return InvalidValue(call, "host range ", ToString(range),
                      " is device memory that the CPU has no right to");
}

absl::Status SimulatedExecutor::WriteFromHost(const char* call, DeviceOrdinal device,
                                              DeviceAddress destination, const void* source,
                                              Bytes size) {
  if (size == Bytes(0)) return absl::OkStatus();
  const AddressRange range{destination, size, Bytes(0)};
  const std::shared_lock lock(mmu_.mutex);
  absl::Status status = CheckHostRange(call, source, size, Access::kRead);
  if (status.ok()) status = CheckDeviceRange(call, device, range, Access::kReadWrite);
  if (!status.ok()) return status;
  const char* from = static_cast<const char*>(source);
  mmu_.ForEachPiece(range, [&](char* to, uint64_t length) {
    std::memcpy(to, from, length);
    from += length;
  });
  return absl::OkStatus();
}

absl::Status SimulatedExecutor::ReadToHost(const char* call, DeviceOrdinal device,
                                           void* destination, DeviceAddress source, Bytes size) {
  if (size == Bytes(0)) return absl::OkStatus();
  const AddressRange range{source, size, Bytes(0)};
  const std::shared_lock lock(mmu_.mutex);
  absl::Status status = CheckHostRange(call, destination, size, Access::kReadWrite);
  if (status.ok()) status = CheckDeviceRange(call, device, range, Access::kRead);
  if (!status.ok()) return status;
  char* to = static_cast<char*>(destination);
  mmu_.ForEachPiece(range, [&](const char* from, uint64_t length) {
    std::memcpy(to, from, length);
    to += length;
  });
  return absl::OkStatus();
}

absl::Status SimulatedExecutor::CopyOnDevice(const char* call, DeviceOrdinal device,
                                             DeviceAddress destination, DeviceAddress source,
                                             Bytes size) {
  if (size == Bytes(0)) return absl::OkStatus();
  const AddressRange to_range{destination, size, Bytes(0)};
  const AddressRange from_range{source, size, Bytes(0)};
  const std::shared_lock lock(mmu_.mutex);
  absl::Status status = CheckDeviceRange(call, device, to_range, Access::kReadWrite);
  if (status.ok()) status = CheckDeviceRange(call, device, from_range, Access::kRead);
  if (!status.ok()) return status;
  Bytes done;
  mmu_.ForEachPiece(to_range, [&](char* to, uint64_t length) {
    mmu_.ForEachPiece(from_range.subrange(done, Bytes(length)), [&](const char* from, uint64_t n) {
      std::memmove(to, from, n);  // undefined for the caller if they overlap, not for us
      to += n;
    });
    done = done + Bytes(length);
  });
  return absl::OkStatus();
}

absl::Status SimulatedExecutor::FillOnDevice(const char* call, DeviceOrdinal device,
                                             DeviceAddress destination, const FillPattern& pattern,
                                             uint64_t count) {
  const Bytes width = pattern.width;
  if (width != Bytes(1) && width != Bytes(2) && width != Bytes(4)) {
    return InvalidValue(call, "width ", ToString(width), " is not 1, 2 or 4");
  }
  const Bytes size = width * count;
  if (size / width != count && !mmu_.profile.quirks.fill_size_wraps) {
    return InvalidValue(call, "count ", count, " of ", ToString(width), " wraps");
  }
  if (size == Bytes(0)) return absl::OkStatus();
  if (!destination.IsAligned(width)) {
    return InvalidValue(call, "address ", ToString(destination), " is not a multiple of ",
                        ToString(width));
  }
  const AddressRange range{destination, size, Bytes(0)};
  const std::shared_lock lock(mmu_.mutex);
  const absl::Status status = CheckDeviceRange(call, device, range, Access::kReadWrite);
  if (!status.ok()) return status;
  mmu_.ForEachPiece(
      range, [&](char* to, uint64_t length) { Repeat(to, length, pattern.value, width.value()); });
  return absl::OkStatus();
}

absl::Status SimulatedExecutor::CopyHostToDevice(DeviceOrdinal device, DeviceAddress destination,
                                                 const void* source, Bytes size) {
  constexpr char kCall[] = "cuMemcpyHtoD";
  const absl::Status known = CheckDevice(kCall, device);
  return known.ok() ? WriteFromHost(kCall, device, destination, source, size) : known;
}

absl::Status SimulatedExecutor::CopyDeviceToHost(DeviceOrdinal device, void* destination,
                                                 DeviceAddress source, Bytes size) {
  constexpr char kCall[] = "cuMemcpyDtoH";
  const absl::Status known = CheckDevice(kCall, device);
  return known.ok() ? ReadToHost(kCall, device, destination, source, size) : known;
}

absl::Status SimulatedExecutor::CopyDeviceToDevice(DeviceOrdinal device, DeviceAddress destination,
                                                   DeviceAddress source, Bytes size) {
  constexpr char kCall[] = "cuMemcpyDtoD";
  const absl::Status known = CheckDevice(kCall, device);
  return known.ok() ? CopyOnDevice(kCall, device, destination, source, size) : known;
}

absl::Status SimulatedExecutor::Fill(DeviceOrdinal device, DeviceAddress destination,
                                     const FillPattern& pattern, uint64_t count) {
  constexpr char kCall[] = "cuMemset";
  const absl::Status known = CheckDevice(kCall, device);
  return known.ok() ? FillOnDevice(kCall, device, destination, pattern, count) : known;
}

absl::Status SimulatedExecutor::CopyHostToDevice(Stream stream, DeviceAddress destination,
                                                 const void* source, Bytes size) {
  constexpr char kCall[] = "cuMemcpyHtoDAsync";
  const absl::Status known = CheckStream(kCall, stream);
  return known.ok() ? WriteFromHost(kCall, stream.device(), destination, source, size) : known;
}

absl::Status SimulatedExecutor::CopyDeviceToHost(Stream stream, void* destination,
                                                 DeviceAddress source, Bytes size) {
  constexpr char kCall[] = "cuMemcpyDtoHAsync";
  const absl::Status known = CheckStream(kCall, stream);
  return known.ok() ? ReadToHost(kCall, stream.device(), destination, source, size) : known;
}

absl::Status SimulatedExecutor::CopyDeviceToDevice(Stream stream, DeviceAddress destination,
                                                   DeviceAddress source, Bytes size) {
  constexpr char kCall[] = "cuMemcpyDtoDAsync";
  const absl::Status known = CheckStream(kCall, stream);
  return known.ok() ? CopyOnDevice(kCall, stream.device(), destination, source, size) : known;
}

absl::Status SimulatedExecutor::Fill(Stream stream, DeviceAddress destination,
                                     const FillPattern& pattern, uint64_t count) {
  constexpr char kCall[] = "cuMemsetAsync";
  const absl::Status known = CheckStream(kCall, stream);
  return known.ok() ? FillOnDevice(kCall, stream.device(), destination, pattern, count) : known;
}

}  // namespace twinmmu
