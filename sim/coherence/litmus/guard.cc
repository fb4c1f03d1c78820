#include "sim/coherence/litmus/guard.h"

namespace twinmmu::coherence {
namespace {

bool IsGuard(const LitmusTest& test, const Condition& condition) {
  Observable observable;
  Comparison comparison;
  uint64_t constant = 0;
  if (!condition.IsComparison(&observable, &comparison, &constant)) return false;
  if (observable.thread < 0) return false;
  const Instruction* load = nullptr;
  for (const Instruction& instruction : test.program.threads[observable.thread].instructions) {
    if (instruction.result == observable.index) load = &instruction;
  }
  if (load == nullptr || !load->IsStrong()) return false;
  const int location = test.program.addresses[load->address].locations[0];
  const uint64_t initial = test.program.locations[location].initial;
  switch (comparison) {
    case Comparison::kEqual:
      return constant != initial;
    case Comparison::kNotEqual:
      return constant == initial;
    case Comparison::kGreater:
      return constant >= initial;
    case Comparison::kGreaterEqual:
      return constant > initial;
    default:
      return false;
  }
}

}  // namespace

std::vector<Condition> GuardsOf(const LitmusTest& test) {
  std::vector<Condition> guards;
  for (const Condition& conjunct : test.weak.Conjuncts()) {
    if (IsGuard(test, conjunct)) guards.push_back(conjunct);
  }
  return guards;
}

}  // namespace twinmmu::coherence
