#include "sim/ptx/text/name_scopes.h"

#include <string>

#include "absl/strings/ascii.h"

namespace twinmmu::ptx {
namespace {

// The digits of the largest number of a range.
constexpr size_t kMostDigits = 10;

}  // namespace

bool Names::Add(absl::string_view name, Symbol symbol) {
  Scope& scope = scopes_.back();
  return FindRange(scope, name) == nullptr && scope.symbols.emplace(name, symbol).second;
}

bool Names::AddRange(absl::string_view prefix, Type type, uint64_t count) {
  return scopes_.back().ranges.emplace(prefix, Range{type, count}).second;
}

std::optional<Symbol> Names::Find(absl::string_view name, std::vector<Register>* registers) {
  for (size_t i = scopes_.size(); i-- > 0;) {
    Scope& scope = scopes_[i];
    const auto found = scope.symbols.find(name);
    if (found != scope.symbols.end()) return found->second;
    if (registers == nullptr) continue;
    const Range* range = FindRange(scope, name);
    if (range == nullptr) continue;
    const Symbol symbol{Operand::kRegister, static_cast<int>(registers->size())};
    registers->push_back({std::string(name), range->type});
    scope.symbols.emplace(name, symbol);
    return symbol;
  }
  return std::nullopt;
}

const Names::Range* Names::FindRange(const Scope& scope, absl::string_view name) {
  if (scope.ranges.empty()) return nullptr;
  // "%r12" may be 12 of %r<100> or 2 of %r1<10>.
  uint64_t number = 0;
  uint64_t place_value = 1;
  for (size_t digits = 1; digits <= kMostDigits && digits < name.size(); ++digits) {
    const char digit = name[name.size() - digits];
    if (!absl::ascii_isdigit(digit)) return nullptr;
    number += place_value * static_cast<uint64_t>(digit - '0');
    place_value *= 10;
    if (digit == '0' && digits > 1) continue;  // no leading zeros
    const auto range = scope.ranges.find(name.substr(0, name.size() - digits));
    if (range != scope.ranges.end() && number < range->second.count) return &range->second;
  }
  return nullptr;
}

}  // namespace twinmmu::ptx
