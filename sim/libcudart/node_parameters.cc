#include "sim/libcudart/node_parameters.h"

#include <cstring>

#include "sim/libcudart/copy_parameters.h"
#include "sim/libcudart/registered_code.h"
#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {
namespace {

using cuda_abi::CUgraphNodeParams;
static_assert(sizeof(CUgraphNodeParams) == sizeof(cudaGraphNodeParams));

// The driver's description of a conditional node has the context behind the runtime's.
constexpr int kContextOfConditional = 3;

cudaError_t KernelToDriver(const cudaGraphNodeParams& from, CUgraphNodeParams* to) {
  cudaFunction_t function = nullptr;
  const cudaError_t error = FindFunction(from.of.kernel.func, &function);
  to->kernel.func = reinterpret_cast<cuda_abi::CUfunction>(function);
  return error;
}

cudaError_t CopyToDriver(const cudaGraphNodeParams& from, CUgraphNodeParams* to,
                         cuda_abi::CUcontext context) {
  std::memset(to->reserved1, 0, sizeof(to->reserved1));
  to->memcpy.flags = from.of.memcpy.flags;
  to->memcpy.copyCtx = context;
  return Translate(from.of.memcpy.copyParams, &to->memcpy.copyParams);
}

}  // namespace

cudaError_t ToDriver(const cudaGraphNodeParams& from, CUgraphNodeParams* to) {
  std::memcpy(to, &from, sizeof(*to));
  CUcontext current = nullptr;
  const cudaError_t error = driver.cuCtxGetCurrent(&current);
  if (error != cudaSuccess) return error;
  const auto context = reinterpret_cast<cuda_abi::CUcontext>(current);
  switch (from.type) {
    case cuda_abi::CU_GRAPH_NODE_TYPE_KERNEL:
      return KernelToDriver(from, to);
    case cuda_abi::CU_GRAPH_NODE_TYPE_MEMCPY:
      return CopyToDriver(from, to, context);
    case cuda_abi::CU_GRAPH_NODE_TYPE_MEMSET:
      to->memset.ctx = context;
      return cudaSuccess;
    case cuda_abi::CU_GRAPH_NODE_TYPE_CONDITIONAL:
      std::memcpy(&to->reserved1[kContextOfConditional], &context, sizeof(context));
      return cudaSuccess;
    default:
      return cudaSuccess;
  }
}

void TellBack(const CUgraphNodeParams& from, cudaGraphNodeParams* to) {
  const bool tells = from.type == cuda_abi::CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
                     from.type == cuda_abi::CU_GRAPH_NODE_TYPE_CONDITIONAL;
  if (!tells) return;
  std::memcpy(to->of.reserved1, from.reserved1, sizeof(from.reserved1));
  if (from.type == cuda_abi::CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    to->of.reserved1[kContextOfConditional] = 0;
  }
}

}  // namespace twinmmu::cudart
