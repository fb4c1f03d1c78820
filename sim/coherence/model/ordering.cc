#include "sim/coherence/model/ordering.h"

#include <algorithm>
#include <utility>

namespace twinmmu::coherence {
namespace {

constexpr int kLeft = -1;  // the block of a thread that is no more

bool IsSamePlace(const Place& a, const Place& b) {
  return a.gpu == b.gpu && a.cluster == b.cluster && a.cta == b.cta;
}

bool Include(const Place& a, Scope scope_a, const Place& b, Scope scope_b) {
  const bool left = a.cta == kLeft || b.cta == kLeft;
  const Scope least = std::min(scope_a, scope_b);
  if (left && (least == Scope::kCta || least == Scope::kCluster)) return false;
  return Includes(scope_a, a, b) && Includes(scope_b, b, a);
}

void AppendTo(const Release& release, std::vector<uint64_t>* key) {
  key->push_back(uint64_t{release.thread} << 32 | uint64_t{release.address} << 8 |
                 static_cast<uint64_t>(release.scope) << 1 | (release.is_access ? 1 : 0));
  key->push_back(uint64_t{release.now} << 32 | release.passed);
  key->push_back(release.half);
  release.clocks.AppendTo(key);
}

// Whether a later release of that thread holds all that `earlier` does, for whoever sees it.
bool Replaces(const Release& later, const Release& earlier) {
  return !later.of_many && !earlier.of_many && later.thread == earlier.thread &&
         later.is_access == earlier.is_access && later.scope == earlier.scope &&
         (!later.is_access || later.address == earlier.address) && later.number >= earlier.number;
}

}  // namespace

// --- Gathering ---

bool Gathering::Holds(const Clocks& clocks) const {
  return std::any_of(arrived_.begin(), arrived_.end(),
                     [&](const Clocks& arrived) { return arrived.Shares(clocks); });
}

void Gathering::Add(const Clocks& clocks) {
  constexpr size_t kMaxArrived = 8;
  if (clocks.empty() || Holds(clocks)) return;
  met_.Join(clocks);
  if (arrived_.size() == kMaxArrived) arrived_.erase(arrived_.begin());
  arrived_.push_back(clocks);
}

const Clocks& Gathering::Met() {
  if (own_.empty()) return met_;
  std::sort(own_.begin(), own_.end(),
            [](const Own& a, const Own& b) { return a.thread < b.thread; });
  std::vector<VectorClock::Entry> all, passed, half;
  all.reserve(own_.size());
  for (const Own& own : own_) {
    // One that came twice has more the second time.
    for (auto [entries, epoch] :
         {std::pair(&all, own.now), std::pair(&passed, own.passed), std::pair(&half, own.half)}) {
      if (epoch == 0) continue;
      if (!entries->empty() && entries->back().first == own.thread) {
        entries->back().second = std::max(entries->back().second, epoch);
      } else {
        entries->emplace_back(own.thread, epoch);
      }
    }
  }
  met_.all.Raise(std::move(all));
  met_.passed.Raise(std::move(passed));
  met_.half.Raise(std::move(half));
  own_.clear();
  return met_;
}

void Gathering::AppendTo(std::vector<uint64_t>* key) { Met().AppendTo(key); }

// --- Threads ---

void Ordering::SetAddress(AddressId address, bool multicast, int device) {
  addresses_[address] = {multicast, device};
}

const Ordering::AddressState* Ordering::FindAddress(AddressId address) const {
  const auto found = addresses_.find(address);
  return found == addresses_.end() ? nullptr : &found->second;
}

void Ordering::SetProxy(AddressId address, Proxy proxy, AddressId generic) {
  has_proxies_ = has_proxies_ || proxy != Proxy::kGeneric;
  addresses_[address].proxy = proxy;
  addresses_[address].generic = generic;
}

Proxy Ordering::ProxyOf(AddressId address) const {
  const AddressState* const state = FindAddress(address);
  return state == nullptr ? Proxy::kGeneric : state->proxy;
}

int Ordering::DeviceOf(AddressId address) const {
  const AddressState* state = FindAddress(address);
  return state == nullptr ? -1 : state->device;
}

const Ordering::Block* Ordering::SearchBlock(ThreadId thread) const {
  auto after =
      std::upper_bound(blocks_.begin(), blocks_.end(), thread,
                       [](ThreadId number, const Block& block) { return number < block.first; });
  if (after == blocks_.begin()) return nullptr;
  --after;
  if (thread - after->first >= after->threads) return nullptr;
  last_ = static_cast<size_t>(after - blocks_.begin());
  return &*after;
}

void Ordering::AddPlace(ThreadId first, ThreadId last, const Place& place) {
  auto after =
      std::upper_bound(places_.begin(), places_.end(), first,
                       [](ThreadId number, const Places& at) { return number < at.first; });
  if (after != places_.begin()) {
    Places& before = *std::prev(after);
    if (before.last + 1 == first && IsSamePlace(before.place, place)) {
      before.last = last;
      return;
    }
  }
  places_.insert(after, Places{first, last, place});
}

const Place* Ordering::PlaceOf(ThreadId thread) const {
  const auto after =
      std::upper_bound(places_.begin(), places_.end(), thread,
                       [](ThreadId number, const Places& at) { return number < at.first; });
  if (after == places_.begin()) return nullptr;
  const Places& found = *std::prev(after);
  return thread <= found.last ? &found.place : nullptr;
}

void Ordering::SetStart(Block* block, const Clocks& clocks) {
  block->start.Join(clocks.all);
  block->ended = block->start.EndedRange();
}

void Ordering::Start(ThreadId first, uint32_t threads, const Place& place, const Clocks& clocks) {
  Block block;
  block.first = first;
  block.threads = threads;
  block.place = place;
  SetStart(&block, clocks);
  State state;
  state.clocks = clocks;
  // The edge counts like a fence, and what is behind the fence is so for whoever comes later.
  if (modes_.boundary == BoundaryMode::kPtx) PassAll(&state, first, 0);
  block.now.resize(threads);
  block.states.resize(threads, state);
  AddPlace(first, first + threads - 1, place);
  const auto after =
      std::upper_bound(blocks_.begin(), blocks_.end(), first,
                       [](ThreadId number, const Block& other) { return number < other.first; });
  blocks_.insert(after, std::move(block));
}

void Ordering::Boundary(ThreadId thread, const Clocks& clocks) {
  Block* const block = FindBlock(thread);
  if (block == nullptr) return;
  block->start.Join(clocks.all);
  State& state = block->states[thread - block->first];
  state.clocks.Join(clocks);
  if (modes_.boundary == BoundaryMode::kPtx) {
    PassAll(&state, thread, block->now[thread - block->first]);
  }
}

void Ordering::End(ThreadId first, Clocks* clocks) {
  const Block* const block = FindBlock(first);
  if (block == nullptr || block->first != first) return;
  Gathering gathering;
  for (uint32_t i = 0; i < block->threads; ++i) {
    const State& state = block->states[i];
    gathering.Add(state.clocks);
    if (block->now[i] != 0) {
      gathering.own_.push_back({first + i, block->now[i], state.passed, state.half});
    }
  }
  const ThreadId last = first + static_cast<ThreadId>(block->states.size() - 1);
  Clocks joined = *clocks;
  joined.Join(gathering.Met());
  joined.all.AddEnded(first, last);
  blocks_.erase(blocks_.begin() + (block - blocks_.data()));
  Coarsen(&joined);
  *clocks = std::move(joined);
}

void Ordering::EndAndLeave(ThreadId first, Clocks* clocks) {
  const Block* const block = FindBlock(first);
  if (block == nullptr || block->first != first) return;
  LeavePlace(*block);
  End(first, clocks);
}

// So that what is known of places that are no more does not grow with their number.
void Ordering::LeavePlace(const Block& block) {
  const Place left{block.place.gpu, kLeft, kLeft};
  const auto after =
      std::upper_bound(places_.begin(), places_.end(), block.first,
                       [](ThreadId number, const Places& at) { return number < at.first; });
  auto here = std::prev(after);
  here->place = left;
  if (after != places_.end() && after->first == here->last + 1 && IsSamePlace(after->place, left)) {
    here->last = after->last;
    places_.erase(after);
  }
  if (here != places_.begin() && std::prev(here)->last + 1 == here->first &&
      IsSamePlace(std::prev(here)->place, left)) {
    std::prev(here)->last = here->last;
    places_.erase(here);
  }
  // Nobody can make a fence at such a place any more, but one of a wider scope may meet these.
  for (size_t i = 0; i < sequential_.size(); ++i) {
    if (!IsSamePlace(sequential_[i].place, block.place)) continue;
    sequential_[i].place = left;
    for (size_t k = 0; k < sequential_.size(); ++k) {
      if (k == i || sequential_[k].scope != sequential_[i].scope ||
          !IsSamePlace(sequential_[k].place, left)) {
        continue;
      }
      sequential_[k].clocks.Join(sequential_[i].clocks);
      sequential_.erase(sequential_.begin() + static_cast<std::ptrdiff_t>(i));
      --i;
      break;
    }
  }
}

void Ordering::Forget() {
  blocks_.clear();
  places_.clear();
  sequential_.clear();
}

// --- Order ---

bool Ordering::IsReached(const AccessEvent& earlier, ThreadId thread) const {
  if (earlier.thread == thread) return true;
  const State* const state = Find(thread);
  return state != nullptr && earlier.epoch <= state->clocks.all.Get(earlier.thread);
}

bool Ordering::HasPassed(const AccessEvent& earlier, ThreadId thread, AddressId address,
                         const Block& block, const State& state) const {
  if (earlier.epoch <= block.start.Get(earlier.thread) &&
      (earlier.thread == thread || earlier.epoch <= state.clocks.all.Get(earlier.thread))) {
    return true;
  }
  if (has_proxies_ &&
      (ProxyOf(earlier.address) != Proxy::kGeneric || ProxyOf(address) != Proxy::kGeneric)) {
    return HasPassedProxies(earlier, address, state);
  }
  // Past a fence of its own, or past that of a thread that it met in between.
  return (earlier.thread == thread && earlier.epoch <= state.passed) ||
         earlier.epoch <= state.clocks.passed.Get(earlier.thread);
}

// Textures and surfaces have no fence: only where a grid starts all is in order.
bool Ordering::HasPassedProxies(const AccessEvent& earlier, AddressId address,
                                const State& state) const {
  if (state.clocks.proxies == nullptr) return false;
  const AddressState& from = addresses_.at(earlier.address);
  const AddressState& to = addresses_.at(address);
  const auto known = [](Proxy proxy) { return proxy == Proxy::kGeneric || proxy == Proxy::kAsync; };
  if (!known(from.proxy) || !known(to.proxy)) return false;
  const bool from_async = from.proxy == Proxy::kAsync;
  const bool to_async = to.proxy == Proxy::kAsync;
  const bool same =
      (from_async ? from.generic : earlier.address) == (to_async ? to.generic : address);
  const ProxyClocks& clocks = *state.clocks.proxies;
  const VectorClock& passed = same                     ? clocks.async
                              : from_async && to_async ? clocks.async_alias_async
                              : from_async             ? clocks.async_alias
                                                       : clocks.alias_async;
  return earlier.epoch <= passed.Get(earlier.thread);
}

void Ordering::PassAll(State* state, ThreadId thread, Epoch now) const {
  state->clocks.passed = state->clocks.all;
  state->passed = now;
  if (!has_proxies_) return;
  VectorClock all = state->clocks.all;
  all.Raise(thread, now);
  state->clocks.proxies = std::make_shared<const ProxyClocks>(ProxyClocks{all, all, all, all});
}

void Ordering::AsyncFence(ThreadId thread) {
  State* const state = Find(thread);
  if (state == nullptr) return;
  const Epoch now = *EpochsOf(thread, 1);
  ProxyClocks clocks;
  if (state->clocks.proxies != nullptr) clocks = *state->clocks.proxies;
  clocks.async_alias_async.Join(clocks.async_alias);
  clocks.alias_async.Join(state->clocks.passed);
  if (state->passed != 0) clocks.alias_async.Raise(thread, state->passed);
  clocks.async.Join(state->clocks.all);
  if (now != 0) clocks.async.Raise(thread, now);
  state->clocks.proxies = std::make_shared<const ProxyClocks>(std::move(clocks));
}

void Ordering::AliasFence(ThreadId thread) {
  State* const state = Find(thread);
  if (state == nullptr) return;
  state->clocks.passed = state->clocks.all;
  state->passed = *EpochsOf(thread, 1);
  if (state->clocks.proxies == nullptr) return;
  ProxyClocks clocks = *state->clocks.proxies;
  clocks.async_alias.Join(clocks.async);
  state->clocks.proxies = std::make_shared<const ProxyClocks>(std::move(clocks));
}

void Ordering::AliasReleaseFence(ThreadId thread) {
  State* const state = Find(thread);
  if (state == nullptr) return;
  state->clocks.half = state->clocks.all;
  state->half = *EpochsOf(thread, 1);
  Fence(thread, {Semantics::kRelease, Scope::kSys}, false);
}

void Ordering::AliasAcquireFence(ThreadId thread) {
  Fence(thread, {Semantics::kAcquire, Scope::kSys}, false);
  State* const state = Find(thread);
  if (state == nullptr) return;
  state->clocks.passed.Join(state->clocks.half);
  state->passed = std::max(state->passed, state->half);
}

void Ordering::Arrive(ThreadId thread, Gathering* gathering) const {
  const Block* const block = FindBlock(thread);
  if (block == nullptr) return;
  const Epoch now = block->now[thread - block->first];
  const State& state = block->states[thread - block->first];
  gathering->Add(state.clocks);
  if (now != 0) gathering->own_.push_back({thread, now, state.passed, state.half});
}

void Ordering::Leave(ThreadId thread, Gathering* gathering) {
  State* const state = Find(thread);
  if (state == nullptr) return;
  const Clocks& met = gathering->Met();
  if (gathering->Holds(state->clocks)) {
    state->clocks = met;
  } else {
    state->clocks.Join(met);
  }
}

// --- Release and acquire ---

void Ordering::Remember(State* state, std::shared_ptr<const Release> release) {
  // A later one of the same kind holds all that the earlier one does.
  for (std::shared_ptr<const Release>& old : state->releases) {
    if (Replaces(*release, *old)) {
      old = std::move(release);
      return;
    }
  }
  state->releases.push_back(std::move(release));
}

std::shared_ptr<const Release> Ordering::MakeRelease(ThreadId thread, Scope scope) {
  Block& block = *FindBlock(thread);
  State& state = block.states[thread - block.first];
  Release release;
  release.clocks = state.clocks;
  release.now = block.now[thread - block.first];
  release.passed = state.passed;
  release.half = state.half;
  release.thread = thread;
  release.number = ++state.made;
  release.place = block.place;
  release.scope = scope;
  return std::make_shared<const Release>(std::move(release));
}

void Ordering::Join(Clocks* clocks, const Release& release) {
  clocks->Join(release.clocks);
  clocks->all.Raise(release.thread, release.now);
  clocks->passed.Raise(release.thread, release.passed);
  clocks->half.Raise(release.thread, release.half);
}

void Ordering::Acquire(State* state, Seen* seen) const {
  if (std::exchange(seen->acquired, true)) return;
  Join(&state->clocks, *seen->release);
  Coarsen(&state->clocks);
}

bool Ordering::RunsAny(ThreadId first, ThreadId last) const {
  const auto after =
      std::upper_bound(blocks_.begin(), blocks_.end(), last,
                       [](ThreadId number, const Block& block) { return number < block.first; });
  return after != blocks_.begin() &&
         first <= std::prev(after)->first + (std::prev(after)->threads - 1);
}

void Ordering::Coarsen(Clocks* clocks) const {
  const auto runs = [this](ThreadId first, ThreadId last) { return RunsAny(first, last); };
  for (VectorClock* const clock : {&clocks->all, &clocks->passed, &clocks->half}) {
    if (clock->entries() > kMaxEntries) clock->Coarsen(runs);
  }
}

bool Ordering::Meets(const Release& release, const Place& place, Scope scope) {
  return release.of_many || Include(release.place, release.scope, place, scope);
}

void Ordering::FenceSequential(ThreadId thread, Scope scope) {
  const Place& place = FindBlock(thread)->place;
  Gathering gathering;
  Sequential* own = nullptr;
  for (Sequential& earlier : sequential_) {
    if (!Include(earlier.place, earlier.scope, place, scope)) continue;
    gathering.Add(earlier.clocks);
    if (earlier.scope == scope && IsSamePlace(earlier.place, place)) own = &earlier;
  }
  Arrive(thread, &gathering);
  if (gathering.Met().empty()) return;  // nothing for others
  Coarsen(&gathering.met_);
  Leave(thread, &gathering);
  if (own == nullptr) {
    sequential_.push_back({place, scope, Clocks()});
    own = &sequential_.back();
  }
  own->clocks = gathering.met_;
}

void Ordering::Fence(ThreadId thread, const Strength& strength, bool sequential) {
  Block* const block = FindBlock(thread);
  if (block == nullptr) return;
  const size_t index = thread - block->first;
  if (Acquires(strength.semantics)) {
    State& state = block->states[index];
    for (Seen& seen : state.seen) {
      if (seen.release->thread == thread || Meets(*seen.release, block->place, strength.scope)) {
        Acquire(&state, &seen);
      }
    }
  }
  if (sequential) FenceSequential(thread, strength.scope);
  State& state = block->states[index];
  if (coherence::Releases(strength.semantics) && HasPast(block->now[index], state)) {
    Remember(&state, MakeRelease(thread, strength.scope));
  }
}

bool Ordering::Carries(ThreadId thread, AddressId address, const Strength& strength) const {
  const Block* const block = FindBlock(thread);
  if (block == nullptr || !strength.IsStrong()) return false;
  const State& state = block->states[thread - block->first];
  if (coherence::Releases(strength.semantics) &&
      HasPast(block->now[thread - block->first], state)) {
    return true;
  }
  return std::any_of(state.releases.begin(), state.releases.end(), [&](const auto& release) {
    return !release->is_access || release->address == address;
  });
}

ReleaseList Ordering::ReleasesOf(ThreadId thread, AddressId address, const Strength& strength) {
  State* const state = Find(thread);
  if (state == nullptr || !strength.IsStrong()) return {};
  if (coherence::Releases(strength.semantics) && HasPast(*EpochsOf(thread, 1), *state)) {
    Release release = *MakeRelease(thread, strength.scope);
    release.is_access = true;
    release.address = address;
    Remember(state, std::make_shared<const Release>(std::move(release)));
  }
  ReleaseList carried;
  for (const std::shared_ptr<const Release>& release : state->releases) {
    if (!release->is_access || release->address == address) carried.push_back(release);
  }
  return carried;
}

void Ordering::Observe(ThreadId thread, AddressId address, const Strength& strength,
                       const ReleaseList& releases) {
  State* const state = Find(thread);
  if (state == nullptr || !strength.IsStrong()) return;
  for (const std::shared_ptr<const Release>& release : releases) {
    bool known = false;
    for (Seen& seen : state->seen) {
      if (seen.address != address) continue;
      if (seen.release == release || Replaces(*seen.release, *release)) {
        known = true;
      } else if (Replaces(*release, *seen.release)) {
        seen = {release, address};
        known = true;
      }
      if (known) break;
    }
    if (known) continue;
    if (state->seen.size() >= kMaxSeen) {
      Acquire(state, &state->seen.front());
      state->seen.erase(state->seen.begin());
    }
    state->seen.push_back({release, address});
  }
}

void Ordering::Inherit(const ReleaseList& releases, ReleaseList* inherited) {
  constexpr size_t kMaxInherited = 8;
  for (const std::shared_ptr<const Release>& release : releases) {
    const auto old = std::find_if(inherited->begin(), inherited->end(), [&](const auto& other) {
      return Replaces(*release, *other) || Replaces(*other, *release) || other == release;
    });
    if (old == inherited->end()) {
      inherited->push_back(release);
    } else if (Replaces(*release, **old)) {
      *old = release;
    }
  }
  if (inherited->size() <= kMaxInherited) return;
  // Those of one address, or of fences, become one.
  ReleaseList fewer;
  for (const std::shared_ptr<const Release>& release : *inherited) {
    const auto same = std::find_if(fewer.begin(), fewer.end(), [&](const auto& other) {
      return other->is_access == release->is_access && other->address == release->address;
    });
    if (same == fewer.end()) {
      fewer.push_back(release);
      continue;
    }
    Clocks both;
    Join(&both, **same);
    Join(&both, *release);
    Release one = **same;
    one.clocks = std::move(both);
    one.of_many = true;
    *same = std::make_shared<const Release>(std::move(one));
  }
  *inherited = std::move(fewer);
}

void Ordering::Acquire(ThreadId thread, AddressId address, const Strength& strength) {
  Block* const block = FindBlock(thread);
  if (block == nullptr || !Acquires(strength.semantics)) return;
  State& state = block->states[thread - block->first];
  for (Seen& seen : state.seen) {
    if (seen.address != address) continue;
    const Release& release = *seen.release;
    // An access synchronises with one through the same address.
    if (release.is_access && release.address != address &&
        !IsMulticastPair(release.address, address)) {
      continue;
    }
    if (release.thread == thread || Meets(release, block->place, strength.scope)) {
      Acquire(&state, &seen);
    }
  }
}

bool Ordering::IsMulticast(AddressId address) const {
  const AddressState* const state = FindAddress(address);
  return state != nullptr && state->multicast;
}

bool Ordering::IsMulticastPair(AddressId a, AddressId b) const {
  return modes_.multicast == MulticastMode::kGuide && IsMulticast(a) != IsMulticast(b);
}

bool Ordering::IsMorallyStrong(ThreadId a, AddressId address_a, const Strength& strength_a,
                               ThreadId b, AddressId address_b, const Strength& strength_b) const {
  if (a != b) {
    if (!strength_a.IsStrong() || !strength_b.IsStrong()) return false;
    const Place* const place_a = PlaceOf(a);
    const Place* const place_b = PlaceOf(b);
    if (place_a == nullptr || place_b == nullptr ||
        !Include(*place_a, strength_a.scope, *place_b, strength_b.scope)) {
      return false;
    }
  }
  if (address_a == address_b) return true;
  return strength_a.IsStrong() && strength_b.IsStrong() && IsMulticastPair(address_a, address_b);
}

void Ordering::AppendTo(std::vector<uint64_t>* key) const {
  for (const Block& block : blocks_) {
    block.start.AppendTo(key);
    for (size_t i = 0; i < block.states.size(); ++i) {
      const State& state = block.states[i];
      key->push_back((uint64_t{block.first} + i) << 32 | block.now[i]);
      key->push_back(uint64_t{state.passed} << 32 | state.half);
      state.clocks.AppendTo(key);
      key->push_back(uint64_t{state.seen.size()} << 32 | state.releases.size());
      for (const Seen& seen : state.seen) {
        key->push_back(seen.address);
        coherence::AppendTo(*seen.release, key);
      }
      for (const auto& release : state.releases) coherence::AppendTo(*release, key);
    }
  }
  key->push_back(sequential_.size());
  for (const Sequential& sequential : sequential_) {
    key->push_back(static_cast<uint64_t>(sequential.place.cta) << 8 |
                   static_cast<uint64_t>(sequential.scope));
    sequential.clocks.AppendTo(key);
  }
}

}  // namespace twinmmu::coherence
