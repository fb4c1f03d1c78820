// Copies in two and three dimensions, and of arrays. Every form becomes a CUDA_MEMCPY3D.

#include <cstring>
#include <type_traits>

#include "sim/libcuda/calls/boxes.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/of_thread.h"

namespace twinmmu::libcuda {
namespace {

// One end of a copy, as CUDA_MEMCPY3D has it twice.
struct End {
  ArrayExtent offset;
  size_t level;
  CUmemorytype type;
  const void* host;
  CUdeviceptr address;
  CUarray array;
  size_t pitch;
  size_t height;
};
End SourceOf(const CUDA_MEMCPY3D& copy) {
  return {{copy.srcXInBytes, copy.srcY, copy.srcZ},
          copy.srcLOD,
          copy.srcMemoryType,
          copy.srcHost,
          copy.srcDevice,
          copy.srcArray,
          copy.srcPitch,
          copy.srcHeight};
}
End DestinationOf(const CUDA_MEMCPY3D& copy) {
  return {{copy.dstXInBytes, copy.dstY, copy.dstZ},
          copy.dstLOD,
          copy.dstMemoryType,
          copy.dstHost,
          copy.dstDevice,
          copy.dstArray,
          copy.dstPitch,
          copy.dstHeight};
}

BoxEnd BoxOf(DriverState& driver, const Context& context, const End& end) {
  BoxEnd box;
  box.memory = end.type;
  box.device = context.device;
  box.base = DeviceAddress(end.type == CU_MEMORYTYPE_HOST ? ToNumber(end.host) : end.address);
  box.array = ArrayOf(driver, context, end.array);
  box.offset = end.offset;
  box.pitch = end.pitch;
  box.height = end.height;
  box.level = end.level;
  return box;
}

// In which contexts the ends of a copy are; null: in that of the call.
struct EndContexts {
  CUcontext to = nullptr;
  CUcontext from = nullptr;
};
EndContexts ContextsOf(const CUDA_MEMCPY2D&) { return {}; }
EndContexts ContextsOf(const CUDA_MEMCPY3D&) { return {}; }
EndContexts ContextsOf(const CUDA_MEMCPY3D_PEER& copy) {
  return {copy.dstMemoryType == CU_MEMORYTYPE_ARRAY ? nullptr : copy.dstContext,
          copy.srcMemoryType == CU_MEMORYTYPE_ARRAY ? nullptr : copy.srcContext};
}

CUDA_MEMCPY3D As3D(const CUDA_MEMCPY3D& copy) { return copy; }
CUDA_MEMCPY3D As3D(const CUDA_MEMCPY3D_PEER& copy) {
  CUDA_MEMCPY3D box;
  static_assert(sizeof(box) == sizeof(copy));
  std::memcpy(&box, &copy, sizeof(box));
  return box;
}
CUDA_MEMCPY3D As3D(const CUDA_MEMCPY2D& copy) {
  CUDA_MEMCPY3D box = {};
  box.srcXInBytes = copy.srcXInBytes;
  box.srcY = copy.srcY;
  box.srcMemoryType = copy.srcMemoryType;
  box.srcHost = copy.srcHost;
  box.srcDevice = copy.srcDevice;
  box.srcArray = copy.srcArray;
  box.srcPitch = copy.srcPitch;
  box.dstXInBytes = copy.dstXInBytes;
  box.dstY = copy.dstY;
  box.dstMemoryType = copy.dstMemoryType;
  box.dstHost = copy.dstHost;
  box.dstDevice = copy.dstDevice;
  box.dstArray = copy.dstArray;
  box.dstPitch = copy.dstPitch;
  box.WidthInBytes = copy.WidthInBytes;
  box.Height = copy.Height;
  box.Depth = 1;
  return box;
}

// Where nothing is copied, nobody looks at what an end is. Source: an H200 with driver 580.159.
void LetBeNothing(BoxEnd* end) {
  const DeviceOrdinal device = end->device;
  *end = BoxEnd();
  end->memory = BoxEnd::kDevice;
  end->device = device;
}

// No node does these.
template <typename Description>
constexpr bool kBetweenPeers = std::is_same_v<Description, CUDA_MEMCPY3D_PEER>;

// `stream`: a CUstream, or none.
template <typename Description, typename... OnStream>
CUresult CopyBox(const CallSite& site, const Description* description, OnStream... stream) {
  const NamedObject named = NamedObject::OfCopy(GivenStream(stream...));
  return EnterInContext(site, named, {}, [&](DriverState& driver, Context& context) {
    if (description == nullptr) {
      CheckLegacyUncaptured(driver, context, GivenStream(stream...));
      return ToResult(NullPointer(site));
    }
    const CUDA_MEMCPY3D copy = As3D(*description);
    const EndContexts contexts = ContextsOf(*description);
    Context* to = &context;
    Context* from = &context;
    DriverCode known = FindEnd(site, driver, contexts.to, &to);
    if (known == DriverCode::kSuccess) known = FindEnd(site, driver, contexts.from, &from);
    if (known != DriverCode::kSuccess) return ToResult(known);
    BoxCopies& boxes = driver.simulator->boxes();
    if (!kBetweenPeers<Description>) {
      const Captured captured = CaptureCopy(site, driver, context, copy, stream...);
      if (captured.has_value()) return *captured;
    }
    BoxCopy box = BoxCopyOf(driver, *to, *from, copy);
    if (box.shape.empty()) {
      LetBeNothing(&box.to);
      LetBeNothing(&box.from);
    }
    return ToResult(boxes.Copy(AskedOf(site, driver, context, stream...), {&box, 1}));
  });
}

// Bytes of the first row of an array, and of other memory or another array. Where none begin does
// not matter, as on an H200.
class RowCopy {
 public:
  explicit RowCopy(size_t size) {
    copy_.WidthInBytes = size;
    copy_.Height = 1;
    copy_.Depth = 1;
  }
  RowCopy& FromArray(CUarray array, size_t offset) {
    copy_.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy_.srcArray = array;
    copy_.srcXInBytes = copy_.WidthInBytes == 0 ? 0 : offset;
    return *this;
  }
  RowCopy& FromDevice(CUdeviceptr address) {
    copy_.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy_.srcDevice = address;
    return *this;
  }
  RowCopy& FromHost(const void* memory) {
    copy_.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy_.srcHost = memory;
    return *this;
  }
  RowCopy& ToArray(CUarray array, size_t offset) {
    copy_.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy_.dstArray = array;
    copy_.dstXInBytes = copy_.WidthInBytes == 0 ? 0 : offset;
    return *this;
  }
  RowCopy& ToDevice(CUdeviceptr address) {
    copy_.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy_.dstDevice = address;
    return *this;
  }
  RowCopy& ToHost(void* memory) {
    copy_.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy_.dstHost = memory;
    return *this;
  }

  const CUDA_MEMCPY3D* get() const { return &copy_; }

 private:
  CUDA_MEMCPY3D copy_ = {};
};

}  // namespace

BoxCopy BoxCopyOf(DriverState& driver, const Context& to, const Context& from,
                  const CUDA_MEMCPY3D& copy) {
  BoxCopy box;
  box.to = BoxOf(driver, to, DestinationOf(copy));
  box.from = BoxOf(driver, from, SourceOf(copy));
  box.shape = {copy.WidthInBytes, copy.Height, copy.Depth};
  return box;
}

// --- In two and three dimensions -----------------------------------------------------------------

extern "C" CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) { return CopyBox(TWINMMU_HERE, copy); }
TWINMMU_ALIAS(cuMemcpy2D, cuMemcpy2D_v2);
TWINMMU_ON_STREAM_OF_THREAD(cuMemcpy2D_v2_ptds, cuMemcpy2D_v2, (const CUDA_MEMCPY2D* copy), copy)

// Here the alignment of a pitch never matters.
extern "C" CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) {
  return CopyBox(TWINMMU_HERE, copy);
}
TWINMMU_ALIAS(cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2);
TWINMMU_ON_STREAM_OF_THREAD(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2DUnaligned_v2,
                            (const CUDA_MEMCPY2D* copy), copy)

extern "C" CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return CopyBox(TWINMMU_HERE, copy, stream);
}
TWINMMU_ALIAS(cuMemcpy2DAsync, cuMemcpy2DAsync_v2);
TWINMMU_OF_THREAD(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync_v2,
                  (const CUDA_MEMCPY2D* copy, CUstream stream), copy, OfThread(stream))

extern "C" CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) { return CopyBox(TWINMMU_HERE, copy); }
TWINMMU_ALIAS(cuMemcpy3D, cuMemcpy3D_v2);
TWINMMU_ON_STREAM_OF_THREAD(cuMemcpy3D_v2_ptds, cuMemcpy3D_v2, (const CUDA_MEMCPY3D* copy), copy)

extern "C" CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return CopyBox(TWINMMU_HERE, copy, stream);
}
TWINMMU_ALIAS(cuMemcpy3DAsync, cuMemcpy3DAsync_v2);
TWINMMU_OF_THREAD(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync_v2,
                  (const CUDA_MEMCPY3D* copy, CUstream stream), copy, OfThread(stream))

extern "C" CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) {
  return CopyBox(TWINMMU_HERE, copy);
}
TWINMMU_ON_STREAM_OF_THREAD(cuMemcpy3DPeer_ptds, cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER* copy),
                            copy)

extern "C" CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  return CopyBox(TWINMMU_HERE, copy, stream);
}
TWINMMU_OF_THREAD(cuMemcpy3DPeerAsync_ptsz, cuMemcpy3DPeerAsync,
                  (const CUDA_MEMCPY3D_PEER* copy, CUstream stream), copy, OfThread(stream))

// --- Of arrays -----------------------------------------------------------------------------------

extern "C" CUresult cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                                    size_t byteCount) {
  return CopyBox(TWINMMU_HERE,
                 RowCopy(byteCount).FromArray(srcArray, srcOffset).ToDevice(dstDevice).get());
}
TWINMMU_ALIAS(cuMemcpyAtoD, cuMemcpyAtoD_v2);
TWINMMU_ON_STREAM_OF_THREAD(cuMemcpyAtoD_v2_ptds, cuMemcpyAtoD_v2,
                            (CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                             size_t byteCount),
                            dstDevice, srcArray, srcOffset, byteCount)

extern "C" CUresult cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                                    size_t byteCount) {
  return CopyBox(TWINMMU_HERE,
                 RowCopy(byteCount).FromDevice(srcDevice).ToArray(dstArray, dstOffset).get());
}
TWINMMU_ALIAS(cuMemcpyDtoA, cuMemcpyDtoA_v2);
TWINMMU_ON_STREAM_OF_THREAD(cuMemcpyDtoA_v2_ptds, cuMemcpyDtoA_v2,
                            (CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                             size_t byteCount),
                            dstArray, dstOffset, srcDevice, byteCount)

extern "C" CUresult cuMemcpyAtoH_v2(void* dstHost, CUarray srcArray, size_t srcOffset,
                                    size_t byteCount) {
  return CopyBox(TWINMMU_HERE,
                 RowCopy(byteCount).FromArray(srcArray, srcOffset).ToHost(dstHost).get());
}
TWINMMU_ALIAS(cuMemcpyAtoH, cuMemcpyAtoH_v2);
TWINMMU_ON_STREAM_OF_THREAD(cuMemcpyAtoH_v2_ptds, cuMemcpyAtoH_v2,
                            (void* dstHost, CUarray srcArray, size_t srcOffset, size_t byteCount),
                            dstHost, srcArray, srcOffset, byteCount)

extern "C" CUresult cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void* srcHost,
                                    size_t byteCount) {
  return CopyBox(TWINMMU_HERE,
                 RowCopy(byteCount).FromHost(srcHost).ToArray(dstArray, dstOffset).get());
}
TWINMMU_ALIAS(cuMemcpyHtoA, cuMemcpyHtoA_v2);
TWINMMU_ON_STREAM_OF_THREAD(cuMemcpyHtoA_v2_ptds, cuMemcpyHtoA_v2,
                            (CUarray dstArray, size_t dstOffset, const void* srcHost,
                             size_t byteCount),
                            dstArray, dstOffset, srcHost, byteCount)

extern "C" CUresult cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray,
                                    size_t srcOffset, size_t byteCount) {
  return CopyBox(
      TWINMMU_HERE,
      RowCopy(byteCount).FromArray(srcArray, srcOffset).ToArray(dstArray, dstOffset).get());
}
TWINMMU_ALIAS(cuMemcpyAtoA, cuMemcpyAtoA_v2);
TWINMMU_ON_STREAM_OF_THREAD(cuMemcpyAtoA_v2_ptds, cuMemcpyAtoA_v2,
                            (CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset,
                             size_t byteCount),
                            dstArray, dstOffset, srcArray, srcOffset, byteCount)

extern "C" CUresult cuMemcpyAtoHAsync_v2(void* dstHost, CUarray srcArray, size_t srcOffset,
                                         size_t byteCount, CUstream stream) {
  return CopyBox(TWINMMU_HERE,
                 RowCopy(byteCount).FromArray(srcArray, srcOffset).ToHost(dstHost).get(), stream);
}
TWINMMU_ALIAS(cuMemcpyAtoHAsync, cuMemcpyAtoHAsync_v2);
TWINMMU_OF_THREAD(cuMemcpyAtoHAsync_v2_ptsz, cuMemcpyAtoHAsync_v2,
                  (void* dstHost, CUarray srcArray, size_t srcOffset, size_t byteCount,
                   CUstream stream),
                  dstHost, srcArray, srcOffset, byteCount, OfThread(stream))

extern "C" CUresult cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void* srcHost,
                                         size_t byteCount, CUstream stream) {
  return CopyBox(TWINMMU_HERE,
                 RowCopy(byteCount).FromHost(srcHost).ToArray(dstArray, dstOffset).get(), stream);
}
TWINMMU_ALIAS(cuMemcpyHtoAAsync, cuMemcpyHtoAAsync_v2);
TWINMMU_OF_THREAD(cuMemcpyHtoAAsync_v2_ptsz, cuMemcpyHtoAAsync_v2,
                  (CUarray dstArray, size_t dstOffset, const void* srcHost, size_t byteCount,
                   CUstream stream),
                  dstArray, dstOffset, srcHost, byteCount, OfThread(stream))

}  // namespace twinmmu::libcuda
