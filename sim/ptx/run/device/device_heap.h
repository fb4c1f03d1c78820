// DeviceHeap: the memory that kernels take by malloc and give back by free.

#ifndef TWINMMU_SIM_PTX_RUN_DEVICE_DEVICE_HEAP_H_
#define TWINMMU_SIM_PTX_RUN_DEVICE_DEVICE_HEAP_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "api/address.h"
#include "sim/coherence/monitor/site_table.h"

namespace twinmmu::ptx {

// Of a device, for all its kernels, as long as the device is there. Thread-safe.
class DeviceHeap {
 public:
  explicit DeviceHeap(const AddressRange& memory);

  const AddressRange& memory() const { return memory_; }

  // Memory for `size` bytes, aligned to 16; 0: there is no room. Also of 0 bytes. `site`: who asks.
  DeviceAddress Allocate(uint64_t size, SiteTable::Site site = SiteTable::kUnknown);

  enum class Freed {
    kNow,
    kBefore,   // it was freed already, and nothing lies there
    kUnknown,  // malloc did not return it: nothing happens
  };
  Freed Free(DeviceAddress address);

  // What a place in code has allocated that is not freed.
  struct Left {
    SiteTable::Site site = SiteTable::kUnknown;
    uint64_t blocks = 0;
    uint64_t bytes = 0;  // that were asked for
  };
  std::vector<Left> WhatIsLeft() const;

 private:
  struct Block {
    uint64_t end = 0;
    uint64_t size = 0;  // that was asked for
    SiteTable::Site site = SiteTable::kUnknown;
  };

  const AddressRange memory_;
  mutable std::mutex mutex_;
  std::map<uint64_t, Block> blocks_;    // in use, by where they begin
  std::map<uint64_t, uint64_t> gaps_;   // between them, with what lies in front of each
  uint64_t largest_gap_ = 0;            // none is larger
  std::map<uint64_t, uint64_t> freed_;  // where one began and ended that is not in use again
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_DEVICE_DEVICE_HEAP_H_
