#include "sim/coherence/model/litmus_program.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace twinmmu::coherence {

bool Includes(Scope scope, const Place& from, const Place& to) {
  if (scope == Scope::kSys) return true;
  if (from.gpu != to.gpu) return false;
  if (scope == Scope::kGpu) return true;
  if (scope == Scope::kCluster && from.cluster == to.cluster) return true;
  return from.cta == to.cta;
}

uint64_t Apply(Arithmetic operation, uint64_t old, uint64_t value, uint64_t compare) {
  constexpr uint64_t kMask = 0xffffffff;
  switch (operation) {
    case Arithmetic::kAdd:
      return (old + value) & kMask;
    case Arithmetic::kExchange:
      return value;
    case Arithmetic::kCompareAndSwap:
      return old == compare ? value : old;
    case Arithmetic::kMin:
      return std::min(old, value);
    case Arithmetic::kMax:
      return std::max(old, value);
    case Arithmetic::kAnd:
      return old & value;
    case Arithmetic::kOr:
      return old | value;
    case Arithmetic::kXor:
      return old ^ value;
    case Arithmetic::kIncrement:
      return old >= value ? 0 : old + 1;
    case Arithmetic::kDecrement:
      return old == 0 || old > value ? value : old - 1;
  }
  return old;
}

bool Compare(uint64_t a, Comparison comparison, uint64_t b) {
  switch (comparison) {
    case Comparison::kEqual:
      return a == b;
    case Comparison::kNotEqual:
      return a != b;
    case Comparison::kLess:
      return a < b;
    case Comparison::kLessEqual:
      return a <= b;
    case Comparison::kGreater:
      return a > b;
    case Comparison::kGreaterEqual:
      return a >= b;
  }
  return false;
}

std::tuple<int, int, int, int> MeetingOf(const Place& place, const Instruction& barrier, int turn) {
  switch (barrier.meeting) {
    case Instruction::kOfCta:
      return {place.gpu, place.cta, barrier.barrier, turn};
    case Instruction::kOfCluster:
      return {place.gpu, -1 - place.cluster, barrier.barrier, turn};
    case Instruction::kOnce:
      break;
  }
  return {-1, -1, barrier.barrier, 0};
}

bool Orders(const Instruction& arrival, const Place& from, const Instruction& departure,
            const Place& to) {
  if (arrival.meeting == Instruction::kOfCta) return true;
  if (arrival.completes) return Acquires(departure.semantics);
  return Releases(arrival.semantics) && Acquires(departure.semantics) &&
         Includes(arrival.scope, from, to) && Includes(departure.scope, to, from);
}

std::pair<int, int> WrittenAt(const Program& program, int thread, int index) {
  const Thread& of = program.threads[thread];
  return of.issuer < 0 ? std::pair(thread, index) : std::pair(of.issuer, of.issuer_index);
}

std::string Describe(const Program& program, int thread, int index) {
  if (program.threads[thread].issuer >= 0) {
    std::tie(thread, index) = WrittenAt(program, thread, index);
  }
  const Thread& of = program.threads[thread];
  if (index < 0) return absl::StrCat("the start of ", of.name);
  if (index >= static_cast<int>(of.instructions.size())) {
    return absl::StrCat("the end of ", of.name);
  }
  return absl::StrCat(of.name, " instruction ", index + 1, " (", of.instructions[index].text, ")");
}

const char* NameOf(Hazard hazard) {
  switch (hazard) {
    case Hazard::kData:
      return "data";
    case Hazard::kAlias:
      return "alias";
    case Hazard::kProxy:
      return "proxy";
    case Hazard::kCrossDevice:
      break;
  }
  return "alias-xdev";
}

}  // namespace twinmmu::coherence
