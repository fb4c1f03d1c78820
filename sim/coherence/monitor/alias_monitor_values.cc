// Older values that a load may give, under the policies that have them.

#include <algorithm>
#include <cstring>

#include "sim/coherence/monitor/alias_monitor_impl.h"

namespace twinmmu::coherence {
namespace {

constexpr uint32_t kWordBytes = 4;
// A thread that has read an older value so many times gets the newest: caches do not last for ever.
constexpr uint32_t kMaxOlder = 256;

void WriteBytes(uint64_t value, uint32_t size, char* to) {
  const auto word = static_cast<uint32_t>(value);
  const auto byte = static_cast<uint8_t>(value);
  if (size == kWordBytes) {
    std::memcpy(to, &word, sizeof(word));
  } else {
    std::memcpy(to, &byte, sizeof(byte));
  }
}

// One number from several, as good as random.
uint64_t Mix(uint64_t seed, uint64_t value) {
  uint64_t mixed = (seed ^ value) * 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9;
  return mixed ^ (mixed >> 32);
}

uint64_t IdOf(const AccessEvent& event) { return uint64_t{event.thread} << 32 | event.epoch; }

}  // namespace

uint64_t AliasMonitor::Impl::SmOf(ThreadId thread) const {
  const Place* const place = ordering_.PlaceOf(thread);
  const auto found = place == nullptr ? sms_.end() : sms_.find(static_cast<ThreadId>(place->cta));
  return found == sms_.end() ? 0 : found->second;
}

void AliasMonitor::Impl::Split(OperationalModel* view, const char* memory, uint64_t size,
                               Pieces* pieces) {
  pieces->clear();
  const LocationId end = LocationOf(memory) + size;
  for (LocationId at = LocationOf(memory); at < end;) {
    const LocationId word = at & ~LocationId{kWordBytes - 1};
    const bool whole = at == word && at + kWordBytes <= end && !view->IsSplit(word);
    if (!whole) view->Split(word);
    Piece piece{at, whole ? kWordBytes : 1};
    piece.newest = view->Newest(at);
    piece.choice = piece.newest;
    pieces->push_back(piece);
    at += piece.size;
  }
}

void AliasMonitor::Impl::TouchValues(const char* memory, uint64_t size) {
  Split(&values_, memory, size, &pieces_);
  for (Piece& piece : pieces_) {
    const uint64_t value = ReadMemory(piece.location, piece.size);
    if (values_.Has(piece.location)) {
      if (values_.ValueOf(piece.location, piece.newest) == value) continue;
      values_.Forget(piece.location);  // somebody else wrote
      piece.newest = OperationalModel::kInitialWrite;
      piece.choice = piece.newest;
    }
    values_.SetInitial(piece.location, value);
  }
}

void AliasMonitor::Impl::ChooseValue(const MonitoredAccess& access, const AccessEvent& event,
                                     bool atomic, Piece* piece) {
  const LocationId id = piece->location;
  std::vector<int> candidates = values_.Candidates(ordering_, id, access.thread, access.address);
  if (atomic) {
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
                                    [&](int write) {
                                      return !values_.MayReadAtomically(
                                          ordering_, id, access.thread, access.address,
                                          access.strength, write);
                                    }),
                     candidates.end());
  }
  if (candidates.empty()) return;
  const auto newest = std::max_element(candidates.begin(), candidates.end());
  ChoiceOfRead read;
  read.location = id;
  read.address = access.address;
  read.is_cached = Caches::Serves(access.strength, atomic);
  read.newest_is_strong =
      values_.AreStrong(ordering_, id, *newest, access.thread, access.address, access.strength);
  read.random = Mix(options_.seed, IdOf(event));
  if (options_.policy == Policy::kL1) read.sm = SmOf(access.thread);
  std::vector<uint64_t> writes;
  for (const int write : candidates) writes.push_back(IdOf(values_.EventOf(id, write)));
  piece->choice = candidates[Choose(options_.policy, read, writes,
                                    static_cast<size_t>(newest - candidates.begin()), &caches_)];
}

bool AliasMonitor::Impl::LoadValues(const MonitoredAccess& access, uint64_t size,
                                    const AccessEvent& event, bool atomic, char* older) {
  atomic_pieces_.clear();
  if (!values_.HasPage(LocationOf(access.memory)) &&
      !values_.HasPage(LocationOf(access.memory) + size - 1)) {
    // Nobody wrote. A cache may hold what is there from now on.
    if (options_.policy == Policy::kL1 && Caches::Serves(access.strength, atomic)) {
      for (uint64_t i = 0; i < size; i += kWordBytes) {
        caches_.Fill(SmOf(access.thread), LocationOf(access.memory) + i, access.address,
                     IdOf(AccessEvent()));
      }
    }
    return false;
  }
  TouchValues(access.memory, size);
  bool is_older = false;
  for (Piece& piece : pieces_) {
    ChooseValue(access, event, atomic, &piece);
    is_older = is_older || piece.choice != piece.newest;
  }
  if (is_older && !atomic) {
    if (older_.size() > kPageBytes) older_.clear();
    uint32_t& times = older_[Mix(access.thread, LocationOf(access.memory) ^ access.address << 3)];
    if (++times > kMaxOlder) {
      is_older = false;
      for (Piece& piece : pieces_) piece.choice = piece.newest;
    }
  }
  for (const Piece& piece : pieces_) {
    observed_.clear();
    values_.Load(&ordering_, piece.location, access.strength, piece.choice, event, &observed_);
    if (options_.check) checker_.Observe(piece.location, piece.size, observed_, event);
    if (!is_older) continue;
    char* const to = older + (piece.location - LocationOf(access.memory));
    WriteBytes(values_.ValueOf(piece.location, piece.choice), piece.size, to);
  }
  if (atomic) atomic_pieces_ = pieces_;
  return is_older;
}

void AliasMonitor::Impl::StoreValues(const MonitoredAccess& access, uint64_t size,
                                     const AccessEvent& event, bool atomic) {
  Split(&values_, access.memory, size, &pieces_);
  const bool known =
      atomic && IdOf(atomic_) == IdOf(event) && atomic_pieces_.size() == pieces_.size();
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    const uint64_t value = ReadMemory(piece.location, piece.size);
    std::optional<int> source;
    if (atomic) source = known ? atomic_pieces_[i].choice : piece.newest;
    const bool stored =
        values_.Store(&ordering_, piece.location, access.strength, value, event, 0, source);
    if (!stored) {
      values_.Forget(piece.location);
      values_.SetInitial(piece.location, value);
    }
    if (options_.policy == Policy::kL1) {
      caches_.Drop(SmOf(access.thread), piece.location, access.address);
    }
  }
}

}  // namespace twinmmu::coherence
