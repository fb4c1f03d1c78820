// Guard: in which executions of a litmus test races count.

#ifndef TWINMMU_SIM_COHERENCE_LITMUS_GUARD_H_
#define TWINMMU_SIM_COHERENCE_LITMUS_GUARD_H_

#include <set>
#include <vector>

#include "sim/coherence/litmus/condition.h"
#include "sim/coherence/litmus/litmus.h"

namespace twinmmu::coherence {

// Message passing without a race is still full of races in executions that read the flag too early.
// So races count where the flag was seen: where the conditions hold which the assertion joins by
// /\ and that say of a strong load that it saw something else than the initial value.
std::vector<Condition> GuardsOf(const LitmusTest& test);

// Collects what was found in executions, and gives what was found where as many guards held as can
// hold at once, counted from the first.
template <typename Found>
class GuardedSet {
 public:
  explicit GuardedSet(std::vector<Condition> guards)
      : guards_(std::move(guards)), executions_(guards_.size() + 1), found_(guards_.size() + 1) {}

  void Add(const Condition::ValueOf& value_of, const std::set<Found>& found) {
    size_t held = 0;
    while (true) {
      ++executions_[held];
      found_[held].insert(found.begin(), found.end());
      if (held == guards_.size() || !guards_[held].Holds(value_of)) return;
      ++held;
    }
  }

  const std::set<Found>& found() const {
    size_t most = guards_.size();
    while (most > 0 && executions_[most] == 0) --most;
    return found_[most];
  }

 private:
  std::vector<Condition> guards_;
  std::vector<uint64_t> executions_;  // by how many guards held
  std::vector<std::set<Found>> found_;
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_LITMUS_GUARD_H_
