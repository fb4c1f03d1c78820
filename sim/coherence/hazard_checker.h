// HazardChecker: finds accesses of the same bytes that nothing orders, and missing alias fences.

#ifndef TWINMMU_SIM_COHERENCE_HAZARD_CHECKER_H_
#define TWINMMU_SIM_COHERENCE_HAZARD_CHECKER_H_

#include <cstdint>
#include <map>
#include <vector>

#include "sim/coherence/ordering.h"
#include "sim/coherence/program.h"
#include "sim/coherence/view_machine.h"

namespace twinmmu::coherence {

struct HazardReport {
  Hazard hazard = Hazard::kData;
  Mark first;
  Mark second;
  // What is missing is an alias fence: all else is in order. False: nothing orders the two.
  bool missing_fence = false;
};

// One cell per location that was accessed. A cell keeps the accesses that a later one could race
// with: up to kMaxAccesses, of which the oldest goes first (so only reports can be lost).
class HazardChecker {
 public:
  static constexpr size_t kMaxAccesses = 64;

  // An access that is being made: `mark` is its own, taken before. What it races with. Call it
  // before the access synchronises by what it reads.
  std::vector<HazardReport> Check(const Ordering& ordering, LocationId location, const Mark& mark,
                                  const Strength& strength, bool writes);
  // A strong read, with mark `by`, saw these writes.
  void Observe(LocationId location, const std::vector<Mark>& writes, const Mark& by);

  // Where nothing runs: all that was is in order.
  void Collapse() { cells_.clear(); }

  void AppendTo(std::vector<uint64_t>* key) const;

 private:
  struct Access {
    Mark mark;
    Strength strength;
    bool writes = false;
    std::vector<Mark> observers;
  };
  // Whether a later access that races with `earlier` races with `now`, too.
  static bool Replaces(const Access& now, const Access& earlier);
  static void Prune(const Ordering& ordering, const Access& now, std::vector<Access>* cell);
  static bool IsBefore(const Ordering& ordering, const Access& earlier, const Mark& now);

  std::map<LocationId, std::vector<Access>> cells_;
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_HAZARD_CHECKER_H_
