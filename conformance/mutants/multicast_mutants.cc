// Mutants of multicast objects.

#include <set>
#include <tuple>

#include "conformance/mutants/framework/mutant.h"
#include "conformance/mutants/sharer.h"

namespace twinmmu::conformance {
namespace {

MUTANT(MC_1, MulticastGetGranularity, "The recommended granularity is half of the minimum.") {
  return option == Granularity::kRecommended ? MiB(1)
                                             : Real::MulticastGetGranularity(properties, option);
}
MUTANT(MC_1, MulticastGetGranularity, "The recommended granularity is one and a half minimum.") {
  return option == Granularity::kRecommended ? MiB(3)
                                             : Real::MulticastGetGranularity(properties, option);
}

MUTANT(MC_2, MulticastGetGranularity, "Any option has a granularity.") {
  return Real::MulticastGetGranularity(properties, Granularity::kMinimum);
}

MUTANT(MC_3, MulticastCreate, "A team of one device is none.") {
  if (properties.device_count == 1) return Refuse();
  return Real::MulticastCreate(properties);
}
MUTANT(MC_3, MulticastCreate, "An object takes memory of its own.") {
  const auto made = Real::MulticastCreate(properties);
  if (made.ok()) Real::Create(properties.size, AllocationProperties(), 0).IgnoreError();
  return made;
}
MUTANT(MC_3, Release, "An object cannot be released.") {
  const bool is_memory = Real::GetAllocationProperties(handle).ok();
  return is_memory ? Real::Release(handle) : Refuse();
}

MUTANT(MC_4, MulticastCreate, "A size that is not a multiple is rounded up.") {
  MulticastProperties rounded = properties;
  rounded.size = Bytes((properties.size.value() + MiB(2).value() - 1) & ~(MiB(2).value() - 1));
  return Real::MulticastCreate(rounded);
}
MUTANT(MC_4, MulticastCreate, "Size 0 is one granule.") {
  MulticastProperties one = properties;
  if (one.size == Bytes(0)) one.size = MiB(2);
  return Real::MulticastCreate(one);
}

MUTANT(MC_5, MulticastCreate, "A team of nobody has one device.") {
  MulticastProperties one = properties;
  if (one.device_count == 0) one.device_count = 1;
  return Real::MulticastCreate(one);
}
MUTANT(MC_5, MulticastCreate, "A team may be larger than the machine.") {
  MulticastProperties fitting = properties;
  if (fitting.device_count > 2) fitting.device_count = 2;
  return Real::MulticastCreate(fitting);
}

MUTANT(MC_6, MulticastCreate, "Flags are ignored.") {
  MulticastProperties plain = properties;
  plain.flags = 0;
  return Real::MulticastCreate(plain);
}

MUTANT(MC_7, MulticastAddDevice, "A device that does not exist is ignored.") {
  const bool exists = device.value() >= 0 && device.value() < 2;
  return exists ? Real::MulticastAddDevice(object, device) : Ok();
}
MUTANT(MC_7, MulticastAddDevice, "A device that does not exist is INVALID_VALUE.") {
  return Instead(Real::MulticastAddDevice(object, device), DriverCode::kInvalidValue);
}

MUTANT(MC_8, MulticastAddDevice, "Who does not fit into the team is turned away without a word.") {
  Real::MulticastAddDevice(object, device).IgnoreError();
  return Ok();
}

class CountsTwice : public Real {
 public:
  using Real::Real;
  CALL(MulticastAddDevice) override {
    const bool again = !added_.insert({object.value(), device.value()}).second;
    return Real::MulticastAddDevice(object, DeviceOrdinal(again ? 1 : device.value()));
  }

 private:
  std::set<std::tuple<uint64_t, int>> added_;
};
MUTANT_CLASS(MC_9, CountsTwice, "A device that is added again counts for another.")

MUTANT(MC_9, MulticastAddDevice, "A device may be added again.") {
  const absl::Status added = Real::MulticastAddDevice(object, device);
  return GetDriverCode(added) == DriverCode::kInvalidValue ? Ok() : added;
}

MUTANT(MC_10, MulticastBindMemory, "The devices that are missing come by themselves.") {
  for (const int missing : {0, 1})
    Real::MulticastAddDevice(object, DeviceOrdinal(missing)).IgnoreError();
  return Real::MulticastBindMemory(object, offset, memory, memory_offset, size, flags);
}
MUTANT(MC_10, MulticastBindAddress, "By address, the team does not matter.") {
  const absl::Status bound = Real::MulticastBindAddress(object, offset, range, flags);
  return GetDriverCode(bound) == DriverCode::kIllegalState ? Ok() : bound;
}

MUTANT(MC_11, Map, "The devices that are missing come by themselves.") {
  Real::MulticastAddDevice(handle, DeviceOrdinal(0)).IgnoreError();
  return Real::Map(range, handle, offset, flags);
}

MUTANT(MC_12, MulticastBindMemory, "Offsets are rounded down.") {
  const uint64_t granules = ~(MiB(2).value() - 1);
  return Real::MulticastBindMemory(object, Bytes(offset.value() & granules), memory,
                                   Bytes(memory_offset.value() & granules), size, flags);
}
MUTANT(MC_12, MulticastBindMemory, "The size is rounded up.") {
  const Bytes rounded((size.value() + MiB(2).value() - 1) & ~(MiB(2).value() - 1));
  return Real::MulticastBindMemory(object, offset, memory, memory_offset, rounded, flags);
}
MUTANT(MC_12, MulticastBindMemory, "Size 0 binds nothing, and that is fine.") {
  return size == Bytes(0)
             ? Ok()
             : Real::MulticastBindMemory(object, offset, memory, memory_offset, size, flags);
}

MUTANT(MC_13, MulticastBindMemory, "What does not fit is cut off.") {
  const absl::Status bound =
      Real::MulticastBindMemory(object, offset, memory, memory_offset, size, flags);
  return bound.ok()
             ? bound
             : Real::MulticastBindMemory(object, offset, memory, memory_offset, MiB(2), flags);
}
MUTANT(MC_13, MulticastBindMemory, "Offsets beyond the end begin anew.") {
  const bool wraps = offset > GiB(1) || memory_offset > GiB(1);
  return wraps ? Ok()
               : Real::MulticastBindMemory(object, offset, memory, memory_offset, size, flags);
}

MUTANT(MC_14, MulticastBindMemory, "Any memory is good enough.") {
  const absl::Status bound =
      Real::MulticastBindMemory(object, offset, memory, memory_offset, size, flags);
  return bound.ok() ? bound : Ok();
}

MUTANT(MC_15, MulticastBindMemory, "What can be shared takes what cannot.") {
  const absl::Status bound =
      Real::MulticastBindMemory(object, offset, memory, memory_offset, size, flags);
  return bound.ok() ? bound : Ok();
}
MUTANT(MC_15, MulticastCreate, "Handle types are forgotten.") {
  MulticastProperties plain = properties;
  plain.handle_types = HandleType::kNone;
  return Real::MulticastCreate(plain);
}

MUTANT(MC_16, MulticastBindMemory, "Binding keeps nothing.") { return Ok(); }
MUTANT(MC_16, MulticastUnbind, "What is unbound stays bound.") { return Ok(); }
MUTANT(MC_16, MulticastBindMemory, "Binding takes a reference, and nobody gives it back.") {
  const absl::Status bound =
      Real::MulticastBindMemory(object, offset, memory, memory_offset, size, flags);
  const auto range = Real::AddressReserve(MiB(2), ReserveOptions());
  if (bound.ok() && range.ok()) Real::Map(*range, memory, Bytes(0), 0).IgnoreError();
  return bound;
}

MUTANT(MC_17, MulticastUnbind, "What is unbound stays bound.") { return Ok(); }
MUTANT(MC_17, MulticastUnbind, "All that the device has bound goes.") {
  for (const uint64_t granule : {0, 1}) {
    Real::MulticastUnbind(object, device, granule * MiB(2), MiB(2)).IgnoreError();
  }
  return Ok();
}

MUTANT(MC_18, MulticastBindMemory, "A span can be bound again.") {
  const absl::Status bound =
      Real::MulticastBindMemory(object, offset, memory, memory_offset, size, flags);
  return bound.ok() ? bound : Ok();
}
MUTANT(MC_18, MulticastBindMemory, "A span belongs to the first device that binds it.") {
  const bool mine = Real::GetAllocationProperties(memory)->location.id == 0;
  return mine ? Real::MulticastBindMemory(object, offset, memory, memory_offset, size, flags)
              : Refuse();
}

MUTANT(MC_19, MulticastBindAddress, "Binding by address keeps nothing.") { return Ok(); }
MUTANT(MC_19, MulticastUnbind, "What was bound by address is not unbound.") { return Ok(); }

MUTANT(MC_20, MulticastBindAddress, "The rest of a mapping is enough.") {
  const absl::Status bound = Real::MulticastBindAddress(object, offset, range, flags);
  if (bound.ok() || range.size != 2 * MiB(2)) return bound;
  return Real::MulticastBindAddress(object, offset, range.subrange(Bytes(0), MiB(2)), flags);
}
MUTANT(MC_20, MulticastBindAddress, "Addresses are rounded down.") {
  AddressRange rounded = range;
  rounded.base = DeviceAddress(range.base.value() & ~(MiB(2).value() - 1));
  return Real::MulticastBindAddress(object, offset, rounded, flags);
}
MUTANT(MC_20, MulticastBindAddress, "Where nothing is mapped nothing is bound, and that is fine.") {
  return IsMapped(range.base) ? Real::MulticastBindAddress(object, offset, range, flags) : Ok();
}
MUTANT(MC_20, MulticastBindAddress, "No size binds nothing, and that is fine.") {
  return range.size == Bytes(0) ? Ok() : Real::MulticastBindAddress(object, offset, range, flags);
}

MUTANT(MC_21, Map, "An object is accessible at once.") {
  const absl::Status mapped = Real::Map(range, handle, offset, flags);
  if (mapped.ok()) Grant(range, Access::kReadWrite);
  return mapped;
}
MUTANT(MC_21, SetAccess, "An object gives no access.") {
  const bool is_memory = Real::GetAllocationProperties(HandleAt(range.base)).ok();
  return is_memory ? Real::SetAccess(range, grants) : Ok();
}
MUTANT(MC_21, RetainAllocationHandle, "An object has no handle by its address.") {
  const auto handle = Real::RetainAllocationHandle(address);
  if (!handle.ok() || Real::GetAllocationProperties(*handle).ok()) return handle;
  Real::Release(*handle).IgnoreError();
  return Refuse();
}
MUTANT(MC_21, Release, "With its handle an object goes, mapped or not.") {
  const bool is_memory = Real::GetAllocationProperties(handle).ok();
  if (!is_memory) {
    for (const AddressRange& mapping : MappingsOf(handle)) Real::Unmap(mapping).IgnoreError();
  }
  return Real::Release(handle);
}
MUTANT(MC_21, Unmap, "An object stays mapped.") {
  const bool is_memory = Real::GetAllocationProperties(HandleAt(range.base)).ok();
  return is_memory ? Real::Unmap(range) : Ok();
}

MUTANT(MC_22, ImportShareableHandle, "An import is an object of its own.") {
  return Real::MulticastCreate({2, 2 * MiB(2), HandleType::kPosixFileDescriptor, 0});
}
MUTANT(MC_22, ExportShareableHandle, "An object is exported whatever was asked for.") {
  const auto exported = Real::ExportShareableHandle(handle, type, flags);
  if (exported.ok()) return exported;
  return ShareableHandle::FileDescriptor(-1);
}
MUTANT(MC_22, MulticastCreate, "Handle types are forgotten.") {
  MulticastProperties plain = properties;
  plain.handle_types = HandleType::kNone;
  return Real::MulticastCreate(plain);
}

MUTANT(MC_23, Write, "A copy to an object goes nowhere, and succeeds.") {
  return IsMapped(destination) && !Real::GetAllocationProperties(HandleAt(destination)).ok()
             ? Ok()
             : Real::Write(work, destination, source, size);
}
MUTANT(MC_23, Write, "A copy to an object is refused.") {
  return IsMapped(destination) && !Real::GetAllocationProperties(HandleAt(destination)).ok()
             ? Refuse()
             : Real::Write(work, destination, source, size);
}
MUTANT(MC_23, Set, "A fill of an object goes nowhere, and succeeds.") {
  return Real::GetAllocationProperties(HandleAt(destination)).ok()
             ? Real::Set(work, destination, pattern, count)
             : Ok();
}
MUTANT(MC_23, Read, "A copy from an object finds nothing, and succeeds.") {
  const absl::Status read = Real::Read(work, destination, source, size);
  return read.ok() ? read : Ok();
}
MUTANT(MC_23, Read, "A copy from an object that is refused has written all the same.") {
  const absl::Status read = Real::Read(work, destination, source, size);
  if (!read.ok()) Scribble(kEverything);
  return read;
}

MUTANT(MC_24, MulticastBindMemory, "Flags are ignored.") {
  return Real::MulticastBindMemory(object, offset, memory, memory_offset, size, 0);
}
MUTANT(MC_24, MulticastBindAddress, "By address, flags are ignored.") {
  return Real::MulticastBindAddress(object, offset, range, 0);
}

MUTANT(MC_25, ImportShareableHandle, "An import in another process is an object of its own.") {
  return Real::MulticastCreate({2, MiB(2), HandleType::kPosixFileDescriptor, 0});
}
MUTANT(MC_25, MulticastAddDevice, "What another process has added is added again.") {
  Real::MulticastAddDevice(object, device).IgnoreError();
  return Ok();
}

class BindsNothing : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(MulticastBindMemory) override {
    return has_imported()
               ? Ok()
               : Real::MulticastBindMemory(object, offset, memory, memory_offset, size, flags);
  }
};
MUTANT_CLASS_ON("interpreter", MC_26, BindsNothing, "What an importer binds, it does not.")

class BindsOtherMemory : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(MulticastBindMemory) override {
    if (!has_imported())
      return Real::MulticastBindMemory(object, offset, memory, memory_offset, size, flags);
    AllocationProperties other;
    other.location = Location::Device(DeviceOrdinal(1));
    other.requested_handle_types = HandleType::kPosixFileDescriptor;
    const auto made = Real::Create(size, other, 0);
    return made.ok() ? Real::MulticastBindMemory(object, offset, *made, Bytes(0), size, flags)
                     : made.status();
  }
};
MUTANT_CLASS_ON("interpreter", MC_26, BindsOtherMemory,
                "Others reach a copy of what an importer has bound.")

MUTANT_ON("driver-13.1", MC_27, MulticastBindMemoryForDevice, "Memory tells the device.") {
  return Real::MulticastBindMemory(object, offset, memory, memory_offset, size, flags);
}
MUTANT_ON("driver-13.1", MC_27, MulticastBindAddressForDevice, "By address, memory tells it.") {
  return Real::MulticastBindAddress(object, offset, range, flags);
}
MUTANT_ON("driver-13.1", MC_27, MulticastBindMemoryForDevice, "What is bound is unbound at once.") {
  const absl::Status bound = Real::MulticastBindMemoryForDevice(object, device, offset, memory,
                                                                memory_offset, size, flags);
  if (bound.ok()) Real::MulticastUnbind(object, device, offset, size).IgnoreError();
  return bound;
}
MUTANT_ON("driver-13.1", MC_27, MulticastBindMemoryForDevice, "Memory of the host is refused.") {
  const auto properties = Real::GetAllocationProperties(memory);
  if (properties.ok() && properties->location.type != LocationType::kDevice) return Refuse();
  return Real::MulticastBindMemoryForDevice(object, device, offset, memory, memory_offset, size,
                                            flags);
}
MUTANT(MC_27, MulticastBindMemoryForDevice, "A driver that lacks the bind does it.") {
  return Real::MulticastBindMemory(object, offset, memory, memory_offset, size, flags);
}
MUTANT(MC_27, MulticastBindAddressForDevice, "By address, a driver that lacks the bind does it.") {
  return Real::MulticastBindAddress(object, offset, range, flags);
}

MUTANT(MC_28, Map, "An object is mapped whole, or not at all.") {
  const bool is_memory = Real::GetAllocationProperties(handle).ok();
  return is_memory || range.size == 4 * MiB(2) ? Real::Map(range, handle, offset, flags) : Refuse();
}
MUTANT(MC_28, Map, "A part of an object takes the addresses of the whole.") {
  const bool is_memory = Real::GetAllocationProperties(handle).ok();
  const AddressRange whole{range.base, 4 * MiB(2), Bytes(0)};
  const absl::Status mapped =
      is_memory ? absl::UnknownError("") : Real::Map(whole, handle, offset, flags);
  return mapped.ok() ? mapped : Real::Map(range, handle, offset, flags);
}
MUTANT(MC_28, Map, "A size that is no multiple is cut off.") {
  const Bytes cut(range.size.value() & ~(MiB(2).value() - 1));
  return Real::Map({range.base, cut, Bytes(0)}, handle, offset, flags);
}

}  // namespace
}  // namespace twinmmu::conformance
