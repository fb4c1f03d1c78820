#include "sim/coherence/alias_monitor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <new>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/coherence/hazard_checker.h"
#include "sim/coherence/page_map.h"
#include "sim/coherence/value_choice.h"
#include "sim/coherence/view_machine.h"

namespace twinmmu::coherence {
namespace {

constexpr uint32_t kWordBytes = 4;
// Numbers end here; and from here on they start again where they can.
constexpr ThreadId kLastThread = 0xffff0000;
constexpr ThreadId kManyThreads = 0x40000000;
// Blocks have fewer threads; what claims to have more is not noted.
constexpr uint32_t kMaxBlock = 1 << 16;
// Older values are not kept for copies and fills of more bytes than this.
constexpr uint64_t kMaxValueRange = 64 << 10;
// A thread that has read an older value so many times gets the newest: caches do not last for ever.
constexpr uint32_t kMaxOlder = 256;

// The checker keeps that much memory where nothing runs, so that the next grid need not ask for it.
constexpr uint64_t kMaxIdle = 128 << 20;

LocationId LocationOf(const char* memory) { return reinterpret_cast<uintptr_t>(memory); }

// What lies there, of 1 or 4 bytes, aligned. Others may write at the same time.
uint64_t ReadMemory(LocationId location, uint32_t size) {
  if (size == kWordBytes) {
    return __atomic_load_n(reinterpret_cast<const uint32_t*>(location), __ATOMIC_RELAXED);
  }
  return __atomic_load_n(reinterpret_cast<const uint8_t*>(location), __ATOMIC_RELAXED);
}

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

uint64_t NumberOf(const Mark& mark) { return uint64_t{mark.thread} << 32 | mark.epoch; }

uint64_t KeyOfSm(int device, int sm) {
  return uint64_t{static_cast<uint32_t>(device)} << 32 | static_cast<uint32_t>(sm);
}

}  // namespace

struct AliasMonitor::Meeting::Gathered {
  Gathering gathering;
};

class AliasMonitor::Impl {
 public:
  Impl(const AliasOptions& options, Report report)
      : options_(options),
        report_(std::move(report)),
        keeps_values_(options.policy != Policy::kCoherent),
        quick_(!keeps_values_ && options.check),
        ordering_(options.modes),
        checker_(options.limit / 2),
        values_(ViewMachine::kMaxWrites, options.limit / 4),
        flags_(1, options.limit / 4) {}

  std::mutex& mutex() { return mutex_; }

  // Does what may need memory. If there is none, all is forgotten.
  template <typename Work>
  void Try(const Work& work) noexcept {
    if (blind_) return;
    try {
      work();
    } catch (const std::bad_alloc&) {
      Lose();
    }
  }

  // Whether anything is armed now.
  bool Arm(uint64_t size) {
    armed_ += size;
    return armed_ != 0;
  }
  bool Disarm(const char* memory, uint64_t size);
  ThreadId Start(uint32_t threads, int device, int sm, const Past& past);
  void End(ThreadId first, uint32_t threads, Past* past);
  bool HostWaited(const Past& past);

  // Notes a weak access, if it is one like most others. False: it is not, and nothing was done.
  [[gnu::always_inline]] bool NoteQuickly(const MonitoredAccess& access, bool writes) {
    Mark mark;
    return quick_ && access.armed && !access.strength.IsStrong() &&
           ordering_.TryNext(access.thread, access.address, access.site, &mark) &&
           checker_.CheckQuickly(ordering_, LocationOf(access.memory), access.size, mark, writes);
  }
  // Whether nothing is to be done after a store.
  bool IsQuicklyDone(const MonitoredAccess& access) const {
    return quick_ && !access.strength.IsStrong() && flags_.empty();
  }
  const char* Load(const MonitoredAccess& access, char* older);
  void BeforeStore(const MonitoredAccess& access);
  void AfterStore(const MonitoredAccess& access);
  const char* BeforeAtomic(const MonitoredAccess& access, char* older);
  void AfterAtomic(const MonitoredAccess& access, bool wrote);
  void AfterRangeLoad(const MonitoredAccess& access, uint64_t size, char* copied);
  void BeforeRangeStore(const MonitoredAccess& access, uint64_t size);
  void AfterRangeStore(const MonitoredAccess& access, uint64_t size);
  void Fence(ThreadId first, uint32_t lanes, const Strength& strength, bool sequential) {
    Try([&] {
      if (strength.scope != Scope::kCta) InvalidateCache(first);
      ordering_.Fence(first, lanes, strength, sequential);
    });
  }
  void InvalidateCache(ThreadId thread) {
    if (options_.policy == Policy::kL1) caches_.Invalidate(SmOf(thread));
  }
  template <typename Work>
  void ForLanes(ThreadId first, uint32_t lanes, bool invalidates, const Work& work);
  Ordering& ordering() { return ordering_; }

 private:
  // Part of an access: a word, or a byte of a word that was accessed by bytes.
  struct Piece {
    LocationId location;
    uint32_t size;
    int choice = ViewMachine::kInitialWrite;  // the write that is read
    int newest = ViewMachine::kInitialWrite;
  };
  using Pieces = std::vector<Piece>;

  void Lose();
  void ForgetAccesses();
  void Forget();
  bool Notes(const MonitoredAccess& access) const {
    return (access.armed || access.strength.IsStrong()) && ordering_.Runs(access.thread);
  }
  Mark MarkOf(const MonitoredAccess& access) const {
    return ordering_.Last(access.thread, access.address, access.site);
  }
  void Check(const MonitoredAccess& access, const Mark& mark, bool writes);
  void CheckRange(const MonitoredAccess& access, uint64_t size, const Mark& mark, bool writes);
  void Tell(const char* memory);
  static void Split(ViewMachine* view, const char* memory, uint64_t size, Pieces* pieces);
  bool LoadValues(const MonitoredAccess& access, uint64_t size, const Mark& mark, bool atomic,
                  char* older);
  void ChooseValue(const MonitoredAccess& access, const Mark& mark, bool atomic, Piece* piece);
  void TouchValues(const char* memory, uint64_t size);
  void StoreValues(const MonitoredAccess& access, uint64_t size, const Mark& mark, bool atomic);
  void LoadFlag(const MonitoredAccess& access, const Mark& mark);
  void StoreFlag(const MonitoredAccess& access, const Mark& mark, bool atomic);
  void ForgetFlag(const MonitoredAccess& access);
  uint64_t SmOf(ThreadId thread) const;

  const AliasOptions options_;
  const Report report_;
  const bool keeps_values_;
  const bool quick_;
  std::mutex mutex_;  // guards the rest
  uint64_t armed_ = 0;
  ThreadId next_thread_ = 1;
  ThreadId first_noted_ = 1;  // since all was forgotten
  uint64_t running_ = 0;      // Start without End
  bool blind_ = false;        // notes nothing until nothing runs
  bool exhausted_ = false;    // no numbers of threads are left

  Ordering ordering_;
  HazardChecker checker_;
  ViewMachine values_;  // of armed memory, unless Policy::kCoherent
  ViewMachine flags_;   // what strong accesses wrote last, anywhere
  Caches caches_;
  std::unordered_map<ThreadId, uint64_t> sms_;    // by the first thread of a block
  std::unordered_map<uint64_t, uint32_t> older_;  // how often a thread got one, of that address
  std::set<std::tuple<Site, Site, Hazard>> told_;

  // Reused.
  std::vector<HazardReport> reports_;
  std::vector<Mark> observed_;
  Pieces pieces_;
  // Of the atomic operation under way: what it read.
  Mark atomic_;
  Pieces atomic_pieces_;
};

// --- What is noted, and not any more ---

// Order may be lost, too, so that nothing is told until all that runs has ended.
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
}

bool AliasMonitor::Impl::Disarm(const char* memory, uint64_t size) {
  armed_ -= std::min(armed_, size);
  if (size != 0) {
    // Flags stay: they order accesses of other memory.
    const LocationId first = LocationOf(memory);
    checker_.Forget(first, first + size - 1);
    values_.Forget(first, first + size - 1);
  }
  return armed_ != 0;
}

ThreadId AliasMonitor::Impl::Start(uint32_t threads, int device, int sm, const Past& past) {
  ++running_;
  if (threads == 0 || exhausted_ || threads > kLastThread - next_thread_) {
    exhausted_ = exhausted_ || threads != 0;
    return 0;  // is not noted
  }
  const ThreadId first = next_thread_;
  next_thread_ += threads;
  if (threads > kMaxBlock) return first;
  Try([&] {
    const Place place{device, static_cast<int>(first), static_cast<int>(first)};
    if (options_.policy == Policy::kL1) {
      sms_[first] = KeyOfSm(device, sm);
      caches_.Invalidate(KeyOfSm(device, sm));
    }
    ordering_.Start(first, threads, place, past);
  });
  return first;
}

void AliasMonitor::Impl::End(ThreadId first, uint32_t threads, Past* past) {
  if (first != 0 && threads != 0) {
    Try([&] {
      sms_.erase(first);
      if (ordering_.Runs(first)) {
        ordering_.EndAndLeave(first, past);
      } else {
        past->all.AddEnded(first, first + threads - 1);
      }
    });
  }
  if (running_ > 0) --running_;
  if (running_ == 0 && blind_) {
    blind_ = false;
    first_noted_ = next_thread_;
  }
}

bool AliasMonitor::Impl::HostWaited(const Past& past) {
  if (running_ != 0 || !past.all.HasAll({first_noted_, next_thread_ - 1})) return false;
  values_.ForgetAll();
  flags_.ForgetAll();
  caches_.Clear();
  older_.clear();
  ordering_.Forget();
  sms_.clear();
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

// --- Hazards ---

void AliasMonitor::Impl::Check(const MonitoredAccess& access, const Mark& mark, bool writes) {
  if (!options_.check) return;
  checker_.Check(ordering_, LocationOf(access.memory), access.size, mark, access.strength, writes,
                 &reports_);
  if (!reports_.empty()) Tell(access.memory);
}

void AliasMonitor::Impl::CheckRange(const MonitoredAccess& access, uint64_t size, const Mark& mark,
                                    bool writes) {
  if (!options_.check) return;
  LocationId first = LocationOf(access.memory);
  const LocationId end = first + size;
  while (first < end) {
    const uint64_t part = std::min(end - first, kPageBytes - first % kPageBytes);
    checker_.Check(ordering_, first, static_cast<uint32_t>(part), mark, Strength(), writes,
                   &reports_);
    if (!reports_.empty()) Tell(access.memory + (first - LocationOf(access.memory)));
    first += part;
  }
}

void AliasMonitor::Impl::Tell(const char* memory) {
  for (const HazardReport& report : reports_) {
    AliasHazard hazard;
    hazard.hazard = report.hazard;
    hazard.missing_fence = report.missing_fence;
    hazard.first = {report.first.address, report.first.site, report.first_writes};
    hazard.second = {report.second.address, report.second.site, report.second_writes};
    hazard.memory = memory;
    const Place* const first = ordering_.PlaceOf(report.first.thread);
    const Place* const second = ordering_.PlaceOf(report.second.thread);
    if (hazard.hazard == Hazard::kAlias && first != nullptr && second != nullptr &&
        first->gpu != second->gpu && !ordering_.IsMulticast(report.first.address) &&
        !ordering_.IsMulticast(report.second.address)) {
      hazard.hazard = Hazard::kCrossDevice;
    }
    if (!told_.emplace(hazard.first.site, hazard.second.site, hazard.hazard).second) continue;
    if (report_) report_(hazard);
  }
  reports_.clear();
}

// --- Values ---

uint64_t AliasMonitor::Impl::SmOf(ThreadId thread) const {
  const Place* const place = ordering_.PlaceOf(thread);
  const auto found = place == nullptr ? sms_.end() : sms_.find(static_cast<ThreadId>(place->cta));
  return found == sms_.end() ? 0 : found->second;
}

void AliasMonitor::Impl::Split(ViewMachine* view, const char* memory, uint64_t size,
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
  for (const Piece& piece : pieces_) {
    const uint64_t value = ReadMemory(piece.location, piece.size);
    if (values_.Has(piece.location)) {
      if (values_.ValueOf(piece.location, piece.newest) == value) continue;
      values_.Forget(piece.location);  // somebody else wrote
    }
    values_.SetInitial(piece.location, value);
  }
}

void AliasMonitor::Impl::ChooseValue(const MonitoredAccess& access, const Mark& mark, bool atomic,
                                     Piece* piece) {
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
  read.random = Mix(options_.seed, NumberOf(mark));
  if (options_.policy == Policy::kL1) read.sm = SmOf(access.thread);
  std::vector<uint64_t> writes;
  for (const int write : candidates) writes.push_back(NumberOf(values_.MarkOf(id, write)));
  piece->choice = candidates[Choose(options_.policy, read, writes,
                                    static_cast<size_t>(newest - candidates.begin()), &caches_)];
}

bool AliasMonitor::Impl::LoadValues(const MonitoredAccess& access, uint64_t size, const Mark& mark,
                                    bool atomic, char* older) {
  atomic_pieces_.clear();
  if (!values_.HasPage(LocationOf(access.memory)) &&
      !values_.HasPage(LocationOf(access.memory) + size - 1)) {
    // Nobody wrote. A cache may hold what is there from now on.
    if (options_.policy == Policy::kL1 && Caches::Serves(access.strength, atomic)) {
      for (uint64_t i = 0; i < size; i += kWordBytes) {
        caches_.Fill(SmOf(access.thread), LocationOf(access.memory) + i, access.address,
                     NumberOf(Mark()));
      }
    }
    return false;
  }
  TouchValues(access.memory, size);
  bool is_older = false;
  for (Piece& piece : pieces_) {
    ChooseValue(access, mark, atomic, &piece);
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
    values_.Load(&ordering_, piece.location, access.thread, access.address, access.strength,
                 piece.choice, mark, &observed_);
    if (options_.check) checker_.Observe(piece.location, piece.size, observed_, mark);
    if (!is_older) continue;
    char* const to = older + (piece.location - LocationOf(access.memory));
    WriteBytes(values_.ValueOf(piece.location, piece.choice), piece.size, to);
  }
  if (atomic) atomic_pieces_ = pieces_;
  return is_older;
}

void AliasMonitor::Impl::StoreValues(const MonitoredAccess& access, uint64_t size, const Mark& mark,
                                     bool atomic) {
  Split(&values_, access.memory, size, &pieces_);
  const bool known =
      atomic && NumberOf(atomic_) == NumberOf(mark) && atomic_pieces_.size() == pieces_.size();
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    const uint64_t value = ReadMemory(piece.location, piece.size);
    const int source = known ? atomic_pieces_[i].choice : piece.newest;
    const bool stored =
        atomic ? values_.StoreAtomic(&ordering_, piece.location, access.thread, access.address,
                                     access.strength, value, mark, source)
               : values_.Store(&ordering_, piece.location, access.thread, access.address,
                               access.strength, value, mark);
    if (!stored) {
      values_.Forget(piece.location);
      values_.SetInitial(piece.location, value);
    }
    if (options_.policy == Policy::kL1) {
      caches_.Drop(SmOf(access.thread), piece.location, access.address);
    }
  }
}

// --- Flags ---

// The read sees the newest value. Where that is not what a strong write left there, somebody else
// wrote it, of whom nothing is known.
void AliasMonitor::Impl::LoadFlag(const MonitoredAccess& access, const Mark& mark) {
  if (flags_.HasPage(LocationOf(access.memory))) {
    Split(&flags_, access.memory, access.size, &pieces_);
    for (const Piece& piece : pieces_) {
      if (piece.newest == ViewMachine::kInitialWrite) continue;
      if (flags_.ValueOf(piece.location, piece.newest) != ReadMemory(piece.location, piece.size)) {
        flags_.Forget(piece.location);
        continue;
      }
      observed_.clear();
      flags_.Load(&ordering_, piece.location, access.thread, access.address, access.strength,
                  piece.newest, mark, &observed_);
      if (options_.check && access.armed) {
        checker_.Observe(piece.location, piece.size, observed_, mark);
      }
    }
  }
  ordering_.Acquire(access.thread, access.address, access.strength);
}

void AliasMonitor::Impl::ForgetFlag(const MonitoredAccess& access) {
  if (flags_.empty() || !flags_.HasPage(LocationOf(access.memory))) return;
  Split(&flags_, access.memory, access.size, &pieces_);
  for (const Piece& piece : pieces_) flags_.Forget(piece.location);
}

void AliasMonitor::Impl::StoreFlag(const MonitoredAccess& access, const Mark& mark, bool atomic) {
  const bool carries = ordering_.Carries(access.thread, access.address, access.strength);
  if (!access.strength.IsStrong() || (!carries && !access.armed && !atomic)) {
    ForgetFlag(access);
    return;
  }
  if (!carries && !access.armed && !flags_.HasPage(LocationOf(access.memory))) return;
  Split(&flags_, access.memory, access.size, &pieces_);
  for (const Piece& piece : pieces_) {
    const uint64_t value = ReadMemory(piece.location, piece.size);
    if (!carries && !access.armed && piece.newest == ViewMachine::kInitialWrite) continue;
    const bool stored =
        atomic ? flags_.StoreAtomic(&ordering_, piece.location, access.thread, access.address,
                                    access.strength, value, mark, piece.newest)
               : flags_.Store(&ordering_, piece.location, access.thread, access.address,
                              access.strength, value, mark);
    if (!stored) flags_.Forget(piece.location);
  }
  // Without an order that was, what is in order would seem to race.
  if (flags_.Forgot()) ForgetAccesses();
}

// --- Accesses ---

const char* AliasMonitor::Impl::Load(const MonitoredAccess& access, char* older) {
  if (!Notes(access)) return access.memory;
  if (!keeps_values_ && !access.strength.IsStrong()) {
    Check(access, ordering_.Next(access.thread, access.address, access.site), /*writes=*/false);
    return access.memory;
  }
  bool is_older = false;
  Mark mark = MarkOf(access);
  if (access.armed) {
    mark = ordering_.Next(access.thread, access.address, access.site);
    Check(access, mark, /*writes=*/false);
    if (keeps_values_) is_older = LoadValues(access, access.size, mark, /*atomic=*/false, older);
  }
  if (access.strength.IsStrong() && !is_older) LoadFlag(access, mark);
  if (Caches::EndsWith(access.strength)) InvalidateCache(access.thread);
  return is_older ? older : access.memory;
}

void AliasMonitor::Impl::BeforeStore(const MonitoredAccess& access) {
  if (!access.armed || !Notes(access)) return;
  const Mark mark = ordering_.Next(access.thread, access.address, access.site);
  Check(access, mark, /*writes=*/true);
  if (keeps_values_) TouchValues(access.memory, access.size);
}

void AliasMonitor::Impl::AfterStore(const MonitoredAccess& access) {
  if (!Notes(access)) return;
  const Mark mark = MarkOf(access);
  if (keeps_values_ && access.armed) StoreValues(access, access.size, mark, /*atomic=*/false);
  StoreFlag(access, mark, /*atomic=*/false);
}

const char* AliasMonitor::Impl::BeforeAtomic(const MonitoredAccess& access, char* older) {
  if (!Notes(access)) return access.memory;
  bool is_older = false;
  Mark mark = MarkOf(access);
  if (access.armed) {
    mark = ordering_.Next(access.thread, access.address, access.site);
    Check(access, mark, /*writes=*/false);
    if (keeps_values_) {
      TouchValues(access.memory, access.size);
      is_older = LoadValues(access, access.size, mark, /*atomic=*/true, older);
    }
  }
  atomic_ = mark;
  if (!is_older) LoadFlag(access, mark);
  return is_older ? older : access.memory;
}

void AliasMonitor::Impl::AfterAtomic(const MonitoredAccess& access, bool wrote) {
  if (!Notes(access)) return;
  const Mark mark = MarkOf(access);
  if (wrote) {
    if (access.armed) {
      Check(access, mark, /*writes=*/true);
      if (keeps_values_) StoreValues(access, access.size, mark, /*atomic=*/true);
    }
    StoreFlag(access, mark, /*atomic=*/true);
  }
  if (Caches::EndsWith(access.strength)) InvalidateCache(access.thread);
}

void AliasMonitor::Impl::AfterRangeLoad(const MonitoredAccess& access, uint64_t size,
                                        char* copied) {
  if (size == 0 || !access.armed || !ordering_.Runs(access.thread)) return;
  const Mark mark = ordering_.Next(access.thread, access.address, access.site);
  CheckRange(access, size, mark, /*writes=*/false);
  if (!keeps_values_ || values_.empty()) return;
  MonitoredAccess part = access;
  part.strength = Strength();
  for (uint64_t done = 0; done < size;) {
    part.memory = access.memory + done;
    const uint64_t bytes = std::min(size - done, kPageBytes - LocationOf(part.memory) % kPageBytes);
    if (values_.HasPage(LocationOf(part.memory))) {
      LoadValues(part, bytes, mark, /*atomic=*/false, copied + done);
    }
    done += bytes;
  }
}

void AliasMonitor::Impl::BeforeRangeStore(const MonitoredAccess& access, uint64_t size) {
  if (size == 0 || !access.armed || !ordering_.Runs(access.thread)) return;
  const Mark mark = ordering_.Next(access.thread, access.address, access.site);
  CheckRange(access, size, mark, /*writes=*/true);
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
  if (access.armed) {
    if (keeps_values_ && size <= kMaxValueRange) {
      StoreValues(whole, size, MarkOf(access), /*atomic=*/false);
    }
  } else if (size <= kMaxFlagBytes) {
    whole.strength = {Semantics::kRelease, Scope::kSys};
    whole.size = static_cast<uint32_t>(size);
    StoreFlag(whole, MarkOf(access), /*atomic=*/false);
  }
}

template <typename Work>
void AliasMonitor::Impl::ForLanes(ThreadId first, uint32_t lanes, bool invalidates,
                                  const Work& work) {
  Try([&] {
    if (invalidates && lanes != 0) InvalidateCache(first);
    for (; lanes != 0; lanes &= lanes - 1) {
      const ThreadId thread = first + static_cast<ThreadId>(__builtin_ctz(lanes));
      if (ordering_.Runs(thread)) work(thread);
    }
  });
}

// --- The interface ---

AliasMonitor::AliasMonitor(const AliasOptions& options, Report report)
    : impl_(std::make_unique<Impl>(options, std::move(report))) {}
AliasMonitor::~AliasMonitor() = default;

void AliasMonitor::Arm(const char*, uint64_t size) {
  const std::lock_guard lock(impl_->mutex());
  active_.store(impl_->Arm(size), std::memory_order_relaxed);
}

void AliasMonitor::Disarm(const char* memory, uint64_t size) {
  const std::lock_guard lock(impl_->mutex());
  active_.store(impl_->Disarm(memory, size), std::memory_order_relaxed);
}

void AliasMonitor::AddMulticastAddress(AddressId address) {
  const std::lock_guard lock(impl_->mutex());
  impl_->ordering().SetAddress(address, /*multicast=*/true, /*device=*/-1);
}

void AliasMonitor::RemoveMulticastAddress(AddressId address) {
  const std::lock_guard lock(impl_->mutex());
  impl_->ordering().ForgetAddress(address);
}

ThreadId AliasMonitor::Start(uint32_t threads, int device, int sm, const Past& past) {
  const std::lock_guard lock(impl_->mutex());
  return impl_->Start(threads, device, sm, past);
}

void AliasMonitor::End(ThreadId first, uint32_t threads, Past* past) {
  const std::lock_guard lock(impl_->mutex());
  impl_->End(first, threads, past);
}

bool AliasMonitor::HostWaited(const Past& past) {
  const std::lock_guard lock(impl_->mutex());
  return impl_->HostWaited(past);
}

AliasMonitor::Meeting::Meeting() = default;
AliasMonitor::Meeting::~Meeting() = default;
AliasMonitor::Meeting::Meeting(Meeting&&) noexcept = default;
AliasMonitor::Meeting& AliasMonitor::Meeting::operator=(Meeting&&) noexcept = default;

AliasMonitor::Session::Session(AliasMonitor* monitor) : impl_(*monitor->impl_) {
  impl_.mutex().lock();
}
AliasMonitor::Session::~Session() { impl_.mutex().unlock(); }

const char* AliasMonitor::Session::Load(const MonitoredAccess& access, char* older) {
  const char* from = access.memory;
  if (!impl_.NoteQuickly(access, false)) impl_.Try([&] { from = impl_.Load(access, older); });
  return from;
}
void AliasMonitor::Session::BeforeStore(const MonitoredAccess& access) {
  if (!impl_.NoteQuickly(access, true)) impl_.Try([&] { impl_.BeforeStore(access); });
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
