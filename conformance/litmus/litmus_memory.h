// LitmusMemory: memory at several addresses, for the devices that play a litmus test.

#ifndef TWINMMU_CONFORMANCE_LITMUS_LITMUS_MEMORY_H_
#define TWINMMU_CONFORMANCE_LITMUS_LITMUS_MEMORY_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/multicast.h"
#include "api/vmm.h"

namespace twinmmu {

// Addresses of what a multicast object stands for: of each replica, and of the object.
struct LitmusReplicas {
  std::vector<std::vector<DeviceAddress>> unicast;
  std::vector<DeviceAddress> multicast;
};

// Gives all of it back at the end. Nothing may use it then.
class LitmusMemory {
 public:
  // The memory is that of the first device, and all of `devices` may access it.
  LitmusMemory(Vmm& vmm, std::vector<DeviceOrdinal> devices)
      : vmm_(vmm), devices_(std::move(devices)) {}
  ~LitmusMemory();
  LitmusMemory(const LitmusMemory&) = delete;
  LitmusMemory& operator=(const LitmusMemory&) = delete;

  // `count` addresses of one new allocation of at least `size`.
  absl::StatusOr<std::vector<DeviceAddress>> New(Bytes size, size_t count);

  // A multicast object over a new allocation of each of the first devices, as many as
  // `unicast_counts` says how many addresses of each to make; and so many of the object.
  absl::StatusOr<LitmusReplicas> NewReplicas(Multicast& multicast, Bytes size,
                                             const std::vector<size_t>& unicast_counts,
                                             size_t multicast_count);

 private:
  absl::StatusOr<Bytes> GranuleOf(const AllocationProperties& properties);
  // At `count` addresses, for `devices`.
  absl::StatusOr<std::vector<DeviceAddress>> MapAt(size_t count, Bytes size,
                                                   AllocationHandle handle,
                                                   absl::Span<const DeviceOrdinal> devices);
  absl::StatusOr<DeviceAddress> MapOnce(Bytes size, AllocationHandle handle,
                                        absl::Span<const DeviceOrdinal> devices);
  absl::Status FillTeam(Multicast& multicast, AllocationHandle object, Bytes size,
                        const std::vector<size_t>& counts, LitmusReplicas* replicas);

  Vmm& vmm_;
  const std::vector<DeviceOrdinal> devices_;
  std::vector<AddressRange> mapped_;
  std::vector<AddressRange> reserved_;
};

}  // namespace twinmmu

#endif  // TWINMMU_CONFORMANCE_LITMUS_LITMUS_MEMORY_H_
