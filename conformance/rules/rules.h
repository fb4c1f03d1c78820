// The rule catalogue: what every implementation of the interface is held to.
//
// A rule has an id ("MAP-3"), a sentence that a test can break, the call it concerns, and where it
// comes from. rules.inc is the one list. Each rule has at least one test (registry.h); a rule
// without one does not link (catalogue.cc).

#ifndef TWINMMU_CONFORMANCE_RULES_RULES_H_
#define TWINMMU_CONFORMANCE_RULES_RULES_H_

#include <string>

#include "absl/types/span.h"

namespace twinmmu::conformance {

enum class Rule {
#define TWINMMU_RULE(id, kind, call, sentence, source) id,
#include "conformance/rules/rules.inc"
#undef TWINMMU_RULE
};

enum class RuleKind {
  kDefined,    // every driver must keep it
  kUndefined,  // no driver promises anything: reaches hardware only in a child process
};

struct RuleInfo {
  Rule rule;
  std::string id;  // "MAP-3"
  RuleKind kind;
  std::string call;      // "cuMemMap", or a theme: "copies", "kernels"
  std::string sentence;  // what it says
  std::string source;    // the document that says so, or "observed" where none does
};

// All rules, in the order of rules.inc.
absl::Span<const RuleInfo> AllRules();
const RuleInfo& GetRule(Rule rule);

// What a driver was seen to do against the sentence of a rule. deviations.inc is the one list. A
// test asks for a deviation by name; which ones apply is data of the target (target.h).
enum class Deviation {
#define TWINMMU_DEVIATION(id, rule, quirk, sentence) id,
#include "api/deviations.inc"
#undef TWINMMU_DEVIATION
};

struct DeviationInfo {
  Deviation deviation;
  Rule rule;
  std::string name;      // "kMapAcceptsPartOfAnAllocation"
  std::string quirk;     // of the simulator's profiles, or empty where others bring it about
  std::string sentence;  // what was seen
};

absl::Span<const DeviationInfo> AllDeviations();
const DeviationInfo& GetDeviation(Deviation deviation);

// Whether all of this was recorded with such a driver (its version as Vmm::GetDriverVersion tells
// it) on devices of this compute capability. recorded.inc is the one list.
bool IsRecorded(int driver_version, int major, int minor);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_RULES_RULES_H_
