// ExternalMemories: what the program has imported as external memory, and where it is mapped.

#ifndef TWINMMU_SIM_LIBCUDA_SHARING_EXTERNAL_MEMORIES_H_
#define TWINMMU_SIM_LIBCUDA_SHARING_EXTERNAL_MEMORIES_H_

#include <atomic>
#include <cstdint>

#include "api/address.h"
#include "api/allocation.h"
#include "sim/libcuda/streams.h"

namespace twinmmu::libcuda {

struct ExternalMemory {
  AllocationHandle allocation;
  Bytes all;   // of the allocation
  Bytes size;  // as the program said, which nobody compares
};

// The allocation as a whole has an address for each buffer, and lives as long as one of them.
struct ExternalBuffer {
  AddressRange mapped;
  bool sync_memops = false;
};

struct ExternalMemories {
  Records<ExternalMemory> memories;  // by what the program has of them
  Records<ExternalBuffer> buffers;   // by address
  std::atomic<uint64_t> last_id{0};
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_SHARING_EXTERNAL_MEMORIES_H_
