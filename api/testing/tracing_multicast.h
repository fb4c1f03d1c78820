// TracingMulticast: passes every call on, and remembers it with its result.
//
//   TracingMulticast trace(real_multicast);
//   MyAllReduce all_reduce(&trace);
//   ...
//   EXPECT_EQ(trace.count(DriverCall::kMulticastBindMemory), 8) << trace;

#ifndef TWINMMU_API_TESTING_TRACING_MULTICAST_H_
#define TWINMMU_API_TESTING_TRACING_MULTICAST_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/multicast.h"
#include "api/testing/call_trace.h"
#include "api/testing/forwarding.h"

namespace twinmmu {

// As TracingVmm. Thread safety: every function may run concurrently with every other.
class TracingMulticast : public ForwardingMulticast, public CallTrace {
 public:
  // `target` must outlive this object. `calls_kept`: as in CallTrace.
  explicit TracingMulticast(Multicast* target,
                            size_t calls_kept = std::numeric_limits<size_t>::max())
      : ForwardingMulticast(target), CallTrace(calls_kept) {}

  using Multicast::BindAddress;
  using Multicast::BindMemory;

  absl::StatusOr<Bytes> GetGranularity(const MulticastProperties& properties,
                                       Granularity option) override;
  absl::StatusOr<AllocationHandle> Create(const MulticastProperties& properties) override;
  absl::Status AddDevice(AllocationHandle object, DeviceOrdinal device) override;
  absl::Status BindMemory(AllocationHandle object, Bytes offset, AllocationHandle memory,
                          Bytes memory_offset, Bytes size, uint64_t flags) override;
  absl::Status BindAddress(AllocationHandle object, Bytes offset, const AddressRange& range,
                           uint64_t flags) override;
  absl::Status Unbind(AllocationHandle object, DeviceOrdinal device, Bytes offset,
                      Bytes size) override;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_TRACING_MULTICAST_H_
