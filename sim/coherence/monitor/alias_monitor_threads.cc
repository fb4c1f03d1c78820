// Who runs, what is noted, and what not any more.

#include "sim/coherence/monitor/alias_monitor_impl.h"

namespace twinmmu::coherence {
namespace {

// Ids end here; and from here on they start again where they can.
constexpr ThreadId kLastThread = 0xffff0000;
constexpr ThreadId kManyThreads = 0x40000000;
// Blocks have fewer threads; what claims to have more is not noted.
constexpr uint32_t kMaxBlock = 1 << 16;
// The checker keeps that much memory where nothing runs, so that the next grid need not ask for it.
constexpr uint64_t kMaxIdle = 128 << 20;

uint64_t KeyOfSm(int device, int sm) {
  return uint64_t{static_cast<uint32_t>(device)} << 32 | static_cast<uint32_t>(sm);
}

}  // namespace

// Order may be lost, too, so that nothing is reported until all that runs has ended.
void AliasMonitor::Impl::Lose() {
  Forget();
  blind_ = running_ != 0;
}

void AliasMonitor::Impl::ForgetAccesses() {
  checker_.Collapse();
  values_.ForgetAll();
  flags_.ForgetAll();
  caches_.Clear();
  older_.clear();
}

void AliasMonitor::Impl::Forget() {
  ForgetAccesses();
  ordering_.Forget();
  sms_.clear();
  origins_.clear();
  host_ = Clocks();
  written_.Clear();  // writes may not be noted
  shared_.Forget();
}

bool AliasMonitor::Impl::Disarm(const char* memory, uint64_t size) {
  armed_ -= std::min(armed_, size);
  // What has one address left is still watched, then.
  if (size != 0 && !options_.watch_all) {
    // Flags stay: they order accesses of other memory.
    const LocationId first = LocationOf(memory);
    checker_.Forget(first, first + size - 1);
    values_.Forget(first, first + size - 1);
  }
  return IsActive();
}

void AliasMonitor::Impl::ForgetBytes(const char* memory, uint64_t size) noexcept {
  if (size == 0) return;
  Try([&] {
    // Flags stay: at worst they keep more in order than is.
    const LocationId first = LocationOf(memory);
    checker_.ForgetBytes(first, first + size - 1);
    const LocationId whole = (first + kPageBytes - 1) / kPageBytes * kPageBytes;
    const LocationId end = (first + size) / kPageBytes * kPageBytes;
    if (whole < end) values_.Forget(whole, end - 1);
  });
}

void AliasMonitor::Impl::SetFresh(const char* memory, uint64_t size) noexcept {
  if (!options_.tell_unwritten) return;
  try {
    written_.SetFresh(LocationOf(memory), size);
  } catch (const std::bad_alloc&) {
    written_.Clear();
  }
}

void AliasMonitor::Impl::SetWritten(const char* memory, uint64_t size) noexcept {
  if (!options_.tell_unwritten) return;
  try {
    written_.SetWritten(LocationOf(memory), size);
  } catch (const std::bad_alloc&) {
    written_.Clear();
  }
}

void AliasMonitor::Impl::SetOrigin(ThreadId first, const Origin& origin) {
  Try([&] {
    if (origins_.size() >= kMaxOrigins) origins_.erase(origins_.begin());
    origins_.insert_or_assign(first, origin);
  });
}

ThreadId AliasMonitor::Impl::Start(uint32_t threads, int device, int sm, const Clocks& clocks,
                                   ThreadId cluster) {
  ++running_;
  if (threads == 0 || exhausted_ || threads > kLastThread - next_thread_) {
    exhausted_ = exhausted_ || threads != 0;
    return 0;  // is not noted
  }
  const ThreadId first = next_thread_;
  next_thread_ += threads;
  if (threads > kMaxBlock) return first;
  Try([&] {
    const Place place{device, static_cast<int>(cluster == 0 ? first : cluster),
                      static_cast<int>(first)};
    if (options_.policy == Policy::kL1) {
      sms_[first] = KeyOfSm(device, sm);
      caches_.Invalidate(KeyOfSm(device, sm));
    }
    ordering_.Start(first, threads, place, clocks);
  });
  return first;
}

void AliasMonitor::Impl::End(ThreadId first, uint32_t threads, Clocks* clocks) {
  if (first != 0 && threads != 0) {
    Try([&] {
      sms_.erase(first);
      if (ordering_.Runs(first)) {
        ordering_.EndAndLeave(first, clocks);
      } else {
        clocks->all.AddEnded(first, first + threads - 1);
      }
    });
  }
  if (running_ > 0) --running_;
  if (running_ == 0 && blind_) {
    blind_ = false;
    first_noted_ = next_thread_;
  }
}

bool AliasMonitor::Impl::HostWaited(const Clocks& clocks) {
  if (running_ != 0 || !clocks.all.HasAll({first_noted_, next_thread_ - 1})) return false;
  values_.ForgetAll();
  flags_.ForgetAll();
  caches_.Clear();
  older_.clear();
  ordering_.Forget();
  sms_.clear();
  origins_.clear();
  host_ = Clocks();
  const bool restarts = next_thread_ >= kManyThreads;
  if (restarts) next_thread_ = 1;
  first_noted_ = next_thread_;
  if (restarts || checker_.bytes() > kMaxIdle) {
    checker_.Collapse();
  } else {
    checker_.CollapseBefore(first_noted_);
  }
  exhausted_ = false;
  return restarts;
}

}  // namespace twinmmu::coherence
