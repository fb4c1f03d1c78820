#include "sim/coherence/model/operational_model.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace twinmmu::coherence {
namespace {

uint64_t Bit(int index) { return uint64_t{1} << index; }
constexpr uint64_t kLocationCost = 96;  // bytes, about, as the next two
constexpr uint64_t kPageCost = 256;
constexpr uint64_t kReleaseCost = 512;  // with clocks that others may share

bool HasBit(uint64_t bits, int index) { return (bits >> index & 1) != 0; }

}  // namespace

uint64_t OperationalModel::CostOf(const Location& location) {
  uint64_t cost = kLocationCost;
  for (const Write& write : location.writes) {
    cost += sizeof(Write) + (write.releases.size() + write.inherited.size()) * kReleaseCost;
  }
  return cost;
}

uint64_t OperationalModel::CostOf(const Page& page) {
  uint64_t cost = kPageCost;
  for (const auto& [place, location] : page.locations) cost += CostOf(location);
  return cost;
}

void OperationalModel::Spend(uint64_t before, uint64_t after) {
  bytes_ = bytes_ + after - std::min(bytes_ + after, before);
}

const OperationalModel::Location& OperationalModel::Untouched() {
  static const Location* const kUntouched = new Location;
  return *kUntouched;
}

const OperationalModel::Location& OperationalModel::Find(LocationId id) const {
  const Page* const page = pages_.Find(PageOf(id));
  if (page == nullptr) return Untouched();
  const auto found = page->locations.find(static_cast<uint32_t>(id % kPageBytes));
  return found == page->locations.end() ? Untouched() : found->second;
}

OperationalModel::Location& OperationalModel::Get(LocationId id) {
  Page* const page = GetPage(PageOf(id));
  const auto [found, added] = page->locations.try_emplace(static_cast<uint32_t>(id % kPageBytes));
  if (added) bytes_ += kLocationCost;
  return found->second;
}

void OperationalModel::SetInitial(LocationId id, uint64_t value) { Get(id).initial = value; }

OperationalModel::Page* OperationalModel::GetPage(uint64_t number) {
  Page* const found = pages_.Find(number);
  if (found != nullptr) return found;
  Page* const made = pages_.Get(number);
  bytes_ += kPageCost;
  return made;
}

bool OperationalModel::Has(LocationId id) const { return &Find(id) != &Untouched(); }

bool OperationalModel::IsSplit(LocationId word) const {
  const Page* const page = pages_.Find(PageOf(word));
  return page != nullptr && page->split.count(static_cast<uint32_t>(word % kPageBytes)) != 0;
}

void OperationalModel::Split(LocationId word) {
  Page* const page = GetPage(PageOf(word));
  const auto place = static_cast<uint32_t>(word % kPageBytes);
  if (!page->split.insert(place).second) return;
  const auto found = page->locations.find(place);
  if (found == page->locations.end()) return;
  const Location whole = found->second;
  page->locations.erase(found);
  const auto byte_of = [](uint64_t value, uint32_t i) {
    const auto low = static_cast<uint32_t>(value);
    unsigned char bytes[sizeof(low)];
    std::memcpy(bytes, &low, sizeof(low));
    return uint64_t{bytes[i]};
  };
  for (uint32_t i = 0; i < sizeof(uint32_t); ++i) {
    Location part = whole;
    part.initial = byte_of(whole.initial, i);
    for (Write& write : part.writes) write.value = byte_of(write.value, i);
    bytes_ += CostOf(part);
    page->locations[place + i] = std::move(part);
  }
  Spend(CostOf(whole), 0);
}

void OperationalModel::Forget(LocationId id) {
  Page* const page = pages_.Find(PageOf(id));
  if (page == nullptr) return;
  const auto found = page->locations.find(static_cast<uint32_t>(id % kPageBytes));
  if (found == page->locations.end()) return;
  Spend(CostOf(found->second), 0);
  page->locations.erase(found);
}

void OperationalModel::Forget(LocationId first, LocationId last) {
  pages_.Erase(PageOf(first), PageOf(last), [&](const Page& page) { Spend(CostOf(page), 0); });
}

void OperationalModel::ForgetAll() {
  pages_.Clear();
  bytes_ = 0;
}

uint64_t OperationalModel::Known(const Location& location, const Ordering& ordering,
                                 ThreadId thread, AddressId address) {
  const Ordering::Past past(ordering, thread, address);
  const auto is_before = [&](const AccessEvent& event) { return past.Has(event); };
  uint64_t known = 0;
  for (size_t i = 0; i < location.writes.size(); ++i) {
    const Write& write = location.writes[i];
    if (write.is_known || is_before(write.event) ||
        std::any_of(write.observers.begin(), write.observers.end(), is_before)) {
      known |= Bit(static_cast<int>(i));
    }
  }
  return known;
}

std::vector<int> OperationalModel::Candidates(const Ordering& ordering, LocationId id,
                                              ThreadId thread, AddressId address) const {
  const Location& location = Find(id);
  const uint64_t known = Known(location, ordering, thread, address);
  uint64_t hidden = 0;
  for (size_t i = 0; i < location.writes.size(); ++i) {
    if (HasBit(known, static_cast<int>(i))) hidden |= location.writes[i].before;
  }
  std::vector<int> candidates;
  if (known == 0) candidates.push_back(kInitialWrite);
  for (size_t i = 0; i < location.writes.size(); ++i) {
    if (!HasBit(hidden, static_cast<int>(i))) candidates.push_back(static_cast<int>(i));
  }
  // Older before newer; what nothing orders, as it came.
  std::stable_sort(candidates.begin(), candidates.end(), [&](int a, int b) {
    if (a == kInitialWrite || b == kInitialWrite) return a == kInitialWrite && b != kInitialWrite;
    return __builtin_popcountll(location.writes[a].before) <
           __builtin_popcountll(location.writes[b].before);
  });
  return candidates;
}

uint64_t OperationalModel::ValueOf(LocationId id, int write) const {
  const Location& location = Find(id);
  return write == kInitialWrite ? location.initial : location.writes[write].value;
}

AccessEvent OperationalModel::EventOf(LocationId id, int write) const {
  return write == kInitialWrite ? AccessEvent() : Find(id).writes[write].event;
}

int OperationalModel::Newest(LocationId id) const {
  return static_cast<int>(Find(id).writes.size()) - 1;
}

bool OperationalModel::AreStrong(const Ordering& ordering, LocationId id, int write,
                                 ThreadId thread, AddressId address,
                                 const Strength& strength) const {
  if (write == kInitialWrite) return false;
  const Write& of = Find(id).writes[write];
  if (of.event.address != address || !of.strength.IsStrong() || !strength.IsStrong()) return false;
  return of.IsStrongWith(ordering, thread, address, strength);
}

void OperationalModel::AddObserver(Write* write, const AccessEvent& event) {
  constexpr size_t kMaxObservers = 64;
  // Through its own address, its own thread knows. The first of a thread is before all that a later
  // one is before.
  if (write->is_known ||
      (write->event.thread == event.thread && write->event.address == event.address) ||
      std::any_of(write->observers.begin(), write->observers.end(),
                  [&](const AccessEvent& observer) {
                    return observer.thread == event.thread && observer.address == event.address;
                  })) {
    return;
  }
  if (write->observers.size() < kMaxObservers) {
    write->observers.push_back(event);
    return;
  }
  write->is_known = true;
  write->observers.clear();
}

void OperationalModel::Load(Ordering* ordering, LocationId id, const Strength& strength, int choice,
                            const AccessEvent& event, std::vector<AccessEvent>* observed) {
  Location& location = Get(id);
  const uint64_t known =
      choice == kInitialWrite ? 0 : Known(location, *ordering, event.thread, event.address);
  for (size_t i = 0; choice != kInitialWrite && i < location.writes.size(); ++i) {
    if (HasBit(known, static_cast<int>(i)) && static_cast<int>(i) != choice) {
      location.writes[i].never_before |= Bit(choice);
    }
  }
  // Back through atomic operations: who sees the last one has seen the first.
  int from = choice;
  ThreadId reader = event.thread;
  AddressId through = event.address;
  Strength by = strength;
  ReleaseList releases;
  while (from != kInitialWrite) {
    Write& write = location.writes[from];
    if (!write.IsStrongWith(*ordering, reader, through, by)) break;
    AddObserver(&write, event);
    if (observed != nullptr) observed->push_back(write.event);
    releases.insert(releases.end(), write.releases.begin(), write.releases.end());
    if (!write.atomic) break;
    releases.insert(releases.end(), write.inherited.begin(), write.inherited.end());
    from = write.source;
    reader = write.event.thread;
    through = write.event.address;
    by = write.strength;
  }
  ordering->Observe(event.thread, event.address, strength, releases);
  ordering->Acquire(event.thread, event.address, strength);
}

uint64_t OperationalModel::Open(const Ordering& ordering, LocationId id, ThreadId thread,
                                AddressId address, const Strength& strength) const {
  const Location& location = Find(id);
  uint64_t before = Known(location, ordering, thread, address);
  for (size_t i = 0; i < location.writes.size(); ++i) {
    if (HasBit(before, static_cast<int>(i))) before |= location.writes[i].before;
  }
  uint64_t open = 0;
  for (size_t i = 0; i < location.writes.size(); ++i) {
    const Write& write = location.writes[i];
    if (!HasBit(before, static_cast<int>(i)) &&
        write.IsStrongWith(ordering, thread, address, strength)) {
      open |= Bit(static_cast<int>(i));
    }
  }
  return open;
}

bool OperationalModel::IsConsistent(const Ordering& ordering, const Location& location,
                                    const Befores& befores, size_t first) {
  const std::vector<Write>& writes = location.writes;
  for (size_t i = first; i < writes.size(); ++i) {
    const Write& write = writes[i];
    if (HasBit(befores[i], static_cast<int>(i)) || (befores[i] & write.never_before) != 0) {
      return false;
    }
    if (!write.atomic) continue;
    // Nothing between the halves of an atomic operation.
    for (size_t k = 0; k < writes.size(); ++k) {
      if (k == i || !HasBit(befores[i], static_cast<int>(k))) continue;
      const bool after_source = write.source == kInitialWrite || HasBit(befores[k], write.source);
      if (after_source && writes[k].IsStrongWith(ordering, write)) return false;
    }
  }
  return true;
}

void OperationalModel::ForgetOldest(const Ordering& ordering, Location* location) {
  std::vector<Write>& writes = location->writes;
  const Write& oldest = writes.front();
  location->initial = oldest.value;
  for (size_t i = 1; i < writes.size(); ++i) {
    Write& write = writes[i];
    write.before >>= 1;
    write.never_before >>= 1;
    if (!write.atomic || write.source == kInitialWrite) continue;
    if (write.source == 0 && oldest.IsStrongWith(ordering, write)) {
      Ordering::Inherit(oldest.releases, &write.inherited);
      Ordering::Inherit(oldest.inherited, &write.inherited);
    }
    --write.source;
  }
  writes.erase(writes.begin());
}

bool OperationalModel::Insert(const Ordering& ordering, LocationId id, Write write,
                              uint64_t after) {
  Location& location = Get(id);
  std::vector<Write>& writes = location.writes;
  const int index = static_cast<int>(writes.size());
  // Where writes come one after the other, there is no one who goes back.
  if (writes.size() >= max_writes_ && after != 0) return false;
  uint64_t before = Known(location, ordering, write.event.thread, write.event.address);
  Befores befores;
  for (int i = 0; i < index; ++i) {
    const Write& other = writes[i];
    befores[i] = other.before;
    if (!HasBit(before, i) && !HasBit(after, i) && other.IsStrongWith(ordering, write)) {
      before |= Bit(i);
    }
  }
  for (int i = 0; i < index; ++i) {
    if (HasBit(before, i)) before |= befores[i];
  }
  if ((before & after) != 0) return false;
  const uint64_t cost = CostOf(location);
  write.before = before;
  befores[index] = before;
  for (int i = 0; after != 0 && i < index; ++i) {
    if (HasBit(after, i) || (befores[i] & after) != 0) befores[i] |= before | Bit(index);
  }
  writes.push_back(std::move(write));
  // What comes last in coherence order changes nothing for the others.
  if (!IsConsistent(ordering, location, befores, after == 0 ? writes.size() - 1 : 0)) {
    writes.pop_back();
    return false;
  }
  for (size_t i = 0; i < writes.size(); ++i) writes[i].before = befores[i];
  if (writes.size() > max_writes_) ForgetOldest(ordering, &location);
  Spend(cost, CostOf(location));
  uint64_t oldest = 0;
  while (bytes_ > limit_ && pages_.Oldest(PageOf(id), &oldest)) {
    Spend(CostOf(*pages_.Find(oldest)), 0);
    pages_.Erase(oldest);
    forgot_ = true;
  }
  return true;
}

bool OperationalModel::Store(Ordering* ordering, LocationId id, const Strength& strength,
                             uint64_t value, const AccessEvent& event, uint64_t after,
                             std::optional<int> source) {
  Write write;
  write.value = value;
  write.event = event;
  write.strength = strength;
  write.releases = ordering->ReleasesOf(event.thread, event.address, strength);
  write.atomic = source.has_value();
  write.source = source.value_or(kInitialWrite);
  return Insert(*ordering, id, std::move(write), after);
}

bool OperationalModel::MayReadAtomically(const Ordering& ordering, LocationId id, ThreadId thread,
                                         AddressId address, const Strength& strength,
                                         int source) const {
  const Location& location = Find(id);
  return std::none_of(location.writes.begin(), location.writes.end(), [&](const Write& write) {
    return (source == kInitialWrite || HasBit(write.before, source)) &&
           write.IsStrongWith(ordering, thread, address, strength);
  });
}

std::vector<uint64_t> OperationalModel::FinalValues(LocationId id) const {
  const Location& location = Find(id);
  uint64_t hidden = 0;
  for (const Write& write : location.writes) hidden |= write.before;
  std::vector<uint64_t> values;
  for (size_t i = 0; i < location.writes.size(); ++i) {
    if (!HasBit(hidden, static_cast<int>(i))) values.push_back(location.writes[i].value);
  }
  if (values.empty()) values.push_back(location.initial);
  return values;
}

void OperationalModel::Collapse() {
  bytes_ = 0;
  for (auto& [number, page] : pages_) {
    for (auto& [place, location] : page.locations) {
      location.initial = FinalValues(number * kPageBytes + place).back();
      location.writes.clear();
    }
    bytes_ += CostOf(page);
  }
}

void OperationalModel::AppendTo(std::vector<uint64_t>* key) const {
  // In any order, but in one.
  std::map<LocationId, const Location*> sorted;
  for (const auto& [number, page] : pages_) {
    for (const auto& [place, location] : page.locations) {
      sorted[number * kPageBytes + place] = &location;
    }
  }
  for (const auto& [id, place] : sorted) {
    const Location& location = *place;
    key->push_back(id);
    key->push_back(location.writes.size());
    for (const Write& write : location.writes) {
      key->push_back(uint64_t{write.event.thread} << 32 | write.event.epoch);
      key->push_back(write.value);
      key->push_back(write.before);
      key->push_back(write.never_before);
      key->push_back(static_cast<uint64_t>(write.source + 1));
      key->push_back(write.observers.size());
      for (const AccessEvent& event : write.observers) {
        key->push_back(uint64_t{event.thread} << 32 | event.epoch);
        key->push_back(event.address);
      }
    }
  }
}

}  // namespace twinmmu::coherence
