#include "sim/coherence/enumerate.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sim/coherence/events.h"
#include "sim/coherence/guard.h"

namespace twinmmu::coherence {
namespace {

constexpr int kInitial = -1;
// Seconds.
constexpr uint64_t kMaxCandidates = 2'000'000;
constexpr size_t kMaxSequentialFences = 6;

class Enumerator {
 public:
  Enumerator(const LitmusTest& test, const Modes& modes)
      : test_(test),
        program_(test.program),
        modes_(modes),
        events_(EventsOf(program_)),
        races_(GuardsOf(test)),
        causal_races_(GuardsOf(test)) {}

  absl::StatusOr<Enumeration> Run() {
    if (events_.size() > kMaxEvents) {
      return absl::ResourceExhaustedError(
          absl::StrCat(events_.size(), " events; the most is ", kMaxEvents));
    }
    Prepare();
    if (fences_.size() > kMaxSequentialFences) {
      return absl::ResourceExhaustedError(
          absl::StrCat(fences_.size(), " fence.sc; the most is ", kMaxSequentialFences));
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
  int size() const { return static_cast<int>(events_.size()); }
  Relation Empty() const { return Relation(events_.size(), 0); }
  bool MorallyStrong(int a, int b) const {
    return IsMorallyStrong(program_, events_[a], events_[b], modes_);
  }
  // Of the write of an atomic operation that compares: whether it takes place.
  bool IsThere(int event) const { return there_[event]; }

  void Prepare() {
    program_order_ = Empty();
    for (int i = 0; i < size(); ++i) {
      const Event& event = events_[i];
      if (event.kind == Event::kRead) reads_.push_back(i);
      if (event.kind == Event::kWrite) writes_.push_back(i);
      if (event.instruction != nullptr && event.instruction->sequential) fences_.push_back(i);
      for (int j = 0; j < size(); ++j) {
        if (IsProgramOrdered(event, events_[j])) Add(i, j, &program_order_);
      }
    }
    source_.assign(events_.size(), kInitial);
    there_.assign(events_.size(), true);
    fixed_ = program_order_;
    AddBarriers();
    AddBoundaries();
    AddPatterns();
  }

  // The k-th bar.sync n of a thread is that of the others of its CTA.
  void AddBarriers() {
    std::map<std::tuple<int, int, int, int>, std::vector<int>> arrivals, departures;
    std::map<std::pair<int, int>, int> turns;
    for (int i = 0; i < size(); ++i) {
      const Event& event = events_[i];
      if (event.kind != Event::kArrive && event.kind != Event::kDepart) continue;
      const int number = event.instruction->barrier;
      int& turn = turns[{event.thread, number}];
      if (event.kind == Event::kArrive) ++turn;
      const Place& place = program_.threads[event.thread].place;
      (event.kind == Event::kArrive ? arrivals : departures)[{place.gpu, place.cta, number, turn}]
          .push_back(i);
    }
    for (const auto& [key, all] : departures) {
      for (const int departure : all) {
        for (const int arrival : arrivals[key]) Add(arrival, departure, &fixed_);
      }
    }
  }

  // The end of a task comes before the start of what waits for it.
  void AddBoundaries() {
    std::map<int, int> starts, ends;
    for (int i = 0; i < size(); ++i) {
      if (events_[i].kind == Event::kStart) starts[events_[i].thread] = i;
      if (events_[i].kind == Event::kEnd) ends[events_[i].thread] = i;
    }
    for (size_t t = 0; t < program_.threads.size(); ++t) {
      const Thread& thread = program_.threads[t];
      for (const int before : thread.after) Add(ends[before], starts[static_cast<int>(t)], &fixed_);
      for (int i = 0; i < size(); ++i) {
        const Event& event = events_[i];
        if (event.thread != static_cast<int>(t) || event.instruction == nullptr) continue;
        if (event.instruction->kind != Instruction::kGridWait) continue;
        for (const int primary : thread.after_trigger) Add(ends[primary], i, &fixed_);
      }
    }
  }

  // Release patterns (first operation, write) and acquire patterns (read, last operation).
  void AddPatterns() {
    for (int a = 0; a < size(); ++a) {
      const Instruction* first = events_[a].instruction;
      if (first == nullptr) continue;
      const bool access = first->IsAccess();
      if (Releases(first->semantics) && (first->IsFence() || events_[a].kind == Event::kWrite)) {
        for (const int write : writes_) {
          if (!events_[write].instruction->IsStrong()) continue;
          if (a == write || (Has(program_order_, a, write) &&
                             (!access || IsSameAddress(events_[a], events_[write])))) {
            releases_.emplace_back(a, write);
          }
        }
      }
      if (Acquires(first->semantics) && (first->IsFence() || events_[a].kind == Event::kRead)) {
        for (const int read : reads_) {
          if (!events_[read].instruction->IsStrong()) continue;
          if (a == read || (Has(program_order_, read, a) &&
                            (!access || IsSameAddress(events_[a], events_[read])))) {
            acquires_.emplace_back(read, a);
          }
        }
      }
    }
  }

  void ChooseSource(size_t next) {
    if (candidates_ > kMaxCandidates) return;
    if (next == reads_.size()) {
      ++candidates_;
      if (ComputeValues()) ChooseFenceOrder();
      return;
    }
    const int read = reads_[next];
    source_[read] = kInitial;
    ChooseSource(next + 1);
    for (const int write : writes_) {
      if (events_[write].location != events_[read].location) continue;
      // A later write through the same address is out of reach, whatever else there is.
      if (write == events_[read].partner) continue;
      if (Has(program_order_, read, write) && IsSameAddress(events_[read], events_[write]))
        continue;
      source_[read] = write;
      ChooseSource(next + 1);
    }
  }

  // --- Values.

  std::optional<uint64_t> RegisterBefore(int thread, int reg, int index) {
    const std::vector<Instruction>& instructions = program_.threads[thread].instructions;
    for (int i = index - 1; i >= 0; --i) {
      if (instructions[i].result == reg) return ResultOf(thread, i);
    }
    return 0;
  }

  std::optional<uint64_t> ResultOf(int thread, int index) {
    std::optional<uint64_t> result;
    for (const int read : reads_) {
      if (events_[read].thread != thread || events_[read].index != index) continue;
      const std::optional<uint64_t> value = ValueOf(read);
      if (!value) return std::nullopt;
      result = result ? Apply(events_[read].instruction->operation, *result, *value, 0) : *value;
    }
    return result;
  }

  std::optional<uint64_t> Operand(const Event& event, const Value& value) {
    if (value.reg < 0) return value.constant;
    return RegisterBefore(event.thread, value.reg, event.index);
  }

  // nullopt: a value that would come out of thin air.
  std::optional<uint64_t> ValueOf(int event) {
    if (state_[event] == 2) return values_[event];
    if (state_[event] == 1) return std::nullopt;
    state_[event] = 1;
    const Event& of = events_[event];
    std::optional<uint64_t> value;
    if (of.kind == Event::kRead) {
      value = source_[event] == kInitial ? program_.locations[of.location].initial
                                         : ValueOf(source_[event]);
    } else {
      value = Operand(of, of.instruction->value);
      if (of.partner >= 0 && value && of.instruction->operation != Arithmetic::kExchange) {
        const std::optional<uint64_t> old = ValueOf(of.partner);
        const std::optional<uint64_t> compare = Operand(of, of.instruction->compare);
        if (!old || !compare) return std::nullopt;
        there_[event] =
            of.instruction->operation != Arithmetic::kCompareAndSwap || *old == *compare;
        value = Apply(of.instruction->operation, *old, *value, *compare);
      }
    }
    if (!value) return std::nullopt;
    values_[event] = *value;
    state_[event] = 2;
    return value;
  }

  bool ComputeValues() {
    values_.assign(events_.size(), 0);
    state_.assign(events_.size(), 0);
    there_.assign(events_.size(), true);
    for (int i = 0; i < size(); ++i) {
      if ((events_[i].kind == Event::kRead || events_[i].kind == Event::kWrite) && !ValueOf(i)) {
        return false;
      }
    }
    for (const int read : reads_) {
      if (source_[read] != kInitial && !IsThere(source_[read])) return false;
      const Event& event = events_[read];
      const std::optional<Until>& until = event.instruction->until;
      if (until &&
          !Compare(*ResultOf(event.thread, event.index), until->comparison, until->value)) {
        return false;
      }
    }
    return DependenciesHold();
  }

  // What comes after a loop that waits for a value depends on that value.
  bool DependenciesHold() {
    Relation dependency = Empty();
    bool any = false;
    for (const int read : reads_) {
      if (source_[read] != kInitial) Add(source_[read], read, &dependency);
      if (!events_[read].instruction->until) continue;
      any = true;
      for (const int write : writes_) {
        if (Has(program_order_, read, write)) Add(read, write, &dependency);
      }
    }
    if (!any) return true;
    Close(&dependency);
    return IsIrreflexive(dependency);
  }

  // --- Orders that do not depend on the order of writes.

  void ChooseFenceOrder() {
    std::vector<int> order = fences_;
    std::set<Relation> seen;
    do {
      Relation sequence = Empty();
      for (size_t i = 0; i < order.size(); ++i) {
        for (size_t j = i + 1; j < order.size(); ++j) {
          if (MorallyStrong(order[i], order[j])) Add(order[i], order[j], &sequence);
        }
      }
      if (seen.insert(sequence).second) CheckCausality(sequence);
    } while (std::next_permutation(order.begin(), order.end()));
  }

  void ComputeObservation() {
    observation_ = Empty();
    for (const int read : reads_) {
      // Back through atomic operations.
      int from = read;
      for (size_t steps = 0; steps <= reads_.size(); ++steps) {
        const int write = source_[from];
        if (write == kInitial || !MorallyStrong(write, from)) break;
        Add(write, read, &observation_);
        from = events_[write].partner;
        if (from < 0) break;
      }
    }
  }

  void CheckCausality(const Relation& sequence) {
    ComputeObservation();
    base_ = fixed_;
    for (int i = 0; i < size(); ++i) base_[i] |= sequence[i];
    for (const auto& [first, write] : releases_) {
      if (!IsThere(write)) continue;
      for (const auto& [read, last] : acquires_) {
        if (Has(observation_, write, read) && MorallyStrong(first, last)) {
          Add(first, last, &base_);
        }
      }
    }
    Close(&base_);
    for (const int fence : fences_) {
      if (Has(base_, fence, fence)) return;
    }
    ComputeCause();
    for (const int read : reads_) {
      if (source_[read] != kInitial && Has(cause_, read, source_[read])) return;
    }
    Relation with_reads = base_;
    for (const int read : reads_) {
      if (source_[read] != kInitial) Add(source_[read], read, &with_reads);
    }
    Close(&with_reads);
    causal_ = IsIrreflexive(with_reads);
    ChooseWriteOrder();
  }

  bool IsAccess(int event) const { return events_[event].location >= 0 && IsThere(event); }

  bool Preserved(int x, int y) const {
    if (!Has(base_, x, y) || events_[x].location != events_[y].location) return false;
    if (IsSameAddress(events_[x], events_[y])) return true;
    bool half[kMaxEvents] = {};
    for (int f = 0; f < size(); ++f) {
      const Event& fence = events_[f];
      const bool boundary =
          fence.kind == Event::kStart ||
          (fence.instruction != nullptr && fence.instruction->kind == Instruction::kGridWait);
      if (!Has(base_, x, f) || !Has(base_, f, y)) continue;
      if (boundary &&
          (modes_.boundary == BoundaryMode::kPtx || fence.thread == events_[y].thread)) {
        return true;
      }
      if (fence.instruction == nullptr) continue;
      if (fence.instruction->kind == Instruction::kAliasFence) return true;
      half[f] = fence.instruction->kind == Instruction::kAliasReleaseFence;
    }
    for (int f = 0; f < size(); ++f) {
      for (int g = 0; half[f] && g < size(); ++g) {
        if (events_[g].instruction != nullptr &&
            events_[g].instruction->kind == Instruction::kAliasAcquireFence && Has(base_, f, g) &&
            Has(base_, g, y)) {
          return true;
        }
      }
    }
    return false;
  }

  void ComputeCause() {
    preserved_ = Empty();
    cause_ = Empty();
    for (int x = 0; x < size(); ++x) {
      for (int y = 0; y < size(); ++y) {
        if (IsAccess(x) && IsAccess(y) && Preserved(x, y)) Add(x, y, &preserved_);
      }
    }
    for (int x = 0; x < size(); ++x) {
      cause_[x] = preserved_[x];
      for (int z = 0; z < size(); ++z) {
        if (Has(observation_, x, z)) cause_[x] |= preserved_[z];
      }
    }
  }

  // --- The order of writes.

  void ChooseWriteOrder() {
    Relation order = Empty();
    std::vector<std::pair<int, int>> open;
    for (const int a : writes_) {
      for (const int b : writes_) {
        if (a == b || !IsThere(a) || !IsThere(b)) continue;
        if (events_[a].location != events_[b].location) continue;
        if (Has(cause_, a, b)) Add(a, b, &order);
        if (a < b && MorallyStrong(a, b)) open.emplace_back(a, b);
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
    for (const int read : reads_) {
      const int source = source_[read];
      const int own = events_[read].partner;
      for (const int write : writes_) {
        if (events_[write].location != events_[read].location || !IsThere(write)) continue;
        if (source != kInitial && !Has(order, source, write)) continue;
        if (Has(cause_, write, read)) return;  // something newer should have been read
        // Nothing comes between the two halves of an atomic operation.
        if (own >= 0 && IsThere(own) && write != own && MorallyStrong(write, own) &&
            Has(order, write, own)) {
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
        const Thread& thread = program_.threads[observable.thread];
        choices.push_back(*RegisterBefore(observable.thread, observable.index,
                                          static_cast<int>(thread.instructions.size())));
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
    const std::set<Race> races = RacesOf();
    for (const Outcome& outcome : outcomes) {
      const auto value_of = [&](const Observable& observable) {
        const auto found =
            std::find(test_.observables.begin(), test_.observables.end(), observable);
        return outcome[found - test_.observables.begin()];
      };
      races_.Add(value_of, races);
      if (causal_) causal_races_.Add(value_of, races);
    }
    if (causal_) result_.causal_outcomes.insert(outcomes.begin(), outcomes.end());
    result_.outcomes.insert(outcomes.begin(), outcomes.end());
  }

  // Of writes that nothing orders, any may be the last.
  std::vector<uint64_t> FinalValues(int location, const Relation& order) {
    std::set<uint64_t> values;
    for (const int write : writes_) {
      if (events_[write].location != location || !IsThere(write)) continue;
      bool last = true;
      for (const int other : writes_) last = last && !(IsThere(other) && Has(order, write, other));
      if (last) values.insert(values_[write]);
    }
    if (values.empty()) values.insert(program_.locations[location].initial);
    return std::vector<uint64_t>(values.begin(), values.end());
  }

  // --- Races.

  std::set<Race> RacesOf() {
    std::set<Race> races;
    for (int x = 0; x < size(); ++x) {
      for (int y = x + 1; y < size(); ++y) {
        if (!IsAccess(x) || !IsAccess(y) || events_[x].location != events_[y].location) continue;
        if (events_[x].kind != Event::kWrite && events_[y].kind != Event::kWrite) continue;
        if (events_[x].partner == y || Has(cause_, x, y) || Has(cause_, y, x)) continue;
        if (!IsRace(x, y)) continue;
        races.insert(Has(base_, y, x) ? MakeRace(y, x) : MakeRace(x, y));
      }
    }
    return races;
  }

  bool IsRace(int x, int y) const {
    if (!MorallyStrong(x, y)) return true;
    if (IsSameAddress(events_[x], events_[y])) return false;
    // A multicast and a unicast address that count as one: fine as synchronisation, and where
    // nothing else orders them; but what is ordered needs the fence, as other data does.
    return OrderedBefore(x, y) || OrderedBefore(y, x);
  }

  // Base causality, but for the edge that `y` itself makes by what it reads.
  bool OrderedBefore(int x, int y) const {
    for (int z = 0; z < size(); ++z) {
      if (Has(program_order_, z, y) && (z == x || Has(base_, x, z))) return true;
    }
    return false;
  }

  Race MakeRace(int x, int y) const {
    Race race;
    const Address& a = program_.addresses[events_[x].address];
    const Address& b = program_.addresses[events_[y].address];
    race.hazard = IsSameAddress(events_[x], events_[y])                    ? Hazard::kData
                  : a.device >= 0 && b.device >= 0 && a.device != b.device ? Hazard::kCrossDevice
                                                                           : Hazard::kAlias;
    race.first = {events_[x].thread, events_[x].index};
    race.second = {events_[y].thread, events_[y].index};
    race.ordered = Has(base_, x, y);
    if (!race.ordered) return race;
    for (size_t t = 0; t < program_.threads.size(); ++t) {
      const int thread = static_cast<int>(t);
      const int length = static_cast<int>(program_.threads[t].instructions.size());
      for (int after = -1; after < length; ++after) {
        if (Reaches(x, thread, after) && ReachedFrom(thread, after, y)) {
          race.fences.emplace_back(thread, after);
        }
      }
    }
    return race;
  }

  // Whether `x` would come before a fence after instruction `after` of the thread.
  bool Reaches(int x, int thread, int after) const {
    for (int e = 0; e < size(); ++e) {
      if (events_[e].thread == thread && events_[e].index <= after &&
          (e == x || Has(base_, x, e))) {
        return true;
      }
    }
    return false;
  }
  bool ReachedFrom(int thread, int after, int y) const {
    for (int e = 0; e < size(); ++e) {
      if (events_[e].thread == thread && events_[e].index > after && (e == y || Has(base_, e, y))) {
        return true;
      }
    }
    return false;
  }

  const LitmusTest& test_;
  const Program& program_;
  const Modes modes_;
  const std::vector<Event> events_;
  std::vector<int> reads_;
  std::vector<int> writes_;
  std::vector<int> fences_;  // fence.sc
  std::vector<std::pair<int, int>> releases_;
  std::vector<std::pair<int, int>> acquires_;
  Relation program_order_;
  Relation fixed_;  // and barriers, and boundaries

  // The candidate.
  uint64_t candidates_ = 0;
  std::vector<int> source_;
  std::vector<bool> there_;
  std::vector<uint64_t> values_;
  std::vector<char> state_;  // of values_: 0 not known, 1 being looked for, 2 known
  Relation observation_;
  Relation base_;
  Relation preserved_;
  Relation cause_;
  bool causal_ = false;

  Enumeration result_;
  GuardedSet<Race> races_;
  GuardedSet<Race> causal_races_;
};

}  // namespace

absl::StatusOr<Enumeration> Enumerate(const LitmusTest& test, const Modes& modes) {
  return Enumerator(test, modes).Run();
}

}  // namespace twinmmu::coherence
