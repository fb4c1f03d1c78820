// ViewMachine: the values that the memory model allows, step by step.
//
// Of each location it keeps the writes, which of them come before which, and who has seen them.
// A read may give every write that is not hidden: one is hidden if it comes before a write that
// comes before the read. See sim/coherence/ordering.h for who calls what.
//
// Not produced: reads of writes that come later in program order or later in time; HazardChecker
// reports them.

#ifndef TWINMMU_SIM_COHERENCE_VIEW_MACHINE_H_
#define TWINMMU_SIM_COHERENCE_VIEW_MACHINE_H_

#include <cstdint>
#include <map>
#include <vector>

#include "sim/coherence/ordering.h"

namespace twinmmu::coherence {

using LocationId = uint64_t;

class ViewMachine {
 public:
  // A write by its place in the list of its location; kInitialWrite: what was there before.
  static constexpr int kInitialWrite = -1;
  // Of one location; where there are more, the oldest is forgotten, as if it had become invisible.
  static constexpr int kMaxWrites = 64;

  // What the location holds at first. Locations that nobody initialises hold 0.
  void SetInitial(LocationId location, uint64_t value);

  // The writes that the thread may read now through `address`, oldest first, the newest last: never
  // empty.
  std::vector<int> Candidates(const Ordering& ordering, LocationId location, ThreadId thread,
                              AddressId address) const;
  uint64_t ValueOf(LocationId location, int write) const;
  // Whether the write and such a read are both strong, morally strong, and of one address.
  bool AreStrong(const Ordering& ordering, LocationId location, int write, ThreadId thread,
                 AddressId address, const Strength& strength) const;

  // The thread reads `choice`, a candidate. `observed`, which may be null, gets the writes that the
  // read observes (a checker wants to know).
  void Load(Ordering* ordering, LocationId location, ThreadId thread, AddressId address,
            const Strength& strength, int choice, const Mark& mark, std::vector<Mark>* observed);
  // Writes. `after`: earlier writes, as bits, that are to come after this one in coherence order,
  // out of Open; 0, as a machine does that orders writes as they come, always works. False: this is
  // not possible, and nothing was done, but for the release.
  bool Store(Ordering* ordering, LocationId location, ThreadId thread, AddressId address,
             const Strength& strength, uint64_t value, const Mark& mark, uint64_t after = 0);
  // The second half of an atomic operation, whose first half was Load of `source`.
  bool StoreAtomic(Ordering* ordering, LocationId location, ThreadId thread, AddressId address,
                   const Strength& strength, uint64_t value, const Mark& mark, int source,
                   uint64_t after = 0);
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
    Mark mark;
    Strength strength;
    std::vector<Mark> observers;  // strong reads that saw it
    ReleaseList releases;
    uint64_t before = 0;        // earlier in coherence order, as bits
    uint64_t never_before = 0;  // were read when this was known, so they cannot be later
    bool atomic = false;
    int source = kInitialWrite;  // of an atomic operation
  };
  struct Location {
    uint64_t initial = 0;
    std::vector<Write> writes;
  };

  const Location& Find(LocationId location) const;
  // The writes that come before an access of the thread through the address.
  static uint64_t Known(const Location& location, const Ordering& ordering, ThreadId thread,
                        AddressId address);
  static bool IsConsistent(const Ordering& ordering, const Location& location);
  static void ForgetOldest(Location* location);
  bool Insert(const Ordering& ordering, Location* location, Write write, uint64_t after);

  std::map<LocationId, Location> locations_;
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_VIEW_MACHINE_H_
