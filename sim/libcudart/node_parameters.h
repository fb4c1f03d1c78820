// Nodes of graphs as the generic functions describe them, in the driver's words.

#ifndef TWINMMU_SIM_LIBCUDART_NODE_PARAMETERS_H_
#define TWINMMU_SIM_LIBCUDART_NODE_PARAMETERS_H_

#include "third_party/cuda_abi/cudart_abi.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::cudart {

cudaError_t ToDriver(const cudaGraphNodeParams& from, cuda_abi::CUgraphNodeParams* to);
// What the driver has said of the new node: where its memory is, and what graphs are in it.
void TellBack(const cuda_abi::CUgraphNodeParams& from, cudaGraphNodeParams* to);

// Calls use(&same) with the driver's description.
template <typename Use>
cudaError_t WithDriverNode(cudaGraphNodeParams* parameters, const Use& use) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  cuda_abi::CUgraphNodeParams same;
  cudaError_t error = ToDriver(*parameters, &same);
  if (error == cudaSuccess) error = use(&same);
  if (error == cudaSuccess) TellBack(same, parameters);
  return error;
}

}  // namespace twinmmu::cudart

#endif  // TWINMMU_SIM_LIBCUDART_NODE_PARAMETERS_H_
