// Mutants of what is said of devices and their memory.

#include <algorithm>

#include "conformance/mutants/mutant_of.h"

namespace twinmmu::conformance {
namespace {

MUTANT(DEV_1, GetDriverVersion, "The version is the major number alone.") {
  const absl::StatusOr<int> version = Real::GetDriverVersion();
  if (!version.ok()) return version;
  return *version / 1000;
}
MUTANT(DEV_1, GetDeviceName, "No device has a name.") { return std::string(); }
MUTANT(DEV_2, GetDeviceName, "A device that does not exist has the name of the first.") {
  const absl::StatusOr<std::string> name = Real::GetDeviceName(device);
  return name.ok() ? name : Real::GetDeviceName(DeviceOrdinal(0));
}
MUTANT(DEV_2, GetDeviceAttribute, "A device that does not exist has no capability: 0.") {
  const absl::StatusOr<int> value = Real::GetDeviceAttribute(attribute, device);
  if (GetDriverCode(value.status()) == DriverCode::kInvalidDevice) return 0;
  return value;
}
MUTANT(DEV_2, GetMemoryInfo, "One device too many has memory.") {
  const bool beyond = device.value() == Real::GetDeviceCount().value_or(0);
  return Real::GetMemoryInfo(beyond ? DeviceOrdinal(0) : device);
}
MUTANT_IF_REFUSED(DEV_2, CanAccessPeer, "A device that does not exist is just no peer.", false)
MUTANT_IF_REFUSED(DEV_2, GetMemoryInfo, "A device that does not exist is INVALID_VALUE.", Refuse())
MUTANT_IF_REFUSED(DEV_3, GetDeviceAttribute, "An attribute that does not exist reads 0.", 0)
MUTANT_IF_REFUSED(DEV_3, GetDeviceAttribute, "An attribute that does not exist is NOT_FOUND.",
                  Refuse(DriverCode::kNotFound))
MUTANT_IF(DEV_4, GetDeviceAttribute, "Only the first device has virtual memory management.",
          attribute == DeviceAttribute::kVirtualMemoryManagementSupported && device.value() > 0, 0)
MUTANT_IF(DEV_5, CanAccessPeer, "A device is its own peer.", device == peer, true)
MUTANT_IF(DEV_5, CanAccessPeer, "Asking whether a device is its own peer is an error.",
          device == peer, Refuse(DriverCode::kInvalidDevice))
MUTANT_EDIT(INFO_1, GetMemoryInfo, "Free and total are exchanged.",
            std::swap(answer->free, answer->total))
MUTANT_IF(INFO_1, GetMemoryInfo, "Only the first device has memory.", device.value() == 1,
          MemoryInfo())
MUTANT_EDIT(INFO_2, GetMemoryInfo, "As much is free as there is, whatever was created.",
            answer->free = answer->total)
MUTANT_EDIT(INFO_2, GetMemoryInfo, "Free memory is reported in whole GiB.",
            answer->free = GiB(1) * (answer->free / GiB(1)))
MUTANT(INFO_2, Release, "Release gives nothing back.") { return Ok(); }
MUTANT_BEFORE(INFO_2, Create, "An allocation takes one granule more than its size.", true,
              Real::Create(Granule(), properties, flags).IgnoreError())

// Whose calls cost memory, or give some back: as GetMemoryInfo tells it.
class Bookkeeper : public Real {
 public:
  using Real::Real;
  CALL(GetMemoryInfo) override {
    absl::StatusOr<MemoryInfo> info = Real::GetMemoryInfo(device);
    if (info.ok()) info->free = info->free + gained_ - lost_;
    return info;
  }

 protected:
  Bytes gained_;
  Bytes lost_;
};

MUTANT_OF(Bookkeeper, INFO_3, AddressReserve, "Reserving takes memory for page tables.") {
  lost_ = lost_ + KiB(64);
  return Bookkeeper::AddressReserve(size, options);
}

MUTANT_OF(Bookkeeper, INFO_3, Map, "A mapping takes its size once more.") {
  lost_ = lost_ + range.size;
  return Bookkeeper::Map(range, handle, offset, flags);
}

MUTANT_OF(Bookkeeper, INFO_3, SetAccess, "A grant takes a granule.") {
  lost_ = lost_ + Granule();
  return Bookkeeper::SetAccess(range, grants);
}

class CountsAtUnmap : public Bookkeeper {
 public:
  using Bookkeeper::Bookkeeper;
  CALL(Unmap) override {
    gained_ = gained_ + range.size;
    return Bookkeeper::Unmap(range);
  }
  CALL(Release) override {
    gained_ = Bytes(0);
    return Bookkeeper::Release(handle);
  }
};
MUTANT_CLASS(INFO_4, CountsAtUnmap, "Memory is counted as free at the unmap, before the release.")

class CountsAtRelease : public Bookkeeper {
 public:
  using Bookkeeper::Bookkeeper;
  CALL(Release) override {
    if (!MappingsOf(handle).empty()) gained_ = gained_ + SizeOf(handle);
    return Bookkeeper::Release(handle);
  }
  CALL(Unmap) override {
    gained_ = Bytes(0);
    return Bookkeeper::Unmap(range);
  }
};
MUTANT_CLASS(INFO_4, CountsAtRelease, "Memory is counted as free at the release, while mapped.")

MUTANT_BEFORE(INFO_4, Release, "Memory that is released while mapped never comes back.",
              !MappingsOf(handle).empty(),
              Real::RetainAllocationHandle(MappingsOf(handle)[0].base).IgnoreError())
MUTANT_EDIT(INFO_3, GetMemoryInfo, "As much is free as there is, whatever was created.",
            answer->free = answer->total)

MUTANT(GRAN_1, GetAllocationGranularity, "The minimum is three host pages short of 2 MiB.") {
  const absl::StatusOr<Bytes> size = Real::GetAllocationGranularity(properties, option);
  if (!size.ok()) return size;
  return *size - KiB(12);
}
MUTANT(GRAN_2, GetAllocationGranularity, "The recommended granularity is half the minimum.") {
  const absl::StatusOr<Bytes> size = Real::GetAllocationGranularity(properties, option);
  if (!size.ok() || option != Granularity::kRecommended) return size;
  return Granule() / 2;
}
MUTANT(GRAN_2, GetAllocationGranularity, "The recommended granularity is 1.5 times the minimum.") {
  const absl::StatusOr<Bytes> size = Real::GetAllocationGranularity(properties, option);
  if (!size.ok() || option != Granularity::kRecommended) return size;
  return 3 * Granule() / 2;
}
MUTANT_IF_REFUSED(GRAN_3, GetAllocationGranularity,
                  "An option that does not exist is taken for the minimum.", Granule())
MUTANT_IF_REFUSED(GRAN_3, GetAllocationGranularity,
                  "An option that does not exist is NOT_SUPPORTED.",
                  Refuse(DriverCode::kNotSupported))
MUTANT_IF(GRAN_4, GetAllocationGranularity, "Only the first device has a granularity.",
          properties.location == Location::Device(DeviceOrdinal(1)),
          Refuse(DriverCode::kInvalidDevice))
MUTANT_IF(GRAN_4, GetAllocationGranularity, "The host's granularity is 0.",
          properties.location.type == LocationType::kHost, Bytes(0))
MUTANT_IF(GRAN_4, GetAllocationGranularity, "The second device's is too small to create memory by.",
          properties.location == Location::Device(DeviceOrdinal(1)), KiB(4))

MUTANT_IF(DEV_6, GetDeviceAttribute, "What multicast can do is not reported.",
          attribute == DeviceAttribute::kMulticastSupported, Refuse())

}  // namespace
}  // namespace twinmmu::conformance
