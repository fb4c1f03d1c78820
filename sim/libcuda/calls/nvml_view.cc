// What our NVML asks, another library of the process: how much of a device is in use. It finds this
// by its name; other drivers do not have it.

#include <algorithm>
#include <array>
#include <new>

#include "sim/libcuda/device_identity.h"
#include "sim/libcuda/process.h"

namespace twinmmu::libcuda {

// `uuid`: its 16 bytes. `has_context`: whether the process has a context or memory there. False:
// the process sees no such device, has not called cuInit, or is a child of one that had.
extern "C" bool twinmmuDeviceInUse(const char* uuid, size_t* free, size_t* total,
                                   bool* has_context) {
  try {
    DriverState* const driver = Process::Get().driver();
    if (driver == nullptr) return false;
    const Profile& profile = driver->simulator->profile();
    for (int device = 0; device < profile.device_count(); ++device) {
      const std::array<char, 16> own = UuidOf(profile, device);
      if (!std::equal(own.begin(), own.end(), uuid)) continue;
      const absl::StatusOr<MemoryInfo> info = driver->vmm.GetMemoryInfo(DeviceOrdinal(device));
      if (!info.ok()) return false;  // in such a child
      *free = info->free.value();
      *total = info->total.value();
      const Bytes at_start = profile.devices[static_cast<size_t>(device)].memory_in_use;
      *has_context =
          driver->contexts.AreAlive(DeviceOrdinal(device)) || info->total - info->free > at_start;
      return true;
    }
  } catch (const std::bad_alloc&) {
    // Then the answer is what is known without the driver.
  }
  return false;
}

}  // namespace twinmmu::libcuda
