#include "sim/coherence/litmus/causality.h"

#include <utility>

namespace twinmmu::coherence {
namespace {

Relation ObservationOf(const Candidate& candidate) {
  const ProgramOrders& orders = candidate.orders();
  Relation observation = orders.Empty();
  for (const int read : orders.reads) {
    // Back through atomic operations.
    int from = read;
    for (size_t steps = 0; steps <= orders.reads.size(); ++steps) {
      const int write = candidate.source(from);
      if (write == Candidate::kInitial || !orders.AreMorallyStrong(write, from)) break;
      Add(write, read, &observation);
      from = orders.events[write].partner;
      if (from < 0) break;
    }
  }
  return observation;
}

Relation BaseOf(const Candidate& candidate, const Relation& observation,
                const Relation& fence_order) {
  const ProgramOrders& orders = candidate.orders();
  Relation base = orders.fixed;
  for (int i = 0; i < orders.size(); ++i) base[i] |= fence_order[i];
  for (const auto& [first, write] : orders.releases) {
    if (!candidate.IsThere(write)) continue;
    for (const auto& [read, last] : orders.acquires) {
      if (Has(observation, write, read) && orders.AreMorallyStrong(first, last)) {
        Add(first, last, &base);
      }
    }
  }
  Close(&base);
  return base;
}

bool IsKind(const Event& event, Instruction::Kind kind) {
  return event.instruction != nullptr && event.instruction->kind == kind;
}

// Whether base causality from `x` to `y`, of one location, is kept though their addresses may
// differ.
bool IsPreserved(const ProgramOrders& orders, const Relation& base, int x, int y) {
  const std::vector<Event>& events = orders.events;
  if (!Has(base, x, y) || events[x].location != events[y].location) return false;
  if (IsSameAddress(events[x], events[y])) return true;
  bool half[kMaxEvents] = {};
  for (int f = 0; f < orders.size(); ++f) {
    const Event& fence = events[f];
    if (!Has(base, x, f) || !Has(base, f, y)) continue;
    const bool boundary = fence.kind == Event::kStart || IsKind(fence, Instruction::kGridWait);
    if (boundary &&
        (orders.modes.boundary == BoundaryMode::kPtx || fence.thread == events[y].thread)) {
      return true;
    }
    if (IsKind(fence, Instruction::kAliasFence)) return true;
    half[f] = IsKind(fence, Instruction::kAliasReleaseFence);
  }
  for (int f = 0; f < orders.size(); ++f) {
    for (int g = 0; half[f] && g < orders.size(); ++g) {
      if (IsKind(events[g], Instruction::kAliasAcquireFence) && Has(base, f, g) &&
          Has(base, g, y)) {
        return true;
      }
    }
  }
  return false;
}

Relation CauseOf(const Candidate& candidate, const Relation& observation, const Relation& base) {
  const ProgramOrders& orders = candidate.orders();
  Relation preserved = orders.Empty();
  for (int x = 0; x < orders.size(); ++x) {
    for (int y = 0; y < orders.size(); ++y) {
      if (candidate.IsAccess(x) && candidate.IsAccess(y) && IsPreserved(orders, base, x, y)) {
        Add(x, y, &preserved);
      }
    }
  }
  Relation cause = preserved;
  for (int x = 0; x < orders.size(); ++x) {
    for (int z = 0; z < orders.size(); ++z) {
      if (Has(observation, x, z)) cause[x] |= preserved[z];
    }
  }
  return cause;
}

}  // namespace

std::optional<Causality> CausalityOf(const Candidate& candidate, const Relation& fence_order) {
  const ProgramOrders& orders = candidate.orders();
  Causality result;
  result.observation = ObservationOf(candidate);
  result.base = BaseOf(candidate, result.observation, fence_order);
  for (const int fence : orders.fences) {
    if (Has(result.base, fence, fence)) return std::nullopt;
  }
  result.cause = CauseOf(candidate, result.observation, result.base);
  Relation with_reads = result.base;
  for (const int read : orders.reads) {
    const int source = candidate.source(read);
    if (source == Candidate::kInitial) continue;
    if (Has(result.cause, read, source)) return std::nullopt;
    Add(source, read, &with_reads);
  }
  Close(&with_reads);
  result.causal = IsIrreflexive(with_reads);
  return result;
}

}  // namespace twinmmu::coherence
