// The functions that differ from one version of the runtime to the next, but for those of
// version_devices.cc. Compiled once for each, with TWINMMU_RUNTIME_VERSION.

#include "sim/libcudart/node_parameters.h"
#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {

// --- Hints to managed memory: since CUDA 13 for any location, not only a device.

#if TWINMMU_RUNTIME_VERSION >= 13000
#define TWINMMU_BY_LOCATION(name) name
#else
#define TWINMMU_BY_LOCATION(name) name##_v2
extern "C" cudaError_t cudaMemAdvise(const void* address, size_t size, int advice, int device) {
  return InContext([&] { return driver.cuMemAdvise(address, size, advice, device); });
}
extern "C" cudaError_t cudaMemPrefetchAsync(const void* address, size_t size, int device,
                                            cudaStream_t stream) {
  return InContext([&] { return driver.cuMemPrefetchAsync(address, size, device, stream); });
}
extern "C" cudaError_t cudaMemPrefetchAsync_ptsz(const void* address, size_t size, int device,
                                                 cudaStream_t stream) {
  return InContext([&] { return driver.cuMemPrefetchAsync_ptsz(address, size, device, stream); });
}
#define cudaMemPrefetchAsync_ptsz_v2 cudaMemPrefetchAsync_v2_ptsz
#endif
extern "C" cudaError_t TWINMMU_BY_LOCATION(cudaMemAdvise)(const void* address, size_t size,
                                                          int advice, cudaMemLocation location) {
  return InContext([&] { return driver.cuMemAdvise_v2(address, size, advice, location); });
}
extern "C" cudaError_t TWINMMU_BY_LOCATION(cudaMemPrefetchAsync)(const void* address, size_t size,
                                                                 cudaMemLocation location,
                                                                 unsigned int flags,
                                                                 cudaStream_t stream) {
  return InContext(
      [&] { return driver.cuMemPrefetchAsync_v2(address, size, location, flags, stream); });
}
extern "C" cudaError_t TWINMMU_BY_LOCATION(cudaMemPrefetchAsync_ptsz)(const void* address,
                                                                      size_t size,
                                                                      cudaMemLocation location,
                                                                      unsigned int flags,
                                                                      cudaStream_t stream) {
  return InContext(
      [&] { return driver.cuMemPrefetchAsync_v2_ptsz(address, size, location, flags, stream); });
}

// --- Copies in batches: since CUDA 13 without the index of the copy that failed.

#if TWINMMU_RUNTIME_VERSION >= 13000
#define TWINMMU_BATCH_PARAMETERS                                                          \
  (void** to, void** from, size_t* sizes, size_t count, cudaMemcpyAttributes* attributes, \
   size_t* first, size_t attribute_count, cudaStream_t stream)
#define TWINMMU_BATCH_ARGUMENTS (to, from, sizes, count, attributes, first, attribute_count, stream)
#define TWINMMU_BATCH_DRIVER(suffix) driver.cuMemcpyBatchAsync_v2##suffix
#else
#define TWINMMU_BATCH_PARAMETERS                                                          \
  (void** to, void** from, size_t* sizes, size_t count, cudaMemcpyAttributes* attributes, \
   size_t* first, size_t attribute_count, size_t* failed, cudaStream_t stream)
#define TWINMMU_BATCH_ARGUMENTS \
  (to, from, sizes, count, attributes, first, attribute_count, failed, stream)
#define TWINMMU_BATCH_DRIVER(suffix) driver.cuMemcpyBatchAsync##suffix
#endif
extern "C" cudaError_t cudaMemcpyBatchAsync TWINMMU_BATCH_PARAMETERS {
  return InContext([&] { return TWINMMU_BATCH_DRIVER() TWINMMU_BATCH_ARGUMENTS; });
}
extern "C" cudaError_t cudaMemcpyBatchAsync_ptsz TWINMMU_BATCH_PARAMETERS {
  return InContext([&] { return TWINMMU_BATCH_DRIVER(_ptsz) TWINMMU_BATCH_ARGUMENTS; });
}

#if TWINMMU_RUNTIME_VERSION >= 13000
extern "C" cudaError_t cudaMemcpy3DBatchAsync(size_t count, void* copies, unsigned long long flags,
                                              cudaStream_t stream) {
  return InContext([&] { return driver.cuMemcpy3DBatchAsync_v2(count, copies, flags, stream); });
}
extern "C" cudaError_t cudaMemcpy3DBatchAsync_ptsz(size_t count, void* copies,
                                                   unsigned long long flags, cudaStream_t stream) {
  return InContext(
      [&] { return driver.cuMemcpy3DBatchAsync_v2_ptsz(count, copies, flags, stream); });
}
#elif TWINMMU_RUNTIME_VERSION >= 12000
extern "C" cudaError_t cudaMemcpy3DBatchAsync(size_t count, void* copies, size_t* failed,
                                              unsigned long long flags, cudaStream_t stream) {
  return InContext(
      [&] { return driver.cuMemcpy3DBatchAsync(count, copies, failed, flags, stream); });
}
extern "C" cudaError_t cudaMemcpy3DBatchAsync_ptsz(size_t count, void* copies, size_t* failed,
                                                   unsigned long long flags, cudaStream_t stream) {
  return InContext(
      [&] { return driver.cuMemcpy3DBatchAsync_ptsz(count, copies, failed, flags, stream); });
}
#endif

// --- External semaphores: the name of today was another structure's before CUDA 13.

#if TWINMMU_RUNTIME_VERSION >= 13000
#define TWINMMU_SEMAPHORES(name, suffix) name##suffix
#else
#define TWINMMU_SEMAPHORES(name, suffix) name##_v2##suffix
#endif
#define TWINMMU_SEMAPHORE_CALL(what, suffix)                                                 \
  extern "C" cudaError_t TWINMMU_SEMAPHORES(cuda##what##ExternalSemaphoresAsync, suffix)(    \
      const cudaExternalSemaphore_t* semaphores, const void* parameters, unsigned int count, \
      cudaStream_t stream) {                                                                 \
    return InContext([&] {                                                                   \
      return driver.cu##what##ExternalSemaphoresAsync##suffix(semaphores, parameters, count, \
                                                              stream);                       \
    });                                                                                      \
  }
TWINMMU_SEMAPHORE_CALL(Signal, )
TWINMMU_SEMAPHORE_CALL(Signal, _ptsz)
TWINMMU_SEMAPHORE_CALL(Wait, )
TWINMMU_SEMAPHORE_CALL(Wait, _ptsz)

// --- Graphs

#if TWINMMU_RUNTIME_VERSION >= 12000
extern "C" cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                            unsigned long long flags) {
  return InContext([&] { return driver.cuGraphInstantiateWithFlags(exec, graph, flags); });
}
extern "C" cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                           cudaGraphExecUpdateResultInfo_st* result) {
  if (exec == nullptr || graph == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&] { return driver.cuGraphExecUpdate_v2(exec, graph, result); });
}
#else
extern "C" cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                            cudaGraphNode_t* node, char* log, size_t size) {
  return InContext([&] { return driver.cuGraphInstantiate_v2(exec, graph, node, log, size); });
}
extern "C" cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                           cudaGraphNode_t* node, int* result) {
  return InContext([&] { return driver.cuGraphExecUpdate(exec, graph, node, result); });
}
#endif

#if TWINMMU_RUNTIME_VERSION >= 13000
#define TWINMMU_ADD_NODE_V2 cudaGraphAddNode
#else
#define TWINMMU_ADD_NODE_V2 cudaGraphAddNode_v2
extern "C" cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* before, size_t count,
                                        cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&] {
    return WithDriverNode(parameters, [&](void* same) {
      return driver.cuGraphAddNode(node, graph, before, count, same);
    });
  });
}
#endif
extern "C" cudaError_t TWINMMU_ADD_NODE_V2(cudaGraphNode_t* node, cudaGraph_t graph,
                                           const cudaGraphNode_t* before, const void* data,
                                           size_t count, cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&] {
    return WithDriverNode(parameters, [&](void* same) {
      return driver.cuGraphAddNode_v2(node, graph, before, data, count, same);
    });
  });
}

// --- Captures, and edges of graphs: since CUDA 13 with what goes with an edge.

#if TWINMMU_RUNTIME_VERSION >= 13000
#define TWINMMU_EDGES(name) name##_v2
#define TWINMMU_DATA(type) type data,
#define TWINMMU_PASS_DATA data,
#define TWINMMU_INFO_PARAMETERS                                                  \
  (cudaStream_t stream, int* status, unsigned long long* id, cudaGraph_t* graph, \
   const cudaGraphNode_t** before, const void** data, size_t* count)
#define TWINMMU_INFO(suffix) \
  driver.cuStreamGetCaptureInfo_v3##suffix(stream, status, id, graph, before, data, count)
#define TWINMMU_UPDATE(suffix) \
  driver.cuStreamUpdateCaptureDependencies_v2##suffix(stream, before, data, count, flags)
#else
#define TWINMMU_EDGES(name) name
#define TWINMMU_DATA(type)
#define TWINMMU_PASS_DATA
#define TWINMMU_INFO_PARAMETERS (cudaStream_t stream, int* status, unsigned long long* id)
#define TWINMMU_INFO(suffix) driver.cuStreamGetCaptureInfo##suffix(stream, status, id)
#define TWINMMU_UPDATE(suffix) \
  driver.cuStreamUpdateCaptureDependencies##suffix(stream, before, count, flags)
#endif

extern "C" cudaError_t cudaStreamGetCaptureInfo TWINMMU_INFO_PARAMETERS {
  if (status == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&] { return TWINMMU_INFO(); });
}
extern "C" cudaError_t cudaStreamGetCaptureInfo_ptsz TWINMMU_INFO_PARAMETERS {
  if (status == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&] { return TWINMMU_INFO(_ptsz); });
}
extern "C" cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
                                                           const cudaGraphNode_t* before,
                                                           TWINMMU_DATA(const void*) size_t count,
                                                           unsigned int flags) {
  return InContext([&] { return TWINMMU_UPDATE(); });
}
extern "C" cudaError_t cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t stream,
                                                                const cudaGraphNode_t* before,
                                                                TWINMMU_DATA(const void*)
                                                                    size_t count,
                                                                unsigned int flags) {
  return InContext([&] { return TWINMMU_UPDATE(_ptsz); });
}
extern "C" cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                const cudaGraphNode_t* to,
                                                TWINMMU_DATA(const void*) size_t count) {
  return InContext([&] {
    return driver.TWINMMU_EDGES(cuGraphAddDependencies)(graph, from, to, TWINMMU_PASS_DATA count);
  });
}
extern "C" cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                   const cudaGraphNode_t* to,
                                                   TWINMMU_DATA(const void*) size_t count) {
  return InContext([&] {
    return driver.TWINMMU_EDGES(cuGraphRemoveDependencies)(graph, from, to,
                                                           TWINMMU_PASS_DATA count);
  });
}
extern "C" cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from,
                                         cudaGraphNode_t* to, TWINMMU_DATA(void*) size_t* count) {
  return InContext([&] {
    return driver.TWINMMU_EDGES(cuGraphGetEdges)(graph, from, to, TWINMMU_PASS_DATA count);
  });
}
extern "C" cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                                    TWINMMU_DATA(void*) size_t* count) {
  return InContext([&] {
    return driver.TWINMMU_EDGES(cuGraphNodeGetDependencies)(node, nodes, TWINMMU_PASS_DATA count);
  });
}
extern "C" cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                                      TWINMMU_DATA(void*) size_t* count) {
  return InContext([&] {
    return driver.TWINMMU_EDGES(cuGraphNodeGetDependentNodes)(node, nodes, TWINMMU_PASS_DATA count);
  });
}

}  // namespace twinmmu::cudart
