#include "api/sharing/create_shareable.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/allocators/annotate.h"
#include "api/sharing/owned_descriptor.h"

namespace twinmmu {
namespace {

std::optional<DeviceAttribute> AttributeOf(HandleType type) {
  switch (type) {
    case HandleType::kPosixFileDescriptor:
      return DeviceAttribute::kHandleTypePosixFileDescriptorSupported;
    case HandleType::kFabric:
      return DeviceAttribute::kHandleTypeFabricSupported;
    default:
      return std::nullopt;
  }
}

// Whether the device says that it has handles of this type. What has no device, or no attribute, is
// left to Create.
absl::Status CheckAdvertised(Vmm& vmm, const Location& location, HandleType type) {
  const std::optional<DeviceAttribute> attribute = AttributeOf(type);
  if (!attribute.has_value() || location.type != LocationType::kDevice) return absl::OkStatus();
  const DeviceOrdinal device(location.id);
  const absl::StatusOr<int> has = vmm.GetDeviceAttribute(*attribute, device);
  if (!has.ok()) return has.status();
  if (*has != 0) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat(ToString(device), " has no handles of this type, by its attributes"));
}

absl::StatusOr<AllocationHandle> CreateAs(Vmm& vmm, Bytes size, AllocationProperties properties,
                                          HandleType type) {
  const absl::Status advertised = CheckAdvertised(vmm, properties.location, type);
  if (!advertised.ok()) return advertised;
  properties.requested_handle_types = type;
  const absl::StatusOr<AllocationHandle> handle = vmm.Create(size, properties);
  if (!handle.ok() || type == HandleType::kNone) return handle;
  const absl::StatusOr<ShareableHandle> exported = vmm.ExportShareableHandle(*handle, type);
  if (exported.ok()) {
    OwnedDescriptor(exported->file_descriptor).Close();
    return handle;
  }
  const absl::Status released = vmm.Release(*handle);
  return released.ok() ? exported.status() : released;
}

std::string Name(HandleType type) {
  return type == HandleType::kNone ? "not shareable" : ToString(type);
}

}  // namespace

absl::StatusOr<ShareableAllocation> CreateShareable(Vmm& vmm, Bytes size,
                                                    const AllocationProperties& properties,
                                                    absl::Span<const HandleType> preferred) {
  if (preferred.empty())
    return absl::InvalidArgumentError("preferred is empty: name a handle type");
  ShareableAllocation allocation;
  for (const HandleType type : preferred) {
    const absl::StatusOr<AllocationHandle> handle = CreateAs(vmm, size, properties, type);
    if (handle.ok()) {
      allocation.handle = *handle;
      allocation.type = type;
      return allocation;
    }
    if (absl::IsResourceExhausted(handle.status())) return handle.status();
    allocation.passed_over.push_back({type, handle.status()});
  }
  const PassedOver last = allocation.passed_over.back();
  allocation.passed_over.pop_back();
  std::string tried = "no memory could be created: ";
  if (!allocation.passed_over.empty()) {
    absl::StrAppend(&tried, ToString(allocation.passed_over), "; ");
  }
  return Annotate(last.reason, tried + Name(last.type));
}

std::string ToString(absl::Span<const PassedOver> passed_over) {
  return absl::StrJoin(passed_over, "; ", [](std::string* text, const PassedOver& passed) {
    absl::StrAppend(text, Name(passed.type), ": ", passed.reason.message());
  });
}

}  // namespace twinmmu
