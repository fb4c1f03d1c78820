#include "api/testing/fault_injecting_executor.h"

namespace twinmmu {

template <typename F>
auto FaultInjectingExecutor::Call(DriverCall kind, const F& call) -> decltype(call()) {
  absl::Status injected = faults_.Ask(kind);
  if (!injected.ok()) return injected;
  return call();
}

absl::Status FaultInjectingExecutor::CopyHostToDevice(DeviceOrdinal device,
                                                      DeviceAddress destination, const void* source,
                                                      Bytes size) {
  return Call(DriverCall::kCopyHostToDevice, [&] {
    return ForwardingExecutor::CopyHostToDevice(device, destination, source, size);
  });
}

absl::Status FaultInjectingExecutor::CopyDeviceToHost(DeviceOrdinal device, void* destination,
                                                      DeviceAddress source, Bytes size) {
  return Call(DriverCall::kCopyDeviceToHost, [&] {
    return ForwardingExecutor::CopyDeviceToHost(device, destination, source, size);
  });
}

absl::Status FaultInjectingExecutor::CopyDeviceToDevice(DeviceOrdinal device,
                                                        DeviceAddress destination,
                                                        DeviceAddress source, Bytes size) {
  return Call(DriverCall::kCopyDeviceToDevice, [&] {
    return ForwardingExecutor::CopyDeviceToDevice(device, destination, source, size);
  });
}

absl::Status FaultInjectingExecutor::Fill(DeviceOrdinal device, DeviceAddress destination,
                                          const FillPattern& pattern, uint64_t count) {
  return Call(DriverCall::kFill,
              [&] { return ForwardingExecutor::Fill(device, destination, pattern, count); });
}

absl::Status FaultInjectingExecutor::CopyHostToDevice(Stream stream, DeviceAddress destination,
                                                      const void* source, Bytes size) {
  return Call(DriverCall::kCopyHostToDeviceAsync, [&] {
    return ForwardingExecutor::CopyHostToDevice(stream, destination, source, size);
  });
}

absl::Status FaultInjectingExecutor::CopyDeviceToHost(Stream stream, void* destination,
                                                      DeviceAddress source, Bytes size) {
  return Call(DriverCall::kCopyDeviceToHostAsync, [&] {
    return ForwardingExecutor::CopyDeviceToHost(stream, destination, source, size);
  });
}

absl::Status FaultInjectingExecutor::CopyDeviceToDevice(Stream stream, DeviceAddress destination,
                                                        DeviceAddress source, Bytes size) {
  return Call(DriverCall::kCopyDeviceToDeviceAsync, [&] {
    return ForwardingExecutor::CopyDeviceToDevice(stream, destination, source, size);
  });
}

absl::Status FaultInjectingExecutor::Fill(Stream stream, DeviceAddress destination,
                                          const FillPattern& pattern, uint64_t count) {
  return Call(DriverCall::kFillAsync,
              [&] { return ForwardingExecutor::Fill(stream, destination, pattern, count); });
}

absl::StatusOr<Stream> FaultInjectingExecutor::CreateStream(DeviceOrdinal device) {
  return Call(DriverCall::kCreateStream, [&] { return ForwardingExecutor::CreateStream(device); });
}

absl::Status FaultInjectingExecutor::DestroyStream(Stream stream) {
  return Call(DriverCall::kDestroyStream,
              [&] { return ForwardingExecutor::DestroyStream(stream); });
}

absl::StatusOr<bool> FaultInjectingExecutor::QueryStream(Stream stream) {
  return Call(DriverCall::kQueryStream, [&] { return ForwardingExecutor::QueryStream(stream); });
}

absl::Status FaultInjectingExecutor::SynchronizeStream(Stream stream) {
  return Call(DriverCall::kSynchronizeStream,
              [&] { return ForwardingExecutor::SynchronizeStream(stream); });
}

absl::StatusOr<Event> FaultInjectingExecutor::CreateEvent(DeviceOrdinal device) {
  return Call(DriverCall::kCreateEvent, [&] { return ForwardingExecutor::CreateEvent(device); });
}

absl::Status FaultInjectingExecutor::DestroyEvent(Event event) {
  return Call(DriverCall::kDestroyEvent, [&] { return ForwardingExecutor::DestroyEvent(event); });
}

absl::Status FaultInjectingExecutor::RecordEvent(Event event, Stream stream) {
  return Call(DriverCall::kRecordEvent,
              [&] { return ForwardingExecutor::RecordEvent(event, stream); });
}

absl::Status FaultInjectingExecutor::WaitEvent(Stream stream, Event event) {
  return Call(DriverCall::kWaitEvent, [&] { return ForwardingExecutor::WaitEvent(stream, event); });
}

absl::StatusOr<bool> FaultInjectingExecutor::QueryEvent(Event event) {
  return Call(DriverCall::kQueryEvent, [&] { return ForwardingExecutor::QueryEvent(event); });
}

absl::Status FaultInjectingExecutor::SynchronizeEvent(Event event) {
  return Call(DriverCall::kSynchronizeEvent,
              [&] { return ForwardingExecutor::SynchronizeEvent(event); });
}

absl::Status FaultInjectingExecutor::SynchronizeDevice(DeviceOrdinal device) {
  return Call(DriverCall::kSynchronizeDevice,
              [&] { return ForwardingExecutor::SynchronizeDevice(device); });
}

absl::StatusOr<Module> FaultInjectingExecutor::LoadModule(DeviceOrdinal device,
                                                          absl::string_view ptx) {
  return Call(DriverCall::kLoadModule, [&] { return ForwardingExecutor::LoadModule(device, ptx); });
}

absl::Status FaultInjectingExecutor::UnloadModule(Module module) {
  return Call(DriverCall::kUnloadModule, [&] { return ForwardingExecutor::UnloadModule(module); });
}

absl::StatusOr<Kernel> FaultInjectingExecutor::GetKernel(Module module, absl::string_view name) {
  return Call(DriverCall::kGetKernel, [&] { return ForwardingExecutor::GetKernel(module, name); });
}

absl::Status FaultInjectingExecutor::Launch(Stream stream, Kernel kernel,
                                            const LaunchConfig& config,
                                            absl::Span<const void* const> arguments) {
  return Call(DriverCall::kLaunch,
              [&] { return ForwardingExecutor::Launch(stream, kernel, config, arguments); });
}

}  // namespace twinmmu
