// OperationalModel: the values that the memory model allows, step by step.
//
// Of each location it keeps the writes, which of them come before which, and who has seen them.
// A read may give every write that is not hidden: one is hidden if it comes before a write that
// comes before the read. See sim/coherence/model/ordering.h for who calls what.
//
// Not produced: reads of writes that come later in program order or later in time; HazardChecker
// reports them.

#ifndef TWINMMU_SIM_COHERENCE_MODEL_OPERATIONAL_MODEL_H_
#define TWINMMU_SIM_COHERENCE_MODEL_OPERATIONAL_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sim/coherence/model/ordering.h"
#include "sim/coherence/model/page_map.h"

namespace twinmmu::coherence {

class OperationalModel {
 public:
  // A write by its place in the list of its location; kInitialWrite: what was there before.
  static constexpr int kInitialWrite = -1;
  // Of one location; where there are more, the oldest is forgotten, as if it had become invisible.
  static constexpr size_t kMaxWrites = 63;

  // `max_writes`: that it keeps of one location. Beyond about `limit` bytes, the locations that
  // were touched first are forgotten: nothing is known of them then.
  explicit OperationalModel(size_t max_writes = kMaxWrites, uint64_t limit = uint64_t{1} << 40)
      : max_writes_(max_writes), limit_(limit) {}

  // What the location holds at first. Locations that nobody initialises hold 0.
  void SetInitial(LocationId location, uint64_t value);
  // Whether anything is known of it.
  bool Has(LocationId location) const;
  bool empty() const { return pages_.empty(); }
  // Whether the four locations of one byte from this one have taken its place. Split does that; the
  // bytes of values are in the order of memory.
  bool IsSplit(LocationId word) const;
  void Split(LocationId word);
  // Forgets a location; all from `first` to `last`, which are whole pages; all.
  void Forget(LocationId location);
  void Forget(LocationId first, LocationId last);
  void ForgetAll();
  // About how much memory it has.
  uint64_t bytes() const { return bytes_; }
  // Whether a limit made it forget since this was asked last.
  bool Forgot() {
    const bool forgot = forgot_;
    forgot_ = false;
    return forgot;
  }
  // The page of `location` has something.
  bool HasPage(LocationId location) const { return pages_.Find(PageOf(location)) != nullptr; }

  // The writes that the thread may read now through `address`, oldest first, the newest last: never
  // empty.
  std::vector<int> Candidates(const Ordering& ordering, LocationId location, ThreadId thread,
                              AddressId address) const;
  uint64_t ValueOf(LocationId location, int write) const;
  AccessEvent EventOf(LocationId location, int write) const;  // of the initial one: none
  // The write that came last.
  int Newest(LocationId location) const;
  // Whether the write and such a read are both strong, morally strong, and of one address.
  bool AreStrong(const Ordering& ordering, LocationId location, int write, ThreadId thread,
                 AddressId address, const Strength& strength) const;

  // The thread of `event` reads `choice`, a candidate. `observed`, which may be null, gets the
  // writes that the read observes (a checker wants to know).
  void Load(Ordering* ordering, LocationId location, const Strength& strength, int choice,
            const AccessEvent& event, std::vector<AccessEvent>* observed);
  // Writes. `after`: earlier writes, as bits, that are to come after this one in coherence order,
  // out of Open; 0, as a machine does that orders writes as they come, always works. False: this is
  // not possible, and nothing was done, but for the release.
  // `source`: it is the second half of an atomic operation, whose first half was Load of that.
  bool Store(Ordering* ordering, LocationId location, const Strength& strength, uint64_t value,
             const AccessEvent& event, uint64_t after = 0,
             std::optional<int> source = std::nullopt);
  // Whether an atomic operation may read `source`: nothing may come between its halves.
  bool MayReadAtomically(const Ordering& ordering, LocationId location, ThreadId thread,
                         AddressId address, const Strength& strength, int source) const;
  // Writes that are morally strong with such a write, and that nothing orders before it.
  uint64_t Open(const Ordering& ordering, LocationId location, ThreadId thread, AddressId address,
                const Strength& strength) const;

  // What may lie there once all is done.
  std::vector<uint64_t> FinalValues(LocationId location) const;

  // Where nothing runs: keeps the newest value of each location, and forgets who wrote it.
  void Collapse();

  void AppendTo(std::vector<uint64_t>* key) const;

 private:
  struct Write {
    uint64_t value = 0;
    AccessEvent event;
    Strength strength;
    std::vector<AccessEvent>
        observers;          // strong reads that saw it: the first of each thread and address
    bool is_known = false;  // there were too many: as if all knew
    ReleaseList releases;
    ReleaseList inherited;      // of an atomic operation: of forgotten ones that it saw
    uint64_t before = 0;        // earlier in coherence order, as bits
    uint64_t never_before = 0;  // were read when this was known, so they cannot be later
    bool atomic = false;
    int source = kInitialWrite;  // of an atomic operation

    // Whether it and an access of that strength are morally strong.
    bool IsStrongWith(const Ordering& ordering, ThreadId thread, AddressId address,
                      const Strength& by) const {
      return ordering.IsMorallyStrong(event.thread, event.address, strength, thread, address, by);
    }
    bool IsStrongWith(const Ordering& ordering, const Write& other) const {
      return IsStrongWith(ordering, other.event.thread, other.event.address, other.strength);
    }
  };
  struct Location {
    uint64_t initial = 0;
    std::vector<Write> writes;
  };
  struct Page {
    std::unordered_map<uint32_t, Location> locations;  // by their place in the page
    std::unordered_set<uint32_t> split;
  };
  using Befores = std::array<uint64_t, kMaxWrites + 1>;  // Write::before of all

  static uint64_t CostOf(const Location& location);
  static uint64_t CostOf(const Page& page);
  void Spend(uint64_t before, uint64_t after);

  static const Location& Untouched();
  const Location& Find(LocationId location) const;
  Location& Get(LocationId location);
  Page* GetPage(uint64_t number);
  // The writes that come before an access of the thread through the address.
  static uint64_t Known(const Location& location, const Ordering& ordering, ThreadId thread,
                        AddressId address);
  // Whether the writes from `first` on may come where `befores` says.
  static bool IsConsistent(const Ordering& ordering, const Location& location,
                           const Befores& befores, size_t first);
  static void ForgetOldest(const Ordering& ordering, Location* location);
  static void AddObserver(Write* write, const AccessEvent& event);
  bool Insert(const Ordering& ordering, LocationId id, Write write, uint64_t after);

  size_t max_writes_;
  uint64_t limit_;
  uint64_t bytes_ = 0;
  bool forgot_ = false;
  PageMap<Page> pages_;
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_MODEL_OPERATIONAL_MODEL_H_
