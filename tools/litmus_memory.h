// LitmusMemory: memory at several addresses, for the devices that play a litmus test.

#ifndef TWINMMU_TOOLS_LITMUS_MEMORY_H_
#define TWINMMU_TOOLS_LITMUS_MEMORY_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/vmm.h"

namespace twinmmu {

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

 private:
  absl::StatusOr<DeviceAddress> MapOnce(Bytes size, AllocationHandle handle);

  Vmm& vmm_;
  const std::vector<DeviceOrdinal> devices_;
  std::vector<AddressRange> mapped_;
  std::vector<AddressRange> reserved_;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_LITMUS_MEMORY_H_
