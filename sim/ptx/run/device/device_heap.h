// DeviceHeap: the memory that kernels take by malloc and give back by free.

#ifndef TWINMMU_SIM_PTX_RUN_DEVICE_DEVICE_HEAP_H_
#define TWINMMU_SIM_PTX_RUN_DEVICE_DEVICE_HEAP_H_

#include <cstdint>
#include <map>
#include <mutex>

#include "api/address.h"

namespace twinmmu::ptx {

// Of a device, for all its kernels, as long as the device is there. Thread-safe.
class DeviceHeap {
 public:
  explicit DeviceHeap(const AddressRange& memory);

  const AddressRange& memory() const { return memory_; }

  // Memory for `size` bytes, aligned to 16; 0: there is no room. Also of 0 bytes.
  DeviceAddress Allocate(uint64_t size);

  enum class Freed {
    kNow,
    kBefore,   // it was freed already, and nothing lies there
    kUnknown,  // malloc did not return it: nothing happens
  };
  Freed Free(DeviceAddress address);

 private:
  const AddressRange memory_;
  std::mutex mutex_;
  std::map<uint64_t, uint64_t> blocks_;  // in use: where one begins, and ends
  std::map<uint64_t, uint64_t> gaps_;    // between them, with what lies in front of each
  uint64_t largest_gap_ = 0;             // none is larger
  std::map<uint64_t, uint64_t> freed_;   // where one began and ended that is not in use again
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_DEVICE_DEVICE_HEAP_H_
