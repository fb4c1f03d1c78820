// Search: makes all sequences of calls of a small machine, up to a length, on several
// implementations side by side, each beside the model.
//
// A breadth-first search over the states of the model: sequences that lead to one state are made
// once from there on. In each state that one call less reaches, each call of the alphabet is made
// on every implementation: the answers and all state must be the model's, and what is diagnosed the
// same everywhere. Handles are names, and of states that differ only in these one is searched.

#ifndef TWINMMU_CONFORMANCE_SMALL_SCOPE_SEARCH_H_
#define TWINMMU_CONFORMANCE_SMALL_SCOPE_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/diagnostics.h"
#include "api/executor.h"
#include "api/vmm.h"
#include "conformance/random/model.h"

namespace twinmmu::conformance::small_scope {

// An implementation without reservations or allocations of others. It says what it diagnoses at
// least kNoticedByOne times.
struct Side {
  std::string name;
  Vmm* vmm = nullptr;
  Executor* executor = nullptr;
  random::ModelParameters parameters;
  // What was diagnosed since the last time; null: this side says nothing of that.
  std::function<std::vector<Diagnostic>()> noticed;
  // Whatever the above needs.
  std::shared_ptr<void> owner;
};
inline constexpr size_t kNoticedByOne = 10000;
// A new one each time, when nothing uses the last one any more.
using OpenSide = std::function<absl::StatusOr<Side>()>;

struct Figures {
  std::vector<uint64_t> states;  // that are new after 0, 1, 2 ... calls
  uint64_t transitions = 0;      // calls made in them
  uint64_t refused = 0;          // those of them that were refused
  uint64_t diagnostics = 0;      // of the first side
  // The first difference, and the calls that show it; empty: there is none.
  std::string difference;

  uint64_t all_states() const;
};

struct Limits {
  int length = 0;  // of a sequence, without the call that reserves the anchor
  // Told after each length how far the search is; may be null.
  std::function<void(const Figures&)> reached;
};

// Error: a side could not be opened.
absl::StatusOr<Figures> Search(const std::vector<OpenSide>& sides, const Limits& limits);

}  // namespace twinmmu::conformance::small_scope

#endif  // TWINMMU_CONFORMANCE_SMALL_SCOPE_SEARCH_H_
