// What is asked and told of a pool.

#include <mutex>

#include "sim/base/errors.h"
#include "sim/calls/pools/pool_calls.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {

absl::StatusOr<uint64_t> PoolCalls::GetAttribute(uint64_t handle, PoolAttribute attribute) {
  static constexpr char kCall[] = "cuMemPoolGetAttribute";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<uint64_t> {
    const std::unique_lock lock(state_.mmu.mutex);
    const PoolState* const pool = FindOwnPool(handle);
    if (pool == nullptr) return NoSuchPool(kCall, handle);
    switch (attribute) {
      case PoolAttribute::kReuseFollowEventDependencies:
        return pool->follow_events ? 1 : 0;
      case PoolAttribute::kReuseAllowOpportunistic:
        return pool->opportunistic ? 1 : 0;
      case PoolAttribute::kReuseAllowInternalDependencies:
        return pool->internal_dependencies ? 1 : 0;
      case PoolAttribute::kReleaseThreshold:
        return pool->release_threshold.value();
      case PoolAttribute::kReservedMemCurrent:
        return pool->reserved.now.value();
      case PoolAttribute::kReservedMemHigh:
        return pool->reserved.high.value();
      case PoolAttribute::kUsedMemCurrent:
        return pool->used.now.value();
      case PoolAttribute::kUsedMemHigh:
        return pool->used.high.value();
    }
    return InvalidValue(kCall, "there is no attribute ", static_cast<int>(attribute));
  });
}

absl::Status PoolCalls::SetAttribute(uint64_t handle, PoolAttribute attribute, uint64_t value) {
  static constexpr char kCall[] = "cuMemPoolSetAttribute";
  return guard_.Guard(kCall, [&]() -> absl::Status {
    const std::unique_lock lock(state_.mmu.mutex);
    PoolState* const pool = FindOwnPool(handle);
    if (pool == nullptr) return NoSuchPool(kCall, handle);
    const auto reset = [&](WatermarkedBytes& bytes) {
      if (value != 0) return InvalidValue(kCall, "a high watermark is only set to 0");
      bytes.high = bytes.now;
      return absl::OkStatus();
    };
    switch (attribute) {
      case PoolAttribute::kReuseFollowEventDependencies:
        pool->follow_events = value != 0;
        return absl::OkStatus();
      case PoolAttribute::kReuseAllowOpportunistic:
        pool->opportunistic = value != 0;
        return absl::OkStatus();
      case PoolAttribute::kReuseAllowInternalDependencies:
        pool->internal_dependencies = value != 0;
        return absl::OkStatus();
      case PoolAttribute::kReleaseThreshold:
        pool->release_threshold = Bytes(value);
        return absl::OkStatus();
      case PoolAttribute::kReservedMemHigh:
        return reset(pool->reserved);
      case PoolAttribute::kUsedMemHigh:
        return reset(pool->used);
      case PoolAttribute::kReservedMemCurrent:
      case PoolAttribute::kUsedMemCurrent:
        break;
    }
    return InvalidValue(kCall, "attribute ", static_cast<int>(attribute), " cannot be set");
  });
}

absl::Status PoolCalls::SetAccess(uint64_t handle, absl::Span<const AccessGrant> grants) {
  static constexpr char kCall[] = "cuMemPoolSetAccess";
  return guard_.Guard(kCall, [&]() -> absl::Status {
    const std::unique_lock lock(state_.mmu.mutex);
    PoolState* const pool = FindPool(handle);
    if (pool == nullptr) return NoSuchPool(kCall, handle);
    uint64_t readers = pool->readers;
    Access told = pool->told;
    for (const AccessGrant& grant : grants) {
      const absl::Status valid = CheckGrant(*pool, grant);
      if (!valid.ok()) return valid;
      told = grant.access;
      if (grant.location.type != LocationType::kDevice || IsManaged(pool->properties)) continue;
      const uint64_t bit = uint64_t{1} << grant.location.id;
      readers = grant.access == Access::kNone ? readers & ~bit : readers | bit;
    }
    pool->readers = readers;
    pool->told = told;
    for (const AddressRange& arena : pool->spans.arenas()) {
      state_.mmu.linear.SetReaders(arena.base, readers);
    }
    if (!pool->imported) return absl::OkStatus();
    for (const PoolWindow& window : pool->windows) {
      state_.mmu.linear.SetReaders(window.range.base, readers);
    }
    return absl::OkStatus();
  });
}

absl::Status PoolCalls::CheckGrant(const PoolState& pool, const AccessGrant& grant) const {
  static constexpr char kCall[] = "cuMemPoolSetAccess";
  const Location& to = grant.location;
  const Location& own = pool.properties.place.location;
  if (IsManaged(pool.properties) && grant.access != Access::kRead) return absl::OkStatus();
  const bool keeps = own.type != LocationType::kDevice && to.type == LocationType::kHost &&
                     grant.access == Access::kReadWrite;
  if (keeps) return absl::OkStatus();
  if (to.type != LocationType::kDevice || grant.access == Access::kRead) {
    return Fail(DriverCode::kNotSupported, kCall, ToString(grant.access), " access of ",
                ToString(to), " to a pool");
  }
  if (!state_.mmu.HasDevice(DeviceOrdinal(to.id))) {
    return Fail(DriverCode::kInvalidDevice, kCall, ToString(to), " does not exist");
  }
  if (own == to && grant.access == Access::kNone) {
    return Fail(DriverCode::kInvalidDevice, kCall, "a device keeps access to its own pools");
  }
  if (grant.access != Access::kNone && grant.access != Access::kReadWrite) {
    return InvalidValue(kCall, "there is no access ", ToString(grant.access));
  }
  const auto& peers = state_.mmu.profile.peers;
  const bool reaches = own.type != LocationType::kDevice || own == to ||
                       peers[static_cast<size_t>(to.id)][static_cast<size_t>(own.id)];
  return reaches ? absl::OkStatus()
                 : Fail(DriverCode::kInvalidDevice, kCall, ToString(to), " is no peer of ",
                        ToString(own));
}

absl::StatusOr<Access> PoolCalls::GetAccess(uint64_t handle, const Location& location) {
  static constexpr char kCall[] = "cuMemPoolGetAccess";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<Access> {
    const std::unique_lock lock(state_.mmu.mutex);
    const PoolState* const pool = FindPool(handle);
    if (pool == nullptr) return NoSuchPool(kCall, handle);
    const Location& own = pool->properties.place.location;
    if (location.type == LocationType::kHost || location.type == LocationType::kHostNuma) {
      if (IsManaged(pool->properties)) return pool->told;
      return own.type == LocationType::kDevice ? Access::kNone : Access::kReadWrite;
    }
    const bool exists =
        location.type == LocationType::kDevice && state_.mmu.HasDevice(DeviceOrdinal(location.id));
    if (!exists) return InvalidValue(kCall, ToString(location), " is no device");
    if (IsManaged(pool->properties)) return pool->told;
    const bool granted = (pool->readers >> location.id & 1) != 0;
    return granted ? Access::kReadWrite : Access::kNone;
  });
}

}  // namespace twinmmu
