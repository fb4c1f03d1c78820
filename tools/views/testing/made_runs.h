// Runs that never happened, but could have: for tests of views.

#ifndef TWINMMU_TOOLS_VIEWS_TESTING_MADE_RUNS_H_
#define TWINMMU_TOOLS_VIEWS_TESTING_MADE_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/record/event.h"

namespace twinmmu {

// A buffer that grows in place while it is used, and one that is mapped twice for reading around
// its end.
void MakeGrowth(record::EventSink& sink);
// Expandable segments of two streams, from which pieces are given back: gaps remain.
void MakeFragmentation(record::EventSink& sink);
// A server of weights and a worker that imports them; both sleep and wake. The worker leaks.
void MakeSleepAndWake(record::EventSink& sink);
// Memory is unmapped under a kernel: a fault, and all that fails after it.
void MakeCrash(record::EventSink& sink);
// At least `events` events, of 40 reservations, linear memory and pools in two processes.
void MakeManyEvents(record::EventSink& sink, size_t events);
// Names and words that are markup, no UTF-8, and numbers that are too large.
void MakeHostile(record::EventSink& sink);
// Events of all kinds in any order, of few addresses, allocations and processes.
void MakeRandom(record::EventSink& sink, uint32_t seed, size_t events);

// By name: growth, fragmentation, sleep, crash, many, hostile, random, empty. False: there is none.
bool MakeRun(std::string_view name, record::EventSink& sink);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_TESTING_MADE_RUNS_H_
