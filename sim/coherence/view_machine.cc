#include "sim/coherence/view_machine.h"

#include <algorithm>
#include <utility>

namespace twinmmu::coherence {
namespace {

uint64_t Bit(int index) { return uint64_t{1} << index; }
bool HasBit(uint64_t bits, int index) { return (bits >> index & 1) != 0; }

}  // namespace

void ViewMachine::SetInitial(LocationId location, uint64_t value) {
  locations_[location].initial = value;
}

const ViewMachine::Location& ViewMachine::Find(LocationId location) const {
  static const Location* const kUntouched = new Location;
  const auto found = locations_.find(location);
  return found == locations_.end() ? *kUntouched : found->second;
}

uint64_t ViewMachine::Known(const Location& location, const Ordering& ordering, ThreadId thread,
                            AddressId address) {
  uint64_t known = 0;
  for (size_t i = 0; i < location.writes.size(); ++i) {
    const Write& write = location.writes[i];
    bool is_before = ordering.IsBefore(write.mark, thread, address);
    for (size_t k = 0; !is_before && k < write.observers.size(); ++k) {
      is_before = ordering.IsBefore(write.observers[k], thread, address);
    }
    if (is_before) known |= Bit(static_cast<int>(i));
  }
  return known;
}

std::vector<int> ViewMachine::Candidates(const Ordering& ordering, LocationId id, ThreadId thread,
                                         AddressId address) const {
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

uint64_t ViewMachine::ValueOf(LocationId id, int write) const {
  const Location& location = Find(id);
  return write == kInitialWrite ? location.initial : location.writes[write].value;
}

bool ViewMachine::AreStrong(const Ordering& ordering, LocationId id, int write, ThreadId thread,
                            AddressId address, const Strength& strength) const {
  if (write == kInitialWrite) return false;
  const Write& of = Find(id).writes[write];
  if (of.mark.address != address || !of.strength.IsStrong() || !strength.IsStrong()) return false;
  return ordering.IsMorallyStrong(of.mark.thread, of.mark.address, of.strength, thread, address,
                                  strength);
}

void ViewMachine::Load(Ordering* ordering, LocationId id, ThreadId thread, AddressId address,
                       const Strength& strength, int choice, const Mark& mark,
                       std::vector<Mark>* observed) {
  Location& location = locations_[id];
  const uint64_t known = Known(location, *ordering, thread, address);
  for (size_t i = 0; choice != kInitialWrite && i < location.writes.size(); ++i) {
    if (HasBit(known, static_cast<int>(i)) && static_cast<int>(i) != choice) {
      location.writes[i].never_before |= Bit(choice);
    }
  }
  // Back through atomic operations: who sees the last one has seen the first.
  int from = choice;
  ThreadId reader = thread;
  AddressId through = address;
  Strength by = strength;
  ReleaseList releases;
  while (from != kInitialWrite) {
    Write& write = location.writes[from];
    if (!ordering->IsMorallyStrong(write.mark.thread, write.mark.address, write.strength, reader,
                                   through, by)) {
      break;
    }
    write.observers.push_back(mark);
    if (observed != nullptr) observed->push_back(write.mark);
    releases.insert(releases.end(), write.releases.begin(), write.releases.end());
    if (!write.atomic) break;
    from = write.source;
    reader = write.mark.thread;
    through = write.mark.address;
    by = write.strength;
  }
  ordering->Observe(thread, address, strength, releases);
  ordering->Acquire(thread, address, strength);
}

uint64_t ViewMachine::Open(const Ordering& ordering, LocationId id, ThreadId thread,
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
        ordering.IsMorallyStrong(write.mark.thread, write.mark.address, write.strength, thread,
                                 address, strength)) {
      open |= Bit(static_cast<int>(i));
    }
  }
  return open;
}

bool ViewMachine::IsConsistent(const Ordering& ordering, const Location& location) {
  const std::vector<Write>& writes = location.writes;
  for (size_t i = 0; i < writes.size(); ++i) {
    const Write& write = writes[i];
    if (HasBit(write.before, static_cast<int>(i)) || (write.before & write.never_before) != 0) {
      return false;
    }
    if (!write.atomic) continue;
    // Nothing between the halves of an atomic operation.
    for (size_t k = 0; k < writes.size(); ++k) {
      if (k == i || !HasBit(write.before, static_cast<int>(k))) continue;
      const bool after_source =
          write.source == kInitialWrite || HasBit(writes[k].before, write.source);
      if (after_source && ordering.IsMorallyStrong(writes[k].mark.thread, writes[k].mark.address,
                                                   writes[k].strength, write.mark.thread,
                                                   write.mark.address, write.strength)) {
        return false;
      }
    }
  }
  return true;
}

void ViewMachine::ForgetOldest(Location* location) {
  location->initial = location->writes.front().value;
  location->writes.erase(location->writes.begin());
  for (Write& write : location->writes) {
    write.before >>= 1;
    write.never_before >>= 1;
    if (write.atomic && write.source != kInitialWrite) --write.source;
  }
}

bool ViewMachine::Insert(const Ordering& ordering, Location* location, Write write,
                         uint64_t after) {
  if (location->writes.size() >= kMaxWrites) {
    // Only where writes come one after the other: there is no one who goes back.
    if (after != 0) return false;
    ForgetOldest(location);
    if (write.atomic && write.source != kInitialWrite) --write.source;
  }
  Location changed = *location;
  std::vector<Write>& writes = changed.writes;
  const int index = static_cast<int>(writes.size());
  const ThreadId thread = write.mark.thread;
  uint64_t before = Known(changed, ordering, thread, write.mark.address);
  for (int i = 0; i < index; ++i) {
    const Write& other = writes[i];
    if (!HasBit(before, i) && !HasBit(after, i) &&
        ordering.IsMorallyStrong(other.mark.thread, other.mark.address, other.strength, thread,
                                 write.mark.address, write.strength)) {
      before |= Bit(i);
    }
  }
  for (int i = 0; i < index; ++i) {
    if (HasBit(before, i)) before |= writes[i].before;
  }
  if ((before & after) != 0) return false;
  write.before = before;
  writes.push_back(std::move(write));
  for (int i = 0; i < index; ++i) {
    if (HasBit(after, i) || (writes[i].before & after) != 0)
      writes[i].before |= before | Bit(index);
  }
  if (!IsConsistent(ordering, changed)) return false;
  *location = std::move(changed);
  return true;
}

bool ViewMachine::Store(Ordering* ordering, LocationId id, ThreadId thread, AddressId address,
                        const Strength& strength, uint64_t value, const Mark& mark,
                        uint64_t after) {
  Write write;
  write.value = value;
  write.mark = mark;
  write.strength = strength;
  write.releases = ordering->ReleasesOf(thread, address, strength);
  return Insert(*ordering, &locations_[id], std::move(write), after);
}

bool ViewMachine::StoreAtomic(Ordering* ordering, LocationId id, ThreadId thread, AddressId address,
                              const Strength& strength, uint64_t value, const Mark& mark,
                              int source, uint64_t after) {
  Location& location = locations_[id];
  Write write;
  write.value = value;
  write.mark = mark;
  write.strength = strength;
  write.releases = ordering->ReleasesOf(thread, address, strength);
  write.atomic = true;
  write.source = source;
  return Insert(*ordering, &location, std::move(write), after);
}

bool ViewMachine::MayReadAtomically(const Ordering& ordering, LocationId id, ThreadId thread,
                                    AddressId address, const Strength& strength, int source) const {
  const Location& location = Find(id);
  for (const Write& write : location.writes) {
    if (!ordering.IsMorallyStrong(write.mark.thread, write.mark.address, write.strength, thread,
                                  address, strength)) {
      continue;
    }
    if (source == kInitialWrite || HasBit(write.before, source)) return false;
  }
  return true;
}

std::vector<uint64_t> ViewMachine::FinalValues(LocationId id) const {
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

void ViewMachine::Collapse() {
  for (auto& [id, location] : locations_) {
    location.initial = FinalValues(id).back();
    location.writes.clear();
  }
}

void ViewMachine::AppendTo(std::vector<uint64_t>* key) const {
  for (const auto& [id, location] : locations_) {
    key->push_back(id);
    key->push_back(location.writes.size());
    for (const Write& write : location.writes) {
      key->push_back(uint64_t{write.mark.thread} << 32 | write.mark.epoch);
      key->push_back(write.value);
      key->push_back(write.before);
      key->push_back(write.never_before);
      key->push_back(static_cast<uint64_t>(write.source + 1));
      key->push_back(write.observers.size());
      for (const Mark& mark : write.observers) {
        key->push_back(uint64_t{mark.thread} << 32 | mark.epoch);
        key->push_back(mark.address);
      }
    }
  }
}

}  // namespace twinmmu::coherence
