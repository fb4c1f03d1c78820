// External memory and external semaphores.

#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {
namespace {

// The driver wants zeros behind what runtimes before CUDA 13 have.
struct DriverHandleDesc {
  cudaExternalMemoryHandleDesc known;
  char zeros[64];
};
struct DriverBufferDesc {
  cudaExternalMemoryBufferDesc known;
  char zeros[64];
};
struct DriverSemaphoreDesc {
  cudaExternalSemaphoreHandleDesc known;
  char zeros[64];
};
static_assert(sizeof(DriverHandleDesc) == 104 && sizeof(DriverBufferDesc) == 88);
static_assert(sizeof(DriverSemaphoreDesc) == 96);

}  // namespace

extern "C" cudaError_t cudaImportExternalMemory(cudaExternalMemory_t* memory,
                                                const cudaExternalMemoryHandleDesc* description) {
  if (description == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&]() -> cudaError_t {
    DriverHandleDesc asked = {};
    asked.known.type = description->type;
    asked.known.handle = description->handle;
    asked.known.size = description->size;
    asked.known.flags = description->flags;
    return driver.cuImportExternalMemory(memory, &asked.known);
  });
}

extern "C" cudaError_t cudaExternalMemoryGetMappedBuffer(
    void** address, cudaExternalMemory_t memory, const cudaExternalMemoryBufferDesc* description) {
  if (description == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&]() -> cudaError_t {
    DriverBufferDesc asked = {};
    asked.known.offset = description->offset;
    asked.known.size = description->size;
    asked.known.flags = description->flags;
    return driver.cuExternalMemoryGetMappedBuffer(address, memory, &asked.known);
  });
}

extern "C" cudaError_t cudaImportExternalSemaphore(
    cudaExternalSemaphore_t* semaphore, const cudaExternalSemaphoreHandleDesc* description) {
  if (description == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&]() -> cudaError_t {
    DriverSemaphoreDesc asked = {};
    asked.known.type = description->type;
    asked.known.handle = description->handle;
    asked.known.flags = description->flags;
    return driver.cuImportExternalSemaphore(semaphore, &asked.known);
  });
}

}  // namespace twinmmu::cudart
