// ProgramOrders: what all executions of a program have in common: its events, and the orders
// between them that no value changes.

#ifndef TWINMMU_SIM_COHERENCE_LITMUS_PROGRAM_ORDERS_H_
#define TWINMMU_SIM_COHERENCE_LITMUS_PROGRAM_ORDERS_H_

#include <utility>
#include <vector>

#include "sim/coherence/litmus/events.h"
#include "sim/coherence/model/litmus_program.h"

namespace twinmmu::coherence {

struct ProgramOrders {
  const Program* program;
  Modes modes;
  std::vector<Event> events;
  std::vector<int> reads;
  std::vector<int> writes;
  std::vector<int> fences;  // fence.sc
  Relation program_order;
  Relation fixed;  // and barriers, and boundaries
  // Release patterns (first operation, write) and acquire patterns (read, last operation).
  std::vector<std::pair<int, int>> releases;
  std::vector<std::pair<int, int>> acquires;

  int size() const { return static_cast<int>(events.size()); }
  Relation Empty() const { return Relation(events.size(), 0); }
  bool AreMorallyStrong(int a, int b) const {
    return IsMorallyStrong(*program, events[a], events[b], modes);
  }
};

// `events` are those of the program, no more than kMaxEvents. The program must outlive the result.
ProgramOrders OrdersOf(const Program& program, const Modes& modes, std::vector<Event> events);

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_LITMUS_PROGRAM_ORDERS_H_
