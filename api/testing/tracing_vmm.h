// TracingVmm: passes every call on, and remembers it with its result.
//
//   TracingVmm trace(real_vmm);
//   MyAllocator allocator(&trace);
//   ...
//   EXPECT_EQ(trace.count(DriverCall::kMap), trace.count(DriverCall::kUnmap)) << trace;
//
// api/testing/call_trace.h says what it remembers.
//
// docs/testing.md has a whole example. What is to be kept, compared or played again is recorded
// instead: docs/recordings.md.

#ifndef TWINMMU_API_TESTING_TRACING_VMM_H_
#define TWINMMU_API_TESTING_TRACING_VMM_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/testing/call_trace.h"
#include "api/testing/forwarding.h"
#include "api/vmm.h"

namespace twinmmu {

// Calls run as they come, without a lock held, and are remembered in the order in which they
// return. Thread safety: every function may run concurrently with every other.
class TracingVmm : public ForwardingVmm, public CallTrace {
 public:
  // `target` must outlive this object. `calls_kept`: as in CallTrace.
  explicit TracingVmm(Vmm* target, size_t calls_kept = std::numeric_limits<size_t>::max())
      : ForwardingVmm(target), CallTrace(calls_kept) {}

  using Vmm::AddressReserve;
  using Vmm::Create;
  using Vmm::ExportShareableHandle;
  using Vmm::Map;

  absl::StatusOr<int> GetDriverVersion() override;
  absl::StatusOr<int> GetDeviceCount() override;
  absl::StatusOr<std::string> GetDeviceName(DeviceOrdinal device) override;
  absl::StatusOr<int> GetDeviceAttribute(DeviceAttribute attribute, DeviceOrdinal device) override;
  absl::StatusOr<bool> CanAccessPeer(DeviceOrdinal device, DeviceOrdinal peer) override;
  absl::StatusOr<MemoryInfo> GetMemoryInfo(DeviceOrdinal device) override;
  absl::StatusOr<AddressRange> AddressReserve(Bytes size, const ReserveOptions& options) override;
  absl::Status AddressFree(const AddressRange& range) override;
  absl::StatusOr<Bytes> GetAllocationGranularity(const AllocationProperties& properties,
                                                 Granularity option) override;
  absl::StatusOr<AllocationHandle> Create(Bytes size, const AllocationProperties& properties,
                                          uint64_t flags) override;
  absl::Status Release(AllocationHandle handle) override;
  absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress address) override;
  absl::StatusOr<AllocationProperties> GetAllocationProperties(AllocationHandle handle) override;
  absl::Status Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                   uint64_t flags) override;
  absl::Status Unmap(const AddressRange& range) override;
  absl::Status SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants) override;
  absl::StatusOr<Access> GetAccess(const Location& location, DeviceAddress address) override;
  absl::StatusOr<ShareableHandle> ExportShareableHandle(AllocationHandle handle, HandleType type,
                                                        uint64_t flags) override;
  absl::StatusOr<AllocationHandle> ImportShareableHandle(const ShareableHandle& shareable) override;
  absl::StatusOr<uint64_t> GetPointerAttribute(DeviceOrdinal device, PointerAttribute attribute,
                                               DeviceAddress address) override;
  absl::StatusOr<AddressRange> GetAddressRange(DeviceOrdinal device,
                                               DeviceAddress address) override;
  absl::StatusOr<int> GetHandleForAddressRange(DeviceOrdinal device, const AddressRange& range,
                                               RangeHandleType type, uint64_t flags) override;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_TRACING_VMM_H_
