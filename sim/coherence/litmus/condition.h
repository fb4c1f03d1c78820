// Condition: what a litmus test asks of an outcome.

#ifndef TWINMMU_SIM_COHERENCE_LITMUS_CONDITION_H_
#define TWINMMU_SIM_COHERENCE_LITMUS_CONDITION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sim/coherence/model/litmus_program.h"

namespace twinmmu::coherence {

// What can be seen at the end of a program: a register of a thread, or a location.
struct Observable {
  int thread = -1;   // -1: memory
  int index = 0;     // of the register in its thread, or of the location
  std::string name;  // "P1:r0", "x"

  friend bool operator==(const Observable& a, const Observable& b) {
    return a.thread == b.thread && a.index == b.index;
  }
};

class Condition {
 public:
  using ValueOf = std::function<uint64_t(const Observable&)>;

  // "P1:r0 == 1 /\ ~(x != 2 \/ P1:r1 == P0:r1)". `&&`, `||`, `!`, `=`, `<` and their like are taken
  // too, r0 without a thread where only one has it, names of memory bare or in brackets, and "r0
  // misses P0's 1": r0, a sum, is less than that.
  // InvalidArgument: what stands where it went wrong, and what was expected.
  static absl::StatusOr<Condition> Parse(absl::string_view text, const Program& program);

  bool Holds(const ValueOf& value_of) const;
  // In order of appearance, each once.
  std::vector<Observable> observables() const;

  // ~(this), with all negations at the leaves.
  Condition Negation() const;
  // The conditions joined by /\ of which this consists, with all negations at the leaves.
  std::vector<Condition> Conjuncts() const;
  // If this is one comparison of an observable with a constant.
  bool IsComparison(Observable* observable, Comparison* comparison, uint64_t* constant) const;

 private:
  friend class ConditionParser;
  struct Term {
    bool is_constant = true;
    uint64_t constant = 0;
    Observable observable;
  };
  enum Kind { kComparison, kAnd, kOr };

  Condition Normalized(bool negated) const;
  uint64_t ValueOfTerm(const Term& term, const ValueOf& value_of) const;

  Kind kind_ = kAnd;  // without parts: true
  bool negated_ = false;
  Term left_;
  Term right_;
  Comparison comparison_ = Comparison::kEqual;
  std::vector<Condition> parts_;
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_LITMUS_CONDITION_H_
