// Copies as the runtime's functions say them, in the driver's words.

#ifndef TWINMMU_SIM_LIBCUDART_COPY_PARAMETERS_H_
#define TWINMMU_SIM_LIBCUDART_COPY_PARAMETERS_H_

#include <cstddef>

#include "third_party/cuda_abi/cuda_abi.h"
#include "third_party/cuda_abi/cudart_abi.h"

namespace twinmmu::cudart {

inline bool Exists(cudaMemcpyKind kind) {
  return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}
// Whether a copy of that kind may write a variable of a device, or read one.
inline bool MayWriteVariable(cudaMemcpyKind kind) {
  return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ||
         kind == cudaMemcpyDefault;
}
inline bool MayReadVariable(cudaMemcpyKind kind) {
  return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ||
         kind == cudaMemcpyDefault;
}

// CUmemorytype of what is read or written.
inline int MemoryOf(cudaMemcpyKind kind, bool written) {
  constexpr int kHost = 1;
  constexpr int kDevice = 2;
  constexpr int kUnified = 4;
  if (kind == cudaMemcpyDefault) return kUnified;
  const bool host = written ? kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost
                            : kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;
  return host ? kHost : kDevice;
}

inline bool IsEmpty(const cudaExtent& extent) {
  return extent.width == 0 || extent.height == 0 || extent.depth == 0;
}

cuda_abi::CUDA_MEMCPY3D RowsOf(size_t width, size_t height);

// The ends of a copy; x is in bytes.
void SetFrom(cuda_abi::CUDA_MEMCPY3D* copy, const cudaArray* array, size_t x, size_t y, size_t z);
void SetTo(cuda_abi::CUDA_MEMCPY3D* copy, cudaArray_t array, size_t x, size_t y, size_t z);
void SetFrom(cuda_abi::CUDA_MEMCPY3D* copy, cudaMemcpyKind kind, const cudaPitchedPtr& memory);
void SetTo(cuda_abi::CUDA_MEMCPY3D* copy, cudaMemcpyKind kind, const cudaPitchedPtr& memory);

// The whole of it, whose x is in elements: those of an array, or bytes where there is none.
cudaError_t Translate(const cudaMemcpy3DParms& from, cuda_abi::CUDA_MEMCPY3D* copy);
cudaError_t TranslateBack(const cuda_abi::CUDA_MEMCPY3D& from, cudaMemcpy3DParms* copy);

}  // namespace twinmmu::cudart

#endif  // TWINMMU_SIM_LIBCUDART_COPY_PARAMETERS_H_
