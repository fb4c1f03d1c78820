// The launches of a litmus test of tasks as kernels. A thread of a kernel is one instance.

#ifndef TWINMMU_CONFORMANCE_LITMUS_LITMUS_TASK_KERNELS_H_
#define TWINMMU_CONFORMANCE_LITMUS_LITMUS_TASK_KERNELS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "conformance/litmus/litmus_timing.h"
#include "sim/coherence/litmus/litmus.h"

namespace twinmmu {

// PTX with the kernels "task0", "task1", ..., one per launch of the program, by the index of its
// thread: (u64 control, u32 random number, u64 base of each address). Unimplemented: it cannot
// run, and why.
absl::StatusOr<std::string> MakeTaskKernels(const coherence::LitmusTest& test, uint32_t instances,
                                            LitmusTiming timing);

}  // namespace twinmmu

#endif  // TWINMMU_CONFORMANCE_LITMUS_LITMUS_TASK_KERNELS_H_
