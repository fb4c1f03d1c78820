// The events of a program: what the axioms of the memory model are about.

#ifndef TWINMMU_SIM_COHERENCE_LITMUS_EVENTS_H_
#define TWINMMU_SIM_COHERENCE_LITMUS_EVENTS_H_

#include <cstdint>
#include <vector>

#include "sim/coherence/model/litmus_program.h"

namespace twinmmu::coherence {

// A relation between at most 64 events: bit j of row i is set where (i, j) is in it.
using Relation = std::vector<uint64_t>;
constexpr size_t kMaxEvents = 64;

inline bool Has(const Relation& relation, int from, int to) {
  return (relation[from] >> to & 1) != 0;
}
inline void Add(int from, int to, Relation* relation) { (*relation)[from] |= uint64_t{1} << to; }
// The smallest transitive relation that holds it.
void Close(Relation* relation);
bool IsIrreflexive(const Relation& relation);

// In the order of threads, and of each thread in program order. The program must outlive them.
std::vector<Event> EventsOf(const Program& program);

// Whether `a` comes before `b` in program order; of one instruction, where its parts are ordered.
bool IsProgramOrdered(const Event& a, const Event& b);

// Whether they are accesses of one location by one address, or by a multicast address and a unicast
// one where those count as one.
bool IsSameAddress(const Event& a, const Event& b);
bool IsMulticastPair(const Program& program, const Event& a, const Event& b, const Modes& modes);

// Morally strong, by PTX 8.7. Fences take part.
bool IsMorallyStrong(const Program& program, const Event& a, const Event& b, const Modes& modes);

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_LITMUS_EVENTS_H_
