// Mutants of multicast objects.

#include <set>
#include <tuple>

#include "conformance/mutants/framework/mutant.h"
#include "conformance/mutants/sharer.h"

namespace twinmmu::conformance {
namespace {

MUTANT(MC_1, GetMulticastGranularity, "The recommended granularity is half of the minimum.") {
  return option == Granularity::kRecommended ? MiB(1)
                                             : Real::GetMulticastGranularity(properties, option);
}
MUTANT(MC_1, GetMulticastGranularity, "The recommended granularity is one and a half minimum.") {
  return option == Granularity::kRecommended ? MiB(3)
                                             : Real::GetMulticastGranularity(properties, option);
}

MUTANT(MC_2, GetMulticastGranularity, "Any option has a granularity.") {
  return Real::GetMulticastGranularity(properties, Granularity::kMinimum);
}

MUTANT(MC_3, CreateMulticast, "A team of one device is none.") {
  if (properties.device_count == 1) return Refuse();
  return Real::CreateMulticast(properties);
}
MUTANT(MC_3, CreateMulticast, "An object takes memory of its own.") {
  const auto made = Real::CreateMulticast(properties);
  if (made.ok()) Real::Create(properties.size, AllocationProperties(), 0).IgnoreError();
  return made;
}
MUTANT(MC_3, Release, "An object cannot be released.") {
  const bool is_memory = Real::GetAllocationProperties(handle).ok();
  return is_memory ? Real::Release(handle) : Refuse();
}

MUTANT(MC_4, CreateMulticast, "A size that is no multiple is rounded up.") {
  MulticastProperties rounded = properties;
  rounded.size = Bytes((properties.size.value() + MiB(2).value() - 1) & ~(MiB(2).value() - 1));
  return Real::CreateMulticast(rounded);
}
MUTANT(MC_4, CreateMulticast, "Size 0 is one granule.") {
  MulticastProperties one = properties;
  if (one.size == Bytes(0)) one.size = MiB(2);
  return Real::CreateMulticast(one);
}

MUTANT(MC_5, CreateMulticast, "A team of nobody has one device.") {
  MulticastProperties one = properties;
  if (one.device_count == 0) one.device_count = 1;
  return Real::CreateMulticast(one);
}
MUTANT(MC_5, CreateMulticast, "A team may be larger than the machine.") {
  MulticastProperties fitting = properties;
  if (fitting.device_count > 2) fitting.device_count = 2;
  return Real::CreateMulticast(fitting);
}

MUTANT(MC_6, CreateMulticast, "Flags are ignored.") {
  MulticastProperties plain = properties;
  plain.flags = 0;
  return Real::CreateMulticast(plain);
}

MUTANT(MC_7, AddDevice, "A device that does not exist is ignored.") {
  const bool exists = device.value() >= 0 && device.value() < 2;
  return exists ? Real::AddDevice(object, device) : Ok();
}
MUTANT(MC_7, AddDevice, "A device that does not exist is INVALID_VALUE.") {
  return Instead(Real::AddDevice(object, device), DriverCode::kInvalidValue);
}

MUTANT(MC_8, AddDevice, "Who does not fit into the team is turned away without a word.") {
  Real::AddDevice(object, device).IgnoreError();
  return Ok();
}

class CountsTwice : public Real {
 public:
  using Real::Real;
  CALL_AddDevice() override {
    const bool again = !added_.insert({object.value(), device.value()}).second;
    return Real::AddDevice(object, DeviceOrdinal(again ? 1 : device.value()));
  }

 private:
  std::set<std::tuple<uint64_t, int>> added_;
};
MUTANT_CLASS(MC_9, CountsTwice, "A device that is added again counts for another.")

MUTANT(MC_9, AddDevice, "A device may be added again.") {
  const absl::Status added = Real::AddDevice(object, device);
  return GetDriverCode(added) == DriverCode::kInvalidValue ? Ok() : added;
}

MUTANT(MC_10, BindMemory, "The devices that are missing come by themselves.") {
  for (const int missing : {0, 1}) Real::AddDevice(object, DeviceOrdinal(missing)).IgnoreError();
  return Real::BindMemory(object, offset, memory, memory_offset, size, flags);
}
MUTANT(MC_10, BindAddress, "By address, the team does not matter.") {
  const absl::Status bound = Real::BindAddress(object, offset, range, flags);
  return GetDriverCode(bound) == DriverCode::kIllegalState ? Ok() : bound;
}

MUTANT(MC_11, Map, "The devices that are missing come by themselves.") {
  Real::AddDevice(handle, DeviceOrdinal(0)).IgnoreError();
  return Real::Map(range, handle, offset, flags);
}

MUTANT(MC_12, BindMemory, "Offsets are rounded down.") {
  const uint64_t granules = ~(MiB(2).value() - 1);
  return Real::BindMemory(object, Bytes(offset.value() & granules), memory,
                          Bytes(memory_offset.value() & granules), size, flags);
}
MUTANT(MC_12, BindMemory, "The size is rounded up.") {
  const Bytes rounded((size.value() + MiB(2).value() - 1) & ~(MiB(2).value() - 1));
  return Real::BindMemory(object, offset, memory, memory_offset, rounded, flags);
}
MUTANT(MC_12, BindMemory, "Size 0 binds nothing, and that is fine.") {
  return size == Bytes(0) ? Ok()
                          : Real::BindMemory(object, offset, memory, memory_offset, size, flags);
}

MUTANT(MC_13, BindMemory, "What does not fit is cut off.") {
  const absl::Status bound = Real::BindMemory(object, offset, memory, memory_offset, size, flags);
  return bound.ok() ? bound
                    : Real::BindMemory(object, offset, memory, memory_offset, MiB(2), flags);
}
MUTANT(MC_13, BindMemory, "Offsets beyond the end begin anew.") {
  const bool wraps = offset > GiB(1) || memory_offset > GiB(1);
  return wraps ? Ok() : Real::BindMemory(object, offset, memory, memory_offset, size, flags);
}

MUTANT(MC_14, BindMemory, "Any memory is good enough.") {
  const absl::Status bound = Real::BindMemory(object, offset, memory, memory_offset, size, flags);
  return bound.ok() ? bound : Ok();
}

MUTANT(MC_15, BindMemory, "What can be shared takes what cannot.") {
  const absl::Status bound = Real::BindMemory(object, offset, memory, memory_offset, size, flags);
  return bound.ok() ? bound : Ok();
}
MUTANT(MC_15, CreateMulticast, "Handle types are forgotten.") {
  MulticastProperties plain = properties;
  plain.handle_types = HandleType::kNone;
  return Real::CreateMulticast(plain);
}

MUTANT(MC_16, BindMemory, "Binding keeps nothing.") { return Ok(); }
MUTANT(MC_16, Unbind, "What is unbound stays bound.") { return Ok(); }
MUTANT(MC_16, BindMemory, "Binding takes a reference, and nobody gives it back.") {
  const absl::Status bound = Real::BindMemory(object, offset, memory, memory_offset, size, flags);
  const auto range = Real::AddressReserve(MiB(2), ReserveOptions());
  if (bound.ok() && range.ok()) Real::Map(*range, memory, Bytes(0), 0).IgnoreError();
  return bound;
}

MUTANT(MC_17, Unbind, "What is unbound stays bound.") { return Ok(); }
MUTANT(MC_17, Unbind, "All that the device has bound goes.") {
  for (const uint64_t granule : {0, 1}) {
    Real::Unbind(object, device, granule * MiB(2), MiB(2)).IgnoreError();
  }
  return Ok();
}

MUTANT(MC_18, BindMemory, "A span can be bound again.") {
  const absl::Status bound = Real::BindMemory(object, offset, memory, memory_offset, size, flags);
  return bound.ok() ? bound : Ok();
}
MUTANT(MC_18, BindMemory, "A span belongs to the first device that binds it.") {
  const bool mine = Real::GetAllocationProperties(memory)->location.id == 0;
  return mine ? Real::BindMemory(object, offset, memory, memory_offset, size, flags) : Refuse();
}

MUTANT(MC_19, BindAddress, "Binding by address keeps nothing.") { return Ok(); }
MUTANT(MC_19, Unbind, "What was bound by address is not unbound.") { return Ok(); }

MUTANT(MC_20, BindAddress, "The rest of a mapping is enough.") {
  const absl::Status bound = Real::BindAddress(object, offset, range, flags);
  if (bound.ok() || range.size != 2 * MiB(2)) return bound;
  return Real::BindAddress(object, offset, range.subrange(Bytes(0), MiB(2)), flags);
}
MUTANT(MC_20, BindAddress, "Addresses are rounded down.") {
  AddressRange rounded = range;
  rounded.base = DeviceAddress(range.base.value() & ~(MiB(2).value() - 1));
  return Real::BindAddress(object, offset, rounded, flags);
}
MUTANT(MC_20, BindAddress, "Where nothing is mapped nothing is bound, and that is fine.") {
  return IsMapped(range.base) ? Real::BindAddress(object, offset, range, flags) : Ok();
}
MUTANT(MC_20, BindAddress, "No size binds nothing, and that is fine.") {
  return range.size == Bytes(0) ? Ok() : Real::BindAddress(object, offset, range, flags);
}

MUTANT(MC_21, Map, "An object is accessible at once.") {
  const absl::Status mapped = Real::Map(range, handle, offset, flags);
  if (mapped.ok()) Grant(range, Access::kReadWrite);
  return mapped;
}
MUTANT(MC_21, SetAccess, "An object gives no rights.") {
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
  return Real::CreateMulticast({2, 2 * MiB(2), HandleType::kPosixFileDescriptor, 0});
}
MUTANT(MC_22, ExportShareableHandle, "An object is exported whatever was asked for.") {
  const auto exported = Real::ExportShareableHandle(handle, type, flags);
  if (exported.ok()) return exported;
  return ShareableHandle::FileDescriptor(-1);
}
MUTANT(MC_22, CreateMulticast, "Handle types are forgotten.") {
  MulticastProperties plain = properties;
  plain.handle_types = HandleType::kNone;
  return Real::CreateMulticast(plain);
}

MUTANT(MC_23, Write, "A copy to an object goes nowhere, and succeeds.") {
  const absl::Status written = Real::Write(work, destination, source, size);
  return written.ok() ? written : Ok();
}
MUTANT(MC_23, Read, "A copy from an object finds nothing, and succeeds.") {
  const absl::Status read = Real::Read(work, destination, source, size);
  return read.ok() ? read : Ok();
}
MUTANT(MC_23, Set, "A fill of an object goes nowhere, and succeeds.") {
  const absl::Status filled = Real::Set(work, destination, pattern, count);
  return filled.ok() ? filled : Ok();
}
MUTANT(MC_23, Write, "A copy that is refused has written to the memory all the same.") {
  const absl::Status written = Real::Write(work, destination, source, size);
  if (!written.ok()) Scribble(kEverything);
  return written;
}

MUTANT(MC_24, BindMemory, "Flags are ignored.") {
  return Real::BindMemory(object, offset, memory, memory_offset, size, 0);
}
MUTANT(MC_24, BindAddress, "By address, flags are ignored.") {
  return Real::BindAddress(object, offset, range, 0);
}

MUTANT(MC_25, ImportShareableHandle, "An import in another process is an object of its own.") {
  return Real::CreateMulticast({2, MiB(2), HandleType::kPosixFileDescriptor, 0});
}
MUTANT(MC_25, BindMemory, "What binds before all devices are there is told that it has.") {
  Real::BindMemory(object, offset, memory, memory_offset, size, flags).IgnoreError();
  return Ok();
}

class BindsNothing : public Sharer {
 public:
  using Sharer::Sharer;
  CALL_BindMemory() override {
    return has_imported() ? Ok()
                          : Real::BindMemory(object, offset, memory, memory_offset, size, flags);
  }
};
MUTANT_CLASS_ON("interpreter", MC_26, BindsNothing, "What an importer binds, it does not.")

class BindsOtherMemory : public Sharer {
 public:
  using Sharer::Sharer;
  CALL_BindMemory() override {
    if (!has_imported())
      return Real::BindMemory(object, offset, memory, memory_offset, size, flags);
    AllocationProperties other;
    other.location = Location::Device(DeviceOrdinal(1));
    other.requested_handle_types = HandleType::kPosixFileDescriptor;
    const auto made = Real::Create(size, other, 0);
    return made.ok() ? Real::BindMemory(object, offset, *made, Bytes(0), size, flags)
                     : made.status();
  }
};
MUTANT_CLASS_ON("interpreter", MC_26, BindsOtherMemory,
                "Others reach a copy of what an importer has bound.")

}  // namespace
}  // namespace twinmmu::conformance
