// Nodes of graphs that copy, as the driver describes them.

#include "sim/libcudart/registered_code.h"
#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {
namespace {

// Between which kinds of memory; an error: there is no such direction.
cudaError_t SetKind(cudaMemcpyKind kind, Copy3D* copy) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
    return cudaErrorInvalidMemcpyDirection;
  }
  const bool by_address = kind == cudaMemcpyDefault;
  const bool from_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
  const bool to_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
  copy->from_type = by_address ? kUnifiedMemory : from_host ? kHostMemory : kDeviceMemory;
  copy->to_type = by_address ? kUnifiedMemory : to_host ? kHostMemory : kDeviceMemory;
  return cudaSuccess;
}

cudaError_t RowOf(void* to, const void* from, size_t size, cudaMemcpyKind kind, Copy3D* copy) {
  copy->from_host = copy->from_device = from;
  copy->to_host = copy->to_device = to;
  copy->width = size;
  copy->height = 1;
  copy->depth = 1;
  return SetKind(kind, copy);
}

// Arrays are not here yet.
cudaError_t BoxOf(const cudaMemcpy3DParms* parameters, Copy3D* copy) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (parameters->srcArray != nullptr || parameters->dstArray != nullptr) {
    return cudaErrorNotSupported;
  }
  copy->from_x = parameters->srcPos.x;
  copy->from_y = parameters->srcPos.y;
  copy->from_z = parameters->srcPos.z;
  copy->from_host = copy->from_device = parameters->srcPtr.ptr;
  copy->from_pitch = parameters->srcPtr.pitch;
  copy->from_height = parameters->srcPtr.ysize;
  copy->to_x = parameters->dstPos.x;
  copy->to_y = parameters->dstPos.y;
  copy->to_z = parameters->dstPos.z;
  copy->to_host = copy->to_device = parameters->dstPtr.ptr;
  copy->to_pitch = parameters->dstPtr.pitch;
  copy->to_height = parameters->dstPtr.ysize;
  copy->width = parameters->extent.width;
  copy->height = parameters->extent.height;
  copy->depth = parameters->extent.depth;
  return SetKind(parameters->kind, copy);
}

// Where `offset` of a variable is, if `size` bytes from there are inside it.
cudaError_t PartOf(const void* symbol, size_t size, size_t offset, char** address) {
  void* base = nullptr;
  size_t whole = 0;
  const cudaError_t error = FindVariable(symbol, &base, &whole);
  if (error != cudaSuccess) return error;
  if (offset > whole || size > whole - offset) return cudaErrorInvalidValue;
  *address = static_cast<char*>(base) + offset;
  return cudaSuccess;
}

cudaError_t ToSymbol(const void* symbol, const void* from, size_t size, size_t offset,
                     cudaMemcpyKind kind, Copy3D* copy) {
  if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice &&
      kind != cudaMemcpyDefault) {
    return cudaErrorInvalidMemcpyDirection;
  }
  char* to = nullptr;
  const cudaError_t error = PartOf(symbol, size, offset, &to);
  return error == cudaSuccess ? RowOf(to, from, size, kind, copy) : error;
}

cudaError_t FromSymbol(void* to, const void* symbol, size_t size, size_t offset,
                       cudaMemcpyKind kind, Copy3D* copy) {
  if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice &&
      kind != cudaMemcpyDefault) {
    return cudaErrorInvalidMemcpyDirection;
  }
  char* from = nullptr;
  const cudaError_t error = PartOf(symbol, size, offset, &from);
  return error == cudaSuccess ? RowOf(to, from, size, kind, copy) : error;
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
    Copy3D copy = {};
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
    Copy3D copy = {};
    const cudaError_t error = make(&copy);
    return error == cudaSuccess ? driver.cuGraphMemcpyNodeSetParams(node, &copy) : error;
  });
}

template <typename Make>
TWINMMU_INLINE cudaError_t ChangeInExec(cudaGraphExec_t exec, cudaGraphNode_t node,
                                        const Make& make) {
  return InContext([&] {
    Copy3D copy = {};
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
  return Add({node, graph, before, count}, [&](Copy3D* copy) { return BoxOf(parameters, copy); });
}

extern "C" cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                                    const cudaMemcpy3DParms* parameters) {
  return Change(node, [&](Copy3D* copy) { return BoxOf(parameters, copy); });
}

extern "C" cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                        const cudaMemcpy3DParms* parameters) {
  return ChangeInExec(exec, node, [&](Copy3D* copy) { return BoxOf(parameters, copy); });
}

extern "C" cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                                const cudaGraphNode_t* before, size_t count,
                                                void* to, const void* from, size_t size,
                                                cudaMemcpyKind kind) {
  return Add({node, graph, before, count},
             [&](Copy3D* copy) { return RowOf(to, from, size, kind, copy); });
}

extern "C" cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to,
                                                      const void* from, size_t size,
                                                      cudaMemcpyKind kind) {
  return Change(node, [&](Copy3D* copy) { return RowOf(to, from, size, kind, copy); });
}

extern "C" cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec,
                                                          cudaGraphNode_t node, void* to,
                                                          const void* from, size_t size,
                                                          cudaMemcpyKind kind) {
  return ChangeInExec(exec, node, [&](Copy3D* copy) { return RowOf(to, from, size, kind, copy); });
}

extern "C" cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                                      const cudaGraphNode_t* before, size_t count,
                                                      const void* symbol, const void* from,
                                                      size_t size, size_t offset,
                                                      cudaMemcpyKind kind) {
  return Add({node, graph, before, count},
             [&](Copy3D* copy) { return ToSymbol(symbol, from, size, offset, kind, copy); });
}

extern "C" cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node,
                                                            const void* symbol, const void* from,
                                                            size_t size, size_t offset,
                                                            cudaMemcpyKind kind) {
  return Change(node,
                [&](Copy3D* copy) { return ToSymbol(symbol, from, size, offset, kind, copy); });
}

extern "C" cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(
    cudaGraphExec_t exec, cudaGraphNode_t node, const void* symbol, const void* from, size_t size,
    size_t offset, cudaMemcpyKind kind) {
  return ChangeInExec(
      exec, node, [&](Copy3D* copy) { return ToSymbol(symbol, from, size, offset, kind, copy); });
}

extern "C" cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                                        const cudaGraphNode_t* before, size_t count,
                                                        void* to, const void* symbol, size_t size,
                                                        size_t offset, cudaMemcpyKind kind) {
  return Add({node, graph, before, count},
             [&](Copy3D* copy) { return FromSymbol(to, symbol, size, offset, kind, copy); });
}

extern "C" cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* to,
                                                              const void* symbol, size_t size,
                                                              size_t offset, cudaMemcpyKind kind) {
  return Change(node,
                [&](Copy3D* copy) { return FromSymbol(to, symbol, size, offset, kind, copy); });
}

extern "C" cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec,
                                                                  cudaGraphNode_t node, void* to,
                                                                  const void* symbol, size_t size,
                                                                  size_t offset,
                                                                  cudaMemcpyKind kind) {
  return ChangeInExec(
      exec, node, [&](Copy3D* copy) { return FromSymbol(to, symbol, size, offset, kind, copy); });
}

}  // namespace twinmmu::cudart
