#include "sim/coherence/litmus/explore.h"

#include <algorithm>
#include <random>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sim/coherence/litmus/guard.h"
#include "sim/coherence/litmus/litmus_run.h"
#include "sim/coherence/model/value_choice.h"

namespace twinmmu::coherence {
namespace {

// Repeats recorded choices, then takes the first of each; Next goes to the next sequence.
class AllChoices final : public Chooser {
 public:
  int ChooseRead(const Read&, const std::vector<int>& candidates) override {
    return candidates[Choose(static_cast<uint32_t>(candidates.size()))];
  }
  uint64_t ChooseAfter(uint64_t open) override {
    uint64_t chosen = 0;
    for (; open != 0; open &= open - 1) {
      if (Choose(2) == 1) chosen |= open & ~(open - 1);
    }
    return chosen;
  }
  void Started(const Place&) override {}
  void Stored(const Place&, LocationId, AddressId) override {}
  void Done(const Place&, const Instruction&) override {}

  void Rewind() { position_ = 0; }
  bool Next() {
    tape_.resize(position_);
    while (!tape_.empty() && tape_.back().first + 1 == tape_.back().second) tape_.pop_back();
    if (tape_.empty()) return false;
    ++tape_.back().first;
    return true;
  }

 private:
  uint32_t Choose(uint32_t count) {
    if (position_ == tape_.size()) tape_.emplace_back(0, count);
    return tape_[position_++].first;
  }
  std::vector<std::pair<uint32_t, uint32_t>> tape_;  // choice, of how many
  size_t position_ = 0;
};

// A policy. Writes come in the order of time.
class PolicyChooser final : public Chooser {
 public:
  PolicyChooser(Policy policy, uint64_t seed) : policy_(policy), random_(seed) {}

  int ChooseRead(const Read& read, const std::vector<int>& candidates) override {
    const auto newest = std::max_element(candidates.begin(), candidates.end());
    ChoiceOfRead choice;
    choice.sm = SmOf(read.place);
    choice.location = read.location;
    choice.address = read.address;
    const Instruction& instruction = *read.instruction;
    choice.is_cached =
        Caches::Serves({instruction.semantics, instruction.scope}, instruction.Writes());
    choice.newest_is_strong = read.newest_is_strong;
    if (policy_ == Policy::kRandom) choice.random = random_();
    const std::vector<uint64_t> writes(candidates.begin(), candidates.end());
    return candidates[Choose(policy_, choice, writes,
                             static_cast<size_t>(newest - candidates.begin()), &caches_)];
  }
  uint64_t ChooseAfter(uint64_t) override { return 0; }
  void Started(const Place& place) override { caches_.Invalidate(SmOf(place)); }
  void Stored(const Place& place, LocationId location, AddressId address) override {
    caches_.Drop(SmOf(place), location, address);
  }
  void Done(const Place& place, const Instruction& instruction) override {
    const bool ends =
        instruction.IsAccess()
            ? Caches::EndsWith({instruction.semantics, instruction.scope})
            : instruction.kind == Instruction::kAliasFence ||
                  instruction.kind == Instruction::kAliasAcquireFence ||
                  (instruction.kind == Instruction::kFence && instruction.scope != Scope::kCta);
    if (ends) caches_.Invalidate(SmOf(place));
  }
  uint64_t Random() { return random_(); }
  void SetPolicy(Policy policy) { policy_ = policy; }

 private:
  static uint64_t SmOf(const Place& place) {
    return uint64_t{static_cast<uint32_t>(place.gpu)} << 32 | static_cast<uint32_t>(place.cta);
  }

  Policy policy_;
  std::mt19937_64 random_;
  Caches caches_;
};

}  // namespace

absl::StatusOr<Exploration> Explore(const LitmusTest& test, const Modes& modes,
                                    uint64_t max_states) {
  Exploration result;
  GuardedSet<Hazard> hazards(GuardsOf(test));
  std::unordered_set<std::string> seen;
  std::vector<LitmusRun> open;
  const auto add = [&](LitmusRun run) {
    const std::vector<uint64_t> key = run.Key();
    std::string bytes(reinterpret_cast<const char*>(key.data()), key.size() * sizeof(uint64_t));
    if (seen.insert(std::move(bytes)).second) open.push_back(std::move(run));
  };
  add(LitmusRun(test, modes));
  const int threads = static_cast<int>(test.program.threads.size());
  while (!open.empty()) {
    if (++result.states > max_states) {
      return absl::ResourceExhaustedError(absl::StrCat("more than ", max_states, " states"));
    }
    const LitmusRun run = std::move(open.back());
    open.pop_back();
    if (run.IsDone()) {
      for (const Outcome& outcome : run.Outcomes()) {
        const auto value_of = [&](const Observable& observable) {
          const auto found =
              std::find(test.observables.begin(), test.observables.end(), observable);
          return outcome[found - test.observables.begin()];
        };
        hazards.Add(value_of, run.hazards());
        result.outcomes.insert(outcome);
      }
      continue;
    }
    for (int t = 0; t < threads; ++t) {
      if (!run.CanStep(t)) continue;
      AllChoices choices;
      do {
        choices.Rewind();
        LitmusRun next = run;
        if (next.Step(t, &choices)) add(std::move(next));
      } while (choices.Next());
    }
  }
  result.hazards = hazards.found();
  return result;
}

std::optional<SingleRun> RunOnce(const LitmusTest& test, const Modes& modes, Policy policy,
                                 uint64_t seed) {
  LitmusRun run(test, modes);
  PolicyChooser chooser(policy, seed);
  const int threads = static_cast<int>(test.program.threads.size());
  while (!run.IsDone()) {
    std::vector<int> ready;
    for (int t = 0; t < threads; ++t) {
      if (run.CanStep(t)) ready.push_back(t);
    }
    // A loop that waits for a value gets the newest one in the end, whatever the policy.
    bool moved = false;
    for (const Policy used : {policy, Policy::kCoherent}) {
      std::vector<int> left = ready;
      chooser.SetPolicy(used);
      while (!left.empty() && !moved) {
        const size_t index = chooser.Random() % left.size();
        LitmusRun next = run;
        moved = next.Step(left[index], &chooser);
        if (moved) run = std::move(next);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(index));
      }
    }
    if (!moved) return std::nullopt;
  }
  const std::vector<Outcome> outcomes = run.Outcomes();
  return SingleRun{outcomes.back(), run.hazards()};
}

}  // namespace twinmmu::coherence
