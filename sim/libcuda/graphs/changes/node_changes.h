// Changes of the nodes of graphs, and what is told for them.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_CHANGES_NODE_CHANGES_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_CHANGES_NODE_CHANGES_H_

#include <cstring>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "sim/libcuda/graphs/graph_nodes.h"
#include "sim/libcuda/graphs/told_params.h"

namespace twinmmu::libcuda {

// A node gets other work of the type that it has.
inline void SetWork(const CallSite& site, DriverState& driver, GraphWork work, GraphNode* node) {
  std::vector<RememberedMemory> memory = MemoryOf(site, driver, work);
  if (node->told != nullptr) node->told->Update(work);
  node->memory = std::move(memory);
  node->work = std::move(work);
}

// The same for calls that name a node of type `Work`: make(driver, &work) says which.
template <typename Work, typename Make>
CUresult ChangeWork(const CallSite& site, CUgraphNode node, const void* params, const Make& make) {
  return EnterNode(site, node, {params},
                   [&](DriverState& driver, Graphs&, Graph&, GraphNode& found) -> CUresult {
                     const Work* const work = std::get_if<Work>(&found.work);
                     if (work == nullptr) return kInvalidValue;
                     Work changed = *work;
                     const CUresult possible = make(driver, &changed);
                     if (possible != CUDA_SUCCESS) return possible;
                     SetWork(site, driver, std::move(changed), &found);
                     return CUDA_SUCCESS;
                   });
}

// Tells the parameters of a node of type `Work`, of which older forms have the first ones.
template <typename Work, typename Params>
CUresult TellParams(const CallSite& site, CUgraphNode node, Params* params) {
  return EnterNode(site, node, {params},
                   [&](DriverState&, Graphs&, Graph&, GraphNode& found) -> CUresult {
                     const Work* const work = std::get_if<Work>(&found.work);
                     if (work == nullptr) return kInvalidValue;
                     if (found.told == nullptr) found.told = std::make_unique<ToldParams>();
                     const auto all = found.told->Tell(*work);
                     std::memcpy(static_cast<void*>(params), &all, sizeof(*params));
                     return CUDA_SUCCESS;
                   });
}

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_CHANGES_NODE_CHANGES_H_
