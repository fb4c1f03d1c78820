// Each mutant must be noticed by a test of the rule that it breaks; the machine that is not mutated
// passes all tests.

#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "conformance/instances/sim_target.h"
#include "conformance/mutants/framework/mutant.h"
#include "conformance/mutants/framework/simulated_target.h"
#include "conformance/mutants/framework/trials.h"

namespace twinmmu::conformance {
namespace {

std::vector<Case> CasesOf(Rule rule) {
  std::vector<Case> cases;
  for (const Case& test_case : AllCases()) {
    if (test_case.rule == rule) cases.push_back(test_case);
  }
  return cases;
}

// "MAP_5/2": the second mutant of MAP-5.
std::vector<std::string> SuitesOf(const std::vector<MutantInfo>& mutants) {
  std::vector<std::string> suites;
  for (const MutantInfo& mutant : mutants) {
    const size_t index = suites.size();
    size_t number = 1;
    while (number <= index && mutants[index - number].rule == mutant.rule) ++number;
    std::string id = GetRule(mutant.rule).id;
    id[id.find('-')] = '_';
    suites.push_back(absl::StrCat(id, "/", number));
  }
  return suites;
}

// All tests on the reference; on another machine those of which it has a mutant.
std::vector<Case> ControlCases(const std::vector<MutantInfo>& mutants, const std::string& machine) {
  if (machine == "reference") return AllCases();
  std::set<Rule> rules;
  for (const MutantInfo& mutant : mutants) {
    if (mutant.machine == machine) rules.insert(mutant.rule);
  }
  std::vector<Case> cases;
  for (const Case& test_case : AllCases()) {
    if (rules.count(test_case.rule) != 0) cases.push_back(test_case);
  }
  return cases;
}

std::string ControlSuite(const std::string& machine) { return absl::StrCat("control/", machine); }

// True if nothing that was run failed.
bool JudgeControl(const Trials& trials, const std::string& machine) {
  int failed = 0;
  const auto& outcomes = trials.Of(ControlSuite(machine));
  for (const auto& [name, outcome] : outcomes) {
    if (!outcome.failed) continue;
    ++failed;
    std::cout << "FAILED without a mutation: " << name << "\n" << outcome.failure << "\n";
  }
  std::cout << machine << ": of " << outcomes.size() << " tests, " << failed
            << " fail on the machine that is not mutated\n";
  return failed == 0;
}

enum class Fate { kKilled, kSurvived, kNotApplicable, kNotRun };

Fate FateOf(const Trials& trials, const std::string& suite, const std::string& machine) {
  const auto& control = trials.Of(ControlSuite(machine));
  Fate fate = Fate::kNotRun;
  for (const auto& [name, outcome] : trials.Of(suite)) {
    const auto unmutated = control.find(name);
    const bool applicable = unmutated == control.end() || !unmutated->second.not_applicable;
    if (outcome.failed) return Fate::kKilled;
    if (applicable) fate = Fate::kSurvived;
    if (fate == Fate::kNotRun) fate = Fate::kNotApplicable;
  }
  return fate;
}

const char* ToString(Fate fate) {
  switch (fate) {
    case Fate::kKilled:
      return "killed";
    case Fate::kSurvived:
      return "SURVIVED";
    case Fate::kNotApplicable:
      return "not here";
    case Fate::kNotRun:
      return "not run";
  }
  return "?";
}

// True if every rule has a mutant, or a reason for having none, and not both.
bool JudgeRules(const std::vector<MutantInfo>& mutants) {
  std::set<Rule> mutated;
  std::set<Rule> unbroken;
  for (const MutantInfo& mutant : mutants) mutated.insert(mutant.rule);
  for (const UnbrokenRule& rule : UnbrokenRules()) {
    unbroken.insert(rule.rule);
    std::cout << absl::StreamFormat("no mutant of %-10s %s\n", GetRule(rule.rule).id, rule.reason);
  }
  bool passed = true;
  for (const RuleInfo& info : AllRules()) {
    if (mutated.count(info.rule) + unbroken.count(info.rule) == 1) continue;
    passed = false;
    std::cout << info.id << " has "
              << (mutated.count(info.rule) == 0 ? "no MUTANT and no NO_MUTANT"
                                                : "a MUTANT and also a NO_MUTANT")
              << ": see conformance/mutants/framework/mutant.h\n";
  }
  std::cout << mutated.size() << " of " << AllRules().size() << " rules have a mutant\n";
  return passed;
}

// True if all were killed that can be. On a simulator whose addresses are but numbers, what the CPU
// sees of memory cannot be tested; anywhere else, all must be.
bool JudgeMutants(const Trials& trials, const std::vector<MutantInfo>& mutants) {
  const std::vector<std::string> suites = SuitesOf(mutants);
  int killed = 0;
  int survived = 0;
  int not_here = 0;
  for (size_t i = 0; i < mutants.size(); ++i) {
    const Fate fate = FateOf(trials, suites[i], mutants[i].machine);
    if (fate == Fate::kNotRun) continue;  // the filter left it out
    if (fate == Fate::kKilled) ++killed;
    if (fate == Fate::kSurvived) ++survived;
    if (fate == Fate::kNotApplicable) ++not_here;
    std::cout << absl::StreamFormat("%-8s  %-12s  %s\n", ToString(fate), suites[i],
                                    mutants[i].sentence);
  }
  if (not_here != 0) std::cout << not_here << " mutants cannot be tested on this host\n";
  std::cout << killed << " of " << killed + survived << " mutants killed\n";
  const bool all_can = TraitsOf(Profile::ReferenceH200()).cpu_sees_host_memory;
  return survived == 0 && killed != 0 && (not_here == 0 || !all_can);
}

int Main(int argc, char** argv) {
  Trials trials(&argc, argv);
  const std::vector<MutantInfo> mutants = AllMutants();
  const std::vector<std::string> suites = SuitesOf(mutants);
  std::set<std::string> machines;
  for (const MutantInfo& mutant : mutants) machines.insert(mutant.machine);
  for (const std::string& machine : machines) {
    trials.Add(ControlSuite(machine), SimulatedTarget(machine, &MakeMutant<Real>),
               ControlCases(mutants, machine));
  }
  for (size_t i = 0; i < mutants.size(); ++i) {
    trials.Add(suites[i], SimulatedTarget(mutants[i].machine, mutants[i].make, mutants[i].quirk),
               CasesOf(mutants[i].rule));
  }
  trials.Run();
  bool passed = true;
  for (const std::string& machine : machines) passed = JudgeControl(trials, machine) && passed;
  passed = JudgeRules(mutants) && passed;
  passed = JudgeMutants(trials, mutants) && passed;
  return passed ? 0 : 1;
}

}  // namespace
}  // namespace twinmmu::conformance

int main(int argc, char** argv) { return twinmmu::conformance::Main(argc, argv); }
