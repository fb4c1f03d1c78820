// How a mutant is written: an implementation that is wrong in one way, and must be noticed.
//
//   MUTANT(MAP_9, Map, "Size 0 is accepted, and maps nothing.") {
//     return range.size == Bytes(0) ? Ok() : Real::Map(range, handle, offset, flags);
//   }
//
// The first argument is the rule that the mutant breaks, the second the call that it does
// otherwise: its id in api/calls.inc, which has the parameters' names too. The braces hold that
// call. Real::Map is what the call does elsewhere. Many mutants need but one expression beside it:
//
//   MUTANT_IF(MAP_9, Map, "Size 0 is accepted, and maps nothing.", range.size == Bytes(0), Ok())
//   MUTANT_IF_REFUSED(MAP_9, Map, "Size 0 is NOT_FOUND.", Refuse(DriverCode::kNotFound))
//   MUTANT_DAMAGE(MAP_9, Map, "Size 0 is refused, and what is there unmapped.", Remove(range))
//
// and others below.
//
// The tests of the rule are run on the mutant; if all of them pass it survives, and the build
// fails.
//
// Each quirk makes two mutants by itself: the machine that is said to have it and does not, and the
// one that has it unsaid.

#ifndef TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_MUTANT_H_
#define TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_MUTANT_H_

#include <memory>
#include <string>
#include <vector>

#include "conformance/mutants/framework/real.h"
#include "conformance/rules/rules.h"

namespace twinmmu::conformance {

struct MutantInfo {
  Rule rule;
  const char* sentence;  // what it does wrong
  const char* machine;   // that it breaks, by its name for SimulatedTarget()
  std::unique_ptr<Real> (*make)(Vmm* vmm, Executor* executor);
  std::string quirk = "";  // that is the other way round on that machine, while its traits say not
};

// All mutants that are linked in, and those of the quirks, ordered by rule.
std::vector<MutantInfo> AllMutants();

// A rule that has no mutant, and why.
struct UnbrokenRule {
  Rule rule;
  const char* reason;
};
const std::vector<UnbrokenRule>& UnbrokenRules();

// Called by the macros before main(); return true.
bool AddMutant(const MutantInfo& mutant);
bool AddUnbrokenRule(const UnbrokenRule& rule);

template <typename T>
std::unique_ptr<Real> MakeMutant(Vmm* vmm, Executor* executor) {
  return std::make_unique<T>(vmm, executor);
}

}  // namespace twinmmu::conformance

// All to be used inside namespace twinmmu::conformance.

// A mutant that breaks one call on the machine of this name.
#define MUTANT_ON(machine, rule_id, call, sentence) \
  TWINMMU_MUTANT(machine, rule_id, call, sentence, TWINMMU_MUTANT_NAME(rule_id, __LINE__))
#define MUTANT(rule_id, call, sentence) MUTANT_ON("reference", rule_id, call, sentence)
// One that gives `answer` where `condition` holds, and does not make the call.
#define MUTANT_IF(rule_id, call, sentence, condition, answer) \
  MUTANT(rule_id, call, sentence) {                           \
    if (condition) return answer;                             \
    return REAL(call);                                        \
  }
// One that gives `answer` where the call fails.
#define MUTANT_IF_REFUSED(rule_id, call, sentence, answer) \
  MUTANT(rule_id, call, sentence) {                        \
    const auto outcome = REAL(call);                       \
    if (outcome.ok()) return outcome;                      \
    return answer;                                         \
  }
// One that changes the answer of the call.
#define MUTANT_EDIT(rule_id, call, sentence, edit) \
  MUTANT(rule_id, call, sentence) {                \
    auto answer = REAL(call);                      \
    if (answer.ok()) edit;                         \
    return answer;                                 \
  }
// One that does some damage before the call, where `condition` holds.
#define MUTANT_BEFORE(rule_id, call, sentence, condition, damage) \
  MUTANT(rule_id, call, sentence) {                               \
    if (condition) damage;                                        \
    return REAL(call);                                            \
  }
// One that does it after the call, whose `outcome` the condition may ask for.
#define MUTANT_AFTER(rule_id, call, sentence, condition, damage) \
  MUTANT(rule_id, call, sentence) {                              \
    const auto outcome = REAL(call);                             \
    if (condition) damage;                                       \
    return outcome;                                              \
  }
// One that does it where the call fails, and reports the failure.
#define MUTANT_DAMAGE(rule_id, call, sentence, damage) \
  MUTANT_AFTER(rule_id, call, sentence, !outcome.ok(), damage)
// A mutant that is a class of its own, derived from Real: for several calls, or with a memory.
#define MUTANT_CLASS_ON(machine, rule_id, Class, sentence)                              \
  static const bool TWINMMU_MUTANT_NAME(k##rule_id##Added, __LINE__) [[maybe_unused]] = \
      AddMutant({Rule::rule_id, sentence, machine, &MakeMutant<Class>});
#define MUTANT_CLASS(rule_id, Class, sentence) \
  MUTANT_CLASS_ON("reference", rule_id, Class, sentence)
// A rule that no mutant can break here.
#define NO_MUTANT(rule_id, reason)                                                      \
  static const bool TWINMMU_MUTANT_NAME(k##rule_id##Added, __LINE__) [[maybe_unused]] = \
      AddUnbrokenRule({Rule::rule_id, reason});

#define TWINMMU_MUTANT_NAME(rule_id, line) TWINMMU_MUTANT_NAME_EXPANDED(rule_id, line)
#define TWINMMU_MUTANT_NAME_EXPANDED(rule_id, line) rule_id##_mutant_##line
#define TWINMMU_MUTANT(machine, rule_id, call, sentence, Class)                                 \
  namespace {                                                                                   \
  class Class : public Real {                                                                   \
   public:                                                                                      \
    using Real::Real;                                                                           \
    CALL(call) override;                                                                        \
                                                                                                \
   private:                                                                                     \
    static const bool kAdded;                                                                   \
  };                                                                                            \
  const bool Class::kAdded = AddMutant({Rule::rule_id, sentence, machine, &MakeMutant<Class>}); \
  }                                                                                             \
  CALL_OF(Class, call)

#endif  // TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_MUTANT_H_
