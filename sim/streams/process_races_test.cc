// Which accesses of two processes count as ordered: told by hand what each of them did, and when.

#include "sim/streams/process_races.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/sharing/owned_descriptor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/coherence/monitor/alias_monitor.h"
#include "sim/host/access_log.h"

namespace twinmmu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kSize = 1 << 16;
constexpr coherence::Site kSite = 7;

// Memory that processes share, and the log of it.
class SharedFile {
 public:
  SharedFile() : file_(memfd_create("a test", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(file_.get(), static_cast<off_t>(kSize + AccessLog::kRoom.value())), 0);
  }
  int descriptor() const { return file_.get(); }
  std::shared_ptr<AccessLog> OpenLog() const { return *AccessLog::Open(file_.get(), Bytes(kSize)); }

 private:
  const OwnedDescriptor file_;
};

// Work that is over.
struct Done {
  coherence::Clocks clocks;
  coherence::ThreadId thread = 0;
};

// What a process knows, with two pieces of memory side by side, shared or not.
class Process {
 public:
  explicit Process(bool enabled = true)
      : memory_(static_cast<char*>(
            mmap(nullptr, 2 * kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
        monitor_(Options(), nullptr),
        races_(
            &monitor_, enabled, [](coherence::Site site) { return absl::StrCat("site ", site); },
            [this](const ProcessRace& race) { found_.push_back(race); }) {}
  ~Process() { munmap(memory_, 2 * kSize); }

  ProcessRaces& races() { return races_; }
  char* memory() { return memory_; }
  // Where it is gone, nobody holds the log any more.
  std::shared_ptr<AccessLog> Share(const SharedFile& file, uint64_t at = 0, uint64_t size = kSize) {
    std::shared_ptr<AccessLog> log = file.OpenLog();
    races_.Share(memory_ + at, size, log);
    return log;
  }

  enum class Kind { kRead, kWrite, kAtomic };
  // What comes after `before`, and was asked for now or earlier.
  Done Do(Kind kind, uint64_t first, uint64_t size, const coherence::Clocks& before = {}) {
    return Do(races_.Submit(), kind, first, size, before);
  }
  Done Do(ProcessRaces::Submission submission, Kind kind, uint64_t first, uint64_t size,
          const coherence::Clocks& before = {}) {
    const uint64_t call = ++calls_;
    Done done{before, monitor_.Start(1, 0, 0, before)};
    coherence::MonitoredAccess access;
    access.memory = memory_ + first;
    access.size = static_cast<uint32_t>(size);
    access.armed = true;
    access.thread = done.thread;
    access.address = 1;
    access.site = kSite;
    access.call = call;
    {
      coherence::AliasMonitor::Session session(&monitor_);
      if (kind == Kind::kRead) session.AfterRangeLoad(access, size, nullptr);
      if (kind == Kind::kWrite) session.BeforeRangeStore(access, size);
      if (kind == Kind::kAtomic) {
        char older[8];
        access.strength = {coherence::Semantics::kRelaxed, coherence::Scope::kSys};
        session.BeforeAtomic(access, older);
        session.AfterAtomic(access, true);
      }
    }
    monitor_.End(done.thread, 1, &done.clocks);
    races_.Ended(submission, call, done.clocks);
    return done;
  }
  // A record of another process is over, and what waits for it in a stream begins.
  coherence::Clocks Await() {
    coherence::Clocks clocks;
    const coherence::ThreadId thread = monitor_.Start(1, 0, 0, clocks);
    races_.Awaited(thread);
    monitor_.End(thread, 1, &clocks);
    return clocks;
  }
  const std::vector<ProcessRace>& found() const { return found_; }

 private:
  static coherence::AliasOptions Options() {
    coherence::AliasOptions options;
    options.watch_all = true;
    return options;
  }

  char* const memory_;
  coherence::AliasMonitor monitor_;
  std::vector<ProcessRace> found_;
  ProcessRaces races_;
  uint64_t calls_ = 0;
};

using Kind = Process::Kind;

class ProcessRacesTest : public testing::Test {
 protected:
  SharedFile file_;
  Process first_;
  Process second_;
  const std::shared_ptr<AccessLog> log_ = first_.Share(file_);
  const std::shared_ptr<AccessLog> same_ = second_.Share(file_);
};

TEST_F(ProcessRacesTest, ItIsToldWhoDidIt) {
  first_.Do(Kind::kWrite, 0, 4);
  first_.Do(Kind::kWrite, 100, 4);
  second_.Do(Kind::kRead, 98, 4);
  ASSERT_THAT(second_.found(), SizeIs(1));
  const ProcessRace& race = second_.found()[0];
  EXPECT_EQ(race.call, 1u);
  EXPECT_EQ(race.use.event.site, kSite);
  EXPECT_FALSE(race.use.writes);
  EXPECT_EQ(race.other.call, 2u);
  EXPECT_EQ(race.other.pid, static_cast<uint64_t>(getpid()));
  EXPECT_EQ(race.other.words, "site 7");
  EXPECT_TRUE(race.other.writes);
  EXPECT_THAT(first_.found(), IsEmpty());
}

TEST_F(ProcessRacesTest, AWriteAfterAReadIsARace) {
  first_.Do(Kind::kRead, 0, 4);
  second_.Do(Kind::kWrite, 0, 4);
  EXPECT_THAT(second_.found(), SizeIs(1));
}

struct Range {
  uint64_t first, size;
  bool meets;
};
class MeetingBytesTest : public ProcessRacesTest, public testing::WithParamInterface<Range> {};

// Beside [100, 104).
TEST_P(MeetingBytesTest, AreCompared) {
  first_.Do(Kind::kWrite, 100, 4);
  second_.Do(Kind::kWrite, GetParam().first, GetParam().size);
  EXPECT_EQ(second_.found().size(), GetParam().meets ? 1u : 0u);
}
INSTANTIATE_TEST_SUITE_P(All, MeetingBytesTest,
                         testing::Values(Range{96, 4, false}, Range{96, 5, true},
                                         Range{103, 4, true}, Range{104, 4, false},
                                         Range{101, 1, true}, Range{96, 20, true}),
                         [](const auto& named) {
                           return absl::StrCat("from_", named.param.first, "_", named.param.size);
                         });

TEST_F(ProcessRacesTest, AWaitOfTheHostIsForWhatItWaitedFor) {
  const Done waited = first_.Do(Kind::kWrite, 0, 4);
  first_.Do(Kind::kWrite, 8, 4);
  first_.races().HostWaited(waited.clocks);
  second_.Do(Kind::kRead, 0, 4);
  EXPECT_THAT(second_.found(), IsEmpty());
  second_.Do(Kind::kRead, 8, 4);
  EXPECT_THAT(second_.found(), SizeIs(1));
}

// That counts, and not when it began or ended.
TEST_F(ProcessRacesTest, WhatWasAskedForBeforeTheWaitIsNotOrdered) {
  const Done done = first_.Do(Kind::kWrite, 0, 4);
  const ProcessRaces::Submission early = second_.races().Submit();
  first_.races().HostWaited(done.clocks);
  second_.Do(early, Kind::kRead, 0, 4);
  EXPECT_THAT(second_.found(), SizeIs(1));
}

// Else the host would seem to have waited later than it did.
TEST_F(ProcessRacesTest, TheFirstWaitCounts) {
  const Done done = first_.Do(Kind::kWrite, 0, 4);
  first_.races().HostWaited(done.clocks);
  const ProcessRaces::Submission between = second_.races().Submit();
  first_.races().HostWaited(done.clocks);
  second_.Do(between, Kind::kRead, 0, 4);
  EXPECT_THAT(second_.found(), IsEmpty());
}

TEST_F(ProcessRacesTest, ARecordIsForWhatIsAheadOfIt) {
  const Done recorded = first_.Do(Kind::kWrite, 0, 4);
  first_.Do(Kind::kWrite, 8, 4);
  first_.races().Recorded(recorded.clocks);
  const coherence::Clocks behind = second_.Await();
  second_.Do(Kind::kRead, 0, 4, behind);
  EXPECT_THAT(second_.found(), IsEmpty());
  second_.Do(Kind::kRead, 8, 4, behind);
  EXPECT_THAT(second_.found(), SizeIs(1));
}

TEST_F(ProcessRacesTest, OnlyWhatIsBehindAWaitIsOrdered) {
  const Done done = first_.Do(Kind::kWrite, 0, 4);
  first_.races().Recorded(done.clocks);
  second_.Await();
  second_.Do(Kind::kRead, 0, 4);
  EXPECT_THAT(second_.found(), SizeIs(1));
}

TEST_F(ProcessRacesTest, TheFirstRecordCounts) {
  const Done done = first_.Do(Kind::kWrite, 0, 4);
  first_.races().Recorded(done.clocks);
  const coherence::Clocks behind = second_.Await();
  first_.races().Recorded(done.clocks);
  second_.Do(Kind::kRead, 0, 4, behind);
  EXPECT_THAT(second_.found(), IsEmpty());
}

TEST_F(ProcessRacesTest, AnEarlierRecordIsNone) {
  const coherence::Clocks behind = second_.Await();
  const Done done = first_.Do(Kind::kWrite, 0, 4);
  first_.races().Recorded(done.clocks);
  second_.Do(Kind::kRead, 0, 4, behind);
  EXPECT_THAT(second_.found(), SizeIs(1));
}

// Whichever work of whichever process: it may have been told.
TEST_F(ProcessRacesTest, WhatTheHostHasWaitedForIsKnownToAll) {
  const Done done = first_.Do(Kind::kWrite, 0, 4);
  first_.races().Recorded(done.clocks);
  second_.races().HostAwaited();
  second_.Do(Kind::kRead, 0, 4);
  EXPECT_THAT(second_.found(), IsEmpty());
  Process third;
  const auto log = third.Share(file_);
  third.Do(Kind::kRead, 0, 4);
  EXPECT_THAT(third.found(), IsEmpty());
}

TEST_F(ProcessRacesTest, AWaitOfTheHostBehindAWaitOfAStreamIsKnownToAll) {
  const Done done = first_.Do(Kind::kWrite, 0, 4);
  first_.races().Recorded(done.clocks);
  const coherence::Clocks behind = second_.Await();
  second_.races().HostWaited(behind);
  second_.Do(Kind::kRead, 0, 4);
  EXPECT_THAT(second_.found(), IsEmpty());
}

TEST_F(ProcessRacesTest, AWaitOfTheHostForAnythingElseIsNot) {
  const Done done = first_.Do(Kind::kWrite, 0, 4);
  first_.races().Recorded(done.clocks);
  second_.Await();
  second_.races().HostWaited(second_.Do(Kind::kRead, 100, 4).clocks);
  second_.Do(Kind::kRead, 0, 4);
  EXPECT_THAT(second_.found(), SizeIs(1));
}

// In memory that is shared later, too.
TEST_F(ProcessRacesTest, WhatIsKnownIsKnownOfLaterMemory) {
  const SharedFile later;
  const auto log = first_.Share(later, kSize);
  const Done done = first_.Do(Kind::kWrite, kSize, 4);
  first_.races().Recorded(done.clocks);
  second_.races().HostAwaited();
  const auto same = second_.Share(later, kSize);
  second_.Do(Kind::kRead, kSize, 4);
  EXPECT_THAT(second_.found(), IsEmpty());
}

TEST_F(ProcessRacesTest, FlagsAreForAllThatTheProcessShares) {
  const SharedFile other;
  const auto log = first_.Share(other, kSize);
  const auto same = second_.Share(other, kSize);
  second_.Do(Kind::kAtomic, kSize, 4);
  const SharedFile later;
  const auto last = second_.Share(later, 0, kSize / 2);
  EXPECT_TRUE(log_->IsFlagged());
  EXPECT_TRUE(log->IsFlagged());
  EXPECT_TRUE(last->IsFlagged());
  first_.Do(Kind::kWrite, 0, 4);
  second_.Do(Kind::kRead, 0, 4);
  EXPECT_THAT(second_.found(), IsEmpty());
}

TEST_F(ProcessRacesTest, NothingIsFlaggedByOtherAccesses) {
  second_.Do(Kind::kWrite, 0, 4);
  second_.Do(Kind::kAtomic, kSize, 4);  // not shared
  EXPECT_FALSE(log_->IsFlagged());
}

// Those before count as waited for.
TEST_F(ProcessRacesTest, OfManyAccessesTheLastOnesAreTold) {
  constexpr int kMost = 512;
  const SharedFile other;
  const auto log = first_.Share(other, kSize);
  for (const uint64_t first : {0, 8, 16}) first_.Do(Kind::kWrite, first, 4);
  for (int i = 0; i < kMost - 1; ++i) first_.Do(Kind::kWrite, kSize, 4);
  second_.Do(Kind::kRead, 0, 4);
  second_.Do(Kind::kRead, 8, 4);
  EXPECT_THAT(second_.found(), IsEmpty());
  second_.Do(Kind::kRead, 16, 4);
  EXPECT_THAT(second_.found(), SizeIs(1));
}

// And as recorded, as it is not known any more whether they are.
TEST_F(ProcessRacesTest, RecordsAreOfAllAccessesBefore) {
  constexpr int kMost = 512;
  const SharedFile other;
  const auto log = first_.Share(other, kSize);
  const ProcessRaces::Submission early = second_.races().Submit();
  coherence::Clocks clocks = first_.Do(Kind::kWrite, 0, 4).clocks;
  for (int i = 0; i < kMost; ++i) clocks = first_.Do(Kind::kWrite, kSize, 4, clocks).clocks;
  first_.races().Recorded(clocks);
  second_.Do(early, Kind::kRead, 0, 4, second_.Await());
  EXPECT_THAT(second_.found(), IsEmpty());
}

// Of more, the host counts as having waited for the first.
TEST_F(ProcessRacesTest, ManyWaitsAreKnown) {
  constexpr int kMost = 512;
  const Done done = first_.Do(Kind::kWrite, 0, 4);
  first_.races().Recorded(done.clocks);
  for (int i = 0; i < kMost; ++i) second_.Await();
  EXPECT_EQ(log_->known(), 0u);
  second_.Await();
  EXPECT_NE(log_->known(), 0u);
  const uint64_t known = log_->known();
  second_.Await();
  EXPECT_GT(log_->known(), known);
}

// --- Memory

TEST_F(ProcessRacesTest, NeighboursAreMemoriesOfTheirOwn) {
  const SharedFile other;
  const auto log = first_.Share(other, kSize);
  const auto same = second_.Share(other, kSize);
  first_.Do(Kind::kWrite, kSize - 4, 8);
  second_.Do(Kind::kRead, kSize - 4, 4);
  EXPECT_THAT(second_.found(), SizeIs(1));
  Process third;
  const auto seen = third.Share(other);  // the second of them alone, elsewhere
  third.Do(Kind::kRead, 0, 4);
  EXPECT_THAT(third.found(), SizeIs(1));
  third.Do(Kind::kRead, 4, 4);
  EXPECT_THAT(third.found(), SizeIs(1));
}

size_t CountOf(const AccessLog& log) {
  size_t count = 0;
  log.ForEach([&](const LoggedAccess&) { ++count; });
  return count;
}

// Whatever lay there before, if only a byte of it.
TEST_F(ProcessRacesTest, MemoryIsSharedAnew) {
  for (const uint64_t begin : {kSize / 4, kSize - 1}) {
    Process process;
    const auto before = process.Share(file_);
    const SharedFile other;
    const auto log = process.Share(other, begin, kSize / 2);
    process.Do(Kind::kWrite, 0, 4);  // of the first file, which is there no more
    EXPECT_EQ(CountOf(*before), 0u);
    process.Do(Kind::kWrite, begin, 4);
    EXPECT_EQ(CountOf(*log), 1u);
  }
}

TEST_F(ProcessRacesTest, MemoryAheadIsAnother) {
  Process process;
  const SharedFile other;
  const auto behind = process.Share(other, kSize);
  const auto ahead = process.Share(file_, 0);
  process.Do(Kind::kWrite, kSize, 4);
  EXPECT_EQ(CountOf(*behind), 1u);
  EXPECT_EQ(CountOf(*ahead), 0u);
}

TEST_F(ProcessRacesTest, TheLastByteIsSharedToo) {
  first_.Do(Kind::kWrite, kSize - 1, 1);
  EXPECT_EQ(CountOf(*log_), 1u);
}

TEST_F(ProcessRacesTest, MemoryIsSharedAsLongAsSomebodyHoldsItsLog) {
  const SharedFile other;
  auto log = first_.Share(other, kSize);
  const auto seen = other.OpenLog();
  log = nullptr;
  first_.Do(Kind::kWrite, kSize, 4);
  EXPECT_EQ(CountOf(*seen), 0u);
  // The others still are.
  first_.Do(Kind::kWrite, 0, 4);
  EXPECT_EQ(CountOf(*log_), 1u);
}

TEST_F(ProcessRacesTest, WhatWasAskedForBeforeAnythingWasSharedIsNotTold) {
  Process early;
  const ProcessRaces::Submission submission = early.races().Submit();
  EXPECT_EQ(submission, 0u);
  const auto log = early.Share(file_);
  early.Do(submission, Kind::kWrite, 0, 4);
  EXPECT_EQ(CountOf(*log), 0u);
}

TEST_F(ProcessRacesTest, NothingIsNoMemory) {
  Process process;
  process.Share(file_, 0, 0);
  EXPECT_EQ(process.races().Submit(), 0u);
}

TEST_F(ProcessRacesTest, NothingIsDoneUnlessItIsWanted) {
  Process process(/*enabled=*/false);
  const auto log = process.Share(file_);
  EXPECT_FALSE(process.races().enabled());
  EXPECT_EQ(process.races().Submit(), 0u);
  process.Do(Kind::kWrite, 0, 4);
  EXPECT_EQ(CountOf(*log), 0u);
}

}  // namespace
}  // namespace twinmmu
