// RandomSubject: one pool or buffer of a random program, with a plain model of its pages.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_RANDOM_SUBJECT_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_RANDOM_SUBJECT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "api/address.h"
#include "api/allocators/memory_stats.h"
#include "api/allocators/paged_reservation.h"
#include "conformance/allocators/random_world.h"

namespace twinmmu::conformance {

class RandomSubject {
 public:
  virtual ~RandomSubject() = default;

  // One operation, right or wrong, or some work with the pages; compared with the model.
  void Step();
  // Ends it; the object returns everything.
  void End();

  virtual MemoryStats stats() const = 0;

 protected:
  // What an operation is to do.
  struct Intent {
    std::string what;
    std::vector<absl::StatusCode> codes = {absl::StatusCode::kOk};  // that it may give
    bool collects = false;      // it begins with taking what is leaving
    bool keeps_leaving = true;  // what is leaving and asked for again stays
    bool counts = true;         // as a commit or a decommit
    PageRun commit;             // free pages of it get memory; none: empty
    PageRun decommit;           // pages in use of it lose it
    std::vector<int> after;     // the streams after whose work they do; empty: at once
    bool copies = false;        // contents come back
    bool compacts = false;
    std::optional<Access> grant;  // to the peer
    bool asks_for_peers = false;  // by a call that is not counted
  };
  struct Page {
    PageState state = PageState::kFree;
    std::optional<uint32_t> pattern;  // what it holds, if that is known
    int writer = RandomWorld::kNoStream;
    uint64_t departure = 0;
  };

  RandomSubject(RandomWorld& world, std::string name, DeviceAddress base, Bytes page_size,
                uint64_t pages, Bytes cache_limit);

  // --- Of each kind
  virtual void Operate() = 0;
  virtual void WrongCall() = 0;
  virtual absl::Status Grant(DeviceOrdinal device, Access access) = 0;
  virtual absl::StatusOr<Bytes> Compact() = 0;
  virtual bool HasCache() const { return true; }
  virtual absl::Status CloseIt() = 0;
  // The answers that the others do not have.
  virtual void CompareAnswers() = 0;

  // --- For them
  // It begins with memory everywhere.
  void StartInUse();
  RandomWorld& world() { return world_; }
  // Makes the call, sees what it did, and compares. `after` of the intent is passed on.
  absl::Status Do(const Intent& intent,
                  const std::function<absl::Status(absl::Span<const LastUse>)>& call);
  // A call that is refused with this code, before anything is done.
  void Refused(const std::string& what, absl::StatusCode code,
               const std::function<absl::Status()>& call);
  void Expect(bool holds, const std::string& what);
  // Takes what is leaving, and returns what is cached.
  void TidyUp();
  PageRun RandomRun();
  // The decommit of an intent: after the streams that use the run, or at once, once they are done.
  void DecideWhen(const PageRun& run, Intent& intent);

  std::vector<Page>& pages() { return pages_; }
  PageRun all() const { return PageRun{0, pages_.size()}; }
  AddressRange RangeOf(uint64_t page) const;
  Bytes page_size() const { return page_size_; }
  std::string Describe(const PageRun& run) const;
  uint64_t Count(const PageRun& run, PageState state) const;
  // How many contiguous runs of such pages there are in it.
  uint64_t RunsIn(const PageRun& run, bool (*counts)(PageState)) const;

 private:
  struct Departure {
    RandomWorld::Mark mark;
    uint64_t synchronized = 0;  // of the world, when it began
  };
  // What the driver's calls should be.
  struct Account {
    uint64_t collected = 0;
    uint64_t collected_runs = 0;
    uint64_t wanted = 0;
    uint64_t given_up = 0;
    uint64_t own_runs = 0;
    uint64_t grants = 0;  // contiguous runs that get access
  };

  void Touch();
  void GrantSomething();
  void CheckStatus(const Intent& intent, const absl::Status& status, bool fired);
  bool IsMapped(uint64_t page);
  // Which of the leaving pages are gone.
  void SeeWhatLeft(const Intent& intent, bool ok, bool fired, Account& account);
  void LeavesAfterACopy(uint64_t number);
  void ApplyCommit(const Intent& intent, uint64_t maps, Account& account);
  void ApplyDecommit(const Intent& intent, Account& account);
  void CheckCalls(const Intent& intent, const DriverCallCounts& made, const Account& account);
  void Settle(const Intent& intent, const Account& account, const DriverCallCounts& made, bool ok,
              bool fired);
  void Compare();
  void CompareAccess();

  RandomWorld& world_;
  std::string name_;
  DeviceAddress base_;
  Bytes page_size_;
  uint64_t cache_limit_;  // pages
  std::vector<Page> pages_;
  std::map<uint64_t, Departure> departures_;
  uint64_t last_departure_ = 0;
  uint64_t cached_ = 0;
  uint64_t peak_ = 0;
  uint64_t commits_ = 0;
  uint64_t decommits_ = 0;
  Access peer_access_ = Access::kNone;
};

// A new one of some kind. Null: the driver failed on purpose, and nothing is there; or something
// differs, and the world knows.
std::unique_ptr<RandomSubject> MakeRandomSubject(RandomWorld& world);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_RANDOM_SUBJECT_H_
