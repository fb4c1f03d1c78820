// Batches of operations on memory, as streams and nodes of graphs have them.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_MEMORY_BATCHES_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_MEMORY_BATCHES_H_

#include <vector>

#include "absl/types/span.h"
#include "sim/calls/executor/memory_operations.h"
#include "sim/libcuda/calls/enter.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {

// No batch is as long.
inline constexpr unsigned int kTooManyOperations = 256;

// Of the functions: the first one is of CUDA 8.
enum class BatchVersion { kFirst, kSecond };

// Whether the device has them.
bool HasBatches(DriverState& driver, const Context& context, BatchVersion version);

// For the simulator; or what is wrong with them.
DriverCode ToOperations(DriverState& driver, const Context& context, BatchVersion version,
                        absl::Span<const cuda_abi::CUstreamBatchMemOpParams> parameters,
                        std::vector<MemoryOperation>* operations);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_MEMORY_BATCHES_H_
