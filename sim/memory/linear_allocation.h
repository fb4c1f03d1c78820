// LinearAllocation: a piece of memory that has its address from the start.

#ifndef TWINMMU_SIM_MEMORY_LINEAR_ALLOCATION_H_
#define TWINMMU_SIM_MEMORY_LINEAR_ALLOCATION_H_

#include <cstdint>

#include "api/address.h"
#include "api/allocation.h"

namespace twinmmu {

enum class LinearKind {
  kDevice,            // of cuMemAlloc
  kModule,            // of a device: the variables of a module, as long as that is loaded
  kPinned,            // of the host, of cuMemHostAlloc
  kRegistered,        // of the host, the caller's own, known by cuMemHostRegister
  kManaged,           // of cuMemAllocManaged
  kManagedVariables,  // of a module, as kModule
  kPool,              // of a device: what a pool has, whose pieces PooledPieces knows
  kHostPool,          // the same of the host
  kManagedPool,       // the same of managed memory
  kForeign,           // of a device: another process has it from cuMemAlloc
};

// Memory of the host and managed memory lie at their own address, that of a device where no CPU can
// touch it.
struct LinearAllocation {
  LinearKind kind = LinearKind::kDevice;
  AddressRange range;     // what was asked for, to the byte
  AddressRange block;     // the pages around it, which others may share
  uint64_t block_id = 0;  // of those pages; not 0, never used again, and no allocation handle
  DeviceOrdinal device;   // of the context in which it was asked for
  uint64_t owner = 0;     // that context, as the caller names it
  uint32_t flags = 0;
  uint64_t buffer_id = 0;  // never used again, for mappings neither
  uint64_t made_by = 0;    // the id of the call
  bool sync_memops = false;
  bool shared = false;     // other processes may have it, too
  uint64_t readers = 0;    // of a pool: the devices that may use it, a bit for each
  char* memory = nullptr;  // where its bytes lie

  bool of_pool() const {
    return kind == LinearKind::kPool || kind == LinearKind::kHostPool ||
           kind == LinearKind::kManagedPool;
  }
  bool on_device() const {
    return kind == LinearKind::kDevice || kind == LinearKind::kModule ||
           kind == LinearKind::kPool || kind == LinearKind::kForeign;
  }
  bool managed() const {
    return kind == LinearKind::kManaged || kind == LinearKind::kManagedVariables ||
           kind == LinearKind::kManagedPool;
  }
};

// An address as a device sees it, or the host.
struct PeerAddress {
  DeviceOrdinal device;
  DeviceAddress address;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_MEMORY_LINEAR_ALLOCATION_H_
