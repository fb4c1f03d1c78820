// SearchBreadthFirst: makes all sequences of calls of a machine, breadth first over its states:
// sequences that lead to one state are made once from there on.

#ifndef TWINMMU_CONFORMANCE_SMALL_SCOPE_BREADTH_FIRST_H_
#define TWINMMU_CONFORMANCE_SMALL_SCOPE_BREADTH_FIRST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace twinmmu::conformance::small_scope {

using Path = std::vector<uint8_t>;  // numbers of calls

// Up to `length` calls; none: until no state is new. A machine has
//
//   size_t calls() const;            how many calls there are
//   bool Replay(const Path& path);   brings it to the state after these; false: the search ends
//   bool IsOffered(size_t call);     whether this one is made in that state
//   bool Make(size_t call);          makes it, and compares; false: the search ends
//   std::string Shape() const;       its state: what later calls do depends on nothing else
//   void Reached(uint64_t states);   so many are new after one call more, beginning with none
//
// True: no state was new in the end.
template <typename Machine>
bool SearchBreadthFirst(Machine& machine, std::optional<size_t> length) {
  if (!machine.Replay({})) return false;
  std::unordered_set<std::string> seen = {machine.Shape()};
  std::vector<Path> border = {{}};
  std::vector<Path> next;
  // What changes nothing leaves the machine where it is for the next call.
  const auto expand = [&](const Path& path) {
    if (!machine.Replay(path)) return false;
    const std::string before = machine.Shape();
    for (size_t call = 0; call < machine.calls(); ++call) {
      if (!machine.IsOffered(call)) continue;
      if (!machine.Make(call)) return false;
      std::string after = machine.Shape();
      if (after == before) continue;
      if (seen.insert(std::move(after)).second) {
        next.push_back(path);
        next.back().push_back(static_cast<uint8_t>(call));
      }
      if (!machine.Replay(path)) return false;
    }
    return true;
  };
  for (size_t made = 0; !border.empty(); ++made) {
    machine.Reached(border.size());
    if (made == length) return false;
    next.clear();
    for (const Path& path : border) {
      if (!expand(path)) return false;
    }
    border.swap(next);
  }
  return true;
}

}  // namespace twinmmu::conformance::small_scope

#endif  // TWINMMU_CONFORMANCE_SMALL_SCOPE_BREADTH_FIRST_H_
