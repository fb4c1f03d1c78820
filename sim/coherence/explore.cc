#include "sim/coherence/explore.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sim/coherence/guard.h"
#include "sim/coherence/machine.h"

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
    const int newest = *std::max_element(candidates.begin(), candidates.end());
    switch (policy_) {
      case Policy::kCoherent:
        return newest;
      case Policy::kStale:
        return read.newest_is_strong ? newest : candidates.front();
      case Policy::kRandom:
        return candidates[random_() % candidates.size()];
      case Policy::kL1:
        break;
    }
    const Instruction& instruction = *read.instruction;
    const bool cached =
        !instruction.Writes() && (!instruction.IsStrong() || instruction.scope == Scope::kCta);
    if (!cached) return newest;
    const Line line{read.place.gpu, read.place.cta, read.location, read.address};
    const auto found = lines_.find(line);
    if (found != lines_.end() &&
        std::count(candidates.begin(), candidates.end(), found->second) != 0) {
      return found->second;
    }
    lines_[line] = newest;
    return newest;
  }
  uint64_t ChooseAfter(uint64_t) override { return 0; }
  void Started(const Place& place) override { Invalidate(place); }
  void Done(const Place& place, const Instruction& instruction) override {
    if (instruction.IsAccess()) {
      if (instruction.Writes()) Drop(place, static_cast<AddressId>(instruction.address));
      if (Acquires(instruction.semantics) && instruction.scope != Scope::kCta) Invalidate(place);
    } else if (instruction.kind == Instruction::kAliasFence ||
               instruction.kind == Instruction::kAliasAcquireFence ||
               (instruction.kind == Instruction::kFence && instruction.scope != Scope::kCta)) {
      Invalidate(place);
    }
  }
  uint64_t Random() { return random_(); }
  void SetPolicy(Policy policy) { policy_ = policy; }

 private:
  using Line = std::tuple<int, int, LocationId, AddressId>;  // of a multiprocessor: GPU and CTA

  void Invalidate(const Place& place) {
    for (auto line = lines_.begin(); line != lines_.end();) {
      const bool here =
          std::get<0>(line->first) == place.gpu && std::get<1>(line->first) == place.cta;
      line = here ? lines_.erase(line) : std::next(line);
    }
  }
  void Drop(const Place& place, AddressId address) {
    for (auto line = lines_.begin(); line != lines_.end();) {
      const bool here = std::get<0>(line->first) == place.gpu &&
                        std::get<1>(line->first) == place.cta &&
                        std::get<3>(line->first) == address;
      line = here ? lines_.erase(line) : std::next(line);
    }
  }

  Policy policy_;
  std::mt19937_64 random_;
  std::map<Line, int> lines_;
};

}  // namespace

absl::StatusOr<Exploration> Explore(const LitmusTest& test, const Modes& modes,
                                    uint64_t max_states) {
  Exploration result;
  GuardedSet<Hazard> hazards(GuardsOf(test));
  std::unordered_set<std::string> seen;
  std::vector<Machine> open;
  const auto add = [&](Machine machine) {
    const std::vector<uint64_t> key = machine.Key();
    std::string bytes(reinterpret_cast<const char*>(key.data()), key.size() * sizeof(uint64_t));
    if (seen.insert(std::move(bytes)).second) open.push_back(std::move(machine));
  };
  add(Machine(test, modes));
  const int threads = static_cast<int>(test.program.threads.size());
  while (!open.empty()) {
    if (++result.states > max_states) {
      return absl::ResourceExhaustedError(absl::StrCat("more than ", max_states, " states"));
    }
    const Machine machine = std::move(open.back());
    open.pop_back();
    if (machine.IsDone()) {
      for (const Outcome& outcome : machine.Outcomes()) {
        const auto value_of = [&](const Observable& observable) {
          const auto found =
              std::find(test.observables.begin(), test.observables.end(), observable);
          return outcome[found - test.observables.begin()];
        };
        hazards.Add(value_of, machine.hazards());
        result.outcomes.insert(outcome);
      }
      continue;
    }
    for (int t = 0; t < threads; ++t) {
      if (!machine.CanStep(t)) continue;
      AllChoices choices;
      do {
        choices.Rewind();
        Machine next = machine;
        if (next.Step(t, &choices)) add(std::move(next));
      } while (choices.Next());
    }
  }
  result.hazards = hazards.found();
  return result;
}

std::optional<SingleRun> RunOnce(const LitmusTest& test, const Modes& modes, Policy policy,
                                 uint64_t seed) {
  Machine machine(test, modes);
  PolicyChooser chooser(policy, seed);
  const int threads = static_cast<int>(test.program.threads.size());
  while (!machine.IsDone()) {
    std::vector<int> ready;
    for (int t = 0; t < threads; ++t) {
      if (machine.CanStep(t)) ready.push_back(t);
    }
    // A loop that waits for a value gets the newest one in the end, whatever the policy.
    bool moved = false;
    for (const Policy used : {policy, Policy::kCoherent}) {
      std::vector<int> left = ready;
      chooser.SetPolicy(used);
      while (!left.empty() && !moved) {
        const size_t index = chooser.Random() % left.size();
        Machine next = machine;
        moved = next.Step(left[index], &chooser);
        if (moved) machine = std::move(next);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(index));
      }
    }
    if (!moved) return std::nullopt;
  }
  const std::vector<Outcome> outcomes = machine.Outcomes();
  return SingleRun{outcomes.back(), machine.hazards()};
}

}  // namespace twinmmu::coherence
