// Candidate: an execution that may turn out to be none: a choice of who reads from whom, and the
// values that come of it.

#ifndef TWINMMU_SIM_COHERENCE_LITMUS_CANDIDATE_H_
#define TWINMMU_SIM_COHERENCE_LITMUS_CANDIDATE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/coherence/litmus/program_orders.h"

namespace twinmmu::coherence {

class Candidate {
 public:
  static constexpr int kInitial = -1;  // the source of a read of the initial value

  // The orders must outlive it. All reads have the source kInitial.
  explicit Candidate(const ProgramOrders& orders)
      : orders_(orders),
        source_(orders.events.size(), kInitial),
        there_(orders.events.size(), true) {}

  const ProgramOrders& orders() const { return orders_; }

  // The write that a read takes its value from.
  int source(int read) const { return source_[read]; }
  void SetSource(int read, int write) { source_[read] = write; }

  // From the sources; the rest of this class is about what this found. False: there is no such
  // execution, because a value comes out of thin air, a write that is read does not take place, or
  // a loop would not end.
  bool ComputeValues();

  uint64_t value(int event) const { return values_[event]; }
  // Of the write of an atomic operation that compares: whether it takes place.
  bool IsThere(int event) const { return there_[event]; }
  bool IsAccess(int event) const { return orders_.events[event].location >= 0 && IsThere(event); }
  // What a register holds at the end.
  uint64_t FinalRegister(int thread, int reg);

 private:
  std::optional<uint64_t> RegisterBefore(int thread, int reg, int index);
  std::optional<uint64_t> ResultOf(int thread, int index);
  std::optional<uint64_t> Operand(const Event& event, const Value& value);
  std::optional<uint64_t> ValueOf(int event);
  std::optional<uint64_t> WrittenBy(int event);
  bool DependenciesHold() const;

  const ProgramOrders& orders_;
  std::vector<int> source_;
  std::vector<bool> there_;
  std::vector<uint64_t> values_;
  std::vector<char> state_;  // of values_: 0 not known, 1 being looked for, 2 known
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_LITMUS_CANDIDATE_H_
