// Copies and fills.

#include "sim/libcuda/calls/boxes.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/of_thread.h"

namespace twinmmu::libcuda {

namespace {

// One end of a copy between peers. Without a context it is in that of the call.
struct PeerEnd {
  CUdeviceptr address;
  CUcontext context;
};

DriverCode FindPeer(const CallSite& site, DriverState& driver, Context& current, const PeerEnd& end,
                    PeerAddress* found) {
  Context* context = &current;
  const DriverCode known = FindEnd(site, driver, end.context, &context);
  if (known == DriverCode::kSuccess) *found = {context->device, DeviceAddress(end.address)};
  return known;
}

// `stream`: a CUstream, or none.
template <typename... OnStream>
CUresult CopyPeer(const CallSite& site, const PeerEnd& dst, const PeerEnd& src, size_t size,
                  OnStream... stream) {
  const NamedObject named = NamedObject::OfCopy(GivenStream(stream...));
  return EnterInContext(site, named, {}, [&](DriverState& driver, Context& context) {
    PeerAddress to;
    PeerAddress from;
    DriverCode known = FindPeer(site, driver, context, dst, &to);
    if (known == DriverCode::kSuccess) known = FindPeer(site, driver, context, src, &from);
    if (known != DriverCode::kSuccess) return ToResult(known);
    return ToResult(driver.simulator->linear().CopyPeer(WorkOf(driver, context, stream...), to,
                                                        from, Bytes(size)));
  });
}

template <typename... OnStream>
CUresult Fill(const CallSite& site, CUdeviceptr to, uint32_t value, size_t width, size_t count,
              OnStream... stream) {
  return EnterOnStream(site, GivenStream(stream...), [&](DriverState& driver, Context& context) {
    const CUDA_MEMSET_NODE_PARAMS fill = {to, 0, value, static_cast<unsigned>(width), count, 1};
    const Captured captured = CaptureFill(site, driver, context, fill, stream...);
    if (captured.has_value()) return *captured;
    return ToResult(driver.simulator->linear().Fill(
        WorkOf(driver, context, stream...), DeviceAddress(to), {value, Bytes(width)}, count));
  });
}

template <typename... OnStream>
CUresult FillRows(const CallSite& site, CUdeviceptr to, size_t pitch, uint32_t value,
                  size_t element, size_t width, size_t height, OnStream... stream) {
  return EnterOnStream(site, GivenStream(stream...), [&](DriverState& driver, Context& context) {
    const auto size = static_cast<unsigned>(element);
    const CUDA_MEMSET_NODE_PARAMS fill = {to, pitch, value, size, width, height};
    const Captured captured = CaptureFill(site, driver, context, fill, stream...);
    if (captured.has_value()) return *captured;
    return ToResult(driver.simulator->boxes().Fill(AskedOf(site, driver, context, stream...),
                                                   DeviceAddress(to), pitch,
                                                   {value, Bytes(element)}, width, height));
  });
}

}  // namespace

// --- Copies --------------------------------------------------------------------------------------

extern "C" CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void* srcHost, size_t byteCount) {
  return EnterInContext(TWINMMU_HERE, [&](DriverState& driver, Context& context) {
    return driver.simulator->linear().CopyHostToDevice(
        WorkOf(driver, context), DeviceAddress(dstDevice), srcHost, Bytes(byteCount));
  });
}
TWINMMU_ALIAS(cuMemcpyHtoD, cuMemcpyHtoD_v2);
TWINMMU_ON_STREAM_OF_THREAD(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD_v2,
                            (CUdeviceptr dstDevice, const void* srcHost, size_t byteCount),
                            dstDevice, srcHost, byteCount)

extern "C" CUresult cuMemcpyDtoH_v2(void* dstHost, CUdeviceptr srcDevice, size_t byteCount) {
  return EnterInContext(TWINMMU_HERE, [&](DriverState& driver, Context& context) {
    return driver.simulator->linear().CopyDeviceToHost(WorkOf(driver, context), dstHost,
                                                       DeviceAddress(srcDevice), Bytes(byteCount));
  });
}
TWINMMU_ALIAS(cuMemcpyDtoH, cuMemcpyDtoH_v2);
TWINMMU_ON_STREAM_OF_THREAD(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2,
                            (void* dstHost, CUdeviceptr srcDevice, size_t byteCount), dstHost,
                            srcDevice, byteCount)

extern "C" CUresult cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
                                    size_t byteCount) {
  return EnterInContext(TWINMMU_HERE, [&](DriverState& driver, Context& context) {
    return driver.simulator->linear().CopyDeviceToDevice(
        WorkOf(driver, context), DeviceAddress(dstDevice), DeviceAddress(srcDevice),
        Bytes(byteCount));
  });
}
TWINMMU_ALIAS(cuMemcpyDtoD, cuMemcpyDtoD_v2);
TWINMMU_ON_STREAM_OF_THREAD(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD_v2,
                            (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t byteCount),
                            dstDevice, srcDevice, byteCount)

extern "C" CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void* srcHost,
                                         size_t byteCount, CUstream stream) {
  const CallSite site = TWINMMU_HERE;
  const NamedObject named = NamedObject::OfCopy(stream);
  return EnterInContext(site, named, {}, [&](DriverState& driver, Context& context) {
    const CUDA_MEMCPY3D row =
        RowOf(CU_MEMORYTYPE_DEVICE, dstDevice, CU_MEMORYTYPE_HOST, ToNumber(srcHost), byteCount);
    const Captured captured = CaptureCopy(site, driver, context, row, stream);
    if (captured.has_value()) return *captured;
    return ToResult(driver.executor.CopyHostToDevice(
        WorkOf(driver, context, stream), DeviceAddress(dstDevice), srcHost, Bytes(byteCount)));
  });
}
TWINMMU_ALIAS(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2);
TWINMMU_OF_THREAD(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync_v2,
                  (CUdeviceptr dstDevice, const void* srcHost, size_t byteCount, CUstream stream),
                  dstDevice, srcHost, byteCount, OfThread(stream))

extern "C" CUresult cuMemcpyDtoHAsync_v2(void* dstHost, CUdeviceptr srcDevice, size_t byteCount,
                                         CUstream stream) {
  const CallSite site = TWINMMU_HERE;
  const NamedObject named = NamedObject::OfCopy(stream);
  return EnterInContext(site, named, {}, [&](DriverState& driver, Context& context) {
    const CUDA_MEMCPY3D row =
        RowOf(CU_MEMORYTYPE_HOST, ToNumber(dstHost), CU_MEMORYTYPE_DEVICE, srcDevice, byteCount);
    const Captured captured = CaptureCopy(site, driver, context, row, stream);
    if (captured.has_value()) return *captured;
    return ToResult(driver.executor.CopyDeviceToHost(WorkOf(driver, context, stream), dstHost,
                                                     DeviceAddress(srcDevice), Bytes(byteCount)));
  });
}
TWINMMU_ALIAS(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2);
TWINMMU_OF_THREAD(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync_v2,
                  (void* dstHost, CUdeviceptr srcDevice, size_t byteCount, CUstream stream),
                  dstHost, srcDevice, byteCount, OfThread(stream))

extern "C" CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
                                         size_t byteCount, CUstream stream) {
  const CallSite site = TWINMMU_HERE;
  const NamedObject named = NamedObject::OfCopy(stream);
  return EnterInContext(site, named, {}, [&](DriverState& driver, Context& context) {
    const CUDA_MEMCPY3D row =
        RowOf(CU_MEMORYTYPE_DEVICE, dstDevice, CU_MEMORYTYPE_DEVICE, srcDevice, byteCount);
    const Captured captured = CaptureCopy(site, driver, context, row, stream);
    if (captured.has_value()) return *captured;
    return ToResult(driver.executor.CopyDeviceToDevice(WorkOf(driver, context, stream),
                                                       DeviceAddress(dstDevice),
                                                       DeviceAddress(srcDevice), Bytes(byteCount)));
  });
}
TWINMMU_ALIAS(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2);
TWINMMU_OF_THREAD(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync_v2,
                  (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t byteCount, CUstream stream),
                  dstDevice, srcDevice, byteCount, OfThread(stream))

extern "C" CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t byteCount) {
  return EnterInContext(TWINMMU_HERE, [&](DriverState& driver, Context& context) {
    return driver.simulator->linear().Copy(WorkOf(driver, context), DeviceAddress(dst),
                                           DeviceAddress(src), Bytes(byteCount));
  });
}
TWINMMU_ON_STREAM_OF_THREAD(cuMemcpy_ptds, cuMemcpy,
                            (CUdeviceptr dst, CUdeviceptr src, size_t byteCount), dst, src,
                            byteCount)

extern "C" CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t byteCount,
                                  CUstream stream) {
  const CallSite site = TWINMMU_HERE;
  const NamedObject named = NamedObject::OfCopy(stream);
  return EnterInContext(site, named, {}, [&](DriverState& driver, Context& context) {
    const CUDA_MEMCPY3D row =
        RowOf(CU_MEMORYTYPE_UNIFIED, dst, CU_MEMORYTYPE_UNIFIED, src, byteCount);
    const Captured captured = CaptureCopy(site, driver, context, row, stream);
    if (captured.has_value()) return *captured;
    return ToResult(driver.simulator->linear().Copy(
        WorkOf(driver, context, stream), DeviceAddress(dst), DeviceAddress(src), Bytes(byteCount)));
  });
}
TWINMMU_OF_THREAD(cuMemcpyAsync_ptsz, cuMemcpyAsync,
                  (CUdeviceptr dst, CUdeviceptr src, size_t byteCount, CUstream stream), dst, src,
                  byteCount, OfThread(stream))

extern "C" CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext dstContext, CUdeviceptr src,
                                 CUcontext srcContext, size_t byteCount) {
  return CopyPeer(TWINMMU_HERE, {dst, dstContext}, {src, srcContext}, byteCount);
}
TWINMMU_ON_STREAM_OF_THREAD(cuMemcpyPeer_ptds, cuMemcpyPeer,
                            (CUdeviceptr dst, CUcontext dstContext, CUdeviceptr src,
                             CUcontext srcContext, size_t byteCount),
                            dst, dstContext, src, srcContext, byteCount)

extern "C" CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dstContext, CUdeviceptr src,
                                      CUcontext srcContext, size_t byteCount, CUstream stream) {
  return CopyPeer(TWINMMU_HERE, {dst, dstContext}, {src, srcContext}, byteCount, stream);
}
TWINMMU_OF_THREAD(cuMemcpyPeerAsync_ptsz, cuMemcpyPeerAsync,
                  (CUdeviceptr dst, CUcontext dstContext, CUdeviceptr src, CUcontext srcContext,
                   size_t byteCount, CUstream stream),
                  dst, dstContext, src, srcContext, byteCount, OfThread(stream))

// --- Fills ---------------------------------------------------------------------------------------

extern "C" CUresult cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char value, size_t count) {
  return Fill(TWINMMU_HERE, dstDevice, value, sizeof(value), count);
}
TWINMMU_ALIAS(cuMemsetD8, cuMemsetD8_v2);
TWINMMU_ON_STREAM_OF_THREAD(cuMemsetD8_v2_ptds, cuMemsetD8_v2,
                            (CUdeviceptr dstDevice, unsigned char value, size_t count), dstDevice,
                            value, count)

extern "C" CUresult cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short value, size_t count) {
  return Fill(TWINMMU_HERE, dstDevice, value, sizeof(value), count);
}
TWINMMU_ALIAS(cuMemsetD16, cuMemsetD16_v2);
TWINMMU_ON_STREAM_OF_THREAD(cuMemsetD16_v2_ptds, cuMemsetD16_v2,
                            (CUdeviceptr dstDevice, unsigned short value, size_t count), dstDevice,
                            value, count)

extern "C" CUresult cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int value, size_t count) {
  return Fill(TWINMMU_HERE, dstDevice, value, sizeof(value), count);
}
TWINMMU_ALIAS(cuMemsetD32, cuMemsetD32_v2);
TWINMMU_ON_STREAM_OF_THREAD(cuMemsetD32_v2_ptds, cuMemsetD32_v2,
                            (CUdeviceptr dstDevice, unsigned int value, size_t count), dstDevice,
                            value, count)

extern "C" CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char value, size_t count,
                                    CUstream stream) {
  return Fill(TWINMMU_HERE, dstDevice, value, sizeof(value), count, stream);
}
TWINMMU_OF_THREAD(cuMemsetD8Async_ptsz, cuMemsetD8Async,
                  (CUdeviceptr dstDevice, unsigned char value, size_t count, CUstream stream),
                  dstDevice, value, count, OfThread(stream))

extern "C" CUresult cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short value, size_t count,
                                     CUstream stream) {
  return Fill(TWINMMU_HERE, dstDevice, value, sizeof(value), count, stream);
}
TWINMMU_OF_THREAD(cuMemsetD16Async_ptsz, cuMemsetD16Async,
                  (CUdeviceptr dstDevice, unsigned short value, size_t count, CUstream stream),
                  dstDevice, value, count, OfThread(stream))

extern "C" CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int value, size_t count,
                                     CUstream stream) {
  return Fill(TWINMMU_HERE, dstDevice, value, sizeof(value), count, stream);
}
TWINMMU_OF_THREAD(cuMemsetD32Async_ptsz, cuMemsetD32Async,
                  (CUdeviceptr dstDevice, unsigned int value, size_t count, CUstream stream),
                  dstDevice, value, count, OfThread(stream))

// --- Fills of rows -------------------------------------------------------------------------------

extern "C" CUresult cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t pitch, unsigned char value,
                                    size_t width, size_t height) {
  return FillRows(TWINMMU_HERE, dstDevice, pitch, value, sizeof(value), width, height);
}
TWINMMU_ALIAS(cuMemsetD2D8, cuMemsetD2D8_v2);
TWINMMU_ON_STREAM_OF_THREAD(cuMemsetD2D8_v2_ptds, cuMemsetD2D8_v2,
                            (CUdeviceptr dstDevice, size_t pitch, unsigned char value, size_t width,
                             size_t height),
                            dstDevice, pitch, value, width, height)

extern "C" CUresult cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t pitch, unsigned short value,
                                     size_t width, size_t height) {
  return FillRows(TWINMMU_HERE, dstDevice, pitch, value, sizeof(value), width, height);
}
TWINMMU_ALIAS(cuMemsetD2D16, cuMemsetD2D16_v2);
TWINMMU_ON_STREAM_OF_THREAD(cuMemsetD2D16_v2_ptds, cuMemsetD2D16_v2,
                            (CUdeviceptr dstDevice, size_t pitch, unsigned short value,
                             size_t width, size_t height),
                            dstDevice, pitch, value, width, height)

extern "C" CUresult cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t pitch, unsigned int value,
                                     size_t width, size_t height) {
  return FillRows(TWINMMU_HERE, dstDevice, pitch, value, sizeof(value), width, height);
}
TWINMMU_ALIAS(cuMemsetD2D32, cuMemsetD2D32_v2);
TWINMMU_ON_STREAM_OF_THREAD(cuMemsetD2D32_v2_ptds, cuMemsetD2D32_v2,
                            (CUdeviceptr dstDevice, size_t pitch, unsigned int value, size_t width,
                             size_t height),
                            dstDevice, pitch, value, width, height)

extern "C" CUresult cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t pitch, unsigned char value,
                                      size_t width, size_t height, CUstream stream) {
  return FillRows(TWINMMU_HERE, dstDevice, pitch, value, sizeof(value), width, height, stream);
}
TWINMMU_OF_THREAD(cuMemsetD2D8Async_ptsz, cuMemsetD2D8Async,
                  (CUdeviceptr dstDevice, size_t pitch, unsigned char value, size_t width,
                   size_t height, CUstream stream),
                  dstDevice, pitch, value, width, height, OfThread(stream))

extern "C" CUresult cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t pitch, unsigned short value,
                                       size_t width, size_t height, CUstream stream) {
  return FillRows(TWINMMU_HERE, dstDevice, pitch, value, sizeof(value), width, height, stream);
}
TWINMMU_OF_THREAD(cuMemsetD2D16Async_ptsz, cuMemsetD2D16Async,
                  (CUdeviceptr dstDevice, size_t pitch, unsigned short value, size_t width,
                   size_t height, CUstream stream),
                  dstDevice, pitch, value, width, height, OfThread(stream))

extern "C" CUresult cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t pitch, unsigned int value,
                                       size_t width, size_t height, CUstream stream) {
  return FillRows(TWINMMU_HERE, dstDevice, pitch, value, sizeof(value), width, height, stream);
}
TWINMMU_OF_THREAD(cuMemsetD2D32Async_ptsz, cuMemsetD2D32Async,
                  (CUdeviceptr dstDevice, size_t pitch, unsigned int value, size_t width,
                   size_t height, CUstream stream),
                  dstDevice, pitch, value, width, height, OfThread(stream))

}  // namespace twinmmu::libcuda
