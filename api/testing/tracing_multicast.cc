#include "api/testing/tracing_multicast.h"

#include "absl/strings/str_cat.h"
#include "api/testing/trace_text.h"

namespace twinmmu {
namespace {

using trace_text::Arguments;
using trace_text::Flags;
using trace_text::Offset;

std::string Described(const MulticastProperties& properties) {
  const bool shared = properties.handle_types != HandleType::kNone;
  return absl::StrCat(ToString(properties.size), " of ", properties.device_count,
                      properties.device_count == 1 ? " device" : " devices",
                      shared ? ", " + ToString(properties.handle_types) : "",
                      Flags(properties.flags));
}

}  // namespace

absl::StatusOr<Bytes> TracingMulticast::GetGranularity(const MulticastProperties& properties,
                                                       Granularity option) {
  return Trace(DriverCall::kMulticastGetGranularity,
               absl::StrCat(Described(properties), ", ", ToString(option)),
               [&] { return ForwardingMulticast::GetGranularity(properties, option); });
}

absl::StatusOr<AllocationHandle> TracingMulticast::Create(const MulticastProperties& properties) {
  return Trace(DriverCall::kMulticastCreate, Described(properties),
               [&] { return ForwardingMulticast::Create(properties); });
}

absl::Status TracingMulticast::AddDevice(AllocationHandle object, DeviceOrdinal device) {
  return Trace(DriverCall::kMulticastAddDevice, Arguments(object, device),
               [&] { return ForwardingMulticast::AddDevice(object, device); });
}

absl::Status TracingMulticast::BindMemory(AllocationHandle object, Bytes offset,
                                          AllocationHandle memory, Bytes memory_offset, Bytes size,
                                          uint64_t flags) {
  return Trace(DriverCall::kMulticastBindMemory,
               absl::StrCat(Arguments(object), Offset(offset), ", ", Arguments(memory),
                            Offset(memory_offset), ", ", ToString(size), Flags(flags)),
               [&] {
                 return ForwardingMulticast::BindMemory(object, offset, memory, memory_offset, size,
                                                        flags);
               });
}

absl::Status TracingMulticast::BindAddress(AllocationHandle object, Bytes offset,
                                           const AddressRange& range, uint64_t flags) {
  return Trace(
      DriverCall::kMulticastBindAddress,
      absl::StrCat(Arguments(object), Offset(offset), ", ", Arguments(range), Flags(flags)),
      [&] { return ForwardingMulticast::BindAddress(object, offset, range, flags); });
}

absl::Status TracingMulticast::Unbind(AllocationHandle object, DeviceOrdinal device, Bytes offset,
                                      Bytes size) {
  return Trace(DriverCall::kMulticastUnbind,
               absl::StrCat(Arguments(object, device), Offset(offset), ", ", ToString(size)),
               [&] { return ForwardingMulticast::Unbind(object, device, offset, size); });
}

}  // namespace twinmmu
