#include "conformance/rules/rules.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace twinmmu::conformance {
namespace {

// MAP_3 is written MAP-3 everywhere but in code.
std::string RuleId(std::string identifier) {
  std::replace(identifier.begin(), identifier.end(), '_', '-');
  return identifier;
}

}  // namespace

absl::Span<const RuleInfo> AllRules() {
  static const auto* const rules = new std::vector<RuleInfo>{
#define TWINMMU_RULE(id, kind, call, sentence, source) \
  {Rule::id, RuleId(#id), RuleKind::kind, call, sentence, source},
#include "conformance/rules/rules.inc"
#undef TWINMMU_RULE
  };
  return *rules;
}

const RuleInfo& GetRule(Rule rule) { return AllRules()[static_cast<size_t>(rule)]; }

absl::Span<const DeviationInfo> AllDeviations() {
  static const auto* const deviations = new std::vector<DeviationInfo>{
#define TWINMMU_QUIRK(name) #name
#define TWINMMU_WITH(condition) ""
#define TWINMMU_DEVIATION(id, rule, quirk, sentence) \
  {Deviation::id, Rule::rule, #id, quirk, sentence},
#include "api/deviations.inc"
#undef TWINMMU_DEVIATION
#undef TWINMMU_WITH
#undef TWINMMU_QUIRK
  };
  return *deviations;
}

const DeviationInfo& GetDeviation(Deviation deviation) {
  return AllDeviations()[static_cast<size_t>(deviation)];
}

bool IsRecorded(int driver_version, int major, int minor) {
  static constexpr struct {
    int first_driver;
    int last_driver;
    int major;
    int minor;
  } kRecorded[] = {
#define TWINMMU_RECORDED(first_driver, last_driver, major, minor) \
  {first_driver, last_driver, major, minor},
#include "conformance/rules/recorded.inc"
#undef TWINMMU_RECORDED
  };
  return std::any_of(std::begin(kRecorded), std::end(kRecorded), [=](const auto& known) {
    return known.first_driver <= driver_version && driver_version <= known.last_driver &&
           known.major == major && known.minor == minor;
  });
}

}  // namespace twinmmu::conformance
