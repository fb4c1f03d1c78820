#include "sim/coherence/ordering.h"

#include <algorithm>
#include <utility>

namespace twinmmu::coherence {
namespace {

bool IsSamePlace(const Place& a, const Place& b) {
  return a.gpu == b.gpu && a.cluster == b.cluster && a.cta == b.cta;
}

void AppendTo(const Release& release, std::vector<uint64_t>* key) {
  key->push_back(uint64_t{release.thread} << 32 | uint64_t{release.address} << 8 |
                 static_cast<uint64_t>(release.scope) << 1 | (release.is_access ? 1 : 0));
  release.past.AppendTo(key);
}

}  // namespace

void Ordering::SetAddress(AddressId address, bool multicast, int device) {
  addresses_[address] = {multicast, device};
}

const Ordering::AddressState* Ordering::Find(AddressId address) const {
  const auto found = addresses_.find(address);
  return found == addresses_.end() ? nullptr : &found->second;
}

int Ordering::DeviceOf(AddressId address) const {
  const AddressState* state = Find(address);
  return state == nullptr ? -1 : state->device;
}

void Ordering::Start(ThreadId thread, const Place& place, const Past& past) {
  State& state = threads_[thread];
  state.place = place;
  places_[thread] = place;
  Boundary(thread, past);
}

void Ordering::Boundary(ThreadId thread, const Past& past) {
  State& state = threads_[thread];
  state.past.Join(past);
  state.start.Join(past.all);
  if (modes_.boundary == BoundaryMode::kPtx) {
    // The edge counts like a fence, and what is behind the fence is so for whoever comes later.
    state.past.passed.Join(state.past.all);
    state.passed = state.now;
  }
}

Past Ordering::End(ThreadId thread) {
  Past past = Snapshot(thread);
  past.all.AddEnded(thread, thread);
  threads_.erase(thread);
  return past;
}

void Ordering::Forget() {
  threads_.clear();
  places_.clear();
  sequential_.clear();
}

Mark Ordering::Next(ThreadId thread, AddressId address) {
  return Mark{thread, ++threads_[thread].now, address};
}

bool Ordering::IsReached(const Mark& earlier, ThreadId thread) const {
  if (earlier.thread == thread) return true;
  const auto found = threads_.find(thread);
  return found != threads_.end() && earlier.epoch <= found->second.past.all.Get(earlier.thread);
}

bool Ordering::IsBefore(const Mark& earlier, ThreadId thread, AddressId address) const {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return false;
  const State& state = found->second;
  if (earlier.thread == thread) {
    // Past a fence of its own, or past that of a thread that it met in between.
    return earlier.address == address || earlier.epoch <= state.passed ||
           earlier.epoch <= state.past.passed.Get(thread);
  }
  if (earlier.address == address) return earlier.epoch <= state.past.all.Get(earlier.thread);
  return earlier.epoch <= state.past.passed.Get(earlier.thread) ||
         earlier.epoch <= state.start.Get(earlier.thread);
}

Past Ordering::Snapshot(ThreadId thread) const {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return Past();
  const State& state = found->second;
  Past past = state.past;
  past.all.Raise(thread, state.now);
  past.passed.Raise(thread, state.passed);
  past.half.Raise(thread, state.half);
  return past;
}

void Ordering::AliasFence(ThreadId thread) {
  State& state = threads_[thread];
  state.past.passed.Join(state.past.all);
  state.passed = state.now;
}

void Ordering::AliasReleaseFence(ThreadId thread) {
  State& state = threads_[thread];
  state.past.half.Join(state.past.all);
  state.half = state.now;
  Fence(thread, {Semantics::kRelease, Scope::kSys}, false);
}

void Ordering::AliasAcquireFence(ThreadId thread) {
  Fence(thread, {Semantics::kAcquire, Scope::kSys}, false);
  State& state = threads_[thread];
  state.past.passed.Join(state.past.half);
  state.passed = std::max(state.passed, state.half);
}

void Ordering::Leave(ThreadId thread, const Past& met) { threads_[thread].past.Join(met); }

void Ordering::Remember(State* state, std::shared_ptr<const Release> release) {
  // A later one of the same kind holds all that the earlier one does.
  for (std::shared_ptr<const Release>& old : state->releases) {
    if (old->is_access == release->is_access && old->scope == release->scope &&
        (!old->is_access || old->address == release->address)) {
      old = std::move(release);
      return;
    }
  }
  state->releases.push_back(std::move(release));
}

void Ordering::Fence(ThreadId thread, const Strength& strength, bool sequential) {
  State& state = threads_[thread];
  if (Acquires(strength.semantics)) {
    for (const Seen& seen : state.seen) {
      if (seen.release->thread == thread ||
          Include(places_[seen.release->thread], seen.release->scope, state.place,
                  strength.scope)) {
        state.past.Join(seen.release->past);
      }
    }
  }
  if (sequential) {
    Sequential* own = nullptr;
    for (Sequential& earlier : sequential_) {
      if (!Include(earlier.place, earlier.scope, state.place, strength.scope)) continue;
      state.past.Join(earlier.past);
      if (earlier.scope == strength.scope && IsSamePlace(earlier.place, state.place)) {
        own = &earlier;
      }
    }
    if (own == nullptr) {
      sequential_.push_back({state.place, strength.scope, Past()});
      own = &sequential_.back();
    }
    own->past.Join(Snapshot(thread));
  }
  if (coherence::Releases(strength.semantics)) {
    Remember(&state, std::make_shared<const Release>(
                         Release{Snapshot(thread), thread, strength.scope, false, 0}));
  }
}

ReleaseList Ordering::ReleasesOf(ThreadId thread, AddressId address, const Strength& strength) {
  State& state = threads_[thread];
  if (!strength.IsStrong()) return {};
  if (coherence::Releases(strength.semantics)) {
    Remember(&state, std::make_shared<const Release>(
                         Release{Snapshot(thread), thread, strength.scope, true, address}));
  }
  ReleaseList carried;
  for (const std::shared_ptr<const Release>& release : state.releases) {
    if (!release->is_access || release->address == address) carried.push_back(release);
  }
  return carried;
}

void Ordering::Observe(ThreadId thread, AddressId address, const Strength& strength,
                       const ReleaseList& releases) {
  if (!strength.IsStrong()) return;
  State& state = threads_[thread];
  for (const std::shared_ptr<const Release>& release : releases) {
    const bool known = std::any_of(state.seen.begin(), state.seen.end(), [&](const Seen& seen) {
      return seen.release == release && seen.address == address;
    });
    if (!known) state.seen.push_back({release, address});
  }
}

void Ordering::Acquire(ThreadId thread, AddressId address, const Strength& strength) {
  if (!Acquires(strength.semantics)) return;
  State& state = threads_[thread];
  for (const Seen& seen : state.seen) {
    if (seen.address != address) continue;
    const Release& release = *seen.release;
    const Strength first{Semantics::kRelease, release.scope};
    const bool strong =
        release.is_access
            ? IsMorallyStrong(release.thread, release.address, first, thread, address, strength)
            : release.thread == thread ||
                  Include(places_[release.thread], release.scope, state.place, strength.scope);
    if (strong) state.past.Join(release.past);
  }
}

bool Ordering::IsMulticastPair(AddressId a, AddressId b) const {
  if (modes_.multicast != MulticastMode::kGuide) return false;
  const AddressState* of_a = Find(a);
  const AddressState* of_b = Find(b);
  return (of_a != nullptr && of_a->multicast) != (of_b != nullptr && of_b->multicast);
}

bool Ordering::IsMorallyStrong(ThreadId a, AddressId address_a, const Strength& strength_a,
                               ThreadId b, AddressId address_b, const Strength& strength_b) const {
  if (a != b) {
    if (!strength_a.IsStrong() || !strength_b.IsStrong()) return false;
    const auto place_a = places_.find(a), place_b = places_.find(b);
    if (place_a == places_.end() || place_b == places_.end() ||
        !Include(place_a->second, strength_a.scope, place_b->second, strength_b.scope)) {
      return false;
    }
  }
  if (address_a == address_b) return true;
  return strength_a.IsStrong() && strength_b.IsStrong() && IsMulticastPair(address_a, address_b);
}

void Ordering::AppendTo(std::vector<uint64_t>* key) const {
  for (const auto& [thread, state] : threads_) {
    key->push_back(uint64_t{thread} << 32 | state.now);
    key->push_back(uint64_t{state.passed} << 32 | state.half);
    state.past.AppendTo(key);
    state.start.AppendTo(key);
    key->push_back(uint64_t{state.seen.size()} << 32 | state.releases.size());
    for (const Seen& seen : state.seen) {
      key->push_back(seen.address);
      coherence::AppendTo(*seen.release, key);
    }
    for (const auto& release : state.releases) coherence::AppendTo(*release, key);
  }
  key->push_back(sequential_.size());
  for (const Sequential& sequential : sequential_) {
    key->push_back(static_cast<uint64_t>(sequential.place.cta) << 8 |
                   static_cast<uint64_t>(sequential.scope));
    sequential.past.AppendTo(key);
  }
}

}  // namespace twinmmu::coherence
