#include "sim/coherence/litmus/candidate.h"

namespace twinmmu::coherence {

std::optional<uint64_t> Candidate::RegisterBefore(int thread, int reg, int index) {
  const std::vector<Instruction>& instructions = orders_.program->threads[thread].instructions;
  for (int i = index - 1; i >= 0; --i) {
    if (instructions[i].result == reg) return ResultOf(thread, i);
  }
  return 0;
}

uint64_t Candidate::FinalRegister(int thread, int reg) {
  const Thread& of = orders_.program->threads[thread];
  return *RegisterBefore(thread, reg, static_cast<int>(of.instructions.size()));
}

std::optional<uint64_t> Candidate::ResultOf(int thread, int index) {
  std::optional<uint64_t> result;
  for (const int read : orders_.reads) {
    const Event& event = orders_.events[read];
    if (event.thread != thread || event.index != index) continue;
    const std::optional<uint64_t> value = ValueOf(read);
    if (!value) return std::nullopt;
    result = result ? Apply(event.instruction->operation, *result, *value, 0) : *value;
  }
  return result;
}

std::optional<uint64_t> Candidate::Operand(const Event& event, const Value& value) {
  if (value.reg < 0) return value.constant;
  return RegisterBefore(event.thread, value.reg, event.index);
}

std::optional<uint64_t> Candidate::WrittenBy(int event) {
  const Event& of = orders_.events[event];
  const std::optional<uint64_t> value = Operand(of, of.instruction->value);
  const Arithmetic operation = of.instruction->operation;
  if (of.partner < 0 || !value || operation == Arithmetic::kExchange) return value;
  const std::optional<uint64_t> old = ValueOf(of.partner);
  const std::optional<uint64_t> compare = Operand(of, of.instruction->compare);
  if (!old || !compare) return std::nullopt;
  there_[event] = operation != Arithmetic::kCompareAndSwap || *old == *compare;
  return Apply(operation, *old, *value, *compare);
}

// nullopt: a value that would come out of thin air.
std::optional<uint64_t> Candidate::ValueOf(int event) {
  if (state_[event] == 2) return values_[event];
  if (state_[event] == 1) return std::nullopt;
  state_[event] = 1;
  const Event& of = orders_.events[event];
  std::optional<uint64_t> value;
  if (of.kind != Event::kRead) {
    value = WrittenBy(event);
  } else if (source_[event] == kInitial) {
    value = orders_.program->locations[of.location].initial;
  } else {
    value = ValueOf(source_[event]);
  }
  if (!value) return std::nullopt;
  values_[event] = *value;
  state_[event] = 2;
  return value;
}

bool Candidate::ComputeValues() {
  values_.assign(orders_.events.size(), 0);
  state_.assign(orders_.events.size(), 0);
  there_.assign(orders_.events.size(), true);
  for (int i = 0; i < orders_.size(); ++i) {
    const Event::Kind kind = orders_.events[i].kind;
    if ((kind == Event::kRead || kind == Event::kWrite) && !ValueOf(i)) return false;
  }
  for (const int read : orders_.reads) {
    if (source_[read] != kInitial && !IsThere(source_[read])) return false;
    const Event& event = orders_.events[read];
    const std::optional<Until>& until = event.instruction->until;
    if (until && !Compare(*ResultOf(event.thread, event.index), until->comparison, until->value)) {
      return false;
    }
  }
  return DependenciesHold();
}

// What comes after a loop that waits for a value depends on that value.
bool Candidate::DependenciesHold() const {
  Relation dependency = orders_.Empty();
  bool any = false;
  for (const int read : orders_.reads) {
    if (source_[read] != kInitial) Add(source_[read], read, &dependency);
    if (!orders_.events[read].instruction->until) continue;
    any = true;
    for (const int write : orders_.writes) {
      if (Has(orders_.program_order, read, write)) Add(read, write, &dependency);
    }
  }
  if (!any) return true;
  Close(&dependency);
  return IsIrreflexive(dependency);
}

}  // namespace twinmmu::coherence
