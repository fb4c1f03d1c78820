// Variables of the device, by the address that stands for them on the host.

#include "sim/libcudart/copy_parameters.h"
#include "sim/libcudart/registered_code.h"
#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {
namespace {

cudaError_t FindPart(const void* symbol, size_t size, size_t offset, char** address) {
  return InContext([&] { return FindPartOfVariable(symbol, size, offset, address); });
}

template <typename Copy>
TWINMMU_INLINE cudaError_t ToSymbol(const void* symbol, size_t size, size_t offset,
                                    cudaMemcpyKind kind, const Copy& copy) {
  const Caller caller = TWINMMU_CALLER;
  if (!MayWriteVariable(kind)) return Record(cudaErrorInvalidMemcpyDirection);
  char* address = nullptr;
  const cudaError_t error = FindPart(symbol, size, offset, &address);
  return error == cudaSuccess ? copy(address) : error;
}

template <typename Copy>
TWINMMU_INLINE cudaError_t FromSymbol(const void* symbol, size_t size, size_t offset,
                                      cudaMemcpyKind kind, const Copy& copy) {
  const Caller caller = TWINMMU_CALLER;
  if (!MayReadVariable(kind)) return Record(cudaErrorInvalidMemcpyDirection);
  char* address = nullptr;
  const cudaError_t error = FindPart(symbol, size, offset, &address);
  return error == cudaSuccess ? copy(address) : error;
}

}  // namespace

extern "C" cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return InContext([&]() -> cudaError_t {
    size_t size = 0;
    return address != nullptr ? FindVariable(symbol, address, &size) : cudaErrorInvalidValue;
  });
}

extern "C" cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  return InContext([&]() -> cudaError_t {
    void* address = nullptr;
    return size != nullptr ? FindVariable(symbol, &address, size) : cudaErrorInvalidValue;
  });
}

extern "C" cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t size,
                                          size_t offset, cudaMemcpyKind kind) {
  return ToSymbol(symbol, size, offset, kind,
                  [&](void* to) { return cudaMemcpy(to, from, size, kind); });
}

extern "C" cudaError_t cudaMemcpyToSymbol_ptds(const void* symbol, const void* from, size_t size,
                                               size_t offset, cudaMemcpyKind kind) {
  return ToSymbol(symbol, size, offset, kind,
                  [&](void* to) { return cudaMemcpy_ptds(to, from, size, kind); });
}

extern "C" cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t size,
                                            size_t offset, cudaMemcpyKind kind) {
  return FromSymbol(symbol, size, offset, kind,
                    [&](const void* from) { return cudaMemcpy(to, from, size, kind); });
}

extern "C" cudaError_t cudaMemcpyFromSymbol_ptds(void* to, const void* symbol, size_t size,
                                                 size_t offset, cudaMemcpyKind kind) {
  return FromSymbol(symbol, size, offset, kind,
                    [&](const void* from) { return cudaMemcpy_ptds(to, from, size, kind); });
}

extern "C" cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t size,
                                               size_t offset, cudaMemcpyKind kind,
                                               cudaStream_t stream) {
  return ToSymbol(symbol, size, offset, kind,
                  [&](void* to) { return cudaMemcpyAsync(to, from, size, kind, stream); });
}

extern "C" cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* from,
                                                    size_t size, size_t offset, cudaMemcpyKind kind,
                                                    cudaStream_t stream) {
  return ToSymbol(symbol, size, offset, kind,
                  [&](void* to) { return cudaMemcpyAsync_ptsz(to, from, size, kind, stream); });
}

extern "C" cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t size,
                                                 size_t offset, cudaMemcpyKind kind,
                                                 cudaStream_t stream) {
  return FromSymbol(symbol, size, offset, kind, [&](const void* from) {
    return cudaMemcpyAsync(to, from, size, kind, stream);
  });
}

extern "C" cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void* to, const void* symbol, size_t size,
                                                      size_t offset, cudaMemcpyKind kind,
                                                      cudaStream_t stream) {
  return FromSymbol(symbol, size, offset, kind, [&](const void* from) {
    return cudaMemcpyAsync_ptsz(to, from, size, kind, stream);
  });
}

}  // namespace twinmmu::cudart
