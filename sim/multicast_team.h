// MulticastTeam: what a multicast object is, and what is bound to it.

#ifndef TWINMMU_SIM_MULTICAST_TEAM_H_
#define TWINMMU_SIM_MULTICAST_TEAM_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/address.h"
#include "api/multicast.h"

namespace twinmmu {

struct PhysicalPages;

// [offset, offset + size) of an object is, for the device that they lie on, this part of the pages.
// As long as it is bound it keeps them.
struct MulticastBinding {
  DeviceOrdinal device;
  Bytes offset;
  Bytes size;
  std::shared_ptr<PhysicalPages> pages;
  Bytes memory_offset;
  uint64_t call = 0;  // the number of the call that bound it

  Bytes end() const { return offset + size; }
};

struct MulticastTeam {
  MulticastProperties properties;
  std::vector<DeviceOrdinal> devices;      // in the order of their numbers
  std::vector<MulticastBinding> bindings;  // in the order of device and offset

  bool complete() const { return devices.size() == properties.device_count; }
  bool Has(DeviceOrdinal device) const {
    return std::binary_search(devices.begin(), devices.end(), device);
  }
  // The binding of `device` that has a byte in [offset, offset + size), the first one; or null.
  const MulticastBinding* Find(DeviceOrdinal device, Bytes offset, Bytes size) const {
    for (const MulticastBinding& bound : bindings) {
      if (bound.device == device && bound.offset < offset + size && offset < bound.end()) {
        return &bound;
      }
    }
    return nullptr;
  }
};

// The bytes of one device at a multicast address.
struct Replica {
  DeviceOrdinal device;
  char* memory = nullptr;                // of the host
  const PhysicalPages* pages = nullptr;  // that they are in
  Bytes offset;                          // into `pages`
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_MULTICAST_TEAM_H_
