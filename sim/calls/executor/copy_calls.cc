// The calls for copies and fills of one row, as what SimulatedCopies does.

#include "sim/calls/executor/simulated_copies.h"

namespace twinmmu {
namespace {

using Returns = SimulatedCopies::Returns;

CopySide Side(CopySide::Kind kind, DeviceOrdinal device, DeviceAddress base, Bytes size) {
  return CopySide{kind, device, AddressRange{base, size, Bytes(0)}};
}
CopySide Side(CopySide::Kind kind, DeviceOrdinal device, const void* base, Bytes size) {
  return Side(kind, device, DeviceAddress(reinterpret_cast<uint64_t>(base)), size);
}

}  // namespace

// Without a stream. The host's memory is not needed afterwards.

absl::Status SimulatedCopies::CopyHostToDevice(SyncStream on, DeviceAddress destination,
                                               const void* source, Bytes size) {
  const DeviceOrdinal device = on.stream.device();
  return CopySides({"cuMemcpyHtoD", on.stream, Returns::kWhenDone},
                   Side(CopySide::kMemory, device, destination, size),
                   Side(CopySide::kHost, device, source, size));
}

absl::Status SimulatedCopies::CopyDeviceToHost(SyncStream on, void* destination,
                                               DeviceAddress source, Bytes size) {
  const DeviceOrdinal device = on.stream.device();
  return CopySides({"cuMemcpyDtoH", on.stream, Returns::kWhenDone},
                   Side(CopySide::kHost, device, destination, size),
                   Side(CopySide::kMemory, device, source, size));
}

absl::Status SimulatedCopies::CopyDeviceToDevice(SyncStream on, DeviceAddress destination,
                                                 DeviceAddress source, Bytes size) {
  const DeviceOrdinal device = on.stream.device();
  return CopySides({"cuMemcpyDtoD", on.stream, Returns::kWhenItMay},
                   Side(CopySide::kMemory, device, destination, size),
                   Side(CopySide::kMemory, device, source, size));
}

absl::Status SimulatedCopies::Fill(SyncStream on, DeviceAddress destination,
                                   const FillPattern& pattern, uint64_t count) {
  return FillOnDevice({"cuMemset", on.stream, Returns::kWhenItMay}, destination, pattern, count);
}

absl::Status SimulatedCopies::Copy(SyncStream on, DeviceAddress destination, DeviceAddress source,
                                   Bytes size) {
  const DeviceOrdinal device = on.stream.device();
  return CopySides({"cuMemcpy", on.stream, Returns::kWhenItMay},
                   Side(CopySide::kAnywhere, device, destination, size),
                   Side(CopySide::kAnywhere, device, source, size));
}

absl::Status SimulatedCopies::CopyPeer(SyncStream on, const PeerAddress& destination,
                                       const PeerAddress& source, Bytes size) {
  return CopySides({"cuMemcpyPeer", on.stream, Returns::kWhenItMay},
                   Side(CopySide::kAnywhere, destination.device, destination.address, size),
                   Side(CopySide::kAnywhere, source.device, source.address, size));
}

absl::Status SimulatedCopies::DoCopyHostToDevice(DeviceOrdinal device, DeviceAddress destination,
                                                 const void* source, Bytes size) {
  return CopyHostToDevice(SyncStream(device), destination, source, size);
}

absl::Status SimulatedCopies::DoCopyDeviceToHost(DeviceOrdinal device, void* destination,
                                                 DeviceAddress source, Bytes size) {
  return CopyDeviceToHost(SyncStream(device), destination, source, size);
}

absl::Status SimulatedCopies::DoCopyDeviceToDevice(DeviceOrdinal device, DeviceAddress destination,
                                                   DeviceAddress source, Bytes size) {
  return CopyDeviceToDevice(SyncStream(device), destination, source, size);
}

absl::Status SimulatedCopies::DoFill(DeviceOrdinal device, DeviceAddress destination,
                                     const FillPattern& pattern, uint64_t count) {
  return Fill(SyncStream(device), destination, pattern, count);
}

absl::Status SimulatedCopies::DoCopyHostToDevice(Stream stream, DeviceAddress destination,
                                                 const void* source, Bytes size) {
  return CopySides({"cuMemcpyHtoDAsync", stream, Returns::kWhenQueued},
                   Side(CopySide::kMemory, stream.device(), destination, size),
                   Side(CopySide::kHost, stream.device(), source, size));
}

absl::Status SimulatedCopies::DoCopyDeviceToHost(Stream stream, void* destination,
                                                 DeviceAddress source, Bytes size) {
  return CopySides({"cuMemcpyDtoHAsync", stream, Returns::kWhenQueued},
                   Side(CopySide::kHost, stream.device(), destination, size),
                   Side(CopySide::kMemory, stream.device(), source, size));
}

absl::Status SimulatedCopies::DoCopyDeviceToDevice(Stream stream, DeviceAddress destination,
                                                   DeviceAddress source, Bytes size) {
  return CopySides({"cuMemcpyDtoDAsync", stream, Returns::kWhenQueued},
                   Side(CopySide::kMemory, stream.device(), destination, size),
                   Side(CopySide::kMemory, stream.device(), source, size));
}

absl::Status SimulatedCopies::DoFill(Stream stream, DeviceAddress destination,
                                     const FillPattern& pattern, uint64_t count) {
  return FillOnDevice({"cuMemsetAsync", stream, Returns::kWhenQueued}, destination, pattern, count);
}

absl::Status SimulatedCopies::Copy(Stream stream, DeviceAddress destination, DeviceAddress source,
                                   Bytes size) {
  return CopySides({"cuMemcpyAsync", stream, Returns::kWhenQueued},
                   Side(CopySide::kAnywhere, stream.device(), destination, size),
                   Side(CopySide::kAnywhere, stream.device(), source, size));
}

absl::Status SimulatedCopies::CopyPeer(Stream stream, const PeerAddress& destination,
                                       const PeerAddress& source, Bytes size) {
  return CopySides({"cuMemcpyPeerAsync", stream, Returns::kWhenQueued},
                   Side(CopySide::kAnywhere, destination.device, destination.address, size),
                   Side(CopySide::kAnywhere, source.device, source.address, size));
}

}  // namespace twinmmu
