#include "api/testing/fault_injecting_multicast.h"

namespace twinmmu {

template <typename F>
auto FaultInjectingMulticast::Call(DriverCall kind, const F& call) -> decltype(call()) {
  absl::Status injected = faults_.Ask(kind);
  if (!injected.ok()) return injected;
  return call();
}

absl::StatusOr<Bytes> FaultInjectingMulticast::GetGranularity(const MulticastProperties& properties,
                                                              Granularity option) {
  return Call(DriverCall::kMulticastGetGranularity,
              [&] { return ForwardingMulticast::GetGranularity(properties, option); });
}

absl::StatusOr<AllocationHandle> FaultInjectingMulticast::Create(
    const MulticastProperties& properties) {
  return Call(DriverCall::kMulticastCreate,
              [&] { return ForwardingMulticast::Create(properties); });
}

absl::Status FaultInjectingMulticast::AddDevice(AllocationHandle object, DeviceOrdinal device) {
  return Call(DriverCall::kMulticastAddDevice,
              [&] { return ForwardingMulticast::AddDevice(object, device); });
}

absl::Status FaultInjectingMulticast::BindMemory(AllocationHandle object, Bytes offset,
                                                 AllocationHandle memory, Bytes memory_offset,
                                                 Bytes size, uint64_t flags) {
  return Call(DriverCall::kMulticastBindMemory, [&] {
    return ForwardingMulticast::BindMemory(object, offset, memory, memory_offset, size, flags);
  });
}

absl::Status FaultInjectingMulticast::BindAddress(AllocationHandle object, Bytes offset,
                                                  const AddressRange& range, uint64_t flags) {
  return Call(DriverCall::kMulticastBindAddress,
              [&] { return ForwardingMulticast::BindAddress(object, offset, range, flags); });
}

absl::Status FaultInjectingMulticast::Unbind(AllocationHandle object, DeviceOrdinal device,
                                             Bytes offset, Bytes size) {
  return Call(DriverCall::kMulticastUnbind,
              [&] { return ForwardingMulticast::Unbind(object, device, offset, size); });
}

}  // namespace twinmmu
