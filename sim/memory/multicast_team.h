// MulticastTeam: what a multicast object is, and what is bound to it.

#ifndef TWINMMU_SIM_MEMORY_MULTICAST_TEAM_H_
#define TWINMMU_SIM_MEMORY_MULTICAST_TEAM_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/address.h"
#include "api/multicast.h"
#include "sim/host/team_file.h"

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
  uint64_t call = 0;   // the id of the call that bound it; 0: another simulator did
  uint64_t stamp = 0;  // of its entry in the file of the team, if there is one

  bool is_own() const { return call != 0; }
  Bytes end() const { return offset + size; }
};

// A span of an object that another simulator has bound, or had, and that this one does not reach.
struct MissingReplica {
  SharedBinding binding;
  bool left = false;  // its process has ended: the span can be bound again
  std::string why;
};

struct MulticastTeam {
  MulticastProperties properties;
  std::vector<DeviceOrdinal> devices;      // in the order of their numbers
  std::vector<MulticastBinding> bindings;  // in the order of device and offset

  // Of an object that can be shared; null. What other simulators did is taken from there into what
  // is above, and what they have bound that cannot be reached, into `missing`.
  std::unique_ptr<TeamFile> file;
  std::vector<MissingReplica> missing;
  std::string trouble;  // why the file cannot be followed; then no address stands for anything

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

#endif  // TWINMMU_SIM_MEMORY_MULTICAST_TEAM_H_
