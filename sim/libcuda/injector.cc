#include "sim/libcuda/injector.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace twinmmu::libcuda {
namespace {

constexpr char kForm[] =
    "a rule is CALL:WHEN:CODE, as cuMemMap:3:OUT_OF_MEMORY; WHEN is a number from 1, every=NUMBER "
    "or p=PROBABILITY,seed=NUMBER";
constexpr int kMaxCode = 999;

// The generator splitmix64: a number that looks random for each number.
uint64_t Mix(uint64_t n) {
  n += 0x9e37'79b9'7f4a'7c15;
  n = (n ^ (n >> 30)) * 0xbf58'476d'1ce4'e5b9;
  n = (n ^ (n >> 27)) * 0x94d0'49bb'1331'11eb;
  return n ^ (n >> 31);
}

// Which calls of a function, by their numbers from 1.
struct When {
  enum { kOnce, kEvery, kRandom } how = kOnce;
  uint64_t number = 0;
  double probability = 0;
  uint64_t seed = 0;

  bool Has(uint64_t call) const {
    if (how == kOnce) return call == number;
    if (how == kEvery) return call % number == 0;
    // 53 bits are what a double holds exactly.
    return static_cast<double>(Mix(Mix(seed) + call) >> 11) * 0x1p-53 < probability;
  }
};

std::optional<When> ParseWhen(absl::string_view text) {
  When when;
  if (absl::SimpleAtoi(text, &when.number)) {
    return when.number > 0 ? std::optional(when) : std::nullopt;
  }
  if (absl::ConsumePrefix(&text, "every=")) {
    when.how = When::kEvery;
    const bool right = absl::SimpleAtoi(text, &when.number) && when.number > 0;
    return right ? std::optional(when) : std::nullopt;
  }
  if (!absl::ConsumePrefix(&text, "p=")) return std::nullopt;
  when.how = When::kRandom;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(",seed=", 1));
  const bool right = absl::SimpleAtod(parts.first, &when.probability) && when.probability >= 0 &&
                     when.probability <= 1 &&
                     (parts.second.empty() || absl::SimpleAtoi(parts.second, &when.seed));
  return right ? std::optional(when) : std::nullopt;
}

// "CUDA_ERROR_OUT_OF_MEMORY", "OUT_OF_MEMORY", "2".
std::optional<DriverCode> ParseCode(absl::string_view text) {
  int number = 0;
  if (absl::SimpleAtoi(text, &number)) {
    return number > 0 && number <= kMaxCode ? std::optional(DriverCode(number)) : std::nullopt;
  }
  for (int code = 1; code <= kMaxCode; ++code) {
    const std::string name = DriverCodeName(DriverCode(code));
    if (text == name || absl::StrCat("CUDA_ERROR_", text) == name) return DriverCode(code);
  }
  return std::nullopt;
}

std::string AllCodes() {
  std::vector<std::string> names;
  for (int code = 1; code <= kMaxCode; ++code) {
    std::string name = DriverCodeName(DriverCode(code));
    if (!absl::StrContains(name, ' ')) names.push_back(std::move(name));
  }
  return absl::StrJoin(names, ", ");
}

template <typename... Parts>
absl::Status Wrong(absl::string_view rule, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("rule \"", rule, "\": ", parts...));
}

}  // namespace

struct Injector::Rule {
  std::string text;
  When when;
  DriverCode code = DriverCode::kUnknown;
};

// By function.
struct Injector::Rules {
  struct Function {
    std::vector<Rule> rules;
    std::atomic<uint64_t> calls{0};
  };
  std::deque<Function> functions;
};

Injector::Injector(absl::Span<const char* const> calls,
                   std::function<void(const InjectedFailure&)> notice)
    : calls_(calls), notice_(std::move(notice)) {}

Injector::~Injector() = default;

absl::Status Injector::Parse(absl::string_view text, absl::Span<const char* const> calls,
                             Rules& rules) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  if (parts.size() != 3) return Wrong(text, kForm);
  const auto call = std::find(calls.begin(), calls.end(), parts[0]);
  if (call == calls.end()) {
    return Wrong(text, "there is no call \"", parts[0], "\"; there are ",
                 absl::StrJoin(calls, ", "));
  }
  const std::optional<When> when = ParseWhen(parts[1]);
  if (!when.has_value()) return Wrong(text, "\"", parts[1], "\" is not a valid WHEN; ", kForm);
  const std::optional<DriverCode> code = ParseCode(parts[2]);
  if (!code.has_value()) {
    return Wrong(text, "there is no error \"", parts[2], "\"; it is a number from 1 to ", kMaxCode,
                 ", or, with or without CUDA_ERROR_, one of ", AllCodes());
  }
  rules.functions[static_cast<size_t>(call - calls.begin())].rules.push_back(
      Rule{std::string(text), *when, *code});
  return absl::OkStatus();
}

absl::Status Injector::SetRules(absl::string_view text) {
  auto rules = std::make_unique<Rules>();
  rules->functions.resize(calls_.size());
  bool any = false;
  for (absl::string_view rule : absl::StrSplit(text, ';')) {
    rule = absl::StripAsciiWhitespace(rule);
    if (rule.empty()) continue;
    const absl::Status parsed = Parse(rule, calls_, *rules);
    if (!parsed.ok()) return parsed;
    any = true;
  }
  if (!any) return absl::OkStatus();
  owned_ = std::move(rules);
  rules_.store(owned_.get(), std::memory_order_release);
  return absl::OkStatus();
}

std::optional<DriverCode> Injector::FailsByRule(size_t call) {
  Rules::Function& function = rules_.load(std::memory_order_acquire)->functions[call];
  if (function.rules.empty()) return std::nullopt;
  const uint64_t number = function.calls.fetch_add(1, std::memory_order_relaxed) + 1;
  for (const Rule& rule : function.rules) {
    if (!rule.when.Has(number)) continue;
    if (notice_) notice_(InjectedFailure{call, number, rule.code, rule.text});
    return rule.code;
  }
  return std::nullopt;
}

}  // namespace twinmmu::libcuda
