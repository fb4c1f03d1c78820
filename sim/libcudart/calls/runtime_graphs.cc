// Nodes of graphs, as far as the driver needs to be told more than the program says. The structures
// are the driver's, but for the function of a kernel.

#include "sim/libcudart/node_parameters.h"
#include "sim/libcudart/registered_code.h"
#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {
namespace {

// Calls use(parameters) with the function of the driver in the place of the host's.
template <typename Use>
TWINMMU_INLINE cudaError_t WithFunction(const cudaKernelNodeParams* parameters, const Use& use) {
  if (parameters == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&]() -> cudaError_t {
    cudaFunction_t function = nullptr;
    const cudaError_t found = FindFunction(parameters->func, &function);
    if (found != cudaSuccess) return found;
    cudaKernelNodeParams changed = *parameters;
    changed.func = function;
    return use(&changed);
  });
}

// Calls use(context) with the current context.
template <typename Use>
TWINMMU_INLINE cudaError_t WithContext(const Use& use) {
  return InContext([&] {
    CUcontext context = nullptr;
    const cudaError_t found = driver.cuCtxGetCurrent(&context);
    return found == cudaSuccess ? use(context) : found;
  });
}

}  // namespace

extern "C" cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                              const cudaGraphNode_t* before, size_t count,
                                              const cudaKernelNodeParams* parameters) {
  return WithFunction(parameters, [&](const cudaKernelNodeParams* kernel) {
    return driver.cuGraphAddKernelNode(node, graph, before, count, kernel);
  });
}

extern "C" cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                                    const cudaKernelNodeParams* parameters) {
  return WithFunction(parameters, [&](const cudaKernelNodeParams* kernel) {
    return driver.cuGraphKernelNodeSetParams(node, kernel);
  });
}

extern "C" cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                                    cudaKernelNodeParams* parameters) {
  if (parameters == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&]() -> cudaError_t {
    cudaKernelNodeParams found = {};
    const cudaError_t error = driver.cuGraphKernelNodeGetParams(node, &found);
    if (error != cudaSuccess) return error;
    *parameters = found;
    parameters->func = HostFunctionOf(static_cast<cudaFunction_t>(found.func));
    return cudaSuccess;
  });
}

extern "C" cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                        const cudaKernelNodeParams* parameters) {
  // Here, and only here, the context counts before that nothing is said.
  if (parameters == nullptr) return InContext([] { return cudaErrorInvalidValue; });
  return WithFunction(parameters, [&](const cudaKernelNodeParams* kernel) {
    return driver.cuGraphExecKernelNodeSetParams(exec, node, kernel);
  });
}

extern "C" cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                              const cudaGraphNode_t* before, size_t count,
                                              const cudaMemsetParams* parameters) {
  if (parameters == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext([&](CUcontext context) {
    return driver.cuGraphAddMemsetNode(node, graph, before, count, parameters, context);
  });
}

extern "C" cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                        const cudaMemsetParams* parameters) {
  if (parameters == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext([&](CUcontext context) {
    return driver.cuGraphExecMemsetNodeSetParams(exec, node, parameters, context);
  });
}

extern "C" cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node,
                                              cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&] {
    return WithDriverNode(parameters,
                          [&](void* same) { return driver.cuGraphNodeSetParams(node, same); });
  });
}

extern "C" cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                  cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&] {
    return WithDriverNode(
        parameters, [&](void* same) { return driver.cuGraphExecNodeSetParams(exec, node, same); });
  });
}

extern "C" cudaError_t cudaGraphConditionalHandleCreate(unsigned long long* handle,
                                                        cudaGraph_t graph, unsigned int value,
                                                        unsigned int flags) {
  if (handle == nullptr || graph == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext([&](CUcontext context) {
    return driver.cuGraphConditionalHandleCreate(handle, graph, context, value, flags);
  });
}

}  // namespace twinmmu::cudart
