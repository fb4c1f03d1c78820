// Multicast on the CUDA driver.

#ifndef TWINMMU_BACKEND_CUDA_MULTICAST_H_
#define TWINMMU_BACKEND_CUDA_MULTICAST_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/multicast.h"
#include "backend/driver_table.h"

namespace twinmmu {

// Passes every argument on as it came, and every result back, as CudaVmm does. Only where a program
// asked for it: see CudaDriverOptions::allow_multicast_on_hardware. A call may block, as the driver
// does.
class CudaMulticast final : public Multicast {
 public:
  // `table` must outlive it.
  explicit CudaMulticast(const DriverTable& table) : table_(table) {}

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

 private:
  const DriverTable& table_;
};

}  // namespace twinmmu

#endif  // TWINMMU_BACKEND_CUDA_MULTICAST_H_
