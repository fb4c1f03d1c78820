// Copies and fills, in the direction that the program says.

#include "sim/libcudart/copy_parameters.h"
#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {
namespace {

template <typename... Parameters>
using Function = cudaError_t (*)(Parameters...);

// The driver's functions for one kind of copy, by direction.
template <typename... More>
struct Copies {
  using Copy = Function<void*, const void*, size_t, More...>;
  Copy any;
  Copy to_device;
  Copy to_host;
  Copy within;
};

// Null: there is no such direction.
template <typename... More>
typename Copies<More...>::Copy Choose(const Copies<More...>& copies, cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
      return copies.any;
    case cudaMemcpyHostToDevice:
      return copies.to_device;
    case cudaMemcpyDeviceToHost:
      return copies.to_host;
    case cudaMemcpyDeviceToDevice:
      return copies.within;
    default:
      return nullptr;
  }
}

template <typename... More>
cudaError_t CopyBy(const Copies<More...>& copies, void* to, const void* from, size_t size,
                   cudaMemcpyKind kind, More... more) {
  const auto copy = Choose(copies, kind);
  return copy != nullptr ? copy(to, from, size, more...) : cudaErrorInvalidMemcpyDirection;
}

Copies<> Blocking() {
  return {driver.cuMemcpy, driver.cuMemcpyHtoD_v2, driver.cuMemcpyDtoH_v2, driver.cuMemcpyDtoD_v2};
}
Copies<> BlockingOfThread() {
  return {driver.cuMemcpy_ptds, driver.cuMemcpyHtoD_v2_ptds, driver.cuMemcpyDtoH_v2_ptds,
          driver.cuMemcpyDtoD_v2_ptds};
}
Copies<cudaStream_t> Queued() {
  return {driver.cuMemcpyAsync, driver.cuMemcpyHtoDAsync_v2, driver.cuMemcpyDtoHAsync_v2,
          driver.cuMemcpyDtoDAsync_v2};
}
Copies<cudaStream_t> QueuedOfThread() {
  return {driver.cuMemcpyAsync_ptsz, driver.cuMemcpyHtoDAsync_v2_ptsz,
          driver.cuMemcpyDtoHAsync_v2_ptsz, driver.cuMemcpyDtoDAsync_v2_ptsz};
}

// The rows of two pitched areas, and body(copy).
template <typename Body>
TWINMMU_INLINE cudaError_t Copy2DBy(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                    size_t width, size_t height, cudaMemcpyKind kind,
                                    const Body& body) {
  return InContext([&]() -> cudaError_t {
    if (width == 0 || height == 0) return cudaSuccess;
    if (height > 1 && (to_pitch < width || from_pitch < width)) return cudaErrorInvalidPitchValue;
    if (!Exists(kind)) return cudaErrorInvalidMemcpyDirection;
    Copy2D copy = {};
    copy.from_type = MemoryOf(kind, /*written=*/false);
    copy.from_host = from;
    copy.from_device = from;
    copy.from_pitch = from_pitch;
    copy.to_type = MemoryOf(kind, /*written=*/true);
    copy.to_host = to;
    copy.to_device = to;
    copy.to_pitch = to_pitch;
    copy.width = width;
    copy.height = height;
    return body(copy);
  });
}

template <typename Body>
TWINMMU_INLINE cudaError_t WithContexts(int to_device, int from_device, size_t size,
                                        const Body& body) {
  return InContext([&]() -> cudaError_t {
    if (size == 0) return cudaSuccess;
    CUcontext to = nullptr;
    CUcontext from = nullptr;
    cudaError_t error = PrimaryContext(to_device, &to);
    if (error == cudaSuccess) error = PrimaryContext(from_device, &from);
    return error == cudaSuccess ? body(to, from) : error;
  });
}

}  // namespace

// No bytes are copied in any direction.
extern "C" cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind) {
  return InContext([&]() -> cudaError_t {
    return size != 0 ? CopyBy(Blocking(), to, from, size, kind) : cudaSuccess;
  });
}

extern "C" cudaError_t cudaMemcpy_ptds(void* to, const void* from, size_t size,
                                       cudaMemcpyKind kind) {
  return InContext([&]() -> cudaError_t {
    return size != 0 ? CopyBy(BlockingOfThread(), to, from, size, kind) : cudaSuccess;
  });
}

extern "C" cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                                       cudaStream_t stream) {
  return InContext([&]() -> cudaError_t {
    return size != 0 ? CopyBy(Queued(), to, from, size, kind, stream) : cudaSuccess;
  });
}

extern "C" cudaError_t cudaMemcpyAsync_ptsz(void* to, const void* from, size_t size,
                                            cudaMemcpyKind kind, cudaStream_t stream) {
  return InContext([&]() -> cudaError_t {
    return size != 0 ? CopyBy(QueuedOfThread(), to, from, size, kind, stream) : cudaSuccess;
  });
}

extern "C" cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                                      size_t size) {
  return WithContexts(to_device, from_device, size,
                      [&](CUcontext to_context, CUcontext from_context) {
                        return driver.cuMemcpyPeer(to, to_context, from, from_context, size);
                      });
}

extern "C" cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from,
                                           int from_device, size_t size, cudaStream_t stream) {
  return WithContexts(
      to_device, from_device, size, [&](CUcontext to_context, CUcontext from_context) {
        return driver.cuMemcpyPeerAsync(to, to_context, from, from_context, size, stream);
      });
}

extern "C" cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                    size_t width, size_t height, cudaMemcpyKind kind) {
  return Copy2DBy(to, to_pitch, from, from_pitch, width, height, kind,
                  [](const Copy2D& copy) { return driver.cuMemcpy2DUnaligned_v2(&copy); });
}

extern "C" cudaError_t cudaMemcpy2D_ptds(void* to, size_t to_pitch, const void* from,
                                         size_t from_pitch, size_t width, size_t height,
                                         cudaMemcpyKind kind) {
  return Copy2DBy(to, to_pitch, from, from_pitch, width, height, kind,
                  [](const Copy2D& copy) { return driver.cuMemcpy2DUnaligned_v2_ptds(&copy); });
}

extern "C" cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from,
                                         size_t from_pitch, size_t width, size_t height,
                                         cudaMemcpyKind kind, cudaStream_t stream) {
  return Copy2DBy(to, to_pitch, from, from_pitch, width, height, kind,
                  [&](const Copy2D& copy) { return driver.cuMemcpy2DAsync_v2(&copy, stream); });
}

extern "C" cudaError_t cudaMemcpy2DAsync_ptsz(void* to, size_t to_pitch, const void* from,
                                              size_t from_pitch, size_t width, size_t height,
                                              cudaMemcpyKind kind, cudaStream_t stream) {
  return Copy2DBy(to, to_pitch, from, from_pitch, width, height, kind, [&](const Copy2D& copy) {
    return driver.cuMemcpy2DAsync_v2_ptsz(&copy, stream);
  });
}

// --- Fills. As memset, by the lowest byte of `value`.

// Of no bytes the driver is not asked, not even in a capture that is invalid.

extern "C" cudaError_t cudaMemset(void* to, int value, size_t size) {
  return InContext([&]() -> cudaError_t {
    if (size == 0) return cudaSuccess;
    return driver.cuMemsetD8_v2(to, static_cast<unsigned char>(value), size);
  });
}

extern "C" cudaError_t cudaMemset_ptds(void* to, int value, size_t size) {
  return InContext([&]() -> cudaError_t {
    if (size == 0) return cudaSuccess;
    return driver.cuMemsetD8_v2_ptds(to, static_cast<unsigned char>(value), size);
  });
}

extern "C" cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t stream) {
  return InContext([&]() -> cudaError_t {
    if (size == 0) return cudaSuccess;
    return driver.cuMemsetD8Async(to, static_cast<unsigned char>(value), size, stream);
  });
}

extern "C" cudaError_t cudaMemsetAsync_ptsz(void* to, int value, size_t size, cudaStream_t stream) {
  return InContext([&]() -> cudaError_t {
    if (size == 0) return cudaSuccess;
    return driver.cuMemsetD8Async_ptsz(to, static_cast<unsigned char>(value), size, stream);
  });
}

extern "C" cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width,
                                    size_t height) {
  return InContext([&]() -> cudaError_t {
    if (width == 0 || height == 0) return cudaSuccess;
    return driver.cuMemsetD2D8_v2(to, pitch, static_cast<unsigned char>(value), width, height);
  });
}

extern "C" cudaError_t cudaMemset2D_ptds(void* to, size_t pitch, int value, size_t width,
                                         size_t height) {
  return InContext([&]() -> cudaError_t {
    if (width == 0 || height == 0) return cudaSuccess;
    return driver.cuMemsetD2D8_v2_ptds(to, pitch, static_cast<unsigned char>(value), width, height);
  });
}

extern "C" cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width,
                                         size_t height, cudaStream_t stream) {
  return InContext([&]() -> cudaError_t {
    if (width == 0 || height == 0) return cudaSuccess;
    return driver.cuMemsetD2D8Async(to, pitch, static_cast<unsigned char>(value), width, height,
                                    stream);
  });
}

extern "C" cudaError_t cudaMemset2DAsync_ptsz(void* to, size_t pitch, int value, size_t width,
                                              size_t height, cudaStream_t stream) {
  return InContext([&]() -> cudaError_t {
    if (width == 0 || height == 0) return cudaSuccess;
    return driver.cuMemsetD2D8Async_ptsz(to, pitch, static_cast<unsigned char>(value), width,
                                         height, stream);
  });
}

}  // namespace twinmmu::cudart
