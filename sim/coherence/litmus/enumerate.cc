#include "sim/coherence/litmus/enumerate.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sim/coherence/litmus/candidate.h"
#include "sim/coherence/litmus/causality.h"
#include "sim/coherence/litmus/events.h"
#include "sim/coherence/litmus/guard.h"
#include "sim/coherence/litmus/program_orders.h"
#include "sim/coherence/litmus/races.h"

namespace twinmmu::coherence {
namespace {

// Seconds.
constexpr uint64_t kMaxCandidates = 2'000'000;
constexpr size_t kMaxSequentialFences = 6;

// Chooses who reads from whom, then the order of fence.sc, then the order of writes.
class Enumerator {
 public:
  Enumerator(const LitmusTest& test, const ProgramOrders& orders)
      : test_(test),
        orders_(orders),
        candidate_(orders),
        races_(GuardsOf(test)),
        causal_races_(GuardsOf(test)) {}

  absl::StatusOr<Enumeration> Run() {
    if (orders_.fences.size() > kMaxSequentialFences) {
      return absl::ResourceExhaustedError(
          absl::StrCat(orders_.fences.size(), " fence.sc; the most is ", kMaxSequentialFences));
    }
    ChooseSource(0);
    if (candidates_ > kMaxCandidates) {
      return absl::ResourceExhaustedError(
          absl::StrCat("more than ", kMaxCandidates, " candidate executions"));
    }
    result_.races = races_.found();
    for (const Race& race : result_.races) result_.kinds.emplace(race.hazard, false);
    for (const Race& race : causal_races_.found()) result_.kinds.emplace(race.hazard, true);
    return std::move(result_);
  }

 private:
  const Event& event(int index) const { return orders_.events[index]; }

  void ChooseSource(size_t next) {
    if (candidates_ > kMaxCandidates) return;
    if (next == orders_.reads.size()) {
      ++candidates_;
      if (candidate_.ComputeValues()) ChooseFenceOrder();
      return;
    }
    const int read = orders_.reads[next];
    candidate_.SetSource(read, Candidate::kInitial);
    ChooseSource(next + 1);
    for (const int write : orders_.writes) {
      if (event(write).location != event(read).location) continue;
      if (write == event(read).partner) continue;
      // A later write through the same address is out of reach, whatever else there is.
      if (Has(orders_.program_order, read, write) && IsSameAddress(event(read), event(write))) {
        continue;
      }
      candidate_.SetSource(read, write);
      ChooseSource(next + 1);
    }
  }

  void ChooseFenceOrder() {
    std::vector<int> order = orders_.fences;
    std::set<Relation> seen;
    do {
      Relation sequence = orders_.Empty();
      for (size_t i = 0; i < order.size(); ++i) {
        for (size_t j = i + 1; j < order.size(); ++j) {
          if (orders_.AreMorallyStrong(order[i], order[j])) Add(order[i], order[j], &sequence);
        }
      }
      if (!seen.insert(sequence).second) continue;
      causality_ = CausalityOf(candidate_, sequence);
      if (causality_) ChooseWriteOrder();
    } while (std::next_permutation(order.begin(), order.end()));
  }

  void ChooseWriteOrder() {
    Relation order = orders_.Empty();
    std::vector<std::pair<int, int>> open;
    for (const int a : orders_.writes) {
      for (const int b : orders_.writes) {
        if (a == b || !candidate_.IsThere(a) || !candidate_.IsThere(b)) continue;
        if (event(a).location != event(b).location) continue;
        if (Has(causality_->cause, a, b)) Add(a, b, &order);
        if (a < b && orders_.AreMorallyStrong(a, b)) open.emplace_back(a, b);
      }
    }
    ChooseWriteOrder(order, open, 0);
  }

  void ChooseWriteOrder(Relation order, const std::vector<std::pair<int, int>>& open, size_t next) {
    if (++candidates_ > kMaxCandidates) return;
    Close(&order);
    if (!IsIrreflexive(order)) return;
    while (next < open.size() && (Has(order, open[next].first, open[next].second) ||
                                  Has(order, open[next].second, open[next].first))) {
      ++next;
    }
    if (next == open.size()) {
      CheckWriteOrder(order);
      return;
    }
    Relation other = order;
    Add(open[next].first, open[next].second, &order);
    Add(open[next].second, open[next].first, &other);
    ChooseWriteOrder(std::move(order), open, next + 1);
    ChooseWriteOrder(std::move(other), open, next + 1);
  }

  void CheckWriteOrder(const Relation& order) {
    for (const int read : orders_.reads) {
      const int source = candidate_.source(read);
      const int own = event(read).partner;
      for (const int write : orders_.writes) {
        if (event(write).location != event(read).location || !candidate_.IsThere(write)) continue;
        if (source != Candidate::kInitial && !Has(order, source, write)) continue;
        if (Has(causality_->cause, write, read)) return;  // something newer should have been read
        // Nothing comes between the two halves of an atomic operation.
        if (own >= 0 && candidate_.IsThere(own) && write != own &&
            orders_.AreMorallyStrong(write, own) && Has(order, write, own)) {
          return;
        }
      }
    }
    ++result_.executions;
    FinishOutcomes(order);
  }

  void FinishOutcomes(const Relation& order) {
    std::vector<Outcome> outcomes{Outcome()};
    for (const Observable& observable : test_.observables) {
      std::vector<uint64_t> choices;
      if (observable.thread >= 0) {
        choices.push_back(candidate_.FinalRegister(observable.thread, observable.index));
      } else {
        choices = FinalValues(observable.index, order);
      }
      std::vector<Outcome> longer;
      for (const Outcome& outcome : outcomes) {
        for (const uint64_t choice : choices) {
          longer.push_back(outcome);
          longer.back().push_back(choice);
        }
      }
      outcomes = std::move(longer);
    }
    const std::set<Race> races = RacesOf(candidate_, *causality_);
    for (const Outcome& outcome : outcomes) {
      const auto value_of = [&](const Observable& observable) {
        const auto found =
            std::find(test_.observables.begin(), test_.observables.end(), observable);
        return outcome[found - test_.observables.begin()];
      };
      races_.Add(value_of, races);
      if (causality_->causal) causal_races_.Add(value_of, races);
    }
    if (causality_->causal) result_.causal_outcomes.insert(outcomes.begin(), outcomes.end());
    result_.outcomes.insert(outcomes.begin(), outcomes.end());
  }

  // Of writes that nothing orders, any may be the last.
  std::vector<uint64_t> FinalValues(int location, const Relation& order) {
    std::set<uint64_t> values;
    for (const int write : orders_.writes) {
      if (event(write).location != location || !candidate_.IsThere(write)) continue;
      bool last = true;
      for (const int other : orders_.writes) {
        last = last && !(candidate_.IsThere(other) && Has(order, write, other));
      }
      if (last) values.insert(candidate_.value(write));
    }
    if (values.empty()) values.insert(orders_.program->locations[location].initial);
    return std::vector<uint64_t>(values.begin(), values.end());
  }

  const LitmusTest& test_;
  const ProgramOrders& orders_;
  uint64_t candidates_ = 0;
  Candidate candidate_;
  std::optional<Causality> causality_;  // of the candidate

  Enumeration result_;
  GuardedSet<Race> races_;
  GuardedSet<Race> causal_races_;
};

}  // namespace

absl::StatusOr<Enumeration> Enumerate(const LitmusTest& test, const Modes& modes) {
  std::vector<Event> events = EventsOf(test.program);
  if (events.size() > kMaxEvents) {
    return absl::ResourceExhaustedError(
        absl::StrCat(events.size(), " events; the most is ", kMaxEvents));
  }
  if (test.program.addresses.size() > kMaxEvents) {
    return absl::ResourceExhaustedError(
        absl::StrCat(test.program.addresses.size(), " addresses; the most is ", kMaxEvents));
  }
  const ProgramOrders orders = OrdersOf(test.program, modes, std::move(events));
  return Enumerator(test, orders).Run();
}

}  // namespace twinmmu::coherence
