#include "conformance/allocators/random_subject.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/driver_error.h"

namespace twinmmu::conformance {
namespace {

bool Contains(const PageRun& run, uint64_t page) { return run.first <= page && page < run.end(); }

uint64_t Put(uint64_t cached, uint64_t pages, uint64_t limit) {
  return std::max(cached, std::min(limit, cached + pages));
}

}  // namespace

RandomSubject::RandomSubject(RandomWorld& world, std::string name, DeviceAddress base,
                             Bytes page_size, uint64_t pages, Bytes cache_limit)
    : world_(world),
      name_(std::move(name)),
      base_(base),
      page_size_(page_size),
      cache_limit_(cache_limit / page_size),
      pages_(pages) {}

void RandomSubject::Step() {
  const uint64_t choice = world_.Below(100);
  if (choice < 30) {
    Touch();
  } else if (choice < 36) {
    WrongCall();
  } else if (choice < 42) {
    GrantSomething();
  } else if (choice < 46) {
    TidyUp();
  } else {
    Operate();
  }
}

void RandomSubject::End() {
  for (uint64_t number = 0; number < pages_.size(); ++number) {
    Page& page = pages_[number];
    if (page.state != PageState::kInUse || !page.pattern.has_value()) continue;
    world_.Verify(RangeOf(number), *page.pattern, page.writer, RandomWorld::device());
  }
  world_.Log(name_ + ": Close");
  world_.Arm();
  absl::Status status = CloseIt();
  const bool fired = world_.Disarm().any;
  Expect(fired || status.ok(), absl::StrCat("Close gives ", status.ToString()));
  if (!status.ok()) world_.Must(CloseIt(), "the second Close");
  for (uint64_t page = 0; page < pages_.size(); ++page) {
    if (pages_[page].state != PageState::kFree) {
      Expect(!IsMapped(page), absl::StrCat("page ", page, " is mapped after Close"));
    }
  }
  for (auto& [number, departure] : departures_) world_.Drop(departure.mark);
  departures_.clear();
  const MemoryStats now = stats();
  Expect(now.in_use + now.leaving + now.cached == Bytes(0), "a closed object holds memory");
}

// --- Operations --------------------------------------------------------------------------------

absl::Status RandomSubject::Do(const Intent& intent,
                               const std::function<absl::Status(absl::Span<const LastUse>)>& call) {
  world_.Log(absl::StrCat(name_, ": ", intent.what));
  RandomWorld::Mark passed;
  const std::vector<LastUse> after = world_.LastUsesOf(intent.after, passed);
  const DriverCallCounts before = stats().calls;
  world_.Arm();
  const absl::Status status = call(after);
  const RandomWorld::Fired fired = world_.Disarm();
  world_.Drop(passed);
  const DriverCallCounts made = stats().calls - before;
  world_.AddToLog(absl::StrCat(" -> ", absl::StatusCodeToString(status.code()),
                               fired.any ? " (a call failed)" : ""));
  CheckStatus(intent, status, fired.any);
  Expect(fired.vmm_calls == made.total() + intent.asks_for_peers,
         absl::StrCat("it says that it made ", made.total(), " calls; it made ", fired.vmm_calls));

  Account account;
  SeeWhatLeft(intent, status.ok(), fired.any, account);
  if (status.ok()) {
    ApplyCommit(intent, made.map, account);
    ApplyDecommit(intent, account);
    if (intent.grant.has_value()) {
      peer_access_ = *intent.grant;
      account.grants = RunsIn(all(), [](PageState state) { return state != PageState::kFree; });
    }
    if (!fired.any) CheckCalls(intent, made, account);
  }
  Settle(intent, account, made, status.ok(), fired.any);
  Compare();
  return status;
}

void RandomSubject::StartInUse() {
  for (Page& page : pages_) page.state = PageState::kInUse;
  peak_ = pages_.size();
  commits_ = 1;
}

void RandomSubject::CheckStatus(const Intent& intent, const absl::Status& status, bool fired) {
  if (std::count(intent.codes.begin(), intent.codes.end(), status.code()) != 0) return;
  const std::optional<DriverError> error = GetDriverError(status);
  if (fired && error.has_value() && error->origin == ErrorOrigin::kInjected) return;
  const uint64_t wanted = intent.commit.count - Count(intent.commit, PageState::kInUse);
  if (absl::IsResourceExhausted(status) && world_.left().has_value() &&
      wanted * page_size_ > *world_.left()) {
    return;
  }
  Expect(false, absl::StrCat("it gives ", status.ToString()));
}

void RandomSubject::Refused(const std::string& what, absl::StatusCode code,
                            const std::function<absl::Status()>& call) {
  Intent intent;
  intent.what = what;
  intent.codes = {code};
  Do(intent, [&](auto) { return call(); }).IgnoreError();
}

void RandomSubject::TidyUp() {
  Intent intent;
  intent.what = HasCache() ? "Compact" : "Collect";
  intent.collects = true;
  intent.compacts = HasCache();
  Do(intent, [&](auto) { return Compact().status(); }).IgnoreError();
}

void RandomSubject::GrantSomething() {
  Intent intent;
  if (!world_.peer().has_value() || world_.Chance(0.2)) {
    intent.what = "Grant to no device";
    intent.codes = {absl::StatusCode::kNotFound};
    intent.asks_for_peers = true;
    Do(intent, [&](auto) { return Grant(DeviceOrdinal(1000), Access::kRead); }).IgnoreError();
    Refused("Grant of no access", absl::StatusCode::kInvalidArgument,
            [&] { return Grant(RandomWorld::device(), static_cast<Access>(7)); });
    return;
  }
  constexpr Access kAll[] = {Access::kNone, Access::kRead, Access::kReadWrite};
  intent.asks_for_peers = true;
  intent.grant = kAll[world_.Below(3)];
  intent.what = absl::StrCat("Grant ", ToString(*intent.grant));
  Do(intent, [&](auto) { return Grant(*world_.peer(), *intent.grant); }).IgnoreError();
}

void RandomSubject::Touch() {
  std::vector<uint64_t> used;
  for (uint64_t page = 0; page < pages_.size(); ++page) {
    if (pages_[page].state == PageState::kInUse) used.push_back(page);
  }
  for (int i = 0; i < 3 && !used.empty(); ++i) {
    const uint64_t number = used[world_.Below(used.size())];
    Page& page = pages_[number];
    world_.Log(absl::StrCat(name_, ": look at page ", number, ", write it"));
    if (page.pattern.has_value() && world_.Chance(0.5)) {
      const bool by_peer = peer_access_ != Access::kNone && world_.Chance(0.5);
      world_.Verify(RangeOf(number), *page.pattern, page.writer,
                    by_peer ? *world_.peer() : RandomWorld::device());
    }
    page.pattern = world_.Write(RangeOf(number), page.writer);
  }
}

PageRun RandomSubject::RandomRun() {
  const uint64_t first = world_.Below(pages_.size());
  return PageRun{first, 1 + world_.Below(std::min<uint64_t>(8, pages_.size() - first))};
}

void RandomSubject::DecideWhen(const PageRun& run, Intent& intent) {
  intent.decommit = run;
  std::set<int> writers;
  for (uint64_t page = run.first; page < run.end(); ++page) {
    if (pages_[page].writer != RandomWorld::kNoStream) writers.insert(pages_[page].writer);
  }
  if (world_.Chance(0.6)) {
    if (writers.empty()) writers.insert(static_cast<int>(world_.Below(RandomWorld::kStreams)));
    intent.after.assign(writers.begin(), writers.end());
    return;
  }
  for (uint64_t page = run.first; page < run.end(); ++page) {
    world_.Synchronize(pages_[page].writer);
  }
}

// --- The model ---------------------------------------------------------------------------------

void RandomSubject::SeeWhatLeft(const Intent& intent, bool ok, bool fired, Account& account) {
  uint64_t last = 0;  // departure of the page before, if that has gone too
  for (uint64_t number = 0; number < pages_.size(); ++number) {
    Page& page = pages_[number];
    const uint64_t before = std::exchange(last, 0);
    if (fired && !ok && intent.copies) LeavesAfterACopy(number);
    if (page.state != PageState::kLeaving || (ok && Contains(intent.commit, number))) continue;
    const Departure& departure = departures_.at(page.departure);
    if (IsMapped(number)) {
      Expect(!intent.collects || fired || departure.synchronized == world_.synchronized(),
             absl::StrCat("page ", number, " is still there, although its work is done"));
      continue;
    }
    Expect(world_.IsOver(departure.mark),
           absl::StrCat("page ", number, " went before the work that uses it was done"));
    last = page.departure;
    account.collected_runs += before != last;
    ++account.collected;
    page = Page();
  }
}

// Where contents could not be copied back, the memory goes after the copy that may be on its way.
void RandomSubject::LeavesAfterACopy(uint64_t number) {
  Page& page = pages_[number];
  if (page.state == PageState::kFree && IsMapped(number)) {
    page.state = PageState::kLeaving;
    page.departure = ++last_departure_;
  }
  if (page.state == PageState::kLeaving) {
    departures_[page.departure].synchronized = world_.synchronized();
  }
}

void RandomSubject::ApplyCommit(const Intent& intent, uint64_t maps, Account& account) {
  const PageRun& run = intent.commit;
  if (run.count == 0) return;
  const uint64_t free = Count(run, PageState::kFree);
  const uint64_t leaving = Count(run, PageState::kLeaving);
  Expect(free <= maps && maps <= free + leaving,
         absl::StrCat("it mapped ", maps, " pages; ", free, " were free, ", leaving, " leaving"));
  const uint64_t kept = free + leaving - maps;
  const uint64_t runs = RunsIn(run, [](PageState state) { return state == PageState::kFree; });
  Expect(intent.keeps_leaving || kept == 0, "it keeps memory that was given up");
  for (uint64_t number = run.first; number < run.end(); ++number) {
    Page& page = pages_[number];
    if (page.state == PageState::kFree) page = Page();
    if (page.state == PageState::kLeaving) {
      const bool over = world_.IsOver(departures_.at(page.departure).mark);
      Expect(over || kept > 0, absl::StrCat("page ", number, " went before its work was done"));
      if (over && kept < leaving) page = Page();
    }
    page.state = PageState::kInUse;
    page.departure = 0;
  }
  account.wanted = maps;
  account.grants = leaving == 0 ? runs : maps;
  account.collected += leaving - kept;
  account.collected_runs += leaving - kept;
  commits_ += intent.counts;
  peak_ = std::max(peak_, Count(all(), PageState::kInUse));
}

void RandomSubject::ApplyDecommit(const Intent& intent, Account& account) {
  const PageRun& run = intent.decommit;
  if (run.count == 0) return;
  decommits_ += intent.counts;
  if (!intent.after.empty()) {
    departures_[++last_departure_] = Departure{world_.MarkOf(intent.after), world_.synchronized()};
  }
  if (intent.after.empty()) {
    account.own_runs = RunsIn(run, [](PageState state) { return state == PageState::kInUse; });
  }
  for (uint64_t number = run.first; number < run.end(); ++number) {
    Page& page = pages_[number];
    if (page.state != PageState::kInUse) continue;
    if (intent.after.empty()) {
      page = Page();
      ++account.given_up;
      Expect(!IsMapped(number), absl::StrCat("page ", number, " is still mapped"));
    } else {
      page.state = PageState::kLeaving;
      page.departure = last_departure_;
    }
  }
}

void RandomSubject::CheckCalls(const Intent& intent, const DriverCallCounts& made,
                               const Account& account) {
  const uint64_t collected = Put(cached_, account.collected, cache_limit_);
  const uint64_t taken = std::min(collected, account.wanted);
  const uint64_t end = Put(collected - taken, account.given_up, cache_limit_);
  const uint64_t released = cached_ + account.collected + account.given_up - taken - end;
  Expect(made.create == account.wanted - taken,
         absl::StrCat(made.create, " Create for ", account.wanted, " pages and ", collected,
                      " in the cache"));
  Expect(made.release == released + (intent.compacts ? end : 0),
         absl::StrCat(made.release, " Release, not ", released));
  Expect(made.unmap <= account.own_runs + account.collected_runs,
         absl::StrCat(made.unmap, " Unmap for ", account.own_runs, " runs and ",
                      account.collected_runs, " that were leaving"));
  Expect(made.set_access <= account.grants,
         absl::StrCat(made.set_access, " SetAccess for ", account.grants, " runs"));
}

void RandomSubject::Settle(const Intent& intent, const Account& account,
                           const DriverCallCounts& made, bool ok, bool fired) {
  cached_ = Put(cached_, account.collected, cache_limit_);
  if (ok) {
    cached_ -= std::min(cached_, account.wanted);
    cached_ = Put(cached_, account.given_up, cache_limit_);
    if (intent.compacts) cached_ = 0;
  }
  const uint64_t seen = stats().cached_pages;
  // What could not be released is kept, whatever the limit; Compact stops there.
  const uint64_t slack = intent.compacts ? cached_ + seen : made.release;
  if (fired && seen <= cached_ + slack) cached_ = seen;
  for (auto departure = departures_.begin(); departure != departures_.end();) {
    const bool waits = std::any_of(pages_.begin(), pages_.end(), [&](const Page& page) {
      return page.departure == departure->first;
    });
    if (!waits) world_.Drop(departure->second.mark);
    departure = waits ? std::next(departure) : departures_.erase(departure);
  }
}

void RandomSubject::Compare() {
  const MemoryStats now = stats();
  const auto compare = [&](const char* what, uint64_t got, uint64_t expected) {
    Expect(got == expected, absl::StrCat(what, " is ", got, ", not ", expected));
  };
  compare("in_use", now.in_use / page_size_, Count(all(), PageState::kInUse));
  compare("leaving", now.leaving / page_size_, Count(all(), PageState::kLeaving));
  compare("cached", now.cached / page_size_, cached_);
  compare("cached_pages", now.cached_pages, cached_);
  compare("peak", now.peak / page_size_, peak_);
  compare("commits", now.commits, commits_);
  compare("decommits", now.decommits, decommits_);
  CompareAccess();
  CompareAnswers();
}

void RandomSubject::CompareAccess() {
  const uint64_t number = world_.Below(pages_.size());
  const Location owner = Location::Device(RandomWorld::device());
  if (pages_[number].state == PageState::kFree) {
    Expect(!IsMapped(number), absl::StrCat("page ", number, " is mapped"));
    return;
  }
  const auto check = [&](const Location& location, Access expected) {
    const absl::StatusOr<Access> access = world_.vmm().GetAccess(location, RangeOf(number).base);
    if (!world_.Must(access.status(), "GetAccess")) return;
    Expect(*access == expected, absl::StrCat(ToString(location), " has ", ToString(*access),
                                             " to page ", number, ", not ", ToString(expected)));
  };
  check(owner, Access::kReadWrite);
  if (world_.peer().has_value()) check(Location::Device(*world_.peer()), peer_access_);
}

// --- Helpers -----------------------------------------------------------------------------------

void RandomSubject::Expect(bool holds, const std::string& what) {
  if (!holds) world_.Differ(absl::StrCat(name_, ": ", what));
}

bool RandomSubject::IsMapped(uint64_t page) {
  const Location owner = Location::Device(RandomWorld::device());
  return world_.vmm().GetAccess(owner, RangeOf(page).base).ok();
}

AddressRange RandomSubject::RangeOf(uint64_t page) const {
  return AddressRange{base_ + page * page_size_, page_size_, Bytes(0)};
}

std::string RandomSubject::Describe(const PageRun& run) const {
  return absl::StrCat("pages ", run.first, "-", run.end() - 1);
}

uint64_t RandomSubject::RunsIn(const PageRun& run, bool (*counts)(PageState)) const {
  uint64_t runs = 0;
  for (uint64_t page = run.first; page < run.end(); ++page) {
    const bool begins = page == run.first || !counts(pages_[page - 1].state);
    runs += counts(pages_[page].state) && begins;
  }
  return runs;
}

uint64_t RandomSubject::Count(const PageRun& run, PageState state) const {
  return std::count_if(pages_.begin() + run.first, pages_.begin() + run.end(),
                       [&](const Page& page) { return page.state == state; });
}

}  // namespace twinmmu::conformance
