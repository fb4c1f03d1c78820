// Races: random calls of several threads in a random state, whose history must have an explanation.

#ifndef TWINMMU_CONFORMANCE_LINEARIZABILITY_RACE_H_
#define TWINMMU_CONFORMANCE_LINEARIZABILITY_RACE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "api/vmm.h"
#include "conformance/random/run_seeds.h"

namespace twinmmu::conformance::linearizability {

// What stands between the calls and the implementation; null: nothing.
using Wrap = std::function<std::unique_ptr<Vmm>(Vmm*)>;

struct Races {
  uint64_t histories = 0;
  uint64_t operations = 0;
  uint64_t overlapping = 0;  // histories in which two calls of different threads overlapped
  uint64_t tried = 0;        // calls given to a model in the search for orders
  // The first history without an explanation, with its seed; empty: there is none.
  std::string unexplained;
};

// A history of 2 to 4 threads for each seed, on a machine of its own, until one is unexplained. A
// seed chooses the calls, the machine's threads choose how they overlap. After each all is undone:
// what was lost is an unexplained history too.
absl::StatusOr<Races> RunRaces(const random::OpenSubject& open, const random::Seeds& seeds,
                               const Wrap& wrap = nullptr);

}  // namespace twinmmu::conformance::linearizability

#endif  // TWINMMU_CONFORMANCE_LINEARIZABILITY_RACE_H_
