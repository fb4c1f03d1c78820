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

std::string Describe(const Program& program, int thread, int index) {
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
    case Hazard::kCrossDevice:
      break;
  }
  return "alias-xdev";
}

}  // namespace twinmmu::coherence
