// Nodes of graphs that copy, as the driver describes them.

#include "sim/libcudart/copy_parameters.h"
#include "sim/libcudart/registered_code.h"
#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {
namespace {

using cuda_abi::CUDA_MEMCPY3D;

cudaError_t RowOf(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                  CUDA_MEMCPY3D* copy) {
  if (size == 0) return cudaErrorInvalidValue;
  if (!Exists(kind)) return cudaErrorInvalidMemcpyDirection;
  *copy = RowsOf(size, 1);
  SetFrom(copy, kind, {const_cast<void*>(from), 0, 0, 0});
  SetTo(copy, kind, {to, 0, 0, 0});
  return cudaSuccess;
}

// A new row, or one of an executable graph. What a fault left counts before what is wrong with the
// row, but not before an end of it that is left out.
cudaError_t NewRowOf(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                     CUDA_MEMCPY3D* copy) {
  if (size != 0 && (to == nullptr || from == nullptr)) return cudaErrorInvalidValue;
  const cudaError_t error = RowOf(to, from, size, kind, copy);
  return error == cudaSuccess ? cudaSuccess : ContextOr(error);
}

// The direction comes after the size, other than in a copy that is made at once. Measured on an
// H200 with driver 580.159.
cudaError_t ToSymbol(const void* symbol, const void* from, size_t size, size_t offset,
                     cudaMemcpyKind kind, CUDA_MEMCPY3D* copy) {
  char* to = nullptr;
  const cudaError_t error = FindPartOfVariable(symbol, size, offset, /*is_right_way=*/true, &to);
  if (error != cudaSuccess) return error;
  return MayWriteVariable(kind) ? RowOf(to, from, size, kind, copy)
                                : cudaErrorInvalidMemcpyDirection;
}

cudaError_t FromSymbol(void* to, const void* symbol, size_t size, size_t offset,
                       cudaMemcpyKind kind, CUDA_MEMCPY3D* copy) {
  char* from = nullptr;
  const cudaError_t error = FindPartOfVariable(symbol, size, offset, /*is_right_way=*/true, &from);
  if (error != cudaSuccess) return error;
  return MayReadVariable(kind) ? RowOf(to, from, size, kind, copy)
                               : cudaErrorInvalidMemcpyDirection;
}

// A node copies something.
cudaError_t Describe(const cudaMemcpy3DParms& parameters, CUDA_MEMCPY3D* copy) {
  return IsEmpty(parameters.extent) ? cudaErrorInvalidValue : Translate(parameters, copy);
}

// Where a new node goes.
struct NewCopy {
  cudaGraphNode_t* node;
  cudaGraph_t graph;
  const cudaGraphNode_t* before;
  size_t count;
};

// Each calls make(&copy), which says what the node does.
template <typename Make>
TWINMMU_INLINE cudaError_t Add(const NewCopy& node, const Make& make) {
  return InContext([&] {
    CUDA_MEMCPY3D copy = {};
    cudaError_t error = make(&copy);
    CUcontext context = nullptr;
    if (error == cudaSuccess) error = driver.cuCtxGetCurrent(&context);
    if (error != cudaSuccess) return error;
    return driver.cuGraphAddMemcpyNode(node.node, node.graph, node.before, node.count, &copy,
                                       context);
  });
}

template <typename Make>
TWINMMU_INLINE cudaError_t Change(cudaGraphNode_t node, const Make& make) {
  return InContext([&] {
    CUDA_MEMCPY3D copy = {};
    const cudaError_t error = make(&copy);
    return error == cudaSuccess ? driver.cuGraphMemcpyNodeSetParams(node, &copy) : error;
  });
}

template <typename Make>
TWINMMU_INLINE cudaError_t ChangeInExec(cudaGraphExec_t exec, cudaGraphNode_t node,
                                        const Make& make) {
  return InContext([&] {
    CUDA_MEMCPY3D copy = {};
    cudaError_t error = make(&copy);
    CUcontext context = nullptr;
    if (error == cudaSuccess) error = driver.cuCtxGetCurrent(&context);
    if (error != cudaSuccess) return error;
    return driver.cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context);
  });
}

}  // namespace

extern "C" cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                              const cudaGraphNode_t* before, size_t count,
                                              const cudaMemcpy3DParms* parameters) {
  if (parameters == nullptr) return Record(cudaErrorInvalidValue);
  return Add({node, graph, before, count},
             [&](CUDA_MEMCPY3D* copy) { return Describe(*parameters, copy); });
}

extern "C" cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                                    const cudaMemcpy3DParms* parameters) {
  if (parameters == nullptr) return Record(cudaErrorInvalidValue);
  return Change(node, [&](CUDA_MEMCPY3D* copy) { return Describe(*parameters, copy); });
}

extern "C" cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                        const cudaMemcpy3DParms* parameters) {
  if (parameters == nullptr) return Record(cudaErrorInvalidValue);
  return ChangeInExec(exec, node, [&](CUDA_MEMCPY3D* copy) { return Describe(*parameters, copy); });
}

extern "C" cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node,
                                                    cudaMemcpy3DParms* parameters) {
  if (parameters == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&] {
    CUDA_MEMCPY3D copy = {};
    const cudaError_t error = driver.cuGraphMemcpyNodeGetParams(node, &copy);
    return error == cudaSuccess ? TranslateBack(copy, parameters) : error;
  });
}

extern "C" cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                                const cudaGraphNode_t* before, size_t count,
                                                void* to, const void* from, size_t size,
                                                cudaMemcpyKind kind) {
  return Add({node, graph, before, count},
             [&](CUDA_MEMCPY3D* copy) { return NewRowOf(to, from, size, kind, copy); });
}

extern "C" cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to,
                                                      const void* from, size_t size,
                                                      cudaMemcpyKind kind) {
  return Change(node, [&](CUDA_MEMCPY3D* copy) { return RowOf(to, from, size, kind, copy); });
}

extern "C" cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec,
                                                          cudaGraphNode_t node, void* to,
                                                          const void* from, size_t size,
                                                          cudaMemcpyKind kind) {
  return ChangeInExec(exec, node,
                      [&](CUDA_MEMCPY3D* copy) { return NewRowOf(to, from, size, kind, copy); });
}

extern "C" cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                                      const cudaGraphNode_t* before, size_t count,
                                                      const void* symbol, const void* from,
                                                      size_t size, size_t offset,
                                                      cudaMemcpyKind kind) {
  return Add({node, graph, before, count},
             [&](CUDA_MEMCPY3D* copy) { return ToSymbol(symbol, from, size, offset, kind, copy); });
}

extern "C" cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node,
                                                            const void* symbol, const void* from,
                                                            size_t size, size_t offset,
                                                            cudaMemcpyKind kind) {
  return Change(
      node, [&](CUDA_MEMCPY3D* copy) { return ToSymbol(symbol, from, size, offset, kind, copy); });
}

extern "C" cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(
    cudaGraphExec_t exec, cudaGraphNode_t node, const void* symbol, const void* from, size_t size,
    size_t offset, cudaMemcpyKind kind) {
  return ChangeInExec(exec, node, [&](CUDA_MEMCPY3D* copy) {
    return ToSymbol(symbol, from, size, offset, kind, copy);
  });
}

extern "C" cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                                        const cudaGraphNode_t* before, size_t count,
                                                        void* to, const void* symbol, size_t size,
                                                        size_t offset, cudaMemcpyKind kind) {
  return Add({node, graph, before, count},
             [&](CUDA_MEMCPY3D* copy) { return FromSymbol(to, symbol, size, offset, kind, copy); });
}

extern "C" cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* to,
                                                              const void* symbol, size_t size,
                                                              size_t offset, cudaMemcpyKind kind) {
  return Change(
      node, [&](CUDA_MEMCPY3D* copy) { return FromSymbol(to, symbol, size, offset, kind, copy); });
}

extern "C" cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec,
                                                                  cudaGraphNode_t node, void* to,
                                                                  const void* symbol, size_t size,
                                                                  size_t offset,
                                                                  cudaMemcpyKind kind) {
  return ChangeInExec(exec, node, [&](CUDA_MEMCPY3D* copy) {
    return FromSymbol(to, symbol, size, offset, kind, copy);
  });
}

}  // namespace twinmmu::cudart
