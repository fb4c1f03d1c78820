// LitmusTiming: what the kernels of a litmus test do so that their threads come in another order
// each time.

#ifndef TWINMMU_CONFORMANCE_LITMUS_LITMUS_TIMING_H_
#define TWINMMU_CONFORMANCE_LITMUS_LITMUS_TIMING_H_

namespace twinmmu {

enum class LitmusTiming {
  kClocks,     // warps run at the same time, as on a GPU: some begin some clocks later
  kGivingWay,  // one goes on until it waits, as on the simulator: each lane gives way now and then
};

}  // namespace twinmmu

#endif  // TWINMMU_CONFORMANCE_LITMUS_LITMUS_TIMING_H_
