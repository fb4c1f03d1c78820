// Memory of devices and of the host, and pools.

#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {
namespace {

// Nothing is where an allocation of no bytes is; the driver refuses one.
template <typename Body>
TWINMMU_INLINE cudaError_t Allocate(void** address, size_t size, const Body& body) {
  if (address == nullptr) return Anywhere([] { return cudaErrorInvalidValue; });
  return InContext([&]() -> cudaError_t {
    if (size != 0) return body();
    *address = nullptr;
    return cudaSuccess;
  });
}

// Of no bytes, too, the driver is asked, as captures may forbid that; that it refuses them is no
// error.
template <typename Body>
TWINMMU_INLINE cudaError_t AllocateIn(cudaStream_t stream, void** address, size_t size,
                                      const Body& body) {
  if (address == nullptr) return Anywhere([] { return cudaErrorInvalidValue; });
  return InContextOf(stream, [&]() -> cudaError_t {
    const cudaError_t error = body();
    if (size != 0 || error != cudaErrorInvalidValue) return error;
    *address = nullptr;
    return cudaSuccess;
  });
}

// Even no bytes come from a pool.
template <typename Body>
TWINMMU_INLINE cudaError_t AllocateFrom(cudaMemPool_t pool, cudaStream_t stream, void** address,
                                        size_t size, const Body& body) {
  if (pool != nullptr || address == nullptr) return AllocateIn(stream, address, size, body);
  return InContextOf(stream, body);
}

// So nothing is to be done to free it, unless a capture forbids that.
template <typename Body>
TWINMMU_INLINE cudaError_t Free(const void* address, const Body& body) {
  return InContext(
      [&]() -> cudaError_t { return address != nullptr ? body() : driver.cuMemFree_v2(nullptr); });
}

// The largest element that a kernel can load at once from such memory.
constexpr unsigned int kPitchElement = 4;

}  // namespace

extern "C" cudaError_t cudaMalloc(void** address, size_t size) {
  return Allocate(address, size, [&] { return driver.cuMemAlloc_v2(address, size); });
}

extern "C" cudaError_t cudaFree(void* address) {
  return Free(address, [&] { return driver.cuMemFree_v2(address); });
}

extern "C" cudaError_t cudaMallocHost(void** memory, size_t size) {
  const Caller caller = TWINMMU_CALLER;
  return cudaHostAlloc(memory, size, cudaHostAllocDefault);
}

extern "C" cudaError_t cudaHostAlloc(void** memory, size_t size, unsigned int flags) {
  return InContext([&]() -> cudaError_t {
    if (size != 0) return driver.cuMemHostAlloc(memory, size, flags);
    if (memory == nullptr) return cudaErrorInvalidValue;
    *memory = nullptr;
    return cudaSuccess;
  });
}

extern "C" cudaError_t cudaFreeHost(void* memory) {
  return Free(memory, [&] { return driver.cuMemFreeHost(memory); });
}

extern "C" cudaError_t cudaMallocPitch(void** address, size_t* pitch, size_t width, size_t height) {
  if (address == nullptr || pitch == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&]() -> cudaError_t {
    if (width != 0 && height != 0) {
      return driver.cuMemAllocPitch_v2(address, pitch, width, height, kPitchElement);
    }
    *address = nullptr;
    *pitch = 0;
    return cudaSuccess;
  });
}

extern "C" cudaError_t cudaMalloc3D(cudaPitchedPtr* memory, cudaExtent extent) {
  const Caller caller = TWINMMU_CALLER;
  if (memory == nullptr) return Record(cudaErrorInvalidValue);
  size_t rows = 0;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows)) {
    return Record(cudaErrorMemoryAllocation);
  }
  cudaPitchedPtr made = {nullptr, 0, extent.width, extent.height};
  const cudaError_t error = cudaMallocPitch(&made.ptr, &made.pitch, extent.width, rows);
  if (error == cudaSuccess) *memory = made;
  // As the genuine one, if it came so far.
  if (error == cudaErrorMemoryAllocation && made.pitch != 0) memory->pitch = made.pitch;
  return error;
}

extern "C" cudaError_t cudaMallocManaged(void** address, size_t size, unsigned int flags) {
  return Allocate(address, size, [&] { return driver.cuMemAllocManaged(address, size, flags); });
}

extern "C" cudaError_t cudaMallocAsync(void** address, size_t size, cudaStream_t stream) {
  return AllocateIn(stream, address, size,
                    [&] { return driver.cuMemAllocAsync(address, size, stream); });
}

extern "C" cudaError_t cudaMallocAsync_ptsz(void** address, size_t size, cudaStream_t stream) {
  return AllocateIn(stream, address, size,
                    [&] { return driver.cuMemAllocAsync_ptsz(address, size, stream); });
}

extern "C" cudaError_t cudaMallocFromPoolAsync(void** address, size_t size, cudaMemPool_t pool,
                                               cudaStream_t stream) {
  return AllocateFrom(pool, stream, address, size,
                      [&] { return driver.cuMemAllocFromPoolAsync(address, size, pool, stream); });
}

extern "C" cudaError_t cudaMallocFromPoolAsync_ptsz(void** address, size_t size, cudaMemPool_t pool,
                                                    cudaStream_t stream) {
  return AllocateFrom(pool, stream, address, size, [&] {
    return driver.cuMemAllocFromPoolAsync_ptsz(address, size, pool, stream);
  });
}

extern "C" cudaError_t cudaFreeAsync(void* address, cudaStream_t stream) {
  return InContextOf(stream, [&] { return driver.cuMemFreeAsync(address, stream); });
}

extern "C" cudaError_t cudaFreeAsync_ptsz(void* address, cudaStream_t stream) {
  return InContextOf(stream, [&] { return driver.cuMemFreeAsync_ptsz(address, stream); });
}

// The driver has more room for flags.
extern "C" cudaError_t cudaMemPoolExportToShareableHandle(void* shareable, cudaMemPool_t pool,
                                                          int type, unsigned int flags) {
  return Anywhere(
      [&] { return driver.cuMemPoolExportToShareableHandle(shareable, pool, type, flags); });
}

extern "C" cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t* pool, void* shareable,
                                                            int type, unsigned int flags) {
  return Anywhere(
      [&] { return driver.cuMemPoolImportFromShareableHandle(pool, shareable, type, flags); });
}

extern "C" cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                                const void* pointer) {
  return Anywhere([&]() -> cudaError_t {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    unsigned int type = 0;
    unsigned int managed = 0;
    int device = cudaInvalidDeviceId;
    void* on_device = nullptr;
    void* on_host = nullptr;
    // CU_POINTER_ATTRIBUTE_MEMORY_TYPE, _IS_MANAGED, _DEVICE_ORDINAL, _DEVICE_POINTER and
    // _HOST_POINTER. Each is 0 for what the driver does not know.
    int asked[] = {2, 8, 9, 3, 4};
    void* values[] = {&type, &managed, &device, &on_device, &on_host};
    const cudaError_t error = driver.cuPointerGetAttributes(5, asked, values, pointer);
    if (error != cudaSuccess) return error;
    const bool known = type != 0;
    attributes->type = managed != 0 ? cudaMemoryTypeManaged
                       : known      ? static_cast<cudaMemoryType>(type)
                                    : cudaMemoryTypeUnregistered;
    attributes->device = known ? device : cudaInvalidDeviceId;
    attributes->devicePointer = on_device;
    attributes->hostPointer = known ? on_host : const_cast<void*>(pointer);
    return cudaSuccess;
  });
}

}  // namespace twinmmu::cudart
