#include "sim/coherence/alias_monitor.h"

#include <mutex>
#include <utility>

namespace twinmmu::coherence {

class AliasMonitor::Impl {
 public:
  Impl(const AliasOptions& asked, Report told) : options(asked), report(std::move(told)) {}

  const AliasOptions options;
  const Report report;
  std::mutex mutex;  // guards the rest
  uint64_t armed = 0;
  ThreadId next_thread = 1;
};

struct AliasMonitor::Meeting::Gathered {};

AliasMonitor::AliasMonitor(const AliasOptions& options, Report report)
    : impl_(std::make_unique<Impl>(options, std::move(report))) {}
AliasMonitor::~AliasMonitor() = default;

void AliasMonitor::Arm(const char*, uint64_t size) {
  const std::lock_guard lock(impl_->mutex);
  impl_->armed += size;
  active_.store(impl_->armed != 0, std::memory_order_relaxed);
}

void AliasMonitor::Disarm(const char*, uint64_t size) {
  const std::lock_guard lock(impl_->mutex);
  impl_->armed -= size;
  active_.store(impl_->armed != 0, std::memory_order_relaxed);
}

ThreadId AliasMonitor::Start(uint32_t threads, int, int, const Past&) {
  const std::lock_guard lock(impl_->mutex);
  const ThreadId first = impl_->next_thread;
  impl_->next_thread += threads;
  return first;
}

void AliasMonitor::End(ThreadId, uint32_t, Past*) {}
bool AliasMonitor::HostWaited(const Past&) { return false; }

AliasMonitor::Meeting::Meeting() = default;
AliasMonitor::Meeting::~Meeting() = default;
AliasMonitor::Meeting::Meeting(Meeting&&) noexcept = default;
AliasMonitor::Meeting& AliasMonitor::Meeting::operator=(Meeting&&) noexcept = default;

AliasMonitor::Session::Session(AliasMonitor* monitor) : impl_(*monitor->impl_) {
  impl_.mutex.lock();
}
AliasMonitor::Session::~Session() { impl_.mutex.unlock(); }

const char* AliasMonitor::Session::Load(const MonitoredAccess& access, char*) {
  return access.memory;
}
void AliasMonitor::Session::BeforeStore(const MonitoredAccess&) {}
void AliasMonitor::Session::AfterStore(const MonitoredAccess&) {}
const char* AliasMonitor::Session::BeforeAtomic(const MonitoredAccess& access, char*) {
  return access.memory;
}
void AliasMonitor::Session::AfterAtomic(const MonitoredAccess&, bool) {}
void AliasMonitor::Session::AfterRangeLoad(const MonitoredAccess&, uint64_t, char*) {}
void AliasMonitor::Session::BeforeRangeStore(const MonitoredAccess&, uint64_t) {}
void AliasMonitor::Session::AfterRangeStore(const MonitoredAccess&, uint64_t) {}
void AliasMonitor::Session::Fence(ThreadId, uint32_t, const Strength&, bool) {}
void AliasMonitor::Session::AliasFence(ThreadId, uint32_t) {}
void AliasMonitor::Session::AliasReleaseFence(ThreadId, uint32_t) {}
void AliasMonitor::Session::AliasAcquireFence(ThreadId, uint32_t) {}
void AliasMonitor::Session::Arrive(ThreadId, uint32_t, Meeting*) {}
void AliasMonitor::Session::Leave(ThreadId, uint32_t, Meeting*) {}

}  // namespace twinmmu::coherence
