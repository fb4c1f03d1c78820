#include "sim/streams/process_races.h"

#include <unistd.h>

#include <algorithm>
#include <new>
#include <random>

namespace twinmmu {
namespace {

constexpr size_t kMostAccesses = 512;
constexpr size_t kMostAwaits = 512;
constexpr size_t kMostReported = 1024;

// What no other has, of this process or another one.
uint64_t NewProcess() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

bool IsIn(const coherence::Clocks& clocks, coherence::ThreadId thread) {
  return clocks.all.HasAll({thread, thread});
}

const char* ToMemory(coherence::LocationId location) {
  return reinterpret_cast<const char*>(location);
}

}  // namespace

ProcessRaces::ProcessRaces(coherence::AliasMonitor* monitor, bool enabled, Words words,
                           Report report)
    : monitor_(*monitor),
      enabled_(enabled),
      words_(std::move(words)),
      report_(std::move(report)),
      process_(enabled ? NewProcess() : 0) {}

// What was known of memory that is not there any more.
void ProcessRaces::Forget(const char* memory, uint64_t size) {
  for (auto region = regions_.begin(); region != regions_.end();) {
    const bool meets = region->first < memory + size && memory <= region->second.last;
    if (!meets && !region->second.log.expired()) {
      ++region;
      continue;
    }
    monitor_.Unshare(region->first);
    region = regions_.erase(region);
  }
}

void ProcessRaces::Share(const char* memory, uint64_t size, const std::shared_ptr<AccessLog>& log,
                         Bytes offset) noexcept {
  if (!enabled_ || size == 0) return;
  const std::lock_guard lock(mutex_);
  try {
    Forget(memory, size);
    regions_[memory] = Region{memory + size - 1, offset.value(), log};
    monitor_.Share(memory, size);
    shares_ = true;
    log->RaiseKnown(known_);
    if (flagged_) log->SetFlagged();
  } catch (const std::bad_alloc&) {
    Forget(memory, size);
  }
}

ProcessRaces::Submission ProcessRaces::Submit() const {
  return shares_.load(std::memory_order_relaxed) ? AccessLog::Now() : 0;
}

// Null: no other process has it.
const ProcessRaces::Regions::value_type* ProcessRaces::RegionOf(const char* memory) const {
  auto region = regions_.upper_bound(memory);
  if (region == regions_.begin()) return nullptr;
  --region;
  return region->second.last < memory ? nullptr : &*region;
}

template <typename Visit>
void ProcessRaces::ForEachLog(const Visit& visit) const {
  for (const auto& [first, region] : regions_) {
    if (const std::shared_ptr<AccessLog> log = region.log.lock()) visit(*log);
  }
}

void ProcessRaces::Ended(Submission submission, uint64_t call,
                         const coherence::Clocks& before) noexcept {
  if (!shares_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  try {
    bool flagged = false;
    const std::vector<coherence::SharedUse> uses = monitor_.TakeShared(call, &flagged);
    if (submission == 0) return;
    if (flagged && !std::exchange(flagged_, true)) {
      ForEachLog([](AccessLog& log) { log.SetFlagged(); });
    }
    uint64_t known = 0;
    for (const Await& await : awaits_) {
      if (IsIn(before, await.thread)) known = std::max(known, await.time);
    }
    for (const coherence::SharedUse& use : uses) Tell(submission, known, call, use);
  } catch (const std::bad_alloc&) {
  }
}

// It counts as waited for, and as recorded.
void ProcessRaces::ForgetOldest() {
  const Told& oldest = accesses_.front();
  if (const std::shared_ptr<AccessLog> log = oldest.log.lock()) {
    const uint64_t now = AccessLog::Now();
    if (!oldest.waited) log->SetWaited(oldest.number, now);
    if (!oldest.recorded) log->SetRecorded(oldest.number, now);
  }
  accesses_.pop_front();
}

// Each part of it that lies in one shared memory.
void ProcessRaces::Tell(Submission submission, uint64_t known, uint64_t call,
                        coherence::SharedUse use) {
  const coherence::LocationId end = use.last;
  while (const auto* const region = RegionOf(ToMemory(use.first))) {
    const auto last = reinterpret_cast<coherence::LocationId>(region->second.last);
    use.last = std::min(end, last);
    TellPart(submission, known, {use, call, {}}, *region);
    if (use.last == end) return;
    use.first = use.last + 1;
  }
}

// First of all the others are told, so that of two that come at once one looks at the other.
void ProcessRaces::TellPart(Submission submission, uint64_t known, ProcessRace race,
                            const Regions::value_type& region) {
  const std::shared_ptr<AccessLog> log = region.second.log.lock();
  if (log == nullptr) return;
  const coherence::SharedUse& use = race.use;
  const auto number = [&](coherence::LocationId location) {
    return static_cast<uint64_t>(ToMemory(location) - region.first) + region.second.offset;
  };
  race.other = {process_,
                static_cast<uint64_t>(getpid()),
                number(use.first),
                number(use.last),
                use.writes,
                0,
                0,
                race.call,
                words_(use.event.site)};
  if (accesses_.size() == kMostAccesses) ForgetOldest();
  accesses_.push_back({log, 0, use.event.thread});
  accesses_.back().number = log->Add(race.other);
  if (!log->IsFlagged()) Compare(submission, std::max(known, log->known()), *log, race);
}

// `race.other` is the access itself.
void ProcessRaces::Compare(Submission submission, uint64_t known, const AccessLog& log,
                           const ProcessRace& race) {
  const LoggedAccess& own = race.other;
  log.ForEach([&](const LoggedAccess& other) {
    if (other.process == process_ || other.last < own.first || own.last < other.first) return;
    if (!other.writes && !own.writes) return;
    if (other.waited != 0 && other.waited <= submission) return;
    if (other.recorded != 0 && other.recorded <= known) return;
    if (reported_.size() >= kMostReported) return;
    if (!reported_.emplace(race.use.event.site, other.words).second) return;
    report_({race.use, race.call, other});
  });
}

template <typename Set>
void ProcessRaces::SetNow(const coherence::Clocks& clocks, bool Told::*is_set, const Set& set) {
  const uint64_t now = AccessLog::Now();
  for (Told& told : accesses_) {
    if (told.*is_set || !IsIn(clocks, told.thread)) continue;
    told.*is_set = true;
    if (const std::shared_ptr<AccessLog> log = told.log.lock()) (*log.*set)(told.number, now);
  }
}

void ProcessRaces::HostWaited(const coherence::Clocks& clocks) noexcept {
  if (!shares_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  SetNow(clocks, &Told::waited, &AccessLog::SetWaited);
  for (const Await& await : awaits_) {
    if (IsIn(clocks, await.thread)) Know(await.time);
  }
}

void ProcessRaces::Recorded(const coherence::Clocks& clocks) noexcept {
  if (!shares_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  SetNow(clocks, &Told::recorded, &AccessLog::SetRecorded);
}

// Whoever is told of it by the host knows it, too, and that cannot be seen: so all others do.
void ProcessRaces::Know(uint64_t time) {
  known_ = std::max(known_, time);
  ForEachLog([this](AccessLog& log) { log.RaiseKnown(known_); });
}

void ProcessRaces::Awaited(coherence::ThreadId thread) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    awaits_.push_back({thread, AccessLog::Now()});
    if (awaits_.size() <= kMostAwaits) return;
    Know(awaits_.front().time);
    awaits_.pop_front();
  } catch (const std::bad_alloc&) {
    Know(AccessLog::Now());
  }
}

void ProcessRaces::HostAwaited() noexcept {
  const std::lock_guard lock(mutex_);
  Know(AccessLog::Now());
}

}  // namespace twinmmu
