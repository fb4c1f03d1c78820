#include "sim/coherence/litmus/causality.h"

#include <cstdint>
#include <utility>
#include <vector>

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

// Addresses of a program, as bits.
using AddressSet = uint64_t;

// What base causality carries from an access along the way: by which addresses its order is kept.
struct Carried {
  AddressSet addresses = 0;
  AddressSet half = 0;  // behind the first of two directed alias fences

  bool Add(const Carried& other) {
    const Carried before = *this;
    addresses |= other.addresses;
    half |= other.half;
    return addresses != before.addresses || half != before.half;
  }
};

class Ways {
 public:
  explicit Ways(const ProgramOrders& orders) : orders_(orders) {
    const std::vector<Address>& addresses = orders.program->addresses;
    for (size_t i = 0; i < addresses.size(); ++i) {
      if (addresses[i].proxy == Proxy::kGeneric) generic_ |= AddressSet{1} << i;
    }
  }

  // For each event after `x`: by which addresses of its location a later access is ordered.
  // `thread`: of that access.
  std::vector<Carried> From(int x, const Relation& base, int thread) const {
    std::vector<Carried> carried(orders_.events.size());
    const AddressSet own = AddressSet{1} << orders_.events[x].address;
    bool changes = true;
    for (int f = 0; f < orders_.size(); ++f) {
      if (Has(base, x, f)) carried[f].addresses = own;
    }
    while (changes) {
      changes = false;
      for (int f = 0; f < orders_.size(); ++f) {
        if (carried[f].addresses == 0) continue;
        const Carried behind = Behind(orders_.events[f], carried[f], thread);
        changes |= carried[f].Add(behind);
        for (int g = 0; g < orders_.size(); ++g) {
          if (Has(base, f, g)) changes |= carried[g].Add(behind);
        }
      }
    }
    return carried;
  }

 private:
  Carried Behind(const Event& event, const Carried& at, int thread) const {
    Carried behind = at;
    const bool boundary = event.kind == Event::kStart || IsKind(event, Instruction::kGridWait);
    if (boundary && (orders_.modes.boundary == BoundaryMode::kPtx || event.thread == thread)) {
      behind.addresses = ~AddressSet{0};
    }
    if (event.instruction == nullptr) return behind;
    const bool generic = (at.addresses & generic_) != 0;
    switch (event.instruction->kind) {
      case Instruction::kAliasFence:
        if (generic) behind.addresses |= generic_;
        break;
      case Instruction::kAliasReleaseFence:
        if (generic) behind.half |= generic_;
        break;
      case Instruction::kAliasAcquireFence:
        behind.addresses |= at.half;
        break;
      case Instruction::kAsyncFence:
        behind.addresses |= OtherProxies(at.addresses);
        break;
      default:
        break;
    }
    return behind;
  }

  // The same addresses, of the async proxy for those of the generic one, and back.
  AddressSet OtherProxies(AddressSet set) const {
    AddressSet others = 0;
    const std::vector<Address>& addresses = orders_.program->addresses;
    for (size_t i = 0; i < addresses.size(); ++i) {
      if (addresses[i].proxy != Proxy::kAsync) continue;
      if ((set >> i & 1) != 0) others |= AddressSet{1} << addresses[i].generic;
      if ((set >> addresses[i].generic & 1) != 0) others |= AddressSet{1} << i;
    }
    return others;
  }

  const ProgramOrders& orders_;
  AddressSet generic_ = 0;
};

Relation CauseOf(const Candidate& candidate, const Relation& observation, const Relation& base) {
  const ProgramOrders& orders = candidate.orders();
  Relation preserved = orders.Empty();
  const Ways ways(orders);
  const int threads = static_cast<int>(orders.program->threads.size());
  for (int x = 0; x < orders.size(); ++x) {
    if (!candidate.IsAccess(x)) continue;
    for (int thread = 0; thread < threads; ++thread) {
      std::vector<Carried> carried;
      for (int y = 0; y < orders.size(); ++y) {
        const Event& later = orders.events[y];
        if (later.thread != thread || !candidate.IsAccess(y) || !Has(base, x, y) ||
            later.location != orders.events[x].location) {
          continue;
        }
        if (carried.empty()) carried = ways.From(x, base, thread);
        if ((carried[y].addresses >> later.address & 1) != 0) Add(x, y, &preserved);
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
