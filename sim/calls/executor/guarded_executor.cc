#include "sim/calls/executor/guarded_executor.h"

namespace twinmmu {

absl::Status GuardedExecutor::CopyHostToDevice(DeviceOrdinal device, DeviceAddress destination,
                                               const void* source, Bytes size) {
  return guard_.Guard("cuMemcpyHtoD", [&] {
    return executor_.CopyHostToDevice(device, destination, source, size);
  });
}

absl::Status GuardedExecutor::CopyDeviceToHost(DeviceOrdinal device, void* destination,
                                               DeviceAddress source, Bytes size) {
  return guard_.Guard("cuMemcpyDtoH", [&] {
    return executor_.CopyDeviceToHost(device, destination, source, size);
  });
}

absl::Status GuardedExecutor::CopyDeviceToDevice(DeviceOrdinal device, DeviceAddress destination,
                                                 DeviceAddress source, Bytes size) {
  return guard_.Guard("cuMemcpyDtoD", [&] {
    return executor_.CopyDeviceToDevice(device, destination, source, size);
  });
}

absl::Status GuardedExecutor::Fill(DeviceOrdinal device, DeviceAddress destination,
                                   const FillPattern& pattern, uint64_t count) {
  return guard_.Guard("cuMemset",
                      [&] { return executor_.Fill(device, destination, pattern, count); });
}

absl::Status GuardedExecutor::CopyHostToDevice(Stream stream, DeviceAddress destination,
                                               const void* source, Bytes size) {
  return guard_.Guard("cuMemcpyHtoDAsync", [&] {
    return executor_.CopyHostToDevice(stream, destination, source, size);
  });
}

absl::Status GuardedExecutor::CopyDeviceToHost(Stream stream, void* destination,
                                               DeviceAddress source, Bytes size) {
  return guard_.Guard("cuMemcpyDtoHAsync", [&] {
    return executor_.CopyDeviceToHost(stream, destination, source, size);
  });
}

absl::Status GuardedExecutor::CopyDeviceToDevice(Stream stream, DeviceAddress destination,
                                                 DeviceAddress source, Bytes size) {
  return guard_.Guard("cuMemcpyDtoDAsync", [&] {
    return executor_.CopyDeviceToDevice(stream, destination, source, size);
  });
}

absl::Status GuardedExecutor::Fill(Stream stream, DeviceAddress destination,
                                   const FillPattern& pattern, uint64_t count) {
  return guard_.Guard("cuMemsetAsync",
                      [&] { return executor_.Fill(stream, destination, pattern, count); });
}

absl::StatusOr<Stream> GuardedExecutor::CreateStream(DeviceOrdinal device) {
  return guard_.Guard("cuStreamCreate", [&] { return executor_.CreateStream(device); });
}

absl::Status GuardedExecutor::DestroyStream(Stream stream) {
  return guard_.Guard("cuStreamDestroy", [&] { return executor_.DestroyStream(stream); });
}

absl::StatusOr<bool> GuardedExecutor::QueryStream(Stream stream) {
  return guard_.Guard("cuStreamQuery", [&] { return executor_.QueryStream(stream); });
}

absl::Status GuardedExecutor::SynchronizeStream(Stream stream) {
  return guard_.Guard("cuStreamSynchronize", [&] { return executor_.SynchronizeStream(stream); });
}

absl::StatusOr<Event> GuardedExecutor::CreateEvent(DeviceOrdinal device) {
  return guard_.Guard("cuEventCreate", [&] { return executor_.CreateEvent(device); });
}

absl::Status GuardedExecutor::DestroyEvent(Event event) {
  return guard_.Guard("cuEventDestroy", [&] { return executor_.DestroyEvent(event); });
}

absl::Status GuardedExecutor::RecordEvent(Event event, Stream stream) {
  return guard_.Guard("cuEventRecord", [&] { return executor_.RecordEvent(event, stream); });
}

absl::Status GuardedExecutor::WaitEvent(Stream stream, Event event) {
  return guard_.Guard("cuStreamWaitEvent", [&] { return executor_.WaitEvent(stream, event); });
}

absl::StatusOr<bool> GuardedExecutor::QueryEvent(Event event) {
  return guard_.Guard("cuEventQuery", [&] { return executor_.QueryEvent(event); });
}

absl::Status GuardedExecutor::SynchronizeEvent(Event event) {
  return guard_.Guard("cuEventSynchronize", [&] { return executor_.SynchronizeEvent(event); });
}

absl::Status GuardedExecutor::SynchronizeDevice(DeviceOrdinal device) {
  return guard_.Guard("cuCtxSynchronize", [&] { return executor_.SynchronizeDevice(device); });
}

absl::StatusOr<Module> GuardedExecutor::LoadModule(DeviceOrdinal device, absl::string_view ptx) {
  return guard_.Guard("cuModuleLoadData", [&] { return executor_.LoadModule(device, ptx); });
}

absl::Status GuardedExecutor::UnloadModule(Module module) {
  return guard_.Guard("cuModuleUnload", [&] { return executor_.UnloadModule(module); });
}

absl::StatusOr<Kernel> GuardedExecutor::GetKernel(Module module, absl::string_view name) {
  return guard_.Guard("cuModuleGetFunction", [&] { return executor_.GetKernel(module, name); });
}

absl::Status GuardedExecutor::Launch(Stream stream, Kernel kernel, const LaunchConfig& config,
                                     absl::Span<const void* const> arguments) {
  return guard_.Guard("cuLaunchKernel",
                      [&] { return executor_.Launch(stream, kernel, config, arguments); });
}

}  // namespace twinmmu
