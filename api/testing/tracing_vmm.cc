#include "api/testing/tracing_vmm.h"

#include <initializer_list>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/driver_error.h"

namespace twinmmu {
namespace {

std::string Text(int value) { return absl::StrCat(value); }
std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(uint64_t value) { return absl::StrCat("0x", absl::Hex(value)); }
std::string Text(const std::string& value) { return absl::StrCat("\"", value, "\""); }
// Without its alignment, which no call but AddressReserve is told.
std::string Text(const AddressRange& range) {
  return absl::StrCat("[", ToString(range.base), ", +", ToString(range.size), "]");
}
std::string Text(const MemoryInfo& info) {
  return absl::StrCat(ToString(info.free), " free of ", ToString(info.total));
}
std::string Text(absl::Span<const AccessGrant> grants) {
  const auto append = [](std::string* out, const AccessGrant& grant) {
    absl::StrAppend(out, ToString(grant));
  };
  return absl::StrCat("{", absl::StrJoin(grants, ", ", append), "}");
}
template <typename T>
auto Text(const T& value) -> decltype(ToString(value)) {
  return ToString(value);
}

template <typename... T>
std::string Arguments(const T&... values) {
  return absl::StrJoin(std::initializer_list<std::string>{Text(values)...}, ", ");
}

std::string Offset(Bytes offset) { return absl::StrCat(", offset ", ToString(offset)); }
// Flags are to be 0; nothing then.
std::string Flags(uint64_t flags) { return flags == 0 ? "" : ", flags " + Text(flags); }

std::string Options(const ReserveOptions& options) {
  std::string text;
  if (options.alignment != Bytes(0)) {
    absl::StrAppend(&text, ", alignment ", ToString(options.alignment));
  }
  if (options.hint != DeviceAddress()) absl::StrAppend(&text, ", hint ", ToString(options.hint));
  return text + Flags(options.flags);
}

const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

std::string ValueOf(const absl::Status&) { return ""; }
template <typename T>
std::string ValueOf(const absl::StatusOr<T>& result) {
  return result.ok() ? Text(*result) : "";
}

}  // namespace

template <typename F>
auto TracingVmm::Trace(DriverCall kind, std::string arguments, const F& call) -> decltype(call()) {
  auto result = call();
  TracedCall traced{kind, std::move(arguments), StatusOf(result), ValueOf(result)};
  const std::lock_guard lock(mutex_);
  ++count_;
  ++counts_[kind];
  calls_.push_back(std::move(traced));
  if (calls_.size() > calls_kept_) calls_.pop_front();
  return result;
}

uint64_t TracingVmm::count(DriverCall call) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(call);
  return found != counts_.end() ? found->second : 0;
}

uint64_t TracingVmm::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

std::vector<TracedCall> TracingVmm::calls() const {
  const std::lock_guard lock(mutex_);
  return {calls_.begin(), calls_.end()};
}

std::vector<DriverCall> TracingVmm::kinds() const {
  const std::lock_guard lock(mutex_);
  std::vector<DriverCall> kinds;
  for (const TracedCall& traced : calls_) kinds.push_back(traced.call);
  return kinds;
}

void TracingVmm::Clear() {
  const std::lock_guard lock(mutex_);
  calls_.clear();
  counts_.clear();
  count_ = 0;
}

std::ostream& operator<<(std::ostream& out, const TracedCall& call) {
  out << call.call << "(" << call.arguments << ") = ";
  if (call.status.ok()) return out << (call.value.empty() ? "OK" : call.value);
  const std::optional<DriverError> error = GetDriverError(call.status);
  return error.has_value() ? out << error->code : out << call.status;
}

std::ostream& operator<<(std::ostream& out, const TracingVmm& trace) {
  const std::lock_guard lock(trace.mutex_);
  const uint64_t forgotten = trace.count_ - trace.calls_.size();
  if (forgotten != 0) out << "(" << forgotten << " calls before these are forgotten)\n";
  for (const TracedCall& call : trace.calls_) out << call << "\n";
  return out;
}

absl::StatusOr<int> TracingVmm::GetDriverVersion() {
  return Trace(DriverCall::kGetDriverVersion, "",
               [&] { return ForwardingVmm::GetDriverVersion(); });
}

absl::StatusOr<int> TracingVmm::GetDeviceCount() {
  return Trace(DriverCall::kGetDeviceCount, "", [&] { return ForwardingVmm::GetDeviceCount(); });
}

absl::StatusOr<std::string> TracingVmm::GetDeviceName(DeviceOrdinal device) {
  return Trace(DriverCall::kGetDeviceName, Arguments(device),
               [&] { return ForwardingVmm::GetDeviceName(device); });
}

absl::StatusOr<int> TracingVmm::GetDeviceAttribute(DeviceAttribute attribute,
                                                   DeviceOrdinal device) {
  return Trace(DriverCall::kGetDeviceAttribute, Arguments(attribute, device),
               [&] { return ForwardingVmm::GetDeviceAttribute(attribute, device); });
}

absl::StatusOr<bool> TracingVmm::CanAccessPeer(DeviceOrdinal device, DeviceOrdinal peer) {
  return Trace(DriverCall::kCanAccessPeer, Arguments(device, peer),
               [&] { return ForwardingVmm::CanAccessPeer(device, peer); });
}

absl::StatusOr<MemoryInfo> TracingVmm::GetMemoryInfo(DeviceOrdinal device) {
  return Trace(DriverCall::kGetMemoryInfo, Arguments(device),
               [&] { return ForwardingVmm::GetMemoryInfo(device); });
}

absl::StatusOr<AddressRange> TracingVmm::AddressReserve(Bytes size, const ReserveOptions& options) {
  return Trace(DriverCall::kAddressReserve, Text(size) + Options(options),
               [&] { return ForwardingVmm::AddressReserve(size, options); });
}

absl::Status TracingVmm::AddressFree(const AddressRange& range) {
  return Trace(DriverCall::kAddressFree, Arguments(range),
               [&] { return ForwardingVmm::AddressFree(range); });
}

absl::StatusOr<Bytes> TracingVmm::GetAllocationGranularity(const AllocationProperties& properties,
                                                           Granularity option) {
  return Trace(DriverCall::kGetAllocationGranularity, Arguments(properties, option),
               [&] { return ForwardingVmm::GetAllocationGranularity(properties, option); });
}

absl::StatusOr<AllocationHandle> TracingVmm::Create(Bytes size,
                                                    const AllocationProperties& properties,
                                                    uint64_t flags) {
  return Trace(DriverCall::kCreate, Arguments(size, properties) + Flags(flags),
               [&] { return ForwardingVmm::Create(size, properties, flags); });
}

absl::Status TracingVmm::Release(AllocationHandle handle) {
  return Trace(DriverCall::kRelease, Arguments(handle),
               [&] { return ForwardingVmm::Release(handle); });
}

absl::StatusOr<AllocationHandle> TracingVmm::RetainAllocationHandle(DeviceAddress address) {
  return Trace(DriverCall::kRetainAllocationHandle, Arguments(address),
               [&] { return ForwardingVmm::RetainAllocationHandle(address); });
}

absl::StatusOr<AllocationProperties> TracingVmm::GetAllocationProperties(AllocationHandle handle) {
  return Trace(DriverCall::kGetAllocationProperties, Arguments(handle),
               [&] { return ForwardingVmm::GetAllocationProperties(handle); });
}

absl::Status TracingVmm::Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                             uint64_t flags) {
  return Trace(DriverCall::kMap, Arguments(range, handle) + Offset(offset) + Flags(flags),
               [&] { return ForwardingVmm::Map(range, handle, offset, flags); });
}

absl::Status TracingVmm::Unmap(const AddressRange& range) {
  return Trace(DriverCall::kUnmap, Arguments(range), [&] { return ForwardingVmm::Unmap(range); });
}

absl::Status TracingVmm::SetAccess(const AddressRange& range,
                                   absl::Span<const AccessGrant> grants) {
  return Trace(DriverCall::kSetAccess, Arguments(range, grants),
               [&] { return ForwardingVmm::SetAccess(range, grants); });
}

absl::StatusOr<Access> TracingVmm::GetAccess(const Location& location, DeviceAddress address) {
  return Trace(DriverCall::kGetAccess, Arguments(location, address),
               [&] { return ForwardingVmm::GetAccess(location, address); });
}

absl::StatusOr<ShareableHandle> TracingVmm::ExportShareableHandle(AllocationHandle handle,
                                                                  HandleType type, uint64_t flags) {
  return Trace(DriverCall::kExportShareableHandle, Arguments(handle, type) + Flags(flags),
               [&] { return ForwardingVmm::ExportShareableHandle(handle, type, flags); });
}

absl::StatusOr<AllocationHandle> TracingVmm::ImportShareableHandle(
    const ShareableHandle& shareable) {
  return Trace(DriverCall::kImportShareableHandle, Arguments(shareable),
               [&] { return ForwardingVmm::ImportShareableHandle(shareable); });
}

absl::StatusOr<uint64_t> TracingVmm::GetPointerAttribute(DeviceOrdinal device,
                                                         PointerAttribute attribute,
                                                         DeviceAddress address) {
  return Trace(DriverCall::kGetPointerAttribute, Arguments(device, attribute, address),
               [&] { return ForwardingVmm::GetPointerAttribute(device, attribute, address); });
}

absl::StatusOr<AddressRange> TracingVmm::GetAddressRange(DeviceOrdinal device,
                                                         DeviceAddress address) {
  return Trace(DriverCall::kGetAddressRange, Arguments(device, address),
               [&] { return ForwardingVmm::GetAddressRange(device, address); });
}

absl::StatusOr<int> TracingVmm::GetHandleForAddressRange(DeviceOrdinal device,
                                                         const AddressRange& range,
                                                         RangeHandleType type, uint64_t flags) {
  return Trace(DriverCall::kGetHandleForAddressRange,
               Arguments(device, range, static_cast<int>(type)) + Flags(flags),
               [&] { return ForwardingVmm::GetHandleForAddressRange(device, range, type, flags); });
}

}  // namespace twinmmu
