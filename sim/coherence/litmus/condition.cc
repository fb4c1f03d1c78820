#include "sim/coherence/litmus/condition.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace twinmmu::coherence {
namespace {

// A condition nested more deeply than this is refused: the parser calls itself.
constexpr int kMaxDepth = 100;

bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '%' || c == '$'; }

Comparison Opposite(Comparison comparison) {
  switch (comparison) {
    case Comparison::kEqual:
      return Comparison::kNotEqual;
    case Comparison::kNotEqual:
      return Comparison::kEqual;
    case Comparison::kLess:
      return Comparison::kGreaterEqual;
    case Comparison::kLessEqual:
      return Comparison::kGreater;
    case Comparison::kGreater:
      return Comparison::kLessEqual;
    case Comparison::kGreaterEqual:
      break;
  }
  return Comparison::kLess;
}

}  // namespace

class ConditionParser {
 public:
  ConditionParser(absl::string_view text, const Program& program)
      : text_(text), rest_(text), program_(program) {}

  absl::StatusOr<Condition> ParseAll() {
    absl::StatusOr<Condition> all = ParseOr(0);
    if (!all.ok()) return all;
    Skip();
    if (!rest_.empty()) return Expected("/\\, \\/ or the end");
    return all;
  }

 private:
  void Skip() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }
  bool Take(absl::string_view token) {
    Skip();
    return absl::ConsumePrefix(&rest_, token);
  }
  bool TakeWord(absl::string_view word) {
    Skip();
    if (!absl::StartsWithIgnoreCase(rest_, word)) return false;
    if (rest_.size() > word.size() && IsNameCharacter(rest_[word.size()])) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  absl::Status Expected(absl::string_view what) {
    Skip();
    return absl::InvalidArgumentError(
        absl::StrCat("condition \"", text_, "\": expected ", what, " at \"", rest_, "\""));
  }

  absl::StatusOr<Condition> ParseOr(int depth) {
    if (depth > kMaxDepth) return Expected("no deeper nesting");
    Condition all;
    all.kind_ = Condition::kOr;
    do {
      absl::StatusOr<Condition> part = ParseAnd(depth);
      if (!part.ok()) return part;
      all.parts_.push_back(*std::move(part));
    } while (Take("\\/") || Take("||") || TakeWord("or"));
    return all.parts_.size() == 1 ? std::move(all.parts_[0]) : std::move(all);
  }

  absl::StatusOr<Condition> ParseAnd(int depth) {
    Condition all;
    do {
      absl::StatusOr<Condition> part = ParseNot(depth);
      if (!part.ok()) return part;
      all.parts_.push_back(*std::move(part));
    } while (Take("/\\") || Take("&&") || TakeWord("and"));
    return all.parts_.size() == 1 ? std::move(all.parts_[0]) : std::move(all);
  }

  absl::StatusOr<Condition> ParseNot(int depth) {
    bool negated = false;
    while (Take("~") || Take("!") || TakeWord("not")) negated = !negated;
    absl::StatusOr<Condition> inner;
    if (Take("(")) {
      inner = ParseOr(depth + 1);
      if (inner.ok() && !Take(")")) return Expected(")");
    } else {
      inner = ParseComparison();
    }
    if (inner.ok() && negated) inner->negated_ = !inner->negated_;
    return inner;
  }

  absl::StatusOr<Condition> ParseComparison() {
    Condition condition;
    if (TakeWord("true")) return condition;
    if (TakeWord("false")) {
      condition.negated_ = true;
      return condition;
    }
    condition.kind_ = Condition::kComparison;
    absl::Status status = ParseTerm(&condition.left_);
    if (!status.ok()) return status;
    if (TakeWord("misses")) {
      // "P1:r0 misses P0's 1"
      const size_t possessive = rest_.find("'s");
      if (possessive == absl::string_view::npos) return Expected("whose value, as in P0's 1");
      rest_.remove_prefix(possessive + 2);
      condition.comparison_ = Comparison::kLess;
    } else if (Take("==")) {
      condition.comparison_ = Comparison::kEqual;
    } else if (Take("!=")) {
      condition.comparison_ = Comparison::kNotEqual;
    } else if (Take("<=")) {
      condition.comparison_ = Comparison::kLessEqual;
    } else if (Take(">=")) {
      condition.comparison_ = Comparison::kGreaterEqual;
    } else if (Take("<")) {
      condition.comparison_ = Comparison::kLess;
    } else if (Take(">")) {
      condition.comparison_ = Comparison::kGreater;
    } else if (Take("=")) {
      condition.comparison_ = Comparison::kEqual;
    } else {
      return Expected("a comparison (== != < <= > >=)");
    }
    status = ParseTerm(&condition.right_);
    if (!status.ok()) return status;
    return condition;
  }

  absl::string_view TakeName() {
    Skip();
    size_t length = 0;
    while (length < rest_.size() && IsNameCharacter(rest_[length])) ++length;
    const absl::string_view name = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return name;
  }

  absl::Status ParseTerm(Condition::Term* term) {
    Skip();
    const absl::string_view before = rest_;
    if (!rest_.empty() && absl::ascii_isdigit(rest_[0])) {
      const absl::string_view digits = TakeName();
      const bool hex = absl::StartsWithIgnoreCase(digits, "0x");
      if (hex ? absl::SimpleHexAtoi(digits, &term->constant)
              : absl::SimpleAtoi(digits, &term->constant)) {
        return absl::OkStatus();
      }
      rest_ = before;
      return Expected("a number");
    }
    const bool brackets = Take("[");
    const absl::string_view name = TakeName();
    if (brackets && !Take("]")) return Expected("]");
    term->is_constant = false;
    term->observable.name = std::string(name);
    if (!brackets && Take(":")) return ParseRegister(name, TakeName(), before, term);
    if (name.empty()) {
      rest_ = before;
      return Expected("a register, a location or a number");
    }
    if (FindMemory(name, term)) return absl::OkStatus();
    return brackets ? Unknown(before) : ParseRegister("", name, before, term);
  }

  absl::Status Unknown(absl::string_view before) {
    rest_ = before;
    return Expected("a register of one thread, or a location");
  }

  bool FindMemory(absl::string_view name, Condition::Term* term) {
    for (size_t i = 0; i < program_.locations.size(); ++i) {
      if (program_.locations[i].name != name) continue;
      term->observable.index = static_cast<int>(i);
      return true;
    }
    for (const Address& address : program_.addresses) {
      if (address.name != name || address.locations.size() != 1) continue;
      term->observable.index = address.locations[0];
      return true;
    }
    return false;
  }

  // `thread`: empty, the only one that has such a register.
  absl::Status ParseRegister(absl::string_view thread, absl::string_view name,
                             absl::string_view before, Condition::Term* term) {
    int found = 0;
    for (size_t t = 0; t < program_.threads.size(); ++t) {
      const Thread& of = program_.threads[t];
      if (!thread.empty() && thread != of.name && thread != absl::StrCat("P", of.process) &&
          thread != absl::StrCat(of.process)) {
        continue;
      }
      for (size_t r = 0; r < of.registers.size(); ++r) {
        if (of.registers[r] != name) continue;
        ++found;
        term->observable.thread = static_cast<int>(t);
        term->observable.index = static_cast<int>(r);
        term->observable.name =
            thread.empty() ? std::string(name) : absl::StrCat(thread, ":", name);
      }
    }
    // Of several tasks of one stream, the last one has the last word.
    if (found == 0 || (thread.empty() && found > 1)) return Unknown(before);
    return absl::OkStatus();
  }

  absl::string_view text_;
  absl::string_view rest_;
  const Program& program_;
};

absl::StatusOr<Condition> Condition::Parse(absl::string_view text, const Program& program) {
  return ConditionParser(text, program).ParseAll();
}

uint64_t Condition::ValueOfTerm(const Term& term, const ValueOf& value_of) const {
  return term.is_constant ? term.constant : value_of(term.observable);
}

bool Condition::Holds(const ValueOf& value_of) const {
  bool holds = false;
  if (kind_ == kComparison) {
    holds = Compare(ValueOfTerm(left_, value_of), comparison_, ValueOfTerm(right_, value_of));
  } else {
    const auto part_holds = [&](const Condition& part) { return part.Holds(value_of); };
    holds = kind_ == kAnd ? std::all_of(parts_.begin(), parts_.end(), part_holds)
                          : std::any_of(parts_.begin(), parts_.end(), part_holds);
  }
  return holds != negated_;
}

std::vector<Observable> Condition::observables() const {
  std::vector<Observable> all;
  const auto add = [&](const Observable& observable) {
    if (std::find(all.begin(), all.end(), observable) == all.end()) all.push_back(observable);
  };
  if (kind_ == kComparison) {
    if (!left_.is_constant) add(left_.observable);
    if (!right_.is_constant) add(right_.observable);
  }
  for (const Condition& part : parts_) {
    for (const Observable& observable : part.observables()) add(observable);
  }
  return all;
}

Condition Condition::Normalized(bool negated) const {
  Condition result = *this;
  result.negated_ = false;
  const bool negate = negated != negated_;
  if (kind_ == kComparison) {
    if (negate) result.comparison_ = Opposite(comparison_);
    return result;
  }
  if (negate) result.kind_ = kind_ == kAnd ? kOr : kAnd;
  for (Condition& part : result.parts_) part = part.Normalized(negate);
  return result;
}

Condition Condition::Negation() const { return Normalized(true); }

std::vector<Condition> Condition::Conjuncts() const {
  const Condition normal = Normalized(false);
  if (normal.kind_ != kAnd) return {normal};
  std::vector<Condition> all;
  for (const Condition& part : normal.parts_) {
    for (Condition& conjunct : part.Conjuncts()) all.push_back(std::move(conjunct));
  }
  return all;
}

bool Condition::IsComparison(Observable* observable, Comparison* comparison,
                             uint64_t* constant) const {
  if (kind_ != kComparison || negated_ || left_.is_constant || !right_.is_constant) return false;
  *observable = left_.observable;
  *comparison = comparison_;
  *constant = right_.constant;
  return true;
}

}  // namespace twinmmu::coherence
