#include "api/testing/tracing.h"

#include "api/driver_call.h"
#include "api/testing/trace_text.h"

namespace twinmmu {

#define TWINMMU_TRACE(interface, id, result, method, ...)                                         \
  result Tracing##interface::method(TWINMMU_PARAMETERS(__VA_ARGS__)) {                            \
    return Trace(DriverCall::k##id,                                                               \
                 trace_text::ArgumentWriter::Write(                                               \
                     {TWINMMU_PARAMETER_NAMES(__VA_ARGS__)} TWINMMU_THEN_ARGUMENTS(__VA_ARGS__)), \
                 [&] { return Forwarding##interface::method(TWINMMU_ARGUMENTS(__VA_ARGS__)); });  \
  }

TWINMMU_VMM_CALLS(TWINMMU_TRACE, Vmm)
TWINMMU_EXECUTOR_CALLS(TWINMMU_TRACE, Executor)
TWINMMU_MULTICAST_CALLS(TWINMMU_TRACE, Multicast)
TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_TRACE, SparseArrays)

}  // namespace twinmmu
