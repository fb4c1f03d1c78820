// TracingVmm, TracingExecutor, TracingMulticast, TracingSparseArrays: forward every call, and
// remember it with its result.
//
//   TracingVmm trace(real_vmm);
//   MyAllocator allocator(&trace);
//   ...
//   EXPECT_EQ(trace.count(DriverCall::kMap), trace.count(DriverCall::kUnmap)) << trace;
//
// api/testing/call_trace.h says what they remember, docs/guide/testing.md has a whole example. To
// keep, compare or replay calls, record them instead: docs/guide/recordings.md.

#ifndef TWINMMU_API_TESTING_TRACING_H_
#define TWINMMU_API_TESTING_TRACING_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/call_macros.h"
#include "api/testing/call_trace.h"
#include "api/testing/forwarding.h"

namespace twinmmu {

// For each: `target` must outlive the object, `calls_kept` is as in CallTrace. No lock is held
// during a call; calls are remembered in the order in which they return. Thread-safe.
class TracingVmm : public ForwardingVmm, public CallTrace {
 public:
  explicit TracingVmm(Vmm* target, size_t calls_kept = std::numeric_limits<size_t>::max())
      : ForwardingVmm(target), CallTrace(calls_kept) {}

  TWINMMU_VMM_CALLS(TWINMMU_SHORT_FORMS, Vmm)
  TWINMMU_VMM_CALLS(TWINMMU_OVERRIDE, )
};

class TracingExecutor : public ForwardingExecutor, public CallTrace {
 public:
  explicit TracingExecutor(Executor* target, size_t calls_kept = std::numeric_limits<size_t>::max())
      : ForwardingExecutor(target), CallTrace(calls_kept) {}

  TWINMMU_EXECUTOR_CALLS(TWINMMU_OVERRIDE, )
};

class TracingMulticast : public ForwardingMulticast, public CallTrace {
 public:
  explicit TracingMulticast(Multicast* target,
                            size_t calls_kept = std::numeric_limits<size_t>::max())
      : ForwardingMulticast(target), CallTrace(calls_kept) {}

  TWINMMU_MULTICAST_CALLS(TWINMMU_SHORT_FORMS, Multicast)
  TWINMMU_MULTICAST_CALLS(TWINMMU_OVERRIDE, )
};

class TracingSparseArrays : public ForwardingSparseArrays, public CallTrace {
 public:
  explicit TracingSparseArrays(SparseArrays* target,
                               size_t calls_kept = std::numeric_limits<size_t>::max())
      : ForwardingSparseArrays(target), CallTrace(calls_kept) {}

  TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_OVERRIDE, )
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_TRACING_H_
