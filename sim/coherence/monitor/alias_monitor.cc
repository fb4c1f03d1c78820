#include "sim/coherence/monitor/alias_monitor.h"

#include <mutex>
#include <utility>
#include <vector>

#include "sim/coherence/monitor/alias_monitor_impl.h"

namespace twinmmu::coherence {

AliasMonitor::AliasMonitor(const AliasOptions& options, Report report)
    : watches_all_(options.watch_all),
      active_(options.watch_all),
      impl_(std::make_unique<Impl>(options, std::move(report))) {}
AliasMonitor::~AliasMonitor() = default;

void AliasMonitor::Arm(const char*, uint64_t size) {
  const std::lock_guard lock(impl_->mutex());
  active_.store(impl_->Arm(size), std::memory_order_relaxed);
}

void AliasMonitor::Disarm(const char* memory, uint64_t size) {
  const std::lock_guard lock(impl_->mutex());
  active_.store(impl_->Disarm(memory, size), std::memory_order_relaxed);
}

void AliasMonitor::Forget(const char* memory, uint64_t size) {
  if (!watches_all_) return;
  const std::lock_guard lock(impl_->mutex());
  impl_->ForgetBytes(memory, size);
  impl_->SetWritten(memory, size);
}

void AliasMonitor::Allocate(const char* memory, uint64_t size) {
  if (!watches_all_) return;
  const std::lock_guard lock(impl_->mutex());
  impl_->ForgetBytes(memory, size);
  impl_->SetFresh(memory, size);
}

void AliasMonitor::SetWritten(const char* memory, uint64_t size) {
  if (!watches_all_) return;
  const std::lock_guard lock(impl_->mutex());
  impl_->SetWritten(memory, size);
}

void AliasMonitor::Share(const char* memory, uint64_t size) {
  if (!watches_all_) return;
  const std::lock_guard lock(impl_->mutex());
  impl_->Share(memory, size);
}

void AliasMonitor::Unshare(const char* memory) {
  const std::lock_guard lock(impl_->mutex());
  impl_->Unshare(memory);
}

std::vector<SharedUse> AliasMonitor::TakeShared(uint64_t call, bool* flagged) {
  const std::lock_guard lock(impl_->mutex());
  return impl_->TakeShared(call, flagged);
}

void AliasMonitor::AddMulticastAddress(AddressId address) {
  const std::lock_guard lock(impl_->mutex());
  impl_->ordering().SetAddress(address, /*multicast=*/true, /*device=*/-1);
}

void AliasMonitor::RemoveMulticastAddress(AddressId address) {
  const std::lock_guard lock(impl_->mutex());
  impl_->ordering().ForgetAddress(address);
}

ThreadId AliasMonitor::Start(uint32_t threads, int device, int sm, const Clocks& clocks,
                             ThreadId cluster, const Origin& origin) {
  const std::lock_guard lock(impl_->mutex());
  const ThreadId first = impl_->Start(threads, device, sm, clocks, cluster);
  if (watches_all_ && first != 0) impl_->SetOrigin(first, origin);
  return first;
}

void AliasMonitor::End(ThreadId first, uint32_t threads, Clocks* clocks) {
  const std::lock_guard lock(impl_->mutex());
  impl_->End(first, threads, clocks);
}

bool AliasMonitor::HostWaited(const Clocks& clocks) {
  const std::lock_guard lock(impl_->mutex());
  return impl_->HostWaited(clocks);
}

void AliasMonitor::SetHost(const Clocks& clocks) {
  if (!watches_all_) return;
  const std::lock_guard lock(impl_->mutex());
  impl_->SetHost(clocks);
}

AliasMonitor::Meeting::Meeting() = default;
AliasMonitor::Meeting::~Meeting() = default;
AliasMonitor::Meeting::Meeting(Meeting&&) noexcept = default;
AliasMonitor::Meeting& AliasMonitor::Meeting::operator=(Meeting&&) noexcept = default;

AliasMonitor::Session::Session(AliasMonitor* monitor) : impl_(*monitor->impl_) {
  impl_.mutex().lock();
}
AliasMonitor::Session::~Session() { impl_.mutex().unlock(); }

bool AliasMonitor::Session::BeforeAll(const MonitoredAccess& access, uint32_t lanes,
                                      char* const* memory, bool writes) {
  if (!access.armed || !impl_.IsOnlyNoted(access)) return false;
  impl_.Try([&] { impl_.NoteAll(access, lanes, memory, writes); });
  return true;
}
bool AliasMonitor::Session::BeforeRow(const MonitoredAccess& access, uint32_t threads,
                                      bool writes) {
  const uint64_t bytes = uint64_t{threads} * access.size;
  if (!access.armed || !impl_.IsQuicklyDone(access) ||
      bytes > kPageBytes - LocationOf(access.memory) % kPageBytes) {
    return false;
  }
  impl_.Try([&] { impl_.NoteRow(access, threads, writes); });
  return true;
}
void AliasMonitor::Session::AfterStores(const MonitoredAccess& access, uint32_t lanes,
                                        char* const* memory) {
  if (impl_.IsQuicklyDone(access)) return;
  MonitoredAccess one = access;
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(lanes));
    one.thread = access.thread + lane;
    one.memory = memory[lane];
    impl_.Try([&] { impl_.AfterStore(one); });
  }
}

const char* AliasMonitor::Session::Load(const MonitoredAccess& access, char* older) {
  const char* from = access.memory;
  if (BeforeAll(access, 1, &access.memory, /*writes=*/false)) return from;
  impl_.Try([&] { from = impl_.Load(access, older); });
  return from;
}
void AliasMonitor::Session::BeforeStore(const MonitoredAccess& access) {
  if (BeforeAll(access, 1, &access.memory, /*writes=*/true)) return;
  impl_.Try([&] { impl_.BeforeStore(access); });
}
void AliasMonitor::Session::AfterStore(const MonitoredAccess& access) {
  if (!impl_.IsQuicklyDone(access)) impl_.Try([&] { impl_.AfterStore(access); });
}
const char* AliasMonitor::Session::BeforeAtomic(const MonitoredAccess& access, char* older) {
  const char* from = access.memory;
  impl_.Try([&] { from = impl_.BeforeAtomic(access, older); });
  return from;
}
void AliasMonitor::Session::AfterAtomic(const MonitoredAccess& access, bool wrote) {
  impl_.Try([&] { impl_.AfterAtomic(access, wrote); });
}
void AliasMonitor::Session::AfterRangeLoad(const MonitoredAccess& access, uint64_t size,
                                           char* copied) {
  impl_.Try([&] { impl_.AfterRangeLoad(access, size, copied); });
}
void AliasMonitor::Session::BeforeRangeStore(const MonitoredAccess& access, uint64_t size) {
  impl_.Try([&] { impl_.BeforeRangeStore(access, size); });
}
void AliasMonitor::Session::AfterRangeStore(const MonitoredAccess& access, uint64_t size) {
  impl_.Try([&] { impl_.AfterRangeStore(access, size); });
}

void AliasMonitor::Session::Fence(ThreadId first, uint32_t lanes, const Strength& strength,
                                  bool sequential) {
  impl_.ForLanes(first, lanes, strength.scope != Scope::kCta,
                 [&](ThreadId thread) { impl_.ordering().Fence(thread, strength, sequential); });
}
void AliasMonitor::Session::AliasFence(ThreadId first, uint32_t lanes) {
  impl_.ForLanes(first, lanes, true, [&](ThreadId thread) { impl_.ordering().AliasFence(thread); });
}
void AliasMonitor::Session::AliasReleaseFence(ThreadId first, uint32_t lanes) {
  impl_.ForLanes(first, lanes, false,
                 [&](ThreadId thread) { impl_.ordering().AliasReleaseFence(thread); });
}
void AliasMonitor::Session::AliasAcquireFence(ThreadId first, uint32_t lanes) {
  impl_.ForLanes(first, lanes, true,
                 [&](ThreadId thread) { impl_.ordering().AliasAcquireFence(thread); });
}
void AliasMonitor::Session::Boundary(ThreadId first, uint32_t lanes, const Clocks& clocks) {
  impl_.ForLanes(first, lanes, true,
                 [&](ThreadId thread) { impl_.ordering().Boundary(thread, clocks); });
}
void AliasMonitor::Session::Arrive(ThreadId first, uint32_t lanes, Meeting* meeting) {
  impl_.ForLanes(first, lanes, false, [&](ThreadId thread) {
    if (meeting->gathered == nullptr) meeting->gathered = std::make_unique<Meeting::Gathered>();
    impl_.ordering().Arrive(thread, &meeting->gathered->gathering);
  });
}
void AliasMonitor::Session::Leave(ThreadId first, uint32_t lanes, Meeting* meeting) {
  if (meeting->gathered == nullptr) return;
  impl_.ForLanes(first, lanes, false, [&](ThreadId thread) {
    impl_.ordering().Leave(thread, &meeting->gathered->gathering);
  });
}

}  // namespace twinmmu::coherence
