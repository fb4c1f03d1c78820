// Pools: what there are, and where.

#include "sim/calls/pools/pool_calls.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "api/diagnostic_words.h"
#include "sim/base/errors.h"
#include "sim/diagnostics/call_record.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {
namespace {

constexpr char kCreateCall[] = "cuMemPoolCreate";

// An H200 with driver 580.159 makes pools of 2^45 bytes, and none of 2^46; between them nobody
// looked.
constexpr Bytes kTooLargePool(uint64_t{1} << 46);

// A negative type is larger than all others.
bool IsUpTo(LocationType last, const Location& location) {
  return location.type >= LocationType::kInvalid && location.type <= last;
}

// The host has no number.
PoolPlace Normal(PoolPlace place) {
  const LocationType type = place.location.type;
  if (type == LocationType::kHost || type == LocationType::kInvalid) place.location.id = 0;
  return place;
}

bool IsOfHost(const Profile& profile, const Location& location) {
  if (location.type == LocationType::kHost) return true;
  return location.type == LocationType::kHostNuma && profile.HasHostNode(location.id);
}

}  // namespace

PoolCalls::PoolCalls(SimulatorState* state, SimulatedStreams* streams)
    : state_(*state), streams_(*streams) {
  state_.on_synchronized = [this] { Synchronized(); };
}

PoolState* PoolCalls::FindPool(uint64_t pool) {
  PoolState* const found = pools_.Find(pool);
  return found != nullptr && !found->destroyed ? found : nullptr;
}

PoolState* PoolCalls::FindOwnPool(uint64_t pool) {
  PoolState* const found = FindPool(pool);
  return found != nullptr && !found->imported ? found : nullptr;
}

absl::Status PoolCalls::NoSuchPool(const char* call, uint64_t pool) const {
  const PoolState* const found = pools_.Find(pool);
  const bool imported = found != nullptr && found->imported && !found->destroyed;
  if (imported) return InvalidValue(call, "pool ", pool, " is of another process");
  return InvalidValue(call, "pool ", pool, pools_.IsDead(pool) ? " was destroyed" : " is none");
}

// What a pool can be made of.
absl::Status PoolCalls::CheckProperties(const char* call, const PoolProperties& properties) const {
  const Location& location = properties.place.location;
  if (IsManaged(properties)) return CheckManaged(call, properties);
  const bool known = location.type == LocationType::kDevice
                         ? state_.mmu.HasDevice(DeviceOrdinal(location.id))
                         : IsOfHost(state_.mmu.profile, location);
  if (!known) return InvalidValue(call, ToString(location), " has no pools");
  if (properties.place.type != AllocationType::kPinned) {
    return InvalidValue(call, "pools are of pinned memory");
  }
  if (properties.most >= kTooLargePool) {
    return Fail(DriverCode::kOutOfMemory, call, "there is no room for a pool of ",
                properties.most.value(), " bytes");
  }
  const HandleType all = HandleType::kPosixFileDescriptor | HandleType::kFabric;
  const bool of_cpu = location.type == LocationType::kHost;
  if ((properties.handle_types & (of_cpu ? HandleType::kNone : all)) != properties.handle_types) {
    return InvalidValue(call, "pools have no such handle types");
  }
  return absl::OkStatus();
}

// Managed memory may be anywhere, or nowhere in particular.
absl::Status PoolCalls::CheckManaged(const char* call, const PoolProperties& properties) const {
  const Location& location = properties.place.location;
  if (!IsUpTo(LocationType::kHostNumaCurrent, location)) {
    return Fail(DriverCode::kNotSupported, call, ToString(location), " has no pools");
  }
  const bool known =
      location.type == LocationType::kInvalid || location.type == LocationType::kHostNumaCurrent ||
      (location.type == LocationType::kDevice ? state_.mmu.HasDevice(DeviceOrdinal(location.id))
                                              : IsOfHost(state_.mmu.profile, location));
  if (!known) return InvalidValue(call, ToString(location), " has no pools");
  if (properties.handle_types != HandleType::kNone || properties.most != Bytes(0) ||
      properties.usage != 0) {
    return InvalidValue(call, "pools of managed memory have no handles, limit, or usage");
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> PoolCalls::Create(const PoolProperties& properties) {
  return guard_.Guard(kCreateCall, [&]() -> absl::StatusOr<uint64_t> {
    const absl::Status valid = CheckProperties(kCreateCall, properties);
    if (!valid.ok()) return valid;
    const uint64_t made_by = RecordCall(state_, kCreateCall);
    const std::unique_lock lock(state_.mmu.mutex);
    return Insert(properties, made_by);
  });
}

uint64_t PoolCalls::Insert(const PoolProperties& properties, uint64_t made_by) {
  PoolState pool;
  pool.properties = properties;
  pool.made_by = made_by;
  const Location& location = properties.place.location;
  if (location.type == LocationType::kDevice) pool.readers = uint64_t{1} << location.id;
  if (IsManaged(properties)) pool.readers = ~uint64_t{0};
  return pools_.Insert(std::move(pool));
}

absl::Status PoolCalls::Destroy(uint64_t handle) {
  static constexpr char kCall[] = "cuMemPoolDestroy";
  return guard_.Guard(kCall, [&] {
    const std::unique_lock lock(state_.mmu.mutex);
    PoolState* const pool = FindPool(handle);
    if (pool == nullptr) return NoSuchPool(kCall, handle);
    if (pool->is_default) return InvalidValue(kCall, "a default pool is never destroyed");
    if (pool->imported && HasImports(*pool)) {
      return InvalidValue(kCall, "memory of the pool is in use");
    }
    if (pool->imported && --pool->imports != 0) return absl::OkStatus();
    for (auto at = current_.begin(); at != current_.end();) {
      at = at->second == handle ? current_.erase(at) : std::next(at);
    }
    pool->destroyed = true;
    pool->spans.Settle(IsOver);
    DropIfUnused(handle);
    return absl::OkStatus();
  });
}

absl::StatusOr<uint64_t> PoolCalls::DefaultOf(const char* call, const PoolPlace& asked) {
  PoolProperties properties;
  properties.place = Normal(asked);
  const auto known = defaults_.find(properties.place);
  if (known != defaults_.end()) return known->second;
  if (!IsUpTo(LocationType::kHostNuma, asked.location)) {
    return Fail(DriverCode::kNotSupported, call, ToString(asked.location), " has no pools");
  }
  const absl::Status valid = CheckProperties(call, properties);
  if (!valid.ok()) return valid;
  pools_.Prepare();
  uint64_t& handle = defaults_[properties.place];
  handle = Insert(properties, 0);
  pools_.Find(handle)->is_default = true;
  return handle;
}

absl::StatusOr<uint64_t> PoolCalls::DefaultPool(const char* call, const PoolPlace& place) {
  return guard_.Guard(call, [&] {
    const std::unique_lock lock(state_.mmu.mutex);
    return DefaultOf(call, place);
  });
}

absl::StatusOr<uint64_t> PoolCalls::CurrentPool(const char* call, const PoolPlace& place) {
  return guard_.Guard(call, [&]() -> absl::StatusOr<uint64_t> {
    const std::unique_lock lock(state_.mmu.mutex);
    return CurrentOf(call, place);
  });
}

absl::StatusOr<uint64_t> PoolCalls::CurrentOf(const char* call, const PoolPlace& place) {
  const auto known = current_.find(Normal(place));
  return known != current_.end() ? known->second : DefaultOf(call, place);
}

absl::Status PoolCalls::SetCurrentPool(const char* call, const PoolPlace& asked, uint64_t handle) {
  return guard_.Guard(call, [&]() -> absl::Status {
    const PoolPlace place = Normal(asked);
    const std::unique_lock lock(state_.mmu.mutex);
    const absl::StatusOr<uint64_t> usual = DefaultOf(call, place);
    if (!usual.ok()) return usual.status();
    const PoolState* const pool = FindOwnPool(handle);
    if (pool == nullptr) return NoSuchPool(call, handle);
    const PoolPlace own = Normal(pool->properties.place);
    if (own < place || place < own) {
      return InvalidValue(call, "the pool is not of ", ToString(place.location));
    }
    current_[place] = handle;
    return absl::OkStatus();
  });
}

bool PoolCalls::Has(DeviceAddress address) const {
  const std::shared_lock lock(state_.mmu.mutex);
  const LinearAllocation* const memory = state_.mmu.linear.Find(address);
  return memory != nullptr && memory->of_pool();
}

std::optional<PooledPiece> PoolCalls::Find(DeviceAddress address) const {
  const std::shared_lock lock(state_.mmu.mutex);
  const PooledPiece* const piece = state_.mmu.pooled.Find(address);
  if (piece == nullptr || piece->freed_by != 0) return std::nullopt;
  return *piece;
}

std::vector<Diagnostic> PoolCalls::Leaks() const {
  std::vector<Diagnostic> leaks;
  const std::shared_lock lock(state_.mmu.mutex);
  pools_.ForEach([&](uint64_t, const PoolState& pool) {
    if (pool.is_default || pool.destroyed) return;
    leaks.push_back(LeakOf(DiagnosticKind::kLeakedPool, pool.made_with, pool.made_by));
    const Location& location = pool.properties.place.location;
    if (location.type == LocationType::kDevice) leaks.back().device = DeviceOrdinal(location.id);
  });
  return leaks;
}

}  // namespace twinmmu
