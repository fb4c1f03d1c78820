// The functions that differ from one version of the runtime to the next. Compiled once for each,
// with TWINMMU_RUNTIME_VERSION.

#include <algorithm>
#include <cstring>

#include "sim/libcudart/node_parameters.h"
#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {

const int kRuntimeVersion = TWINMMU_RUNTIME_VERSION;

#if TWINMMU_RUNTIME_VERSION >= 13000
using DeviceProperties = twinmmu_cudaDeviceProp_13;
#define TWINMMU_DEVICE_VERSION 13
#elif TWINMMU_RUNTIME_VERSION >= 12000
using DeviceProperties = twinmmu_cudaDeviceProp_12;
#define TWINMMU_DEVICE_VERSION 12
#else
using DeviceProperties = twinmmu_cudaDeviceProp_11;
#define TWINMMU_DEVICE_VERSION 11
#endif

namespace {

// What the driver does not know is 0.
int Attribute(int attribute, int device) {
  int value = 0;
  const bool known =
      attribute != 0 && driver.cuDeviceGetAttribute(&value, attribute, device) == cudaSuccess;
  return known ? value : 0;
}

void FillFields(DeviceProperties& properties, int device) {
#define TWINMMU_DEVICE_ARRAY(type, name, count)
#define TWINMMU_DEVICE_FIELD(type, name, attribute) \
  properties.name = static_cast<type>(Attribute(attribute, device));
#define TWINMMU_DEVICE_INTS(name, count, ...)                \
  {                                                          \
    const int attributes[count] = {__VA_ARGS__};             \
    for (int i = 0; i < count; ++i) {                        \
      properties.name[i] = Attribute(attributes[i], device); \
    }                                                        \
  }
#include "third_party/cuda_abi/device_properties.inc"
}

TWINMMU_INLINE cudaError_t GetProperties(DeviceProperties* properties, int device) {
  return Anywhere([&]() -> cudaError_t {
    if (properties == nullptr) return cudaErrorInvalidValue;
    DeviceProperties found = {};
    size_t memory = 0;
    cudaError_t error = driver.cuDeviceGetName(found.name, sizeof(found.name), device);
    if (error == cudaSuccess) error = driver.cuDeviceTotalMem_v2(&memory, device);
    if (error != cudaSuccess) return error;
    FillFields(found, device);
    found.totalGlobalMem = memory;
    driver.cuDeviceGetUuid_v2(found.uuid, device);
    *properties = found;
    return cudaSuccess;
  });
}

// Of the version that the program was made for, or the newest that the driver has.
TWINMMU_INLINE cudaError_t FindEntryPoint(const char* symbol, void** function,
                                          unsigned long long flags, int* found) {
  return Anywhere([&]() -> cudaError_t {
    int newest = 0;
    int result = cudaDriverEntryPointSymbolNotFound;
    cudaError_t error = driver.cuDriverGetVersion(&newest);
    if (error != cudaSuccess) return error;
    error = driver.cuGetProcAddress_v2(symbol, function, std::min(newest, kRuntimeVersion), flags,
                                       &result);
    if (error != cudaSuccess) return error;
    if (found != nullptr) {
      *found = result;
    } else if (result != cudaDriverEntryPointSuccess) {
      return cudaErrorSymbolNotFound;
    }
    return cudaSuccess;
  });
}

#if TWINMMU_RUNTIME_VERSION < 13000
// The part of the structure that was there before CUDA 12.
void CopyOldest(const DeviceProperties& from, twinmmu_cudaDeviceProp_11* to) {
  std::memcpy(to, &from, sizeof(*to));
}
#endif

}  // namespace

extern "C" cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return Record(cudaErrorInvalidValue);
  *version = kRuntimeVersion;
  return cudaSuccess;
}

#if TWINMMU_RUNTIME_VERSION >= 13000
extern "C" cudaError_t cudaGetDeviceProperties(DeviceProperties* properties, int device) {
  return GetProperties(properties, device);
}
#else
extern "C" cudaError_t cudaGetDeviceProperties(twinmmu_cudaDeviceProp_11* properties, int device) {
  if (properties == nullptr) return Record(cudaErrorInvalidValue);
  DeviceProperties found = {};
  const cudaError_t error = GetProperties(&found, device);
  if (error == cudaSuccess) CopyOldest(found, properties);
  return error;
}
extern "C" cudaError_t cudaGetDeviceProperties_v2(DeviceProperties* properties, int device) {
  return GetProperties(properties, device);
}
#endif

#if TWINMMU_RUNTIME_VERSION >= 12000
extern "C" cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function,
                                               unsigned long long flags, int* found) {
  return FindEntryPoint(symbol, function, flags, found);
}
extern "C" cudaError_t cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function,
                                                    unsigned long long flags, int* found) {
  if (flags == cudaEnableDefault) flags = cudaEnablePerThreadDefaultStream;
  return FindEntryPoint(symbol, function, flags, found);
}
#else
extern "C" cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function,
                                               unsigned long long flags) {
  return FindEntryPoint(symbol, function, flags, nullptr);
}
extern "C" cudaError_t cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function,
                                                    unsigned long long flags) {
  if (flags == cudaEnableDefault) flags = cudaEnablePerThreadDefaultStream;
  return FindEntryPoint(symbol, function, flags, nullptr);
}
#endif

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

// --- Graphs

#if TWINMMU_RUNTIME_VERSION >= 12000
extern "C" cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                            unsigned long long flags) {
  return InContext([&] { return driver.cuGraphInstantiateWithFlags(exec, graph, flags); });
}
extern "C" cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                           cudaGraphExecUpdateResultInfo_st* result) {
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
  return InContext([&] { return TWINMMU_INFO(); });
}
extern "C" cudaError_t cudaStreamGetCaptureInfo_ptsz TWINMMU_INFO_PARAMETERS {
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
