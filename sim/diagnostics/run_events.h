// What calls, work and faults do to memory, told to the record of the run, where somebody wants it.

#ifndef TWINMMU_SIM_DIAGNOSTICS_RUN_EVENTS_H_
#define TWINMMU_SIM_DIAGNOSTICS_RUN_EVENTS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "api/address.h"
#include "api/executor.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {

// A call of the history, with mmu.mutex held. All of these want state.events. `stream`: the one
// that the call is ordered in, if any.
[[gnu::cold]] void TellCall(const SimulatorState& state, const CallEvent& call, Stream stream);

// Work of a stream: where it was asked for, and when it began. It ends now.
struct ToldWork {
  Stream stream;
  uint32_t stack = 0;
  uint64_t begin_ns = 0;
};
[[gnu::cold]] void TellLaunch(const SimulatorState& state, const ToldWork& work,
                              absl::string_view kernel);
// `read`: empty for a fill.
[[gnu::cold]] void TellCopy(const SimulatorState& state, const ToldWork& work, bool is_fill,
                            const AddressRange& written, const AddressRange& read, uint64_t bytes);

[[gnu::cold]] void TellFault(const SimulatorState& state, DeviceOrdinal device,
                             DeviceAddress address, absl::string_view words);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_DIAGNOSTICS_RUN_EVENTS_H_
