// ReservedMemory: the addresses that a node keeps for what it allocates.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_RESERVED_MEMORY_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_RESERVED_MEMORY_H_

#include "api/address.h"

namespace twinmmu {
class PoolCalls;
}  // namespace twinmmu

namespace twinmmu::libcuda {

// Shared by the node and its copies in executable graphs; the last one gives the addresses back.
class ReservedMemory {
 public:
  // `pools` must outlive this object.
  ReservedMemory(PoolCalls* pools, DeviceAddress address) : pools_(*pools), address_(address) {}
  ~ReservedMemory();
  ReservedMemory(const ReservedMemory&) = delete;
  ReservedMemory& operator=(const ReservedMemory&) = delete;

  DeviceAddress address() const { return address_; }

 private:
  PoolCalls& pools_;
  const DeviceAddress address_;
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_RESERVED_MEMORY_H_
