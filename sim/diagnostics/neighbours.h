// Neighbours: what lies nearest to an address where a kernel found nothing to access.

#ifndef TWINMMU_SIM_DIAGNOSTICS_NEIGHBOURS_H_
#define TWINMMU_SIM_DIAGNOSTICS_NEIGHBOURS_H_

#include <string>
#include <vector>

#include "api/address.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {

struct Neighbour {
  AddressRange range;
  std::string name;  // "variable counts", "memory of cuMemAlloc, call 7"
};

// The eight nearest of `variables`, of mappings and of memory that is allocated, the nearest first:
// "4 B after variable counts, [0x7f0000200000, +64 B]; 2 MiB before the mapping of call 9, ...".
// Empty: there is none. With mmu.mutex held, if only shared.
std::string NeighboursInWords(const SimulatorState& state, DeviceAddress address,
                              const std::vector<Neighbour>& variables);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_DIAGNOSTICS_NEIGHBOURS_H_
