// Mutants of cuMemCreate.

#include "conformance/mutants/framework/mutant.h"

namespace twinmmu::conformance {
namespace {

AllocationProperties At(const AllocationProperties& properties, const Location& location) {
  AllocationProperties changed = properties;
  changed.location = location;
  return changed;
}
AllocationProperties SharedBy(const AllocationProperties& properties, HandleType types) {
  AllocationProperties changed = properties;
  changed.requested_handle_types = types;
  return changed;
}
AllocationProperties OfType(const AllocationProperties& properties, AllocationType type) {
  AllocationProperties changed = properties;
  changed.type = type;
  return changed;
}
bool Has(const AllocationProperties& properties, HandleType type) {
  return (properties.requested_handle_types & type) != HandleType::kNone;
}
constexpr HandleType kWindows = HandleType::kWin32 | HandleType::kWin32Kmt;
constexpr Location kFirst = Location::Device(DeviceOrdinal(0));

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
MUTANT(CREATE_5, Create, "Type 0 is taken for the default.") {
  const bool none = properties.type == AllocationType::kInvalid;
  return Real::Create(size, none ? OfType(properties, AllocationType::kPinned) : properties, flags);
}
MUTANT_IF(CREATE_5, Create, "A type that does not exist is NOT_SUPPORTED.",
          properties.type > AllocationType::kManaged, Refuse(DriverCode::kNotSupported))
MUTANT(CREATE_6, Create, "Location type 0 is the first device.") {
  const bool none = properties.location.type == LocationType::kInvalid;
  return Real::Create(size, none ? At(properties, kFirst) : properties, flags);
}
MUTANT(CREATE_6, Create, "A location type that does not exist is INVALID_DEVICE.") {
  const bool exists = properties.location.type <= LocationType::kHostNumaCurrent;
  if (!exists) return Refuse(DriverCode::kInvalidDevice);
  return Real::Create(size, properties, flags);
}
MUTANT(CREATE_7, Create, "Device -1 is the first.") {
  const bool any = properties.location == Location::Device(DeviceOrdinal(-1));
  return Real::Create(size, any ? At(properties, kFirst) : properties, flags);
}
MUTANT(CREATE_7, Create, "There is one device too many.") {
  const int count = Real::GetDeviceCount().value_or(0);
  const bool beyond = properties.location == Location::Device(DeviceOrdinal(count));
  return Real::Create(size, beyond ? At(properties, kFirst) : properties, flags);
}
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
MUTANT(CREATE_10, Create, "Windows handle types are ignored.") {
  const HandleType others = properties.requested_handle_types & HandleType::kPosixFileDescriptor;
  const bool asked = Has(properties, kWindows);
  return Real::Create(size, asked ? SharedBy(properties, others) : properties, flags);
}
MUTANT(CREATE_10, Create, "A Windows handle type beside another one is ignored.") {
  const bool also = Has(properties, HandleType::kPosixFileDescriptor);
  return Real::Create(
      size, also ? SharedBy(properties, HandleType::kPosixFileDescriptor) : properties, flags);
}
MUTANT_IF_REFUSED(CREATE_10, Create, "Windows handle types are NOT_SUPPORTED.",
                  Refuse(DriverCode::kNotSupported))
MUTANT_IF(CREATE_11, Create, "Compression is refused.",
          properties.compression != CompressionType::kNone, Refuse(DriverCode::kNotSupported))
MUTANT(CREATE_11, Create, "A compression that does not exist is taken for none.") {
  AllocationProperties changed = properties;
  if (properties.compression > CompressionType::kGeneric) {
    changed.compression = CompressionType::kNone;
  }
  return Real::Create(size, changed, flags);
}
MUTANT_EDIT(CREATE_11, GetAllocationProperties,
            "The compression reads back as a number of its own.",
            answer->compression = static_cast<CompressionType>(2))
MUTANT(CREATE_12, Create, "Host memory is refused, though the device says that there is some.") {
  if (properties.location.type == LocationType::kHostNuma) {
    return Refuse(DriverCode::kNotSupported);
  }
  return Real::Create(size, properties, flags);
}
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
MUTANT(CREATE_14, Create, "Host memory of no node is made, and its handle type ignored.") {
  const bool host = properties.location.type == LocationType::kHost;
  return Real::Create(size, host ? SharedBy(properties, HandleType::kNone) : properties, flags);
}
MUTANT_IF_REFUSED(CREATE_14, Create, "A handle type for host memory of no node is NOT_SUPPORTED.",
                  Refuse(DriverCode::kNotSupported))
MUTANT(CREATE_14, Create,
       "Handle types that do not exist are ignored for host memory of no node too.") {
  const bool unknown = properties.requested_handle_types == static_cast<HandleType>(16);
  return Real::Create(size, unknown ? SharedBy(properties, HandleType::kNone) : properties, flags);
}
MUTANT(CREATE_15, Create, "The current host NUMA node is node 0.") {
  const bool current = properties.location.type == LocationType::kHostNumaCurrent;
  return Real::Create(size, current ? At(properties, Location::HostNuma(0)) : properties, flags);
}
MUTANT_IF_REFUSED(CREATE_15, Create, "The current host NUMA node is INVALID_DEVICE.",
                  Refuse(DriverCode::kInvalidDevice))
MUTANT(CREATE_16, Create, "Host NUMA node -1 is any node.") {
  const bool any = properties.location == Location::HostNuma(-1);
  return Real::Create(size, any ? At(properties, Location::HostNuma(0)) : properties, flags);
}
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
MUTANT(CREATE_27, Create, "Memory of the host is made on the device.") {
  const bool host = properties.location.type != LocationType::kDevice;
  return Real::Create(size, host ? At(properties, kFirst) : properties, flags);
}
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
MUTANT(CREATE_19, Create, "The wish for GPUDirect RDMA is lost.") {
  AllocationProperties changed = properties;
  changed.gpu_direct_rdma = 0;
  return Real::Create(size, changed, flags);
}
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

MUTANT(CREATE_21, Map, "Fresh memory holds what happens to be there.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  Scribble(range);
  return status;
}
MUTANT_IF(CREATE_22, Create, "A bad device is noticed before flags.", properties.location.id > 1,
          Refuse(DriverCode::kInvalidDevice))
MUTANT_IF(CREATE_22, Create, "A lack of memory is noticed before bad properties.", size > TiB(1),
          Refuse(DriverCode::kOutOfMemory))
MUTANT_IF(CREATE_22, Create, "That fabric is not permitted is noticed before a lack of memory.",
          Has(properties, HandleType::kFabric), Refuse(DriverCode::kNotPermitted))
MUTANT(CREATE_23, Create, "The wish for GPUDirect RDMA is ignored for memory of the host.") {
  AllocationProperties changed = properties;
  if (properties.location.type != LocationType::kDevice) changed.gpu_direct_rdma = 0;
  return Real::Create(size, changed, flags);
}
MUTANT(CREATE_23, Create, "Any other value than 1 of the RDMA flag is none.") {
  AllocationProperties changed = properties;
  if (properties.gpu_direct_rdma != 1) changed.gpu_direct_rdma = 0;
  return Real::Create(size, changed, flags);
}
MUTANT_IF_REFUSED(CREATE_23, Create, "GPUDirect RDMA for memory of the host is NOT_SUPPORTED.",
                  Refuse(DriverCode::kNotSupported))
MUTANT(CREATE_24, Create, "The usage for a tile pool is ignored.") {
  AllocationProperties changed = properties;
  changed.usage = 0;
  return Real::Create(size, changed, flags);
}
MUTANT(CREATE_24, Create, "Handle types that do not exist are ignored for a tile pool too.") {
  const bool unknown = properties.requested_handle_types == static_cast<HandleType>(16);
  return Real::Create(size, unknown ? SharedBy(properties, HandleType::kNone) : properties, flags);
}
MUTANT(CREATE_24, Create, "A tile pool for GPUDirect RDMA is NOT_SUPPORTED.") {
  if (properties.usage != 0 && properties.gpu_direct_rdma != 0) {
    return Refuse(DriverCode::kNotSupported);
  }
  return Real::Create(size, properties, flags);
}
MUTANT(CREATE_24, Create, "The wish for compression of a tile pool is dropped.") {
  AllocationProperties changed = properties;
  if (properties.usage != 0) changed.compression = CompressionType::kNone;
  return Real::Create(size, changed, flags);
}
MUTANT_EDIT(CREATE_24, GetAllocationProperties, "The usage for a tile pool reads back.",
            answer->usage = kUsageTilePool)

MUTANT_EDIT(CREATE_25, GetAllocationProperties, "Memory for GPUDirect RDMA is compressed.",
            answer->compression = CompressionType::kGeneric)

MUTANT(CREATE_25, Create, "Where compression is wished for, GPUDirect RDMA is dropped.") {
  AllocationProperties changed = properties;
  if (properties.compression != CompressionType::kNone) changed.gpu_direct_rdma = 0;
  return Real::Create(size, changed, flags);
}
MUTANT_IF(CREATE_25, Create, "GPUDirect RDMA and compression exclude each other: refused.",
          properties.compression != CompressionType::kNone && properties.gpu_direct_rdma != 0,
          Refuse())

MUTANT(CREATE_26, Create, "The wish for compression counts for nothing with decompression.") {
  AllocationProperties others = properties;
  if (properties.usage == kUsageHardwareDecompress) others.compression = CompressionType::kNone;
  return Real::Create(size, others, flags);
}

}  // namespace
MUTANT_ON("strict", CREATE_28, Create, "Of the usage only the lower byte is looked at.") {
  AllocationProperties lower = properties;
  lower.usage = properties.usage & 0xff;
  return Real::Create(size, lower, flags);
}

}  // namespace twinmmu::conformance
