#include "sim/calls/endpoints/endpoint_calls.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "sim/base/errors.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {
namespace {

// CUdevice_attribute.
constexpr int kUnicastSupported = 153;
constexpr int kMulticastSupported = 154;
constexpr int kCountedSupported = 155;

constexpr uint32_t kCountedOperations = 1;  // CU_LOGICAL_ENDPOINT_FLAG_COUNTED_OPS

// What the object behind an endpoint answers, as an answer of the endpoint's call.
absl::Status As(const char* call, const absl::Status& answer) {
  if (answer.ok()) return answer;
  const std::string words(answer.message());
  const size_t end = words.find(": ");  // of the name of the object's call
  return Fail(GetDriverCode(answer), call,
              end == std::string::npos ? words : words.substr(end + 2));
}

absl::Status NoMemoryIsShared(const char* call) {
  return Fail(DriverCode::kNotPermitted, call, "fabric handles are not permitted to this process");
}

}  // namespace

// --- Numbers

bool EndpointCalls::IsReserved(uint32_t first, uint32_t count) const {
  const uint64_t end = uint64_t{first} + count;
  for (uint64_t id = first; id < end;) {
    const auto above = reserved_.upper_bound(static_cast<uint32_t>(id));
    if (above == reserved_.begin()) return false;
    const auto& [base, size] = *std::prev(above);
    if (id - base >= size) return false;
    id = uint64_t{base} + size;
  }
  return count != 0;
}

absl::StatusOr<uint32_t> EndpointCalls::ReserveIds(uint32_t count) {
  static constexpr char kCall[] = "cuLogicalEndpointIdReserve";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<uint32_t> {
    const std::lock_guard lock(mutex_);
    if (count == 0) return InvalidValue(kCall, "count is 0");
    if (count > std::numeric_limits<uint32_t>::max() - next_id_) {
      return Fail(DriverCode::kOutOfMemory, kCall, "so many numbers are not left: ", count);
    }
    reserved_.emplace(next_id_, count);
    return std::exchange(next_id_, next_id_ + count);
  });
}

absl::Status EndpointCalls::ReleaseIds(uint32_t first, uint32_t count) {
  static constexpr char kCall[] = "cuLogicalEndpointIdRelease";
  return guard_.Guard(kCall, [&] {
    const std::lock_guard lock(mutex_);
    if (!IsReserved(first, count)) {
      return InvalidValue(kCall, "not all of the ", count, " numbers from ", first,
                          " are reserved");
    }
    const auto named = endpoints_.lower_bound(first);
    const uint64_t end = uint64_t{first} + count;
    if (named != endpoints_.end() && named->first < end) {
      return InvalidValue(kCall, "number ", named->first, " names an endpoint");
    }
    // What is left of the reservations before and behind it.
    std::map<uint32_t, uint32_t> rest;
    for (uint64_t id = first; id < end;) {
      const auto& [base, size] = *std::prev(reserved_.upper_bound(static_cast<uint32_t>(id)));
      if (base < first) rest.emplace(base, first - base);
      const uint64_t stop = uint64_t{base} + size;
      if (stop > end) rest.emplace(static_cast<uint32_t>(end), static_cast<uint32_t>(stop - end));
      id = stop;
    }
    const auto begin = std::prev(reserved_.upper_bound(first));
    reserved_.erase(begin, reserved_.lower_bound(static_cast<uint32_t>(end)));
    reserved_.merge(rest);
    return absl::OkStatus();
  });
}

absl::Status EndpointCalls::CheckFree(const char* call, uint32_t id) const {
  if (!IsReserved(id, 1)) return InvalidValue(call, "number ", id, " is not reserved");
  if (endpoints_.count(id) == 0) return absl::OkStatus();
  return InvalidValue(call, "number ", id, " names an endpoint already");
}

absl::StatusOr<EndpointCalls::Endpoint*> EndpointCalls::Find(const char* call, uint32_t id) {
  const auto found = endpoints_.find(id);
  if (found == endpoints_.end()) return InvalidValue(call, "number ", id, " names no endpoint");
  return &found->second;
}

absl::StatusOr<EndpointCalls::Endpoint*> EndpointCalls::FindOn(const char* call, uint32_t id,
                                                               DeviceOrdinal device) {
  const absl::StatusOr<Endpoint*> found = Find(call, id);
  if (!found.ok()) return found;
  const absl::Status known = state_.CheckDevice(call, device);
  if (!known.ok()) return known;
  return found;
}

// --- Properties

bool EndpointCalls::Has(int attribute, DeviceOrdinal device) const {
  return state_.mmu.profile.Supports(static_cast<DeviceAttribute>(attribute), device.value());
}

absl::Status EndpointCalls::CheckProperties(const char* call,
                                            const EndpointProperties& properties) const {
  const bool unicast = properties.type == EndpointType::kUnicast;
  if (!unicast && properties.type != EndpointType::kMulticast) {
    return InvalidValue(call, "there is no type ", static_cast<int>(properties.type));
  }
  if (unicast && !state_.mmu.HasDevice(properties.owner)) {
    return InvalidValue(call, ToString(properties.owner), " does not exist");
  }
  const auto devices = static_cast<uint32_t>(state_.mmu.profile.device_count());
  if (!unicast && (properties.device_count == 0 || properties.device_count > devices)) {
    return InvalidValue(call, "a team of ", properties.device_count, " devices is not 1 .. ",
                        devices, ", as many as there are");
  }
  if ((properties.handle_types & ~kEndpointFabric) != 0) {
    return InvalidValue(call, "handle types ", properties.handle_types, " do not exist");
  }
  if ((properties.flags & ~kCountedOperations) != 0) {
    return InvalidValue(call, "flags ", properties.flags, " do not exist");
  }
  const auto supported = [&](int attribute) {
    if (unicast) return Has(attribute, properties.owner);
    for (uint32_t i = 0; i < devices; ++i) {
      if (Has(attribute, DeviceOrdinal(static_cast<int>(i)))) return true;
    }
    return false;
  };
  if (!supported(unicast ? kUnicastSupported : kMulticastSupported)) {
    return Fail(DriverCode::kNotSupported, call, "no device has such endpoints");
  }
  if (properties.flags != 0 && !supported(kCountedSupported)) {
    return Fail(DriverCode::kNotSupported, call, "no device has counted operations");
  }
  return absl::OkStatus();
}

EndpointCalls::Limits EndpointCalls::LimitsOf(const EndpointProperties& properties) const {
  const Profile& profile = state_.mmu.profile;
  const Bytes alignment = profile.multicast_minimum_granularity;
  Bytes least = profile.devices[static_cast<size_t>(properties.owner.value())].memory;
  if (properties.type == EndpointType::kMulticast) {
    for (const DeviceProfile& device : profile.devices) least = std::min(least, device.memory);
  }
  return {alignment, least - least % alignment};
}

absl::StatusOr<EndpointCalls::Limits> EndpointCalls::GetLimits(
    const EndpointProperties& properties) const {
  static constexpr char kCall[] = "cuLogicalEndpointGetLimits";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<Limits> {
    const absl::Status valid = CheckProperties(kCall, properties);
    if (!valid.ok()) return valid;
    return LimitsOf(properties);
  });
}

// --- Endpoints

absl::StatusOr<AllocationHandle> EndpointCalls::Create(uint32_t id,
                                                       const EndpointProperties& properties) {
  static constexpr char kCall[] = "cuLogicalEndpointCreate";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<AllocationHandle> {
    const std::lock_guard lock(mutex_);
    absl::Status valid = CheckFree(kCall, id);
    if (valid.ok()) valid = CheckProperties(kCall, properties);
    if (!valid.ok()) return valid;
    const Limits limits = LimitsOf(properties);
    if (properties.size == Bytes(0) || properties.size % limits.alignment != Bytes(0) ||
        properties.size > limits.most) {
      return InvalidValue(kCall, "size ", ToString(properties.size), " is 0, not a multiple of ",
                          ToString(limits.alignment), ", or more than ", ToString(limits.most));
    }
    const bool shared = properties.handle_types != 0;
    if (shared && !state_.mmu.profile.fabric_permitted) return NoMemoryIsShared(kCall);
    const bool unicast = properties.type == EndpointType::kUnicast;
    Endpoints made;
    Endpoint& endpoint = made[id];
    endpoint.unicast = unicast;
    endpoint.owner = properties.owner;
    const absl::StatusOr<AllocationHandle> object =
        multicast_.Create({unicast ? 1 : properties.device_count, properties.size,
                           shared ? HandleType::kFabric : HandleType::kNone, 0});
    if (!object.ok()) return As(kCall, object.status());
    endpoint.object = *object;
    absl::Cleanup release = [&] { vmm_.Release(*object).IgnoreError(); };
    if (unicast) {
      const absl::Status added = multicast_.AddDevice(*object, properties.owner);
      if (!added.ok()) return As(kCall, added);
    }
    endpoints_.merge(made);
    std::move(release).Cancel();
    return object;
  });
}

absl::Status EndpointCalls::AddDevice(uint32_t id, DeviceOrdinal device) {
  static constexpr char kCall[] = "cuLogicalEndpointAddDevice";
  return guard_.Guard(kCall, [&] {
    const std::lock_guard lock(mutex_);
    const absl::StatusOr<Endpoint*> found = FindOn(kCall, id, device);
    if (!found.ok()) return found.status();
    if ((*found)->unicast) return InvalidValue(kCall, "endpoint ", id, " is of its owner alone");
    if (!Has(kMulticastSupported, device)) {
      return Fail(DriverCode::kNotSupported, kCall, ToString(device), " has no such endpoints");
    }
    for (const DeviceOrdinal other : (*found)->devices) {
      if (device == other || state_.mmu.profile.peers[device.value()][other.value()]) continue;
      return Fail(DriverCode::kInvalidDevice, kCall, ToString(device), " is not in the clique of ",
                  ToString(other));
    }
    (*found)->devices.reserve((*found)->devices.size() + 1);
    const absl::Status added = multicast_.AddDevice((*found)->object, device);
    if (added.ok()) (*found)->devices.push_back(device);
    return As(kCall, added);
  });
}

absl::StatusOr<bool> EndpointCalls::IsComplete(const char* call, const Endpoint& endpoint) const {
  Mmu& mmu = state_.mmu;
  const std::unique_lock lock(mmu.mutex);
  const AllocationRecord* const object = mmu.memory.Find(endpoint.object);
  if (object == nullptr || !object->is_multicast()) {
    return Fail(DriverCode::kIllegalState, call, "what is behind the endpoint was released");
  }
  const absl::StatusOr<TeamFile::Turn> turn = mmu.EnterTeam(*object->pages);
  if (!turn.ok()) return Fail(DriverCode::kIllegalState, call, turn.status().message());
  return object->pages->team->complete();
}

absl::StatusOr<bool> EndpointCalls::Query(uint32_t first, uint32_t count) {
  static constexpr char kCall[] = "cuLogicalEndpointQuery";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<bool> {
    const std::lock_guard lock(mutex_);
    if (!IsReserved(first, count)) {
      return InvalidValue(kCall, "not all of the ", count, " numbers from ", first,
                          " are reserved");
    }
    uint32_t ready = 0;
    for (auto at = endpoints_.lower_bound(first);
         at != endpoints_.end() && at->first - first < count; ++at) {
      const absl::StatusOr<bool> complete = IsComplete(kCall, at->second);
      if (!complete.ok()) return complete.status();
      at->second.ready |= *complete;
      if (*complete) ++ready;
    }
    return ready == count;
  });
}

// --- Bindings

absl::StatusOr<EndpointCalls::Endpoint*> EndpointCalls::FindBindable(const char* call, uint32_t id,
                                                                     DeviceOrdinal device) {
  const absl::StatusOr<Endpoint*> found = Find(call, id);
  if (!found.ok()) return found;
  const Endpoint& endpoint = **found;
  if (endpoint.unicast && endpoint.imported) {
    return InvalidValue(call, "endpoint ", id, " is another process's, and unicast");
  }
  if (endpoint.unicast && device != endpoint.owner) {
    return InvalidValue(call, "endpoint ", id, " is of ", ToString(endpoint.owner), ", not of ",
                        ToString(device));
  }
  if (!endpoint.ready) {
    return InvalidValue(call, "cuLogicalEndpointQuery has not said that endpoint ", id,
                        " is complete");
  }
  (*found)->bindings.reserve(endpoint.bindings.size() + 1);  // what can fail comes first
  return found;
}

absl::Status EndpointCalls::BindMemory(uint32_t id, DeviceOrdinal device, Bytes offset,
                                       AllocationHandle memory, Bytes memory_offset, Bytes size,
                                       uint64_t flags) {
  static constexpr char kCall[] = "cuLogicalEndpointBindMem";
  return guard_.Guard(kCall, [&] {
    const std::lock_guard lock(mutex_);
    const absl::StatusOr<Endpoint*> found = FindBindable(kCall, id, device);
    if (!found.ok()) return found.status();
    const absl::Status bound = multicast_.BindMemoryForDevice((*found)->object, device, offset,
                                                              memory, memory_offset, size, flags);
    if (bound.ok()) (*found)->bindings.push_back({device, offset, size});
    return As(kCall, bound);
  });
}

absl::Status EndpointCalls::BindAddress(uint32_t id, DeviceOrdinal device, Bytes offset,
                                        const AddressRange& range, uint64_t flags) {
  static constexpr char kCall[] = "cuLogicalEndpointBindAddr";
  return guard_.Guard(kCall, [&] {
    const std::lock_guard lock(mutex_);
    const absl::StatusOr<Endpoint*> found = FindBindable(kCall, id, device);
    if (!found.ok()) return found.status();
    const absl::Status bound =
        multicast_.BindAddressForDevice((*found)->object, device, offset, range, flags);
    if (bound.ok()) (*found)->bindings.push_back({device, offset, range.size});
    return As(kCall, bound);
  });
}

absl::Status EndpointCalls::Unbind(uint32_t id, DeviceOrdinal device, Bytes offset, Bytes size) {
  static constexpr char kCall[] = "cuLogicalEndpointUnbind";
  return guard_.Guard(kCall, [&] {
    const std::lock_guard lock(mutex_);
    const absl::StatusOr<Endpoint*> found = FindOn(kCall, id, device);
    if (!found.ok()) return found.status();
    std::vector<Binding>& bindings = (*found)->bindings;
    const Bytes end = std::max(offset + size, offset);  // one that wraps is empty
    bool begins = false;
    for (const Binding& bound : bindings) {
      const bool outside = bound.offset >= end || bound.offset + bound.size <= offset;
      if (bound.device != device || outside) continue;
      begins |= bound.offset == offset;
      if (bound.offset >= offset && bound.offset + bound.size <= end) continue;
      return InvalidValue(kCall, "of what is bound at offset ", ToString(bound.offset),
                          " and size ", ToString(bound.size), " that is only a part");
    }
    if (!begins) {
      return InvalidValue(kCall, "nothing of ", ToString(device), " was bound at offset ",
                          ToString(offset));
    }
    for (size_t i = bindings.size(); i-- > 0;) {
      const Binding bound = bindings[i];
      if (bound.device != device || bound.offset < offset || bound.offset >= end) continue;
      const absl::Status unbound =
          multicast_.Unbind((*found)->object, device, bound.offset, bound.size);
      if (!unbound.ok()) return As(kCall, unbound);
      bindings.erase(bindings.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return absl::OkStatus();
  });
}

// --- Sharing

absl::StatusOr<FabricHandle> EndpointCalls::Export(uint32_t id, uint32_t handle_type) {
  static constexpr char kCall[] = "cuLogicalEndpointExport";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<FabricHandle> {
    const std::lock_guard lock(mutex_);
    if (handle_type != kEndpointFabric) {
      return InvalidValue(kCall, "there is no handle type ", handle_type, " to export");
    }
    const absl::StatusOr<Endpoint*> found = Find(kCall, id);
    if (!found.ok()) return found.status();
    const absl::StatusOr<ShareableHandle> shared =
        vmm_.ExportShareableHandle((*found)->object, HandleType::kFabric, 0);
    if (!shared.ok()) return As(kCall, shared.status());
    return shared->fabric;
  });
}

absl::StatusOr<AllocationHandle> EndpointCalls::Import(uint32_t id, const FabricHandle& handle,
                                                       uint32_t handle_type) {
  static constexpr char kCall[] = "cuLogicalEndpointImport";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<AllocationHandle> {
    const std::lock_guard lock(mutex_);
    if (handle_type != kEndpointFabric) {
      return InvalidValue(kCall, "there is no handle type ", handle_type, " to import");
    }
    const absl::Status free = CheckFree(kCall, id);
    if (!free.ok()) return free;
    if (!state_.mmu.profile.fabric_permitted) return NoMemoryIsShared(kCall);
    Endpoints made;
    Endpoint& endpoint = made[id];
    endpoint.imported = true;
    ShareableHandle shared;
    shared.type = HandleType::kFabric;
    shared.fabric = handle;
    const absl::StatusOr<AllocationHandle> object = vmm_.ImportShareableHandle(shared);
    if (!object.ok()) return As(kCall, object.status());
    absl::Cleanup release = [&] { vmm_.Release(*object).IgnoreError(); };
    endpoint.object = *object;
    {
      const std::unique_lock mmu_lock(state_.mmu.mutex);
      const AllocationRecord* const record = state_.mmu.memory.Find(*object);
      if (record == nullptr || !record->is_multicast()) {
        return InvalidValue(kCall, "the handle is of memory, not of an endpoint");
      }
      endpoint.unicast = record->pages->team->properties.device_count == 1;
    }
    endpoints_.merge(made);
    std::move(release).Cancel();
    return object;
  });
}

absl::StatusOr<AllocationHandle> EndpointCalls::Destroy(uint32_t id) {
  static constexpr char kCall[] = "cuLogicalEndpointDestroy";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<AllocationHandle> {
    const std::lock_guard lock(mutex_);
    const absl::StatusOr<Endpoint*> found = Find(kCall, id);
    if (!found.ok()) return found.status();
    for (const Binding& bound : (*found)->bindings) {
      multicast_.Unbind((*found)->object, bound.device, bound.offset, bound.size).IgnoreError();
    }
    const AllocationHandle object = (*found)->object;
    const absl::Status released = vmm_.Release(object);
    if (!released.ok()) return As(kCall, released);
    endpoints_.erase(id);
    return object;
  });
}

}  // namespace twinmmu
