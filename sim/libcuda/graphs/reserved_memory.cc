#include "sim/libcuda/graphs/reserved_memory.h"

#include "sim/calls/pools/pool_calls.h"

namespace twinmmu::libcuda {

ReservedMemory::~ReservedMemory() { pools_.Unreserve(address_); }

}  // namespace twinmmu::libcuda
