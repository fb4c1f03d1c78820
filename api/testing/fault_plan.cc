#include "api/testing/fault_plan.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace twinmmu {
namespace {

void AppendName(std::string* out, DriverCall call) { absl::StrAppend(out, DriverCallName(call)); }

}  // namespace

void FaultPlan::FailNth(uint64_t n, DriverCode code, std::vector<DriverCall> calls) {
  Add(absl::StrCat("FailNth(", n, ")"), code, std::move(calls),
      [n](uint64_t number) { return number == n; });
}

void FaultPlan::FailEvery(uint64_t k, DriverCode code, std::vector<DriverCall> calls) {
  Add(absl::StrCat("FailEvery(", k, ")"), code, std::move(calls),
      [k](uint64_t number) { return k != 0 && number % k == 0; });
}

void FaultPlan::FailRandomly(double probability, uint64_t seed, DriverCode code,
                             std::vector<DriverCall> calls) {
  // A distribution of the standard library may differ between libraries; 53 bits are a double's.
  const auto fails = [probability, engine = std::mt19937_64(seed)](uint64_t) mutable {
    return static_cast<double>(engine() >> 11) * 0x1p-53 < probability;
  };
  Add(absl::StrCat("FailRandomly(", probability, ", seed ", seed, ")"), code, std::move(calls),
      fails);
}

void FaultPlan::Add(absl::string_view name, DriverCode code, std::vector<DriverCall> calls,
                    std::function<bool(uint64_t)> fails) {
  const std::string of = calls.empty() ? "all calls" : absl::StrJoin(calls, ", ", AppendName);
  const std::lock_guard lock(mutex_);
  rules_.push_back({absl::StrCat(name, " of ", of), code, std::move(calls), std::move(fails)});
}

void FaultPlan::Clear() {
  const std::lock_guard lock(mutex_);
  rules_.clear();
  asked_ = 0;
  fired_ = 0;
}

uint64_t FaultPlan::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

uint64_t FaultPlan::fired() const {
  const std::lock_guard lock(mutex_);
  return fired_;
}

absl::Status FaultPlan::Ask(DriverCall call) {
  const std::lock_guard lock(mutex_);
  ++asked_;
  const Rule* first = nullptr;
  for (Rule& rule : rules_) {
    const bool about = rule.calls.empty() ||
                       std::find(rule.calls.begin(), rule.calls.end(), call) != rule.calls.end();
    if (!about) continue;
    const bool fails = rule.fails(++rule.counted) && rule.code != DriverCode::kSuccess;
    if (fails && first == nullptr) first = &rule;
  }
  if (first == nullptr) return absl::OkStatus();
  ++fired_;
  const absl::string_view name = DriverCallName(call);
  return MakeDriverStatus(
      {first->code, ErrorOrigin::kInjected, std::string(name)},
      absl::StrCat(name, " failed: ", DriverCodeName(first->code), ", injected by rule ",
                   first - rules_.data() + 1, ", ", first->text, ", at its call ", first->counted,
                   " (call ", asked_, " in all)"));
}

}  // namespace twinmmu
