// Copies from and to arrays: of rows, of boxes, and of bytes that go on from row to row.

#include <algorithm>

#include "sim/libcudart/array_formats.h"
#include "sim/libcudart/copy_parameters.h"
#include "sim/libcudart/runtime.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::cudart {
namespace {

using cuda_abi::CUDA_ARRAY3D_DESCRIPTOR;
using cuda_abi::CUDA_MEMCPY3D;

// How the driver is told of a copy.
struct Blocking {
  cudaError_t operator()(const CUDA_MEMCPY3D& copy) const { return driver.cuMemcpy3D_v2(&copy); }
};
struct BlockingOfThread {
  cudaError_t operator()(const CUDA_MEMCPY3D& copy) const {
    return driver.cuMemcpy3D_v2_ptds(&copy);
  }
};
struct Queued {
  cudaError_t operator()(const CUDA_MEMCPY3D& copy) const {
    return driver.cuMemcpy3DAsync_v2(&copy, stream);
  }
  cudaStream_t stream;
};
struct QueuedOfThread {
  cudaError_t operator()(const CUDA_MEMCPY3D& copy) const {
    return driver.cuMemcpy3DAsync_v2_ptsz(&copy, stream);
  }
  cudaStream_t stream;
};

template <typename By>
TWINMMU_INLINE cudaError_t CopyBox(const By& by, const cudaMemcpy3DParms* parameters) {
  return InContext([&]() -> cudaError_t {
    if (parameters == nullptr) return cudaErrorInvalidValue;
    if (IsEmpty(parameters->extent)) return by(CUDA_MEMCPY3D{});  // captures may forbid that, too
    CUDA_MEMCPY3D copy;
    const cudaError_t error = Translate(*parameters, &copy);
    return error == cudaSuccess ? by(copy) : error;
  });
}

template <typename By>
TWINMMU_INLINE cudaError_t CopyRowsTo(const By& by, cudaArray_t to, size_t x, size_t y,
                                      const void* from, size_t pitch, size_t width, size_t height,
                                      cudaMemcpyKind kind) {
  return InContext([&]() -> cudaError_t {
    if (width == 0 || height == 0) return cudaSuccess;
    if (height > 1 && pitch < width) return cudaErrorInvalidPitchValue;
    if (!MayWriteVariable(kind)) return cudaErrorInvalidMemcpyDirection;
    if (to == nullptr) return cudaErrorInvalidResourceHandle;
    CUDA_MEMCPY3D copy = RowsOf(width, height);
    SetTo(&copy, to, x, y, 0);
    SetFrom(&copy, kind, {const_cast<void*>(from), pitch, width, height});
    return by(copy);
  });
}

template <typename By>
TWINMMU_INLINE cudaError_t CopyRowsFrom(const By& by, void* to, size_t pitch, const cudaArray* from,
                                        size_t x, size_t y, size_t width, size_t height,
                                        cudaMemcpyKind kind) {
  return InContext([&]() -> cudaError_t {
    if (width == 0 || height == 0) return cudaSuccess;
    if (height > 1 && pitch < width) return cudaErrorInvalidPitchValue;
    if (!MayReadVariable(kind)) return cudaErrorInvalidMemcpyDirection;
    if (from == nullptr) return cudaErrorInvalidResourceHandle;
    CUDA_MEMCPY3D copy = RowsOf(width, height);
    SetFrom(&copy, from, x, y, 0);
    SetTo(&copy, kind, {to, pitch, width, height});
    return by(copy);
  });
}

bool StaysOnDevices(cudaMemcpyKind kind) {
  return kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}

template <typename By>
TWINMMU_INLINE cudaError_t CopyRowsBetween(const By& by, cudaArray_t to, size_t to_x, size_t to_y,
                                           const cudaArray* from, size_t from_x, size_t from_y,
                                           size_t width, size_t height, cudaMemcpyKind kind) {
  return InContext([&]() -> cudaError_t {
    if (width == 0 || height == 0) return cudaSuccess;
    if (!StaysOnDevices(kind)) return cudaErrorInvalidMemcpyDirection;
    CUDA_MEMCPY3D copy = RowsOf(width, height);
    SetTo(&copy, to, to_x, to_y, 0);
    SetFrom(&copy, from, from_x, from_y, 0);
    return by(copy);
  });
}

// Bytes of an array, row after row.
struct Position {
  size_t x;
  size_t y;
  size_t row_bytes;

  void Advance(size_t bytes) {
    x += bytes;
    y += x / row_bytes;
    x %= row_bytes;
  }
};

// Where bytes of the array begin. Whether they end in it, the driver sees, when all that do are
// copied.
cudaError_t Find(const cudaArray* array, size_t x, size_t y, Position* position) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  const cudaError_t error = driver.cuArray3DGetDescriptor_v2(&descriptor, array);
  if (error != cudaSuccess) return error;
  const size_t element =
      static_cast<size_t>(BitsOf(descriptor.Format) / 8) * descriptor.NumChannels;
  const size_t rows = std::max<size_t>(descriptor.Height, 1);
  const size_t row_bytes = descriptor.Width * element;
  if (y >= rows || row_bytes == 0 || x > row_bytes) return cudaErrorInvalidValue;
  *position = {0, y, row_bytes};
  position->Advance(x);  // behind a row the next one begins
  return cudaSuccess;
}

// The rows that can be copied at once: whole ones, or a part of one.
CUDA_MEMCPY3D NextRows(const Position& position, size_t size) {
  const size_t in_row = position.row_bytes - position.x;
  if (position.x != 0 || size < in_row) return RowsOf(std::min(size, in_row), 1);
  return RowsOf(in_row, size / in_row);
}

// Calls set(&copy, done) for the ends of each part, and copies it.
template <typename By, typename Set>
cudaError_t CopyParts(const By& by, Position position, size_t size, const Set& set) {
  for (size_t done = 0; done < size;) {
    CUDA_MEMCPY3D copy = NextRows(position, size - done);
    const size_t bytes = copy.WidthInBytes * copy.Height;
    set(&copy, position, done);
    const cudaError_t error = by(copy);
    if (error != cudaSuccess) return error;
    position.Advance(bytes);
    done += bytes;
  }
  return cudaSuccess;
}

template <typename By>
TWINMMU_INLINE cudaError_t CopyBytesTo(const By& by, cudaArray_t to, size_t x, size_t y,
                                       const void* from, size_t size, cudaMemcpyKind kind) {
  return InContext([&]() -> cudaError_t {
    if (size == 0) return cudaSuccess;
    if (!MayWriteVariable(kind)) return cudaErrorInvalidMemcpyDirection;
    Position position = {};
    const cudaError_t error = Find(to, x, y, &position);
    if (error != cudaSuccess) return error;
    char* const bytes = static_cast<char*>(const_cast<void*>(from));
    return CopyParts(by, position, size, [&](CUDA_MEMCPY3D* copy, const Position& at, size_t done) {
      SetTo(copy, to, at.x, at.y, 0);
      SetFrom(copy, kind, {bytes + done, copy->WidthInBytes, 0, copy->Height});
    });
  });
}

template <typename By>
TWINMMU_INLINE cudaError_t CopyBytesFrom(const By& by, void* to, const cudaArray* from, size_t x,
                                         size_t y, size_t size, cudaMemcpyKind kind) {
  return InContext([&]() -> cudaError_t {
    if (size == 0) return cudaSuccess;
    if (!MayReadVariable(kind)) return cudaErrorInvalidMemcpyDirection;
    Position position = {};
    const cudaError_t error = Find(from, x, y, &position);
    if (error != cudaSuccess) return error;
    return CopyParts(by, position, size, [&](CUDA_MEMCPY3D* copy, const Position& at, size_t done) {
      SetFrom(copy, from, at.x, at.y, 0);
      SetTo(copy, kind, {static_cast<char*>(to) + done, copy->WidthInBytes, 0, copy->Height});
    });
  });
}

// Rows may have other lengths on the other side: no part is longer than what is left of either row.
template <typename By>
TWINMMU_INLINE cudaError_t CopyBytesBetween(const By& by, cudaArray_t to, size_t to_x, size_t to_y,
                                            const cudaArray* from, size_t from_x, size_t from_y,
                                            size_t size, cudaMemcpyKind kind) {
  return InContext([&]() -> cudaError_t {
    if (size == 0) return cudaSuccess;
    if (!StaysOnDevices(kind)) return cudaErrorInvalidMemcpyDirection;
    Position target = {};
    Position source = {};
    cudaError_t error = Find(to, to_x, to_y, &target);
    if (error == cudaSuccess) error = Find(from, from_x, from_y, &source);
    while (error == cudaSuccess && size > 0) {
      const size_t bytes =
          std::min({size, target.row_bytes - target.x, source.row_bytes - source.x});
      CUDA_MEMCPY3D copy = RowsOf(bytes, 1);
      SetTo(&copy, to, target.x, target.y, 0);
      SetFrom(&copy, from, source.x, source.y, 0);
      error = by(copy);
      target.Advance(bytes);
      source.Advance(bytes);
      size -= bytes;
    }
    return error;
  });
}

}  // namespace

// A function, and its form for the default stream of a thread. The arguments come last.
#define TWINMMU_COPY(name, call, ...)               \
  extern "C" cudaError_t name(__VA_ARGS__) {        \
    const Blocking by;                              \
    return call;                                    \
  }                                                 \
  extern "C" cudaError_t name##_ptds(__VA_ARGS__) { \
    const BlockingOfThread by;                      \
    return call;                                    \
  }
#define TWINMMU_COPY_ASYNC(name, call, ...)                              \
  extern "C" cudaError_t name(__VA_ARGS__, cudaStream_t stream) {        \
    const Queued by = {stream};                                          \
    return call;                                                         \
  }                                                                      \
  extern "C" cudaError_t name##_ptsz(__VA_ARGS__, cudaStream_t stream) { \
    const QueuedOfThread by = {stream};                                  \
    return call;                                                         \
  }

#define TWINMMU_CALL CopyBox(by, copy)
TWINMMU_COPY(cudaMemcpy3D, TWINMMU_CALL, const cudaMemcpy3DParms* copy)
TWINMMU_COPY_ASYNC(cudaMemcpy3DAsync, TWINMMU_CALL, const cudaMemcpy3DParms* copy)
#undef TWINMMU_CALL

#define TWINMMU_CALL CopyRowsTo(by, to, x, y, from, pitch, width, height, kind)
TWINMMU_COPY(cudaMemcpy2DToArray, TWINMMU_CALL, cudaArray_t to, size_t x, size_t y,
             const void* from, size_t pitch, size_t width, size_t height, cudaMemcpyKind kind)
TWINMMU_COPY_ASYNC(cudaMemcpy2DToArrayAsync, TWINMMU_CALL, cudaArray_t to, size_t x, size_t y,
                   const void* from, size_t pitch, size_t width, size_t height, cudaMemcpyKind kind)
#undef TWINMMU_CALL

#define TWINMMU_CALL CopyRowsFrom(by, to, pitch, from, x, y, width, height, kind)
TWINMMU_COPY(cudaMemcpy2DFromArray, TWINMMU_CALL, void* to, size_t pitch, const cudaArray* from,
             size_t x, size_t y, size_t width, size_t height, cudaMemcpyKind kind)
TWINMMU_COPY_ASYNC(cudaMemcpy2DFromArrayAsync, TWINMMU_CALL, void* to, size_t pitch,
                   const cudaArray* from, size_t x, size_t y, size_t width, size_t height,
                   cudaMemcpyKind kind)
#undef TWINMMU_CALL

TWINMMU_COPY(cudaMemcpy2DArrayToArray,
             CopyRowsBetween(by, to, to_x, to_y, from, from_x, from_y, width, height, kind),
             cudaArray_t to, size_t to_x, size_t to_y, const cudaArray* from, size_t from_x,
             size_t from_y, size_t width, size_t height, cudaMemcpyKind kind)

#define TWINMMU_CALL CopyBytesTo(by, to, x, y, from, size, kind)
TWINMMU_COPY(cudaMemcpyToArray, TWINMMU_CALL, cudaArray_t to, size_t x, size_t y, const void* from,
             size_t size, cudaMemcpyKind kind)
TWINMMU_COPY_ASYNC(cudaMemcpyToArrayAsync, TWINMMU_CALL, cudaArray_t to, size_t x, size_t y,
                   const void* from, size_t size, cudaMemcpyKind kind)
#undef TWINMMU_CALL

#define TWINMMU_CALL CopyBytesFrom(by, to, from, x, y, size, kind)
TWINMMU_COPY(cudaMemcpyFromArray, TWINMMU_CALL, void* to, const cudaArray* from, size_t x, size_t y,
             size_t size, cudaMemcpyKind kind)
TWINMMU_COPY_ASYNC(cudaMemcpyFromArrayAsync, TWINMMU_CALL, void* to, const cudaArray* from,
                   size_t x, size_t y, size_t size, cudaMemcpyKind kind)
#undef TWINMMU_CALL

TWINMMU_COPY(cudaMemcpyArrayToArray,
             CopyBytesBetween(by, to, to_x, to_y, from, from_x, from_y, size, kind), cudaArray_t to,
             size_t to_x, size_t to_y, const cudaArray* from, size_t from_x, size_t from_y,
             size_t size, cudaMemcpyKind kind)

}  // namespace twinmmu::cudart
