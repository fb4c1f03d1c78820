#include "sim/calls/multicast/multicast_calls.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/base/errors.h"
#include "sim/calls/multicast/multicast_wait.h"

namespace twinmmu {
namespace {

constexpr HandleType kShareable = HandleType::kPosixFileDescriptor | HandleType::kFabric;

bool HasMulticast(const Profile& profile) {
  for (int device = 0; device < profile.device_count(); ++device) {
    if (profile.Supports(DeviceAttribute::kMulticastSupported, device)) return true;
  }
  return false;
}

bool IsShareable(const PhysicalPages& pages) {
  return pages.properties.requested_handle_types != HandleType::kNone;
}

// The device that has the memory; one that does not exist for host memory.
DeviceOrdinal DeviceOf(const PhysicalPages& pages) {
  const Location& location = pages.location;
  return DeviceOrdinal(location.type == LocationType::kDevice ? location.id : -1);
}

// Whether the memory is the device's own, or of the host node nearest to it.
bool IsNear(const Profile& profile, const Location& location, DeviceOrdinal device) {
  if (location.type == LocationType::kDevice) return location.id == device.value();
  const auto& attributes = profile.devices[static_cast<size_t>(device.value())].attributes;
  const auto node = attributes.find(DeviceAttribute::kHostNumaId);
  return location.type == LocationType::kHostNuma && node != attributes.end() &&
         location.id == node->second;
}

absl::Status CheckBindsForDevice(const CallRecord& call, const SimulatorState& state,
                                 DeviceOrdinal device) {
  const int version = state.mmu.profile.driver_version;
  if (version >= 13010) return state.CheckDevice(call.name(), device);
  return Fail(DriverCode::kNotSupported, call.name(), "came with CUDA 13.1, and the driver is of ",
              version / 1000, ".", version / 10 % 100);
}

// The part of memory that was found, for the device that is named.
template <typename Part>
absl::StatusOr<Part> For(DeviceOrdinal device, absl::StatusOr<Part> part) {
  if (part.ok()) part->device = device;
  return part;
}

}  // namespace

MulticastCalls::MulticastCalls(SimulatorState* state)
    : state_(*state),
      guard_(HasMulticast(mmu_.profile) ? "" : ToString(DeviceAttribute::kMulticastSupported)) {}

TWINMMU_MULTICAST_CALLS(TWINMMU_GUARDED, MulticastCalls)

// All of them but the size.
absl::Status MulticastCalls::CheckProperties(const char* call,
                                             const MulticastProperties& properties) const {
  const auto devices = static_cast<uint32_t>(mmu_.profile.device_count());
  if (properties.device_count == 0 || properties.device_count > devices) {
    return InvalidValue(call, "a team of ", properties.device_count, " devices is not 1 .. ",
                        devices, ", as many as there are");
  }
  if ((properties.handle_types & kShareable) != properties.handle_types) {
    return InvalidValue(call, "handle types ", ToString(properties.handle_types),
                        " do not exist here");
  }
  if (properties.flags != 0) return InvalidValue(call, "flags ", properties.flags, " are not 0");
  return absl::OkStatus();
}

absl::StatusOr<Bytes> MulticastCalls::DoGetGranularity(const MulticastProperties& properties,
                                                       Granularity option) {
  const char* const call = NameOf(Call::kMulticastGetGranularity);
  const absl::Status valid = CheckProperties(call, properties);
  if (!valid.ok()) return valid;
  switch (option) {
    case Granularity::kMinimum:
      return mmu_.profile.multicast_minimum_granularity;
    case Granularity::kRecommended:
      return mmu_.profile.multicast_recommended_granularity;
  }
  return InvalidValue(call, "there is no granularity option ", static_cast<uint32_t>(option));
}

absl::StatusOr<AllocationHandle> MulticastCalls::DoCreate(const MulticastProperties& properties) {
  CallRecord call(state_, Call::kMulticastCreate, AddressRange());
  const absl::Status valid = CheckProperties(call.name(), properties);
  if (!valid.ok()) return valid;
  if (properties.size == Bytes(0) || !IsGranular(properties.size)) {
    return InvalidValue(call.name(), "size ", ToString(properties.size),
                        " is 0 or not a multiple of the granularity ",
                        ToString(mmu_.profile.multicast_minimum_granularity));
  }
  const bool fabric = (properties.handle_types & HandleType::kFabric) != HandleType::kNone;
  if (fabric && !mmu_.profile.fabric_permitted) {
    return Fail(DriverCode::kNotPermitted, call.name(),
                "fabric handles are not permitted to this process");
  }
  const std::unique_lock lock(mmu_.mutex);
  const absl::StatusOr<AllocationHandle> handle =
      mmu_.memory.CreateMulticast(properties, call.id());
  if (!handle.ok()) {
    return Fail(DriverCode::kOutOfMemory, call.name(), handle.status().message());
  }
  call.Done(AddressRange{DeviceAddress(0), properties.size, Bytes(0)}, handle->value());
  return handle;
}

absl::StatusOr<PhysicalPages*> MulticastCalls::FindObject(CallRecord& call,
                                                          AllocationHandle object) const {
  const AllocationRecord* const record = mmu_.memory.Find(object);
  if (record == nullptr || record->references == 0) {
    return call.Refuse(WhyNotUsable(state_, object), words::NamesNoAllocation(object));
  }
  if (!record->is_multicast()) {
    return InvalidValue(call.name(), "handle ", ToString(object),
                        " is of memory, not of a multicast object");
  }
  return record->pages.get();
}

absl::StatusOr<TeamFile::Turn> MulticastCalls::Enter(const char* call,
                                                     PhysicalPages& object) const {
  absl::StatusOr<TeamFile::Turn> turn = mmu_.EnterTeam(object);
  if (turn.ok()) return turn;
  return Fail(DriverCode::kOperatingSystem, call, turn.status().message());
}

absl::Status MulticastCalls::DoAddDevice(AllocationHandle object, DeviceOrdinal device) {
  CallRecord call(state_, Call::kMulticastAddDevice, AddressRange(), object.value());
  const absl::Status known = state_.CheckDevice(call.name(), device);
  if (!known.ok()) return known;
  const std::unique_lock lock(mmu_.mutex);
  const absl::StatusOr<PhysicalPages*> found = FindObject(call, object);
  if (!found.ok()) return found.status();
  MulticastTeam& team = *(*found)->team;
  const absl::StatusOr<TeamFile::Turn> turn = Enter(call.name(), **found);
  if (!turn.ok()) return turn.status();
  if (!mmu_.profile.Supports(DeviceAttribute::kMulticastSupported, device.value())) {
    return Fail(DriverCode::kNotSupported, call.name(), ToString(device), " does not have ",
                ToString(DeviceAttribute::kMulticastSupported));
  }
  if (team.Has(device)) {
    return InvalidValue(call.name(), ToString(device), " is in the team already");
  }
  if (team.complete()) {
    return InvalidValue(call.name(), "the team has all of its ", team.devices.size(), " device(s)");
  }
  team.devices.insert(std::upper_bound(team.devices.begin(), team.devices.end(), device), device);
  if (team.file != nullptr) team.file->AddDevice(device);
  call.Done(AddressRange(), object.value());
  mmu_.team_changed.notify_all();
  return absl::OkStatus();
}

absl::Status MulticastCalls::CheckSpan(const char* call, const PhysicalPages& object, Bytes offset,
                                       Bytes size) const {
  if (size == Bytes(0) || !IsGranular(size) || !IsGranular(offset)) {
    return InvalidValue(call, "offset ", ToString(offset), " and size ", ToString(size),
                        " are not multiples of the granularity ",
                        ToString(mmu_.profile.multicast_minimum_granularity), ", or the size is 0");
  }
  if (object.size < offset || object.size - offset < size) {
    return InvalidValue(call, "offset ", ToString(offset), " and size ", ToString(size),
                        " are beyond the object of ", ToString(object.size));
  }
  return absl::OkStatus();
}

absl::StatusOr<MulticastCalls::Part> MulticastCalls::PartOf(CallRecord& call,
                                                            AllocationHandle memory, Bytes offset,
                                                            Bytes size) const {
  const AllocationRecord* const record = mmu_.memory.Find(memory);
  if (record == nullptr || record->references == 0) {
    return call.Refuse(WhyNotUsable(state_, memory), words::NamesNoAllocation(memory));
  }
  if (record->is_multicast()) {
    return InvalidValue(call.name(), "handle ", ToString(memory),
                        " is of a multicast object, not of memory");
  }
  if (!IsGranular(offset)) {
    return InvalidValue(call.name(), "memory offset ", ToString(offset),
                        " is not a multiple of the granularity ",
                        ToString(mmu_.profile.multicast_minimum_granularity));
  }
  const Bytes whole = record->pages->size;
  if (whole < offset || whole - offset < size) {
    return InvalidValue(call.name(), "memory offset ", ToString(offset), " and size ",
                        ToString(size), " are beyond the memory of ", ToString(whole));
  }
  return Part{record->pages, offset, DeviceOf(*record->pages)};
}

absl::StatusOr<MulticastCalls::Part> MulticastCalls::PartAt(const char* call,
                                                            const AddressRange& range) const {
  if (!range.base.IsAligned(mmu_.profile.multicast_minimum_granularity)) {
    return InvalidValue(call, "address ", ToString(range.base),
                        " is not a multiple of the granularity ",
                        ToString(mmu_.profile.multicast_minimum_granularity));
  }
  const MappingRecord* const mapping = mmu_.MappingAt(range.base);
  if (mapping == nullptr) {
    return InvalidValue(call, "no memory of cuMemCreate is mapped at ", ToString(range.base));
  }
  const AddressRange whole = mmu_.RangeOf(*mapping);
  if (!whole.contains(range)) {
    return InvalidValue(call, ToString(range), " is not all in one mapping: ", ToString(whole));
  }
  if (mapping->multicast) {
    return InvalidValue(call, "what is mapped at ", ToString(range.base),
                        " is a multicast object, not memory");
  }
  const Bytes offset = mmu_.SizeOf(mapping->offset) + (range.base - whole.base);
  const std::shared_ptr<PhysicalPages>& pages = mmu_.AllocationOf(*mapping).pages;
  return Part{pages, offset, DeviceOf(*pages)};
}

// Tells other simulators of the binding, if there can be any.
absl::Status MulticastCalls::Publish(const char* call, PhysicalPages& object,
                                     MulticastBinding& binding) {
  if (object.team->file == nullptr) return absl::OkStatus();
  absl::StatusOr<SharedBinding> shared = mmu_.memory.Announce(*binding.pages);
  if (!shared.ok()) return Fail(DriverCode::kOutOfMemory, call, shared.status().message());
  shared->device = binding.device;
  shared->offset = binding.offset;
  shared->size = binding.size;
  shared->memory_offset = binding.memory_offset;
  const absl::StatusOr<uint64_t> stamp = object.team->file->Add(*shared);
  if (!stamp.ok()) return Fail(DriverCode::kOutOfMemory, call, stamp.status().message());
  binding.stamp = *stamp;
  return absl::OkStatus();
}

// What holds for memory however it is named. Last of all it is bound.
absl::Status MulticastCalls::AddBinding(const char* call, PhysicalPages& object,
                                        MulticastBinding binding) {
  const absl::StatusOr<TeamFile::Turn> turn = Enter(call, object);
  if (!turn.ok()) return turn.status();
  MulticastTeam& team = *object.team;
  const Location& location = binding.pages->location;
  if (!team.Has(binding.device)) {
    return InvalidValue(call, "the memory is of ", ToString(location), ", for ",
                        ToString(binding.device), ", which is not in the team");
  }
  if (!IsNear(mmu_.profile, location, binding.device)) {
    return InvalidValue(call, "the memory is of ", ToString(location), ", neither of ",
                        ToString(binding.device), " nor of its host node");
  }
  if ((binding.pages->properties.usage & kUsageTilePool) != 0) {
    return InvalidValue(call, "the memory is a tile pool");
  }
  if (IsShareable(object) && !IsShareable(*binding.pages)) {
    return InvalidValue(call,
                        "the object can be shared, and the memory cannot: set "
                        "requested_handle_types in Create");
  }
  const MulticastBinding* const old = team.Find(binding.device, binding.offset, binding.size);
  if (old != nullptr) {
    return InvalidValue(call, ToString(binding.device), " has bound offset ", ToString(old->offset),
                        " and size ", ToString(old->size), " already");
  }
  for (const MissingReplica& other : team.missing) {
    if (!other.left && other.binding.Overlaps(binding.device, binding.offset, binding.size)) {
      return InvalidValue(call, other.why);
    }
  }
  team.bindings.reserve(team.bindings.size() + 1);  // what can fail comes first
  const absl::Status told = Publish(call, object, binding);
  if (told.ok()) mmu_.AddBinding(object, std::move(binding));
  return told;
}

absl::Status MulticastCalls::Bind(CallRecord& call, AllocationHandle object, Bytes offset,
                                  Bytes size, uint64_t flags,
                                  absl::FunctionRef<absl::StatusOr<Part>()> find_part) {
  if (flags != 0) return InvalidValue(call.name(), "flags ", flags, " are not 0");
  std::unique_lock lock(mmu_.mutex);
  absl::Status status = AwaitTeam(state_, call, lock, object);
  if (!status.ok()) return status;
  const absl::StatusOr<PhysicalPages*> found = FindObject(call, object);
  if (!found.ok()) return found.status();
  status = CheckSpan(call.name(), **found, offset, size);
  if (!status.ok()) return status;
  absl::StatusOr<Part> part = find_part();
  if (!part.ok()) return part.status();
  return AddBinding(call.name(), **found,
                    {part->device, offset, size, std::move(part->pages), part->offset, call.id()});
}

absl::Status MulticastCalls::DoBindMemory(AllocationHandle object, Bytes offset,
                                          AllocationHandle memory, Bytes memory_offset, Bytes size,
                                          uint64_t flags) {
  CallRecord call(state_, Call::kMulticastBindMemory, AddressRange(), object.value());
  const absl::Status status = Bind(call, object, offset, size, flags,
                                   [&] { return PartOf(call, memory, memory_offset, size); });
  if (status.ok()) call.Done(AddressRange(), object.value());
  return status;
}

absl::Status MulticastCalls::DoBindAddress(AllocationHandle object, Bytes offset,
                                           const AddressRange& range, uint64_t flags) {
  CallRecord call(state_, Call::kMulticastBindAddress, range, object.value());
  const absl::Status status =
      Bind(call, object, offset, range.size, flags, [&] { return PartAt(call.name(), range); });
  if (status.ok()) call.Done(range, object.value());
  return status;
}

absl::Status MulticastCalls::DoBindMemoryForDevice(AllocationHandle object, DeviceOrdinal device,
                                                   Bytes offset, AllocationHandle memory,
                                                   Bytes memory_offset, Bytes size,
                                                   uint64_t flags) {
  CallRecord call(state_, Call::kMulticastBindMemoryForDevice, AddressRange(), object.value());
  absl::Status status = CheckBindsForDevice(call, state_, device);
  if (!status.ok()) return status;
  status = Bind(call, object, offset, size, flags,
                [&] { return For(device, PartOf(call, memory, memory_offset, size)); });
  if (status.ok()) call.Done(AddressRange(), object.value());
  return status;
}

absl::Status MulticastCalls::DoBindAddressForDevice(AllocationHandle object, DeviceOrdinal device,
                                                    Bytes offset, const AddressRange& range,
                                                    uint64_t flags) {
  CallRecord call(state_, Call::kMulticastBindAddressForDevice, range, object.value());
  absl::Status status = CheckBindsForDevice(call, state_, device);
  if (!status.ok()) return status;
  status = Bind(call, object, offset, range.size, flags,
                [&] { return For(device, PartAt(call.name(), range)); });
  if (status.ok()) call.Done(range, object.value());
  return status;
}

absl::Status MulticastCalls::DoUnbind(AllocationHandle object, DeviceOrdinal device, Bytes offset,
                                      Bytes size) {
  CallRecord call(state_, Call::kMulticastUnbind, AddressRange(), object.value());
  const absl::Status known = state_.CheckDevice(call.name(), device);
  if (!known.ok()) return known;
  const std::unique_lock lock(mmu_.mutex);
  const absl::StatusOr<PhysicalPages*> found = FindObject(call, object);
  if (!found.ok()) return found.status();
  const absl::Status valid = CheckSpan(call.name(), **found, offset, size);
  if (!valid.ok()) return valid;
  const absl::StatusOr<TeamFile::Turn> turn = Enter(call.name(), **found);
  if (!turn.ok()) return turn.status();
  const MulticastTeam& team = *(*found)->team;
  if (!team.Has(device)) {
    return InvalidValue(call.name(), ToString(device), " is not in the team");
  }
  const MulticastBinding* const bound = team.Find(device, offset, size);
  if (bound == nullptr || bound->offset != offset || bound->size != size) {
    return call.Refuse({DiagnosticKind::kUnbindOfPart, std::nullopt, object, device,
                        bound == nullptr ? 0 : bound->call},
                       words::NothingBoundSo(device, offset, size));
  }
  if (!bound->is_own()) {
    return InvalidValue(call.name(), "another process has bound that memory of ", ToString(device),
                        ", and it alone unbinds it");
  }
  if (team.file != nullptr) team.file->Remove(bound->stamp);
  mmu_.RemoveBinding(**found, *bound);
  call.Done(AddressRange(), object.value());
  return absl::OkStatus();
}

}  // namespace twinmmu
