// Nodes that wait for external semaphores, or signal them.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_SEMAPHORE_NODES_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_SEMAPHORE_NODES_H_

#include <memory>

#include "sim/libcuda/graphs/graph_calls.h"

namespace twinmmu::libcuda {

// Nobody looks which semaphores they are.
CUresult MakeSemaphores(const CUDA_EXT_SEM_NODE_PARAMS& given,
                        std::shared_ptr<const SemaphoreList>* made);
// As cuSignalExternalSemaphoresAsync has it: none is one. With a null one a driver ends the
// process.
CUresult Submit(const SemaphoreList& list);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_SEMAPHORE_NODES_H_
