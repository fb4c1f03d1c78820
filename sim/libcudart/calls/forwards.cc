// The functions that are one of the driver's, given the same arguments.

#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>

#include "sim/libcudart/runtime.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::cudart {

#define TWINMMU_CUDART_FORWARD(first, last, where, name, function, parameters, arguments) \
  extern "C" cudaError_t name parameters;
#define TWINMMU_CUDART_MODELLED(first, last, result, name, drivers, parameters)
#define TWINMMU_CUDART_VERSIONED(first, last, name, drivers)
#define TWINMMU_CUDART_REFUSED(first, last, name)
#include "third_party/cuda_abi/runtime_exports.inc"

namespace {

template <typename Body>
TWINMMU_INLINE cudaError_t kInContext(const Body& body) {
  return InContext(body);
}
template <typename Body>
TWINMMU_INLINE cudaError_t kAnywhere(const Body& body) {
  return Anywhere(body);
}

// --- What a function answers to some arguments itself. nullopt: the driver is asked. Source: the
// genuine runtime 13.0 on an H200.

using Answer = std::optional<cudaError_t>;

template <auto kFunction>
struct Before {
  template <typename... Arguments>
  TWINMMU_INLINE static Answer Say(const Arguments&... /*arguments*/) {
    return std::nullopt;
  }
};

// An argument that counts before the context where it is left out: null, or no number.
template <size_t kIndex>
struct Needs {
  template <typename... Arguments>
  TWINMMU_INLINE static Answer Say(const Arguments&... arguments) {
    const auto& argument = std::get<kIndex>(std::tie(arguments...));
    if (argument == std::decay_t<decltype(argument)>{}) return cudaErrorInvalidValue;
    return std::nullopt;
  }
};
#define TWINMMU_NEEDS(name, index) \
  template <>                      \
  struct Before<&name> : Needs<index> {};
TWINMMU_NEEDS(cudaHostGetDevicePointer, 1)
TWINMMU_NEEDS(cudaHostGetFlags, 0)
TWINMMU_NEEDS(cudaStreamAddCallback, 1)
TWINMMU_NEEDS(cudaStreamAddCallback_ptsz, 1)
TWINMMU_NEEDS(cudaStreamIsCapturing, 1)
TWINMMU_NEEDS(cudaStreamIsCapturing_ptsz, 1)
TWINMMU_NEEDS(cudaStreamSetAttribute, 1)
TWINMMU_NEEDS(cudaStreamSetAttribute_ptsz, 1)
TWINMMU_NEEDS(cudaGraphKernelNodeSetAttribute, 1)
TWINMMU_NEEDS(cudaGraphNodeGetType, 1)
TWINMMU_NEEDS(cudaGraphAddEventRecordNode, 4)
TWINMMU_NEEDS(cudaGraphAddEventWaitNode, 4)
TWINMMU_NEEDS(cudaGraphAddHostNode, 4)
TWINMMU_NEEDS(cudaGraphAddMemAllocNode, 4)
TWINMMU_NEEDS(cudaGraphEventRecordNodeGetEvent, 1)
TWINMMU_NEEDS(cudaGraphEventRecordNodeSetEvent, 1)
TWINMMU_NEEDS(cudaGraphEventWaitNodeGetEvent, 1)
TWINMMU_NEEDS(cudaGraphEventWaitNodeSetEvent, 1)
TWINMMU_NEEDS(cudaGraphHostNodeGetParams, 1)
TWINMMU_NEEDS(cudaGraphHostNodeSetParams, 1)
TWINMMU_NEEDS(cudaGraphMemAllocNodeGetParams, 1)
TWINMMU_NEEDS(cudaGraphMemFreeNodeGetParams, 1)
TWINMMU_NEEDS(cudaGraphMemsetNodeGetParams, 1)
TWINMMU_NEEDS(cudaGraphExecChildGraphNodeSetParams, 2)
TWINMMU_NEEDS(cudaGraphExecEventRecordNodeSetEvent, 2)
TWINMMU_NEEDS(cudaGraphExecEventWaitNodeSetEvent, 2)
TWINMMU_NEEDS(cudaGraphExecHostNodeSetParams, 2)
#undef TWINMMU_NEEDS

// Devices that are none count before what is left out.
template <>
struct Before<&cudaDeviceCanAccessPeer> {
  TWINMMU_INLINE static Answer Say(const int* can, int device, int peer) {
    if (can != nullptr) return std::nullopt;
    return Anywhere([&] {
      const bool are_devices =
          device >= 0 && device < DeviceCount() && peer >= 0 && peer < DeviceCount();
      return are_devices ? cudaErrorInvalidValue : cudaErrorInvalidDevice;
    });
  }
};

// Of no access, only captures are minded.
template <>
struct Before<&cudaMemPoolSetAccess> {
  TWINMMU_INLINE static Answer Say(cudaMemPool_t pool, const cudaMemAccessDesc* list,
                                   size_t count) {
    if (pool == nullptr || list != nullptr || count != 0) return std::nullopt;
    return Anywhere([&]() -> cudaError_t {
      // The driver wants a list, though it reads nothing of it.
      const cuda_abi::CUmemAccessDesc unread = {};
      const auto* const same = reinterpret_cast<const cudaMemAccessDesc*>(&unread);
      const cudaError_t error = driver.cuMemPoolSetAccess(pool, same, count);
      return error == cudaErrorInvalidValue ? cudaSuccess : error;
    });
  }
};

// --- These mind the context before that there is no room for the answer.

template <>
struct Before<&cudaIpcGetMemHandle> {
  TWINMMU_INLINE static Answer Say(const cudaIpcMemHandle_t* handle, const void* memory) {
    if (handle != nullptr || memory == nullptr) return std::nullopt;
    return InContext([] { return ContextOr(cudaErrorInvalidValue); });
  }
};

template <typename Ask>
TWINMMU_INLINE cudaError_t DeviceOf(int* device, cudaStream_t stream, const Ask& ask) {
  return InContextOf(stream, [&]() -> cudaError_t {
    int found = 0;
    const cudaError_t error = ask(&found);
    if (error != cudaSuccess) return error;
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = found;
    return cudaSuccess;
  });
}
template <>
struct Before<&cudaStreamGetDevice> {
  TWINMMU_INLINE static Answer Say(cudaStream_t stream, int* device) {
    return DeviceOf(device, stream,
                    [&](int* found) { return driver.cuStreamGetDevice(stream, found); });
  }
};
template <>
struct Before<&cudaStreamGetDevice_ptsz> {
  TWINMMU_INLINE static Answer Say(cudaStream_t stream, int* device) {
    return DeviceOf(device, stream,
                    [&](int* found) { return driver.cuStreamGetDevice_ptsz(stream, found); });
  }
};

// Nobody has to look at a view that is found.
template <>
struct Before<&cudaGetTextureObjectResourceViewDesc> {
  TWINMMU_INLINE static Answer Say(const cudaResourceViewDesc* view, cudaTextureObject_t object) {
    if (view != nullptr) return std::nullopt;
    return InContext([&] {
      cudaResourceViewDesc unread = {};
      return driver.cuTexObjectGetResourceViewDesc(&unread, object);
    });
  }
};

}  // namespace

#define TWINMMU_CUDART_FORWARD(first, last, where, name, function, parameters, arguments) \
  extern "C" cudaError_t name parameters {                                                \
    if (const Answer answer = Before<&name>::Say arguments) return Record(*answer);       \
    return where([&] { return driver.function arguments; });                              \
  }
#define TWINMMU_CUDART_MODELLED(first, last, result, name, drivers, parameters)
#define TWINMMU_CUDART_VERSIONED(first, last, name, drivers)
#define TWINMMU_CUDART_REFUSED(first, last, name)
#include "third_party/cuda_abi/runtime_exports.inc"

}  // namespace twinmmu::cudart
