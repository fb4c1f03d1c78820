// Search of all sequences of calls on a small VirtualMemoryPool, each compared with PageModel.
//
// A breadth-first search over the states of the model: sequences that lead to one state are made
// once from there on. After each call its code, its driver calls, the statistics, what is mapped,
// who has access, and the contents of the pages in use are the model's.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_SEQUENCES_PAGE_SEARCH_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_SEQUENCES_PAGE_SEARCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/executor.h"
#include "api/vmm.h"
#include "conformance/allocators/sequences/page_model.h"

namespace twinmmu::conformance {

struct PageFigures {
  std::vector<uint64_t> states;  // that are new after 0, 1, 2 ... calls; ends where there are none
  uint64_t transitions = 0;      // calls made in them
  uint64_t refused = 0;          // those of them that were refused
  // The first difference, and the calls that show it; empty: there is none.
  std::string difference;
};

// Up to `length` calls; none: until no state is new. The memory is that of device 0, whose peer is
// device 1.
PageFigures SearchPages(Vmm& vmm, Executor& executor, const PageMachine& machine,
                        std::optional<size_t> length);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_SEQUENCES_PAGE_SEARCH_H_
