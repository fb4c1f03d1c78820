// Nodes that allocate memory and free it.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_MEMORY_NODES_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_MEMORY_NODES_H_

#include "sim/libcuda/graphs/graph_calls.h"
#include "sim/libcuda/graphs/new_nodes.h"

namespace twinmmu::libcuda {

// Check it as the driver does when a node of `graph` is made, which the program may have destroyed
// while it captures. The address is in `made` then.
CUresult MakeAlloc(const CallSite& site, DriverState& driver, Graph& graph, const NewNode& node,
                   const CUDA_MEM_ALLOC_NODE_PARAMS& given, AllocWork* made);
CUresult MakeFree(DriverState& driver, const Graph& graph, const NewNode& node, CUdeviceptr address,
                  FreeWork* made);

// Whether it, or a graph inside it, has such nodes. Then the driver copies no part of it, nor takes
// any away, and has one executable graph of it at a time.
bool HasMemoryNodes(const Graph& graph);

// Whether the address is of a node, so that it may have memory at some time.
bool IsOfNode(DriverState& driver, DeviceAddress address);
// Whether what begins there, if it is of a node, ends there too.
bool IsInsideNode(DriverState& driver, const AddressRange& range);

// There is memory for all that the graph allocates.
CUresult CommitMemory(const CallSite& site, DriverState& driver, const Graph& graph);
// The same before the nodes of a launch are given to streams. What an earlier launch left is freed,
// if `frees`. INVALID_VALUE: else; and if it frees what is not there. Then the launch is none.
CUresult PrepareMemory(const CallSite& site, DriverState& driver, const Graph& graph, bool frees,
                       Stream stream);

// After a launch that failed on its way: frees what its nodes have allocated, and gives back what
// it committed, as far as the host has the memory for that.
void FreeAllocated(DriverState& driver, const Graph& graph, Stream stream);

// The work of these nodes.
absl::Status Allocate(const CallSite& site, DriverState& driver, const AllocWork& work,
                      Stream stream);
absl::Status Free(DriverState& driver, const FreeWork& work, Stream stream);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_MEMORY_NODES_H_
