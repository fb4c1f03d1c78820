// Strong accesses, which order others by what they wrote last.

#include "sim/coherence/monitor/alias_monitor_impl.h"

namespace twinmmu::coherence {

// The read sees the newest value. Where that is not what a strong write left there, somebody else
// wrote it, of whom nothing is known; it may have been the host.
void AliasMonitor::Impl::LoadFlag(const MonitoredAccess& access, const AccessEvent& event) {
  bool by_others = true;
  if (flags_.HasPage(LocationOf(access.memory))) {
    Split(&flags_, access.memory, access.size, &pieces_);
    for (const Piece& piece : pieces_) {
      if (piece.newest == OperationalModel::kInitialWrite) continue;
      if (flags_.ValueOf(piece.location, piece.newest) != ReadMemory(piece.location, piece.size)) {
        flags_.Forget(piece.location);
        continue;
      }
      by_others = false;
      observed_.clear();
      flags_.Load(&ordering_, piece.location, access.strength, piece.newest, event, &observed_);
      if (options_.check && access.armed) {
        checker_.Observe(piece.location, piece.size, observed_, event);
      }
    }
  }
  if (by_others && !host_.empty() && access.shared == nullptr &&
      access.strength.scope == Scope::kSys) {
    ordering_.Boundary(access.thread, host_);
  }
  ordering_.Acquire(access.thread, access.address, access.strength);
}

void AliasMonitor::Impl::ForgetFlag(const MonitoredAccess& access) {
  if (flags_.empty() || !flags_.HasPage(LocationOf(access.memory))) return;
  Split(&flags_, access.memory, access.size, &pieces_);
  for (const Piece& piece : pieces_) flags_.Forget(piece.location);
}

void AliasMonitor::Impl::StoreFlag(const MonitoredAccess& access, const AccessEvent& event,
                                   bool atomic) {
  const bool carries = ordering_.Carries(access.thread, access.address, access.strength);
  if (!access.strength.IsStrong() || (!carries && !access.armed && !atomic)) {
    ForgetFlag(access);
    return;
  }
  if (!carries && !access.armed && !flags_.HasPage(LocationOf(access.memory))) return;
  Split(&flags_, access.memory, access.size, &pieces_);
  for (const Piece& piece : pieces_) {
    const uint64_t value = ReadMemory(piece.location, piece.size);
    if (!carries && !access.armed && piece.newest == OperationalModel::kInitialWrite) continue;
    const auto source = atomic ? std::optional(piece.newest) : std::nullopt;
    const bool stored =
        flags_.Store(&ordering_, piece.location, access.strength, value, event, 0, source);
    if (!stored) flags_.Forget(piece.location);
  }
  // Without an order that was, what is in order would seem to race.
  if (flags_.Forgot()) ForgetAccesses();
}

}  // namespace twinmmu::coherence
