// Mutants of cuMemCreate.

#include "conformance/mutants/framework/mutant.h"

namespace twinmmu::conformance {
namespace {

bool Has(const AllocationProperties& properties, HandleType type) {
  return (properties.requested_handle_types & type) != HandleType::kNone;
}
constexpr HandleType kWindows = HandleType::kWin32 | HandleType::kWin32Kmt;
constexpr Location kFirst = Location::Device(DeviceOrdinal(0));

// One that creates memory of other properties where `condition` holds: those that `change` makes
// of `changed`.
#define PROPERTIES_MUTANT(rule_id, sentence, condition, change) \
  MUTANT(rule_id, Create, sentence) {                           \
    AllocationProperties changed = properties;                  \
    if (condition) change;                                      \
    return Real::Create(size, changed, flags);                  \
  }

MUTANT(CREATE_1, Create, "Beyond 8 granules one is missing.") {
  return Real::Create(size > 8 * Granule() ? size - Granule() : size, properties, flags);
}
MUTANT(CREATE_1, Create, "An odd number of granules is rounded up to an even one.") {
  return Real::Create(RoundUp(size, 2 * Granule()), properties, flags);
}
MUTANT_IF(CREATE_1, Create, "No more than 15 granules at once.", size > 15 * Granule(),
          Refuse(DriverCode::kOutOfMemory))

class OneHandle : public Real {
 public:
  using Real::Real;
  CALL(Create) override {
    const auto handle = Real::Create(size, properties, flags);
    if (first_ == AllocationHandle(0) && handle.ok()) first_ = *handle;
    if (!handle.ok()) return handle;
    return first_;
  }

 private:
  AllocationHandle first_;
};
MUTANT_CLASS(CREATE_1, OneHandle, "All allocations have the handle of the first.")

MUTANT_IF(CREATE_1, Map, "A first mapping of one granule is reported and not made.",
          range.size == Granule(), Ok())
MUTANT(CREATE_2, Create, "Size 0 creates a granule.") {
  return Real::Create(size == Bytes(0) ? Granule() : size, properties, flags);
}
MUTANT_IF(CREATE_2, Create, "Size 0 gives handle 0.", size == Bytes(0), AllocationHandle(0))
MUTANT(CREATE_3, Create, "A size is rounded up to granules.") {
  return Real::Create(RoundUp(size, Granule()), properties, flags);
}
MUTANT(CREATE_3, Create, "A size is rounded down to granules, if there is one.") {
  return Real::Create(size > Granule() ? size - size % Granule() : size, properties, flags);
}
MUTANT_IF(CREATE_3, Create, "A size that is not a multiple, and huge, is OUT_OF_MEMORY.",
          size > TiB(1 << 20), Refuse(DriverCode::kOutOfMemory))
MUTANT(CREATE_4, Create, "Flags are ignored.") { return Real::Create(size, properties, 0); }
MUTANT(CREATE_4, Create, "The upper half of the flags is ignored.") {
  return Real::Create(size, properties, flags & 0xffffffffu);
}
PROPERTIES_MUTANT(CREATE_5, "Type 0 is taken for the default.",
                  properties.type == AllocationType::kInvalid,
                  changed.type = AllocationType::kPinned)
MUTANT_IF(CREATE_5, Create, "A type that does not exist is NOT_SUPPORTED.",
          properties.type > AllocationType::kManaged, Refuse(DriverCode::kNotSupported))
PROPERTIES_MUTANT(CREATE_6, "Location type 0 is the first device.",
                  properties.location.type == LocationType::kInvalid, changed.location = kFirst)
MUTANT(CREATE_6, Create, "A location type that does not exist is INVALID_DEVICE.") {
  const bool exists = properties.location.type <= LocationType::kHostNumaCurrent;
  if (!exists) return Refuse(DriverCode::kInvalidDevice);
  return Real::Create(size, properties, flags);
}
PROPERTIES_MUTANT(CREATE_7, "Device -1 is the first.",
                  properties.location == Location::Device(DeviceOrdinal(-1)),
                  changed.location = kFirst)
PROPERTIES_MUTANT(CREATE_7, "There is one device too many.",
                  properties.location ==
                      Location::Device(DeviceOrdinal(Real::GetDeviceCount().value_or(0))),
                  changed.location = kFirst)
MUTANT_IF_REFUSED(CREATE_7, Create, "A device that does not exist is INVALID_VALUE.", Refuse())
MUTANT_DAMAGE(CREATE_8, Create, "What is too much is refused, and a granule of it kept.",
              Real::Create(Granule(), properties, flags).IgnoreError())
MUTANT_IF_REFUSED(CREATE_8, Create, "More than there is gives what there is.",
                  Real::Create(Granule(), properties, flags))
MUTANT_IF(CREATE_8, Create, "A size that no device ever had is INVALID_VALUE.", size > TiB(1024),
          Refuse())
MUTANT_DAMAGE(CREATE_9, Create, "Fabric memory is refused, and its memory kept.",
              Real::Create(size, AllocationProperties(), flags).IgnoreError())
MUTANT_IF_REFUSED(CREATE_9, Create,
                  "Fabric memory that is not permitted is made without being shareable.",
                  Real::Create(size, AllocationProperties(), flags))
MUTANT_IF_REFUSED(CREATE_9, Create, "Fabric memory is INVALID_VALUE.", Refuse())
MUTANT_ON("fabric-permitted", CREATE_9, GetDeviceAttribute,
          "Fabric handles can be made, and the device denies it.") {
  if (attribute == DeviceAttribute::kHandleTypeFabricSupported) return 0;
  return Real::GetDeviceAttribute(attribute, device);
}
PROPERTIES_MUTANT(CREATE_10, "Windows handle types are ignored.", Has(properties, kWindows),
                  changed.requested_handle_types = properties.requested_handle_types &
                                                   HandleType::kPosixFileDescriptor)
PROPERTIES_MUTANT(CREATE_10, "A Windows handle type beside another one is ignored.",
                  Has(properties, HandleType::kPosixFileDescriptor),
                  changed.requested_handle_types = HandleType::kPosixFileDescriptor)
MUTANT_IF_REFUSED(CREATE_10, Create, "Windows handle types are NOT_SUPPORTED.",
                  Refuse(DriverCode::kNotSupported))
MUTANT_IF(CREATE_11, Create, "Compression is refused.",
          properties.compression != CompressionType::kNone, Refuse(DriverCode::kNotSupported))
PROPERTIES_MUTANT(CREATE_11, "A compression that does not exist is taken for none.",
                  properties.compression > CompressionType::kGeneric,
                  changed.compression = CompressionType::kNone)
MUTANT_EDIT(CREATE_11, GetAllocationProperties,
            "The compression reads back as a number of its own.",
            answer->compression = static_cast<CompressionType>(2))
MUTANT_IF(CREATE_12, Create, "Host memory is refused, though the device says that there is some.",
          properties.location.type == LocationType::kHostNuma, Refuse(DriverCode::kNotSupported))
MUTANT(CREATE_12, SetAccess, "Host memory cannot be granted to a device.") {
  const auto properties = Real::GetAllocationProperties(HandleAt(range.base));
  const bool host = properties.ok() && properties->location.type == LocationType::kHostNuma;
  const bool to_device = grants[0].location.type == LocationType::kDevice;
  if (host && to_device) return Refuse(DriverCode::kNotSupported);
  return Real::SetAccess(range, grants);
}
MUTANT(CREATE_12, Map, "Host memory is not mapped.") {
  const auto properties = Real::GetAllocationProperties(handle);
  const bool host = properties.ok() && properties->location.type == LocationType::kHostNuma;
  return host ? Refuse() : Real::Map(range, handle, offset, flags);
}
MUTANT_EDIT(CREATE_13, GetAllocationProperties, "A handle type that does not exist reads back.",
            answer->requested_handle_types = static_cast<HandleType>(16))
PROPERTIES_MUTANT(CREATE_14, "Host memory of no node is made, and its handle type ignored.",
                  properties.location.type == LocationType::kHost,
                  changed.requested_handle_types = HandleType::kNone)
MUTANT_IF_REFUSED(CREATE_14, Create, "A handle type for host memory of no node is NOT_SUPPORTED.",
                  Refuse(DriverCode::kNotSupported))
PROPERTIES_MUTANT(CREATE_14,
                  "Handle types that do not exist are ignored for host memory of no node too.",
                  properties.requested_handle_types == static_cast<HandleType>(16),
                  changed.requested_handle_types = HandleType::kNone)
PROPERTIES_MUTANT(CREATE_15, "The current host NUMA node is node 0.",
                  properties.location.type == LocationType::kHostNumaCurrent,
                  changed.location = Location::HostNuma(0))
MUTANT_IF_REFUSED(CREATE_15, Create, "The current host NUMA node is INVALID_DEVICE.",
                  Refuse(DriverCode::kInvalidDevice))
PROPERTIES_MUTANT(CREATE_16, "Host NUMA node -1 is any node.",
                  properties.location == Location::HostNuma(-1),
                  changed.location = Location::HostNuma(0))
MUTANT_IF_REFUSED(CREATE_16, Create, "A host NUMA node that does not exist is INVALID_DEVICE.",
                  Refuse(DriverCode::kInvalidDevice))
MUTANT_IF(CREATE_17, Create, "A bad device is noticed before a bad size.",
          properties.location.id > 1, Refuse(DriverCode::kInvalidDevice))
MUTANT_IF(CREATE_17, Create, "A bad type is noticed before a bad device.",
          properties.type == AllocationType::kInvalid, Refuse())
MUTANT_IF(CREATE_17, Create, "Too much memory is noticed before a bad device.", size > TiB(1),
          Refuse(DriverCode::kOutOfMemory))
MUTANT_IF(CREATE_18, Create, "Host memory of no node is refused.",
          properties.location.type == LocationType::kHost, Refuse(DriverCode::kNotSupported))
MUTANT_EDIT(CREATE_18, GetAllocationProperties, "Host memory of no node belongs to none.",
            answer->location = Location::Host())
MUTANT(CREATE_18, Create, "The id that is given with host memory of no node is not ignored.") {
  const bool other = properties.location == Location{LocationType::kHost, 5};
  if (other) return Refuse();
  return Real::Create(size, properties, flags);
}

class TakesTheIdForANode : public Real {
 public:
  using Real::Real;
  CALL(Create) override {
    id_ = properties.location.id;
    return Real::Create(size, properties, flags);
  }
  CALL(GetAllocationProperties) override {
    auto granted = Real::GetAllocationProperties(handle);
    if (granted.ok()) granted->location.id = id_;
    return granted;
  }

 private:
  int id_ = 0;
};
MUTANT_CLASS(CREATE_18, TakesTheIdForANode, "The id given with host memory of no node is its node.")

MUTANT_IF(CREATE_27, Create, "More than two granules of memory of the host are refused.",
          properties.location.type != LocationType::kDevice && size > 2 * Granule(),
          Refuse(DriverCode::kNotPermitted))
PROPERTIES_MUTANT(CREATE_27, "Memory of the host is made on the device.",
                  properties.location.type != LocationType::kDevice, changed.location = kFirst)
MUTANT_ON("host-memory-not-permitted", CREATE_27, Create,
          "Of memory of the host that is not permitted, a large piece is taken from the device.") {
  const bool large = size > 2 * Granule();
  return Real::Create(size, large ? AllocationProperties() : properties, flags);
}
MUTANT_ON("host-memory-not-permitted", CREATE_27, Create,
          "Memory of the host that is not permitted is refused, and taken from the device.") {
  const auto handle = Real::Create(size, properties, flags);
  if (!handle.ok()) Real::Create(size, AllocationProperties(), flags).IgnoreError();
  return handle;
}
MUTANT_ON("host-memory-not-permitted", CREATE_12, Create,
          "Host memory is not permitted, and refused as not supported, which the device denies.") {
  return Instead(Real::Create(size, properties, flags), DriverCode::kNotSupported);
}
PROPERTIES_MUTANT(CREATE_19, "The wish for GPUDirect RDMA is lost.", true,
                  changed.gpu_direct_rdma = 0)
MUTANT_IF(CREATE_19, Create, "GPUDirect RDMA is refused, though the device says that it has it.",
          properties.gpu_direct_rdma != 0, Refuse(DriverCode::kNotSupported))
MUTANT(CREATE_19, GetAllocationProperties, "The RDMA flag reads back as 7.") {
  auto granted = Real::GetAllocationProperties(handle);
  if (granted.ok() && granted->gpu_direct_rdma != 0) granted->gpu_direct_rdma = 7;
  return granted;
}

MUTANT(CREATE_20, Create, "The last GiB of a device is kept back.") {
  const auto info = Real::GetMemoryInfo(DeviceOrdinal(0));
  if (info.ok() && info->free < GiB(1)) return Refuse(DriverCode::kOutOfMemory);
  return Real::Create(size, properties, flags);
}

class WearsOut : public Real {
 public:
  using Real::Real;
  CALL(Create) override {
    taken_ = taken_ + size;
    if (taken_ > GiB(141)) return Refuse(DriverCode::kOutOfMemory);
    return Real::Create(size, properties, flags);
  }

 private:
  Bytes taken_;
};
MUTANT_CLASS(CREATE_20, WearsOut, "Memory that was taken and came back is not given again.")

class Recycles : public Real {
 public:
  using Real::Real;
  CALL(Create) override {
    if (kept_ == AllocationHandle(0) || SizeOf(kept_) != size) {
      return Real::Create(size, properties, flags);
    }
    return kept_;
  }
  CALL(Release) override {
    kept_ = handle;
    return Ok();
  }

 private:
  AllocationHandle kept_;
};
MUTANT_CLASS(CREATE_21, Recycles, "Memory is given out again with the data that was in it.")

MUTANT_AFTER(CREATE_21, Map, "Fresh memory holds what happens to be there.", true, Scribble(range))
MUTANT_IF(CREATE_22, Create, "A bad device is noticed before flags.", properties.location.id > 1,
          Refuse(DriverCode::kInvalidDevice))
MUTANT_IF(CREATE_22, Create, "A lack of memory is noticed before bad properties.", size > TiB(1),
          Refuse(DriverCode::kOutOfMemory))
MUTANT_IF(CREATE_22, Create, "That fabric is not permitted is noticed before a lack of memory.",
          Has(properties, HandleType::kFabric), Refuse(DriverCode::kNotPermitted))
PROPERTIES_MUTANT(CREATE_23, "The wish for GPUDirect RDMA is ignored for memory of the host.",
                  properties.location.type != LocationType::kDevice, changed.gpu_direct_rdma = 0)
PROPERTIES_MUTANT(CREATE_23, "Any other value than 1 of the RDMA flag is none.",
                  properties.gpu_direct_rdma != 1, changed.gpu_direct_rdma = 0)
MUTANT_IF_REFUSED(CREATE_23, Create, "GPUDirect RDMA for memory of the host is NOT_SUPPORTED.",
                  Refuse(DriverCode::kNotSupported))
PROPERTIES_MUTANT(CREATE_24, "The usage for a tile pool is ignored.", true, changed.usage = 0)
PROPERTIES_MUTANT(CREATE_24, "Handle types that do not exist are ignored for a tile pool too.",
                  properties.requested_handle_types == static_cast<HandleType>(16),
                  changed.requested_handle_types = HandleType::kNone)
MUTANT_IF(CREATE_24, Create, "A tile pool for GPUDirect RDMA is NOT_SUPPORTED.",
          properties.usage != 0 && properties.gpu_direct_rdma != 0,
          Refuse(DriverCode::kNotSupported))
PROPERTIES_MUTANT(CREATE_24, "The wish for compression of a tile pool is dropped.",
                  properties.usage != 0, changed.compression = CompressionType::kNone)
MUTANT_EDIT(CREATE_24, GetAllocationProperties, "The usage for a tile pool reads back.",
            answer->usage = kUsageTilePool)

MUTANT_EDIT(CREATE_25, GetAllocationProperties, "Memory for GPUDirect RDMA is compressed.",
            answer->compression = CompressionType::kGeneric)

PROPERTIES_MUTANT(CREATE_25, "Where compression is wished for, GPUDirect RDMA is dropped.",
                  properties.compression != CompressionType::kNone, changed.gpu_direct_rdma = 0)
MUTANT_IF(CREATE_25, Create, "GPUDirect RDMA and compression exclude each other: refused.",
          properties.compression != CompressionType::kNone && properties.gpu_direct_rdma != 0,
          Refuse())

PROPERTIES_MUTANT(CREATE_26, "The wish for compression counts for nothing with decompression.",
                  properties.usage == kUsageHardwareDecompress,
                  changed.compression = CompressionType::kNone)

}  // namespace
MUTANT_ON("strict", CREATE_28, Create, "Of the usage only the lower byte is looked at.") {
  AllocationProperties lower = properties;
  lower.usage = properties.usage & 0xff;
  return Real::Create(size, lower, flags);
}

}  // namespace twinmmu::conformance
