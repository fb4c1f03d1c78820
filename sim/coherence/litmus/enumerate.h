// All executions of a small program that the axioms of the memory model allow.
//
// This looks at whole executions: who reads from whom, the order of writes, the order of fence.sc.
// It shares no code with the operational model, which runs programs step by step, but for the
// program and what a morally strong pair is: each is there to check the other.

#ifndef TWINMMU_SIM_COHERENCE_LITMUS_ENUMERATE_H_
#define TWINMMU_SIM_COHERENCE_LITMUS_ENUMERATE_H_

#include <cstdint>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/coherence/litmus/litmus.h"

namespace twinmmu::coherence {

// The values of LitmusTest::observables.
using Outcome = std::vector<uint64_t>;

// Two accesses of the same bytes, one of them a write, that nothing orders.
struct Race {
  Hazard hazard = Hazard::kData;
  // The one that comes first, where base causality orders them; thread and index of the
  // instruction.
  std::pair<int, int> first;
  std::pair<int, int> second;
  // Base causality orders them, and only a proxy fence is missing. It would do after one of these
  // instructions (thread, index; -1: at the start).
  bool ordered = false;
  std::vector<std::pair<int, int>> fences;

  friend bool operator<(const Race& a, const Race& b) {
    return std::tie(a.hazard, a.first, a.second, a.ordered, a.fences) <
           std::tie(b.hazard, b.first, b.second, b.ordered, b.fences);
  }
};

struct Enumeration {
  uint64_t executions = 0;
  std::set<Outcome> outcomes;
  // Of executions that a machine can do which runs each thread in program order: base causality and
  // reads-from have no cycle together.
  std::set<Outcome> causal_outcomes;
  std::set<Race> races;                     // where the guards hold
  std::set<std::pair<Hazard, bool>> kinds;  // the same, without places; true: in a causal execution
};

// ResourceExhausted: more than 64 events, or too many executions to look at.
absl::StatusOr<Enumeration> Enumerate(const LitmusTest& test, const Modes& modes);

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_LITMUS_ENUMERATE_H_
