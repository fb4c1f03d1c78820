// SearchPools: makes all sequences of steps on a small pool, until there is no new state, or up to
// a length, on a machine beside the model.
//
// A breadth-first search over the states of the model, as of search.h: sequences that lead to one
// state are made once from there on. In each state each step is made that the model offers: the
// answer and all that can be asked must be the model's.

#ifndef TWINMMU_CONFORMANCE_SMALL_SCOPE_POOLS_POOL_SEARCH_H_
#define TWINMMU_CONFORMANCE_SMALL_SCOPE_POOLS_POOL_SEARCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "conformance/small_scope/pools/pool_machine.h"
#include "conformance/small_scope/pools/pool_model.h"

namespace twinmmu::conformance::small_scope {

struct PoolFigures {
  std::vector<uint64_t> states;  // that are new after 0, 1, 2 ... steps
  uint64_t transitions = 0;      // steps made in them
  uint64_t refused = 0;          // those of them that were refused
  uint64_t out_of_view = 0;      // states among them from which no step was made
  bool complete = false;         // there is no new state in view
  // The first difference, and the steps that show it; empty: there is none.
  std::string difference;

  uint64_t all_states() const;
};

// `rules`: of the pool and of the model. `reached` is told after each length how far the search is.
PoolFigures SearchPools(PoolMachine* machine, const PoolRules& rules, int length,
                        const std::function<void(const PoolFigures&)>& reached = nullptr);

}  // namespace twinmmu::conformance::small_scope

#endif  // TWINMMU_CONFORMANCE_SMALL_SCOPE_POOLS_POOL_SEARCH_H_
