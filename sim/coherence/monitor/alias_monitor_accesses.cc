// One access: what it races with, the value that it reads, the order that it makes.

#include <algorithm>

#include "sim/coherence/monitor/alias_monitor_impl.h"

namespace twinmmu::coherence {
namespace {

// Older values are not kept for copies and fills of more bytes than this.
constexpr uint64_t kMaxValueRange = 64 << 10;

}  // namespace

const char* AliasMonitor::Impl::Load(const MonitoredAccess& access, char* older) {
  if (!Notes(access)) return access.memory;
  if (!keeps_values_ && !access.strength.IsStrong()) {
    Check(access, ordering_.Next(access.thread, access.address, access.site), /*writes=*/false);
    return access.memory;
  }
  bool is_older = false;
  AccessEvent event = EventOf(access);
  if (access.armed) {
    event = ordering_.Next(access.thread, access.address, access.site);
    Check(access, event, /*writes=*/false);
    if (keeps_values_) is_older = LoadValues(access, access.size, event, /*atomic=*/false, older);
  }
  if (access.strength.IsStrong() && !is_older) LoadFlag(access, event);
  if (Caches::EndsWith(access.strength)) InvalidateCache(access.thread);
  return is_older ? older : access.memory;
}

void AliasMonitor::Impl::BeforeStore(const MonitoredAccess& access) {
  if (!access.armed || !Notes(access)) return;
  const AccessEvent event = ordering_.Next(access.thread, access.address, access.site);
  Check(access, event, /*writes=*/true);
  if (keeps_values_) TouchValues(access.memory, access.size);
}

void AliasMonitor::Impl::AfterStore(const MonitoredAccess& access) {
  if (!Notes(access)) return;
  const AccessEvent event = EventOf(access);
  if (keeps_values_ && access.armed) StoreValues(access, access.size, event, /*atomic=*/false);
  StoreFlag(access, event, /*atomic=*/false);
}

const char* AliasMonitor::Impl::BeforeAtomic(const MonitoredAccess& access, char* older) {
  if (!Notes(access)) return access.memory;
  bool is_older = false;
  AccessEvent event = EventOf(access);
  if (access.armed) {
    event = ordering_.Next(access.thread, access.address, access.site);
    Check(access, event, /*writes=*/false);
    if (keeps_values_) {
      TouchValues(access.memory, access.size);
      is_older = LoadValues(access, access.size, event, /*atomic=*/true, older);
    }
  }
  atomic_ = event;
  if (!is_older) LoadFlag(access, event);
  return is_older ? older : access.memory;
}

void AliasMonitor::Impl::AfterAtomic(const MonitoredAccess& access, bool wrote) {
  if (!Notes(access)) return;
  const AccessEvent event = EventOf(access);
  if (wrote) {
    if (access.armed) {
      Check(access, event, /*writes=*/true);
      if (keeps_values_) StoreValues(access, access.size, event, /*atomic=*/true);
    }
    StoreFlag(access, event, /*atomic=*/true);
  }
  if (Caches::EndsWith(access.strength)) InvalidateCache(access.thread);
}

void AliasMonitor::Impl::AfterRangeLoad(const MonitoredAccess& access, uint64_t size,
                                        char* copied) {
  if (size == 0 || !access.armed || !ordering_.Runs(access.thread)) return;
  const AccessEvent event = ordering_.Next(access.thread, access.address, access.site);
  CheckRange(access, size, event, /*writes=*/false);
  if (access.strength.IsStrong()) {  // a few bytes
    MonitoredAccess whole = access;
    whole.size = static_cast<uint32_t>(size);
    LoadFlag(whole, event);
  }
  if (!keeps_values_ || values_.empty()) return;
  MonitoredAccess part = access;
  part.strength = Strength();
  for (uint64_t done = 0; done < size;) {
    part.memory = access.memory + done;
    const uint64_t bytes = std::min(size - done, kPageBytes - LocationOf(part.memory) % kPageBytes);
    if (values_.HasPage(LocationOf(part.memory))) {
      LoadValues(part, bytes, event, /*atomic=*/false, copied + done);
    }
    done += bytes;
  }
}

void AliasMonitor::Impl::BeforeRangeStore(const MonitoredAccess& access, uint64_t size) {
  if (size == 0 || !access.armed || !ordering_.Runs(access.thread)) return;
  const AccessEvent event = ordering_.Next(access.thread, access.address, access.site);
  CheckRange(access, size, event, /*writes=*/true);
  if (!keeps_values_) return;
  if (size <= kMaxValueRange) {
    TouchValues(access.memory, size);
  } else {
    const LocationId first = LocationOf(access.memory);
    values_.Forget(first, first + size - 1);
  }
}

void AliasMonitor::Impl::AfterRangeStore(const MonitoredAccess& access, uint64_t size) {
  if (size == 0 || !ordering_.Runs(access.thread)) return;
  MonitoredAccess whole = access;
  whole.strength = Strength();
  if (access.armed && keeps_values_ && size <= kMaxValueRange) {
    StoreValues(whole, size, EventOf(access), /*atomic=*/false);
  }
  if (size <= kMaxFlagBytes && (!access.armed || access.strength.IsStrong())) {
    whole.strength = {Semantics::kRelease, Scope::kSys};
    whole.size = static_cast<uint32_t>(size);
    StoreFlag(whole, EventOf(access), /*atomic=*/false);
  }
}

}  // namespace twinmmu::coherence
