// Variables of the device, by the address that stands for them on the host.

#include "sim/libcudart/copy_parameters.h"
#include "sim/libcudart/registered_code.h"
#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {
namespace {

// When a copy looks whether it goes the right way: a queued one before it looks for an end.
enum class Looks { kLast, kFirst };

cudaError_t FindPart(const void* symbol, size_t size, size_t offset, bool is_right_way, Looks looks,
                     char** address) {
  return InContext([&]() -> cudaError_t {
    const bool may_go_on = is_right_way || looks == Looks::kLast;
    const cudaError_t error = FindPartOfVariable(symbol, size, offset, may_go_on, address);
    return error == cudaSuccess && !is_right_way ? cudaErrorInvalidMemcpyDirection : error;
  });
}

template <typename Copy>
TWINMMU_INLINE cudaError_t CopyPart(const void* symbol, size_t size, size_t offset,
                                    bool is_right_way, Looks looks, const Copy& copy) {
  const Caller caller = TWINMMU_CALLER;
  if (size == 0) return Anywhere([] { return cudaSuccess; });
  char* address = nullptr;
  const cudaError_t error = FindPart(symbol, size, offset, is_right_way, looks, &address);
  return error == cudaSuccess ? copy(address) : error;
}

// Calls tell(address, size), false: there is no room for the answer. That counts last.
template <typename Tell>
TWINMMU_INLINE cudaError_t FindWhole(const void* symbol, const Tell& tell) {
  return InContext([&]() -> cudaError_t {
    void* address = nullptr;
    size_t size = 0;
    const cudaError_t error = FindVariable(symbol, &address, &size);
    if (error != cudaSuccess) return error;
    return tell(address, size) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

}  // namespace

extern "C" cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return FindWhole(symbol, [&](void* found, size_t /*size*/) {
    if (address != nullptr) *address = found;
    return address != nullptr;
  });
}

extern "C" cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  return FindWhole(symbol, [&](void* /*address*/, size_t found) {
    if (size != nullptr) *size = found;
    return size != nullptr;
  });
}

extern "C" cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t size,
                                          size_t offset, cudaMemcpyKind kind) {
  return CopyPart(symbol, size, offset, MayWriteVariable(kind), Looks::kLast,
                  [&](void* to) { return cudaMemcpy(to, from, size, kind); });
}

extern "C" cudaError_t cudaMemcpyToSymbol_ptds(const void* symbol, const void* from, size_t size,
                                               size_t offset, cudaMemcpyKind kind) {
  return CopyPart(symbol, size, offset, MayWriteVariable(kind), Looks::kLast,
                  [&](void* to) { return cudaMemcpy_ptds(to, from, size, kind); });
}

extern "C" cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t size,
                                            size_t offset, cudaMemcpyKind kind) {
  return CopyPart(symbol, size, offset, MayReadVariable(kind), Looks::kLast,
                  [&](const void* from) { return cudaMemcpy(to, from, size, kind); });
}

extern "C" cudaError_t cudaMemcpyFromSymbol_ptds(void* to, const void* symbol, size_t size,
                                                 size_t offset, cudaMemcpyKind kind) {
  return CopyPart(symbol, size, offset, MayReadVariable(kind), Looks::kLast,
                  [&](const void* from) { return cudaMemcpy_ptds(to, from, size, kind); });
}

extern "C" cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t size,
                                               size_t offset, cudaMemcpyKind kind,
                                               cudaStream_t stream) {
  return CopyPart(symbol, size, offset, MayWriteVariable(kind), Looks::kFirst,
                  [&](void* to) { return cudaMemcpyAsync(to, from, size, kind, stream); });
}

extern "C" cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* from,
                                                    size_t size, size_t offset, cudaMemcpyKind kind,
                                                    cudaStream_t stream) {
  return CopyPart(symbol, size, offset, MayWriteVariable(kind), Looks::kFirst,
                  [&](void* to) { return cudaMemcpyAsync_ptsz(to, from, size, kind, stream); });
}

extern "C" cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t size,
                                                 size_t offset, cudaMemcpyKind kind,
                                                 cudaStream_t stream) {
  return CopyPart(symbol, size, offset, MayReadVariable(kind), Looks::kFirst,
                  [&](const void* from) { return cudaMemcpyAsync(to, from, size, kind, stream); });
}

extern "C" cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void* to, const void* symbol, size_t size,
                                                      size_t offset, cudaMemcpyKind kind,
                                                      cudaStream_t stream) {
  return CopyPart(
      symbol, size, offset, MayReadVariable(kind), Looks::kFirst,
      [&](const void* from) { return cudaMemcpyAsync_ptsz(to, from, size, kind, stream); });
}

}  // namespace twinmmu::cudart
