#include "conformance/mutants/framework/mutant.h"

#include <algorithm>

namespace twinmmu::conformance {
namespace {

std::vector<MutantInfo>& MutableMutants() {
  static auto* const mutants = new std::vector<MutantInfo>();
  return *mutants;
}

std::vector<UnbrokenRule>& MutableUnbrokenRules() {
  static auto* const rules = new std::vector<UnbrokenRule>();
  return *rules;
}

}  // namespace

bool AddMutant(const MutantInfo& mutant) {
  MutableMutants().push_back(mutant);
  return true;
}

bool AddUnbrokenRule(const UnbrokenRule& rule) {
  MutableUnbrokenRules().push_back(rule);
  return true;
}

std::vector<MutantInfo> AllMutants() {
  std::vector<MutantInfo> mutants = MutableMutants();
  for (const DeviationInfo& deviation : AllDeviations()) {
    if (deviation.quirk.empty()) continue;
    mutants.push_back({deviation.rule, "The documentation holds, though the driver deviates.",
                       "reference", &MakeMutant<Real>, deviation.quirk});
    mutants.push_back({deviation.rule, "It deviates as the driver does, though none is declared.",
                       "strict", &MakeMutant<Real>, deviation.quirk});
  }
  std::stable_sort(mutants.begin(), mutants.end(),
                   [](const MutantInfo& a, const MutantInfo& b) { return a.rule < b.rule; });
  return mutants;
}

const std::vector<UnbrokenRule>& UnbrokenRules() { return MutableUnbrokenRules(); }

}  // namespace twinmmu::conformance
