// Nodes that wait for words of memory, and write them.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_BATCH_NODES_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_BATCH_NODES_H_

#include "absl/types/span.h"
#include "sim/libcuda/calls/memory_batches.h"
#include "sim/libcuda/graphs/graph_calls.h"

namespace twinmmu::libcuda {

// Check it as the driver does when a node is made.
CUresult MakeBatch(const CallSite& site, DriverState& driver,
                   const CUDA_BATCH_MEM_OP_NODE_PARAMS& given, BatchWork* made);
CUresult MakeBatch(DriverState& driver, Context& context, BatchVersion version,
                   absl::Span<const CUstreamBatchMemOpParams> operations, BatchWork* made);

// The work of such a node.
CUresult Submit(const CallSite& site, DriverState& driver, const BatchWork& work, Stream stream);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_BATCH_NODES_H_
