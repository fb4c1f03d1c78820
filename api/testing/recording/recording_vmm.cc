#include "api/testing/recording/recording_vmm.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "api/testing/forwarding.h"

namespace twinmmu {
namespace {

constexpr auto kNoResult = [](LineWriter&, const auto&) {};
constexpr auto kNoArguments = [](LineWriter&) {};
constexpr auto kValue = [](LineWriter& line, const auto& value) { line.Put("value", *value); };
constexpr auto kBytesValue = [](LineWriter& line, const auto& value) {
  line.Put("value", value->value());
};

// Numbers of a driver's own: only which of them are alike can be told again.
bool IsOpaque(PointerAttribute attribute) {
  switch (attribute) {
    case PointerAttribute::kContext:
    case PointerAttribute::kBufferId:
    case PointerAttribute::kMempoolHandle:
    case PointerAttribute::kMemoryBlockId:
      return true;
    default:
      return false;
  }
}

bool IsAddress(PointerAttribute attribute) {
  switch (attribute) {
    case PointerAttribute::kDevicePointer:
    case PointerAttribute::kHostPointer:
    case PointerAttribute::kRangeStartAddress:
    case PointerAttribute::kMappingBaseAddress:
      return true;
    default:
      return false;
  }
}

void PutAttribute(LineWriter& line, PointerAttribute attribute, uint64_t value) {
  Names& names = line.names();
  if (IsAddress(attribute)) {
    line.Put("value", DeviceAddress(value));
  } else if (IsOpaque(attribute) && value != 0) {
    // Two attributes may use one number for different things.
    const uint64_t own = value ^ static_cast<uint64_t>(attribute) << 56;
    const std::string known = names.Of(Names::kOpaque, own);
    line.Put("value", known[0] == Names::kOpaque ? known : names.Add(Names::kOpaque, own));
  } else {
    line.Put("value", value);
  }
}

class RecordingVmm : public ForwardingVmm {
 public:
  RecordingVmm(Vmm* target, RecordingLog* log) : ForwardingVmm(target), log_(*log) {}

  absl::StatusOr<int> GetDriverVersion() override {
    return log_.Record(
        "GetDriverVersion", kNoArguments, [&] { return ForwardingVmm::GetDriverVersion(); },
        kValue);
  }
  absl::StatusOr<int> GetDeviceCount() override {
    return log_.Record(
        "GetDeviceCount", kNoArguments, [&] { return ForwardingVmm::GetDeviceCount(); }, kValue);
  }
  absl::StatusOr<std::string> GetDeviceName(DeviceOrdinal device) override {
    return log_.Record(
        "GetDeviceName", [&](LineWriter& line) { line.Put(device); },
        [&] { return ForwardingVmm::GetDeviceName(device); }, kValue);
  }
  absl::StatusOr<int> GetDeviceAttribute(DeviceAttribute attribute, DeviceOrdinal device) override {
    return log_.Record(
        "GetDeviceAttribute",
        [&](LineWriter& line) { line.Put("attribute", EncodeAttribute(attribute)).Put(device); },
        [&] { return ForwardingVmm::GetDeviceAttribute(attribute, device); }, kValue);
  }
  absl::StatusOr<bool> CanAccessPeer(DeviceOrdinal device, DeviceOrdinal peer) override {
    return log_.Record(
        "CanAccessPeer", [&](LineWriter& line) { line.Put(device).Put("peer", peer.value()); },
        [&] { return ForwardingVmm::CanAccessPeer(device, peer); }, kValue);
  }
  absl::StatusOr<MemoryInfo> GetMemoryInfo(DeviceOrdinal device) override {
    return log_.Record(
        "GetMemoryInfo", [&](LineWriter& line) { line.Put(device); },
        [&] { return ForwardingVmm::GetMemoryInfo(device); },
        [&](LineWriter& line, const auto& info) { log_.PutMemory(line, device, *info); });
  }

  absl::StatusOr<AddressRange> AddressReserve(Bytes size, const ReserveOptions& options) override {
    return log_.Record(
        "AddressReserve",
        [&](LineWriter& line) {
          line.Put("size", size.value()).PutNonzero("alignment", options.alignment.value());
          if (options.hint != DeviceAddress()) line.Put("hint", options.hint);
          line.PutNonzero("flags", options.flags);
        },
        [&] { return ForwardingVmm::AddressReserve(size, options); },
        [](LineWriter& line, const auto& range) {
          line.Put("reservation", line.names().AddReservation(*range));
          line.Put("base", absl::StrCat("0x", absl::Hex(range->base.value())));
        });
  }
  absl::Status AddressFree(const AddressRange& range) override {
    return log_.Record(
        "AddressFree", [&](LineWriter& line) { line.Put(range); },
        [&] { return ForwardingVmm::AddressFree(range); },
        [&](LineWriter& line, const absl::Status&) { line.names().EndReservation(range.base); });
  }

  absl::StatusOr<Bytes> GetAllocationGranularity(const AllocationProperties& properties,
                                                 Granularity option) override {
    return log_.Record(
        "GetAllocationGranularity",
        [&](LineWriter& line) {
          line.Put("properties", EncodeProperties(properties));
          line.Put("option", static_cast<uint32_t>(option));
        },
        [&] { return ForwardingVmm::GetAllocationGranularity(properties, option); }, kBytesValue);
  }
  absl::StatusOr<AllocationHandle> Create(Bytes size, const AllocationProperties& properties,
                                          uint64_t flags) override {
    return log_.Record(
        "Create",
        [&](LineWriter& line) {
          line.Put("size", size.value()).Put("properties", EncodeProperties(properties));
          line.PutNonzero("flags", flags);
        },
        [&] { return ForwardingVmm::Create(size, properties, flags); }, NewHandle);
  }
  absl::Status Release(AllocationHandle handle) override {
    return log_.Record(
        "Release", [&](LineWriter& line) { line.Put(handle); },
        [&] { return ForwardingVmm::Release(handle); }, kNoResult);
  }
  absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress address) override {
    return log_.Record(
        "RetainAllocationHandle", [&](LineWriter& line) { line.Put("address", address); },
        [&] { return ForwardingVmm::RetainAllocationHandle(address); },
        [](LineWriter& line, const auto& handle) { line.Put(*handle); });
  }
  absl::StatusOr<AllocationProperties> GetAllocationProperties(AllocationHandle handle) override {
    return log_.Record(
        "GetAllocationProperties", [&](LineWriter& line) { line.Put(handle); },
        [&] { return ForwardingVmm::GetAllocationProperties(handle); },
        [](LineWriter& line, const auto& properties) {
          line.Put("properties", EncodeProperties(*properties));
        });
  }

  absl::Status Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                   uint64_t flags) override {
    return log_.Record(
        "Map",
        [&](LineWriter& line) {
          line.Put(range).Put(handle).PutNonzero("offset", offset.value());
          line.PutNonzero("flags", flags);
        },
        [&] { return ForwardingVmm::Map(range, handle, offset, flags); }, kNoResult);
  }
  absl::Status Unmap(const AddressRange& range) override {
    return log_.Record(
        "Unmap", [&](LineWriter& line) { line.Put(range); },
        [&] { return ForwardingVmm::Unmap(range); }, kNoResult);
  }
  absl::Status SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants) override {
    return log_.Record(
        "SetAccess", [&](LineWriter& line) { line.Put(range).Put("grants", EncodeGrants(grants)); },
        [&] { return ForwardingVmm::SetAccess(range, grants); }, kNoResult);
  }
  absl::StatusOr<Access> GetAccess(const Location& location, DeviceAddress address) override {
    return log_.Record(
        "GetAccess",
        [&](LineWriter& line) {
          line.Put("location", EncodeLocation(location)).Put("address", address);
        },
        [&] { return ForwardingVmm::GetAccess(location, address); },
        [](LineWriter& line, const auto& access) { line.Put("value", EncodeAccess(*access)); });
  }

  absl::StatusOr<ShareableHandle> ExportShareableHandle(AllocationHandle handle, HandleType type,
                                                        uint64_t flags) override {
    return log_.Record(
        "ExportShareableHandle",
        [&](LineWriter& line) {
          line.Put(handle).Put("type", static_cast<uint32_t>(type)).PutNonzero("flags", flags);
        },
        [&] { return ForwardingVmm::ExportShareableHandle(handle, type, flags); },
        [&](LineWriter& line, const auto& shareable) {
          if (shareable->type == HandleType::kPosixFileDescriptor) {
            log_.AddDescriptor(line, shareable->file_descriptor);
          } else {
            line.Put("fabric", EncodeFabric(shareable->fabric));
          }
        });
  }
  absl::StatusOr<AllocationHandle> ImportShareableHandle(
      const ShareableHandle& shareable) override {
    return log_.Record(
        "ImportShareableHandle",
        [&](LineWriter& line) {
          line.Put("type", static_cast<uint32_t>(shareable.type));
          if (shareable.type == HandleType::kFabric) {
            line.Put("fabric", EncodeFabric(shareable.fabric));
          } else {
            line.Put("descriptor",
                     line.names().Of(Names::kDescriptor,
                                     static_cast<uint64_t>(shareable.file_descriptor)));
          }
        },
        [&] { return ForwardingVmm::ImportShareableHandle(shareable); }, NewHandle);
  }

  absl::StatusOr<uint64_t> GetPointerAttribute(DeviceOrdinal device, PointerAttribute attribute,
                                               DeviceAddress address) override {
    return log_.Record(
        "GetPointerAttribute",
        [&](LineWriter& line) {
          line.Put("attribute", EncodeAttribute(attribute)).Put("address", address).Put(device);
        },
        [&] { return ForwardingVmm::GetPointerAttribute(device, attribute, address); },
        [&](LineWriter& line, const auto& value) { PutAttribute(line, attribute, *value); });
  }
  absl::StatusOr<AddressRange> GetAddressRange(DeviceOrdinal device,
                                               DeviceAddress address) override {
    return log_.Record(
        "GetAddressRange", [&](LineWriter& line) { line.Put("address", address).Put(device); },
        [&] { return ForwardingVmm::GetAddressRange(device, address); },
        [](LineWriter& line, const auto& range) { line.Put(*range); });
  }
  absl::StatusOr<int> GetHandleForAddressRange(DeviceOrdinal device, const AddressRange& range,
                                               RangeHandleType type, uint64_t flags) override {
    return log_.Record(
        "GetHandleForAddressRange",
        [&](LineWriter& line) {
          line.Put(range).Put("type", static_cast<uint32_t>(type)).Put("flags", flags).Put(device);
        },
        [&] { return ForwardingVmm::GetHandleForAddressRange(device, range, type, flags); },
        [&](LineWriter& line, const auto& descriptor) { log_.AddDescriptor(line, *descriptor); });
  }

 private:
  static void NewHandle(LineWriter& line, const absl::StatusOr<AllocationHandle>& handle) {
    line.Put("handle", line.names().Add(Names::kHandle, handle->value()));
  }

  RecordingLog& log_;
};

}  // namespace

std::unique_ptr<Vmm> MakeRecordingVmm(Vmm* target, RecordingLog* log) {
  return std::make_unique<RecordingVmm>(target, log);
}

}  // namespace twinmmu
