#include "sim/coherence/litmus/program_orders.h"

#include <map>
#include <tuple>

namespace twinmmu::coherence {
namespace {

// The k-th bar.sync n of a thread is that of the others of its CTA.
void AddBarriers(ProgramOrders* orders) {
  std::map<std::tuple<int, int, int, int>, std::vector<int>> arrivals, departures;
  std::map<std::pair<int, int>, int> turns;
  for (int i = 0; i < orders->size(); ++i) {
    const Event& event = orders->events[i];
    if (event.kind != Event::kArrive && event.kind != Event::kDepart) continue;
    int& turn = turns[{event.thread, event.instruction->barrier}];
    if (event.kind == Event::kArrive) ++turn;
    const Place& place = orders->program->threads[event.thread].place;
    (event.kind == Event::kArrive ? arrivals
                                  : departures)[MeetingOf(place, *event.instruction, turn)]
        .push_back(i);
  }
  for (const auto& [key, all] : departures) {
    for (const int departure : all) {
      for (const int arrival : arrivals[key]) {
        const Event& from = orders->events[arrival];
        const Event& to = orders->events[departure];
        if (Orders(*from.instruction, orders->program->threads[from.thread].place, *to.instruction,
                   orders->program->threads[to.thread].place)) {
          Add(arrival, departure, &orders->fixed);
        }
      }
    }
  }
}

// The end of a task comes before the start of what waits for it.
void AddBoundaries(ProgramOrders* orders) {
  std::map<int, int> starts, ends;
  for (int i = 0; i < orders->size(); ++i) {
    const Event& event = orders->events[i];
    if (event.kind == Event::kStart) starts[event.thread] = i;
    if (event.kind == Event::kEnd) ends[event.thread] = i;
  }
  for (size_t t = 0; t < orders->program->threads.size(); ++t) {
    const Thread& thread = orders->program->threads[t];
    for (const int before : thread.after) {
      Add(ends[before], starts[static_cast<int>(t)], &orders->fixed);
    }
    for (int i = 0; i < orders->size(); ++i) {
      const Event& event = orders->events[i];
      if (event.thread != static_cast<int>(t) || event.instruction == nullptr) continue;
      if (event.instruction->kind != Instruction::kGridWait) continue;
      for (const int primary : thread.after_trigger) Add(ends[primary], i, &orders->fixed);
    }
  }
}

void AddPatterns(ProgramOrders* orders) {
  const std::vector<Event>& events = orders->events;
  for (int a = 0; a < orders->size(); ++a) {
    const Instruction* first = events[a].instruction;
    if (first == nullptr) continue;
    const bool access = first->IsAccess();
    if (Releases(first->semantics) && (first->IsFence() || events[a].kind == Event::kWrite)) {
      for (const int write : orders->writes) {
        if (!events[write].instruction->IsStrong()) continue;
        if (a == write || (Has(orders->program_order, a, write) &&
                           (!access || IsSameAddress(events[a], events[write])))) {
          orders->releases.emplace_back(a, write);
        }
      }
    }
    if (Acquires(first->semantics) && (first->IsFence() || events[a].kind == Event::kRead)) {
      for (const int read : orders->reads) {
        if (!events[read].instruction->IsStrong()) continue;
        if (a == read || (Has(orders->program_order, read, a) &&
                          (!access || IsSameAddress(events[a], events[read])))) {
          orders->acquires.emplace_back(read, a);
        }
      }
    }
  }
}

}  // namespace

ProgramOrders OrdersOf(const Program& program, const Modes& modes, std::vector<Event> events) {
  ProgramOrders orders;
  orders.program = &program;
  orders.modes = modes;
  orders.events = std::move(events);
  orders.program_order = orders.Empty();
  for (int i = 0; i < orders.size(); ++i) {
    const Event& event = orders.events[i];
    if (event.kind == Event::kRead) orders.reads.push_back(i);
    if (event.kind == Event::kWrite) orders.writes.push_back(i);
    if (event.instruction != nullptr && event.instruction->sequential) orders.fences.push_back(i);
    for (int j = 0; j < orders.size(); ++j) {
      if (IsProgramOrdered(event, orders.events[j])) Add(i, j, &orders.program_order);
    }
  }
  orders.fixed = orders.program_order;
  AddBarriers(&orders);
  AddBoundaries(&orders);
  AddPatterns(&orders);
  return orders;
}

}  // namespace twinmmu::coherence
