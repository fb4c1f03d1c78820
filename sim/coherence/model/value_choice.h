// ValueChoice: which of the values that the model allows a read gets, by policy.

#ifndef TWINMMU_SIM_COHERENCE_MODEL_VALUE_CHOICE_H_
#define TWINMMU_SIM_COHERENCE_MODEL_VALUE_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/coherence/model/litmus_program.h"
#include "sim/coherence/model/ordering.h"
#include "sim/coherence/model/page_map.h"
#include "sim/coherence/model/policy.h"

namespace twinmmu::coherence {

// What Policy::kL1 imagines: a cache per multiprocessor that knows lines by their virtual
// addresses. A line holds one write of a location, by a number other than that of any other write.
class Caches {
 public:
  // The write in the line; null: there is none.
  const uint64_t* Find(uint64_t sm, LocationId location, AddressId address) const;
  void Fill(uint64_t sm, LocationId location, AddressId address, uint64_t write);
  void Drop(uint64_t sm, LocationId location, AddressId address);
  void Invalidate(uint64_t sm);
  void Clear() { of_sm_.clear(); }
  // Whether an access is served by it, and whether one empties it for what comes later.
  static bool Serves(const Strength& strength, bool writes) {
    return !writes && (!strength.IsStrong() || strength.scope == Scope::kCta);
  }
  static bool EndsWith(const Strength& strength) {
    return Acquires(strength.semantics) && strength.scope != Scope::kCta;
  }

 private:
  // Beyond this, the cache of a multiprocessor is emptied, as it may be at any time.
  static constexpr size_t kMaxLines = 16384;

  std::map<uint64_t, std::map<std::pair<LocationId, AddressId>, uint64_t>> of_sm_;
};

struct ChoiceOfRead {
  uint64_t sm = 0;
  LocationId location = 0;
  AddressId address = 0;
  bool is_cached = false;         // Caches::Serves
  bool newest_is_strong = false;  // OperationalModel::AreStrong of the newest write and this read
  uint64_t random = 0;
};

// Which of `writes`, the candidates by their numbers in `caches`, oldest first. `newest`: the place
// there of the one that came last.
size_t Choose(Policy policy, const ChoiceOfRead& read, const std::vector<uint64_t>& writes,
              size_t newest, Caches* caches);

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_MODEL_VALUE_CHOICE_H_
