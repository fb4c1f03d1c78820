// Compares cuda_abi.h and functions.inc with the toolkit's own cuda.h, at compile time, where that
// is found. Where it is not, the test says so in its output and is skipped.

#include "gtest/gtest.h"
#include "third_party/cuda_abi/cuda_abi.h"

#ifdef TWINMMU_HAS_CUDA_H

#include <cuda.h>
#include <cudaTypedefs.h>

#include <cstddef>
#include <type_traits>

static_assert(CUDA_VERSION >= 12040, "the comparison needs a toolkit of CUDA 12.4 or newer");

namespace twinmmu::cuda_abi {
namespace {

// Ours<T>::Type: what a type of cuda.h is called here. Enumerations are int, structs and opaque
// pointers are listed, everything else keeps its shape.
template <typename T, typename = void>
struct Ours {
  using Type = T;
};
template <typename T>
struct Ours<T, std::enable_if_t<std::is_enum_v<T>>> {
  static_assert(sizeof(T) == sizeof(int));
  using Type = int;
};
template <typename T>
struct Ours<const T> {
  using Type = const typename Ours<T>::Type;
};
template <typename T>
struct Ours<T*> {
  using Type = typename Ours<T>::Type*;
};
template <typename R, typename... P>
struct Ours<R(P...)> {
  using Type = typename Ours<R>::Type(typename Ours<P>::Type...);
};
#define TWINMMU_SAME(name)     \
  template <>                  \
  struct Ours<struct ::name> { \
    using Type = struct name;  \
  }
TWINMMU_SAME(CUctx_st);
TWINMMU_SAME(CUstream_st);
TWINMMU_SAME(CUevent_st);
TWINMMU_SAME(CUmod_st);
TWINMMU_SAME(CUfunc_st);
TWINMMU_SAME(CUarray_st);
TWINMMU_SAME(CUmipmappedArray_st);
#undef TWINMMU_SAME
template <>
struct Ours<::CUmemLocation> {
  using Type = CUmemLocation;
};
template <>
struct Ours<::CUmemAccessDesc> {
  using Type = CUmemAccessDesc;
};
template <>
struct Ours<::CUmemAllocationProp> {
  using Type = CUmemAllocationProp;
};
template <>
struct Ours<::CUmulticastObjectProp> {
  using Type = CUmulticastObjectProp;
};

template <>
struct Ours<::CUlaunchAttribute> {
  using Type = CUlaunchAttribute;
};
template <>
struct Ours<::CUlaunchConfig> {
  using Type = CUlaunchConfig;
};
template <>
struct Ours<::CUDA_ARRAY3D_DESCRIPTOR> {
  using Type = CUDA_ARRAY3D_DESCRIPTOR;
};
template <>
struct Ours<::CUDA_ARRAY_SPARSE_PROPERTIES> {
  using Type = CUDA_ARRAY_SPARSE_PROPERTIES;
};
template <>
struct Ours<::CUarrayMapInfo> {
  using Type = CUarrayMapInfo;
};
template <>
struct Ours<::CUDA_MEMCPY3D> {
  using Type = CUDA_MEMCPY3D;
};

template <typename Theirs, typename Mine>
inline constexpr bool kSame = std::is_same_v<typename Ours<Theirs>::Type, Mine>;

static_assert(kSame<::CUresult, CUresult> && kSame<::CUdevice, CUdevice>);
static_assert(kSame<::CUdeviceptr, CUdeviceptr>);
static_assert(kSame<::CUmemGenericAllocationHandle, CUmemGenericAllocationHandle>);

#define TWINMMU_SIZE(type) \
  static_assert(sizeof(::type) == sizeof(type) && alignof(::type) == alignof(type))
#define TWINMMU_FIELD(type, field)                                 \
  static_assert(offsetof(::type, field) == offsetof(type, field)); \
  static_assert(kSame<decltype(::type::field), decltype(type::field)>)
#define TWINMMU_SUBFIELD(type, field)                              \
  static_assert(offsetof(::type, field) == offsetof(type, field)); \
  static_assert(sizeof(::type::field) == sizeof(type::field))
TWINMMU_SIZE(CUmemLocation);
TWINMMU_FIELD(CUmemLocation, type);
TWINMMU_FIELD(CUmemLocation, id);
TWINMMU_SIZE(CUmemAccessDesc);
TWINMMU_FIELD(CUmemAccessDesc, location);
TWINMMU_FIELD(CUmemAccessDesc, flags);
TWINMMU_SIZE(CUmemAllocationProp);
TWINMMU_FIELD(CUmemAllocationProp, type);
TWINMMU_FIELD(CUmemAllocationProp, requestedHandleTypes);
TWINMMU_FIELD(CUmemAllocationProp, location);
TWINMMU_FIELD(CUmemAllocationProp, win32HandleMetaData);
TWINMMU_SUBFIELD(CUmemAllocationProp, allocFlags.compressionType);
TWINMMU_SUBFIELD(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable);
TWINMMU_SUBFIELD(CUmemAllocationProp, allocFlags.usage);
TWINMMU_SUBFIELD(CUmemAllocationProp, allocFlags.reserved);
TWINMMU_SIZE(CUmulticastObjectProp);
TWINMMU_FIELD(CUmulticastObjectProp, numDevices);
TWINMMU_FIELD(CUmulticastObjectProp, size);
TWINMMU_FIELD(CUmulticastObjectProp, handleTypes);
TWINMMU_FIELD(CUmulticastObjectProp, flags);
TWINMMU_SIZE(CUmemFabricHandle);
TWINMMU_SIZE(CUlaunchAttribute);
TWINMMU_FIELD(CUlaunchAttribute, id);
TWINMMU_SUBFIELD(CUlaunchAttribute, value.cooperative);
TWINMMU_SUBFIELD(CUlaunchAttribute, value.clusterDim);
TWINMMU_SUBFIELD(CUlaunchAttribute, value.programmaticStreamSerializationAllowed);
TWINMMU_SIZE(CUlaunchConfig);
TWINMMU_FIELD(CUlaunchConfig, gridDimX);
TWINMMU_FIELD(CUlaunchConfig, gridDimY);
TWINMMU_FIELD(CUlaunchConfig, gridDimZ);
TWINMMU_FIELD(CUlaunchConfig, blockDimX);
TWINMMU_FIELD(CUlaunchConfig, blockDimY);
TWINMMU_FIELD(CUlaunchConfig, blockDimZ);
TWINMMU_FIELD(CUlaunchConfig, sharedMemBytes);
TWINMMU_FIELD(CUlaunchConfig, hStream);
TWINMMU_FIELD(CUlaunchConfig, attrs);
TWINMMU_FIELD(CUlaunchConfig, numAttrs);
TWINMMU_SIZE(CUDA_ARRAY3D_DESCRIPTOR);
TWINMMU_FIELD(CUDA_ARRAY3D_DESCRIPTOR, Width);
TWINMMU_FIELD(CUDA_ARRAY3D_DESCRIPTOR, Height);
TWINMMU_FIELD(CUDA_ARRAY3D_DESCRIPTOR, Depth);
TWINMMU_FIELD(CUDA_ARRAY3D_DESCRIPTOR, Format);
TWINMMU_FIELD(CUDA_ARRAY3D_DESCRIPTOR, NumChannels);
TWINMMU_FIELD(CUDA_ARRAY3D_DESCRIPTOR, Flags);
TWINMMU_SIZE(CUDA_MEMCPY3D);
TWINMMU_FIELD(CUDA_MEMCPY3D, srcXInBytes);
TWINMMU_FIELD(CUDA_MEMCPY3D, srcY);
TWINMMU_FIELD(CUDA_MEMCPY3D, srcZ);
TWINMMU_FIELD(CUDA_MEMCPY3D, srcLOD);
TWINMMU_FIELD(CUDA_MEMCPY3D, srcMemoryType);
TWINMMU_FIELD(CUDA_MEMCPY3D, srcHost);
TWINMMU_FIELD(CUDA_MEMCPY3D, srcDevice);
TWINMMU_FIELD(CUDA_MEMCPY3D, srcArray);
TWINMMU_FIELD(CUDA_MEMCPY3D, reserved0);
TWINMMU_FIELD(CUDA_MEMCPY3D, srcPitch);
TWINMMU_FIELD(CUDA_MEMCPY3D, srcHeight);
TWINMMU_FIELD(CUDA_MEMCPY3D, dstXInBytes);
TWINMMU_FIELD(CUDA_MEMCPY3D, dstY);
TWINMMU_FIELD(CUDA_MEMCPY3D, dstZ);
TWINMMU_FIELD(CUDA_MEMCPY3D, dstLOD);
TWINMMU_FIELD(CUDA_MEMCPY3D, dstMemoryType);
TWINMMU_FIELD(CUDA_MEMCPY3D, dstHost);
TWINMMU_FIELD(CUDA_MEMCPY3D, dstDevice);
TWINMMU_FIELD(CUDA_MEMCPY3D, dstArray);
TWINMMU_FIELD(CUDA_MEMCPY3D, reserved1);
TWINMMU_FIELD(CUDA_MEMCPY3D, dstPitch);
TWINMMU_FIELD(CUDA_MEMCPY3D, dstHeight);
TWINMMU_FIELD(CUDA_MEMCPY3D, WidthInBytes);
TWINMMU_FIELD(CUDA_MEMCPY3D, Height);
TWINMMU_FIELD(CUDA_MEMCPY3D, Depth);
TWINMMU_SIZE(CUDA_MEMCPY2D);
TWINMMU_FIELD(CUDA_MEMCPY2D, srcXInBytes);
TWINMMU_FIELD(CUDA_MEMCPY2D, srcY);
TWINMMU_FIELD(CUDA_MEMCPY2D, srcMemoryType);
TWINMMU_FIELD(CUDA_MEMCPY2D, srcHost);
TWINMMU_FIELD(CUDA_MEMCPY2D, srcDevice);
TWINMMU_FIELD(CUDA_MEMCPY2D, srcArray);
TWINMMU_FIELD(CUDA_MEMCPY2D, srcPitch);
TWINMMU_FIELD(CUDA_MEMCPY2D, dstXInBytes);
TWINMMU_FIELD(CUDA_MEMCPY2D, dstY);
TWINMMU_FIELD(CUDA_MEMCPY2D, dstMemoryType);
TWINMMU_FIELD(CUDA_MEMCPY2D, dstHost);
TWINMMU_FIELD(CUDA_MEMCPY2D, dstDevice);
TWINMMU_FIELD(CUDA_MEMCPY2D, dstArray);
TWINMMU_FIELD(CUDA_MEMCPY2D, dstPitch);
TWINMMU_FIELD(CUDA_MEMCPY2D, WidthInBytes);
TWINMMU_FIELD(CUDA_MEMCPY2D, Height);
TWINMMU_SIZE(CUDA_MEMCPY3D_PEER);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, srcXInBytes);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, srcY);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, srcZ);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, srcLOD);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, srcMemoryType);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, srcHost);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, srcDevice);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, srcArray);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, srcContext);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, srcPitch);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, srcHeight);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, dstXInBytes);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, dstY);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, dstZ);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, dstLOD);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, dstMemoryType);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, dstHost);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, dstDevice);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, dstArray);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, dstContext);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, dstPitch);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, dstHeight);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, WidthInBytes);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, Height);
TWINMMU_FIELD(CUDA_MEMCPY3D_PEER, Depth);
#if CUDA_VERSION >= 12080
TWINMMU_SIZE(CUmemPoolProps);
TWINMMU_FIELD(CUmemPoolProps, allocType);
TWINMMU_FIELD(CUmemPoolProps, handleTypes);
TWINMMU_FIELD(CUmemPoolProps, location);
TWINMMU_FIELD(CUmemPoolProps, win32SecurityAttributes);
TWINMMU_FIELD(CUmemPoolProps, maxSize);
TWINMMU_FIELD(CUmemPoolProps, usage);
TWINMMU_FIELD(CUmemPoolProps, reserved);
TWINMMU_SIZE(CUmemcpyAttributes);
TWINMMU_FIELD(CUmemcpyAttributes, srcAccessOrder);
TWINMMU_FIELD(CUmemcpyAttributes, srcLocHint);
TWINMMU_FIELD(CUmemcpyAttributes, dstLocHint);
TWINMMU_FIELD(CUmemcpyAttributes, flags);
TWINMMU_SIZE(CUmemcpy3DOperand);
TWINMMU_FIELD(CUmemcpy3DOperand, type);
TWINMMU_SUBFIELD(CUmemcpy3DOperand, op.ptr.ptr);
TWINMMU_SUBFIELD(CUmemcpy3DOperand, op.ptr.rowLength);
TWINMMU_SUBFIELD(CUmemcpy3DOperand, op.ptr.layerHeight);
TWINMMU_SUBFIELD(CUmemcpy3DOperand, op.ptr.locHint);
TWINMMU_SUBFIELD(CUmemcpy3DOperand, op.array.array);
TWINMMU_SUBFIELD(CUmemcpy3DOperand, op.array.offset.x);
TWINMMU_SUBFIELD(CUmemcpy3DOperand, op.array.offset.y);
TWINMMU_SUBFIELD(CUmemcpy3DOperand, op.array.offset.z);
TWINMMU_SIZE(CUDA_MEMCPY3D_BATCH_OP);
TWINMMU_SUBFIELD(CUDA_MEMCPY3D_BATCH_OP, src);
TWINMMU_SUBFIELD(CUDA_MEMCPY3D_BATCH_OP, dst);
TWINMMU_SUBFIELD(CUDA_MEMCPY3D_BATCH_OP, extent.width);
TWINMMU_SUBFIELD(CUDA_MEMCPY3D_BATCH_OP, extent.height);
TWINMMU_SUBFIELD(CUDA_MEMCPY3D_BATCH_OP, extent.depth);
TWINMMU_FIELD(CUDA_MEMCPY3D_BATCH_OP, srcAccessOrder);
TWINMMU_FIELD(CUDA_MEMCPY3D_BATCH_OP, flags);
#endif
TWINMMU_SIZE(CUstreamBatchMemOpParams);
TWINMMU_SUBFIELD(CUstreamBatchMemOpParams, operation);
TWINMMU_SUBFIELD(CUstreamBatchMemOpParams, waitValue.operation);
TWINMMU_SUBFIELD(CUstreamBatchMemOpParams, waitValue.address);
TWINMMU_SUBFIELD(CUstreamBatchMemOpParams, waitValue.value);
TWINMMU_SUBFIELD(CUstreamBatchMemOpParams, waitValue.value64);
TWINMMU_SUBFIELD(CUstreamBatchMemOpParams, waitValue.flags);
TWINMMU_SUBFIELD(CUstreamBatchMemOpParams, waitValue.alias);
TWINMMU_SUBFIELD(CUstreamBatchMemOpParams, writeValue.operation);
TWINMMU_SUBFIELD(CUstreamBatchMemOpParams, writeValue.address);
TWINMMU_SUBFIELD(CUstreamBatchMemOpParams, writeValue.value);
TWINMMU_SUBFIELD(CUstreamBatchMemOpParams, writeValue.value64);
TWINMMU_SUBFIELD(CUstreamBatchMemOpParams, writeValue.flags);
TWINMMU_SUBFIELD(CUstreamBatchMemOpParams, writeValue.alias);
TWINMMU_SUBFIELD(CUstreamBatchMemOpParams, flushRemoteWrites.flags);
TWINMMU_SUBFIELD(CUstreamBatchMemOpParams, memoryBarrier.flags);
TWINMMU_SUBFIELD(CUstreamBatchMemOpParams, pad);
TWINMMU_SIZE(CUDA_ARRAY_SPARSE_PROPERTIES);
TWINMMU_SUBFIELD(CUDA_ARRAY_SPARSE_PROPERTIES, tileExtent.width);
TWINMMU_SUBFIELD(CUDA_ARRAY_SPARSE_PROPERTIES, tileExtent.height);
TWINMMU_SUBFIELD(CUDA_ARRAY_SPARSE_PROPERTIES, tileExtent.depth);
TWINMMU_SUBFIELD(CUDA_ARRAY_SPARSE_PROPERTIES, miptailFirstLevel);
TWINMMU_SUBFIELD(CUDA_ARRAY_SPARSE_PROPERTIES, miptailSize);
TWINMMU_SUBFIELD(CUDA_ARRAY_SPARSE_PROPERTIES, flags);
TWINMMU_SIZE(CUarrayMapInfo);
TWINMMU_SUBFIELD(CUarrayMapInfo, resourceType);
TWINMMU_SUBFIELD(CUarrayMapInfo, resource.mipmap);
TWINMMU_SUBFIELD(CUarrayMapInfo, resource.array);
TWINMMU_SUBFIELD(CUarrayMapInfo, subresourceType);
TWINMMU_SUBFIELD(CUarrayMapInfo, subresource.sparseLevel.level);
TWINMMU_SUBFIELD(CUarrayMapInfo, subresource.sparseLevel.layer);
TWINMMU_SUBFIELD(CUarrayMapInfo, subresource.sparseLevel.offsetX);
TWINMMU_SUBFIELD(CUarrayMapInfo, subresource.sparseLevel.offsetY);
TWINMMU_SUBFIELD(CUarrayMapInfo, subresource.sparseLevel.offsetZ);
TWINMMU_SUBFIELD(CUarrayMapInfo, subresource.sparseLevel.extentWidth);
TWINMMU_SUBFIELD(CUarrayMapInfo, subresource.sparseLevel.extentHeight);
TWINMMU_SUBFIELD(CUarrayMapInfo, subresource.sparseLevel.extentDepth);
TWINMMU_SUBFIELD(CUarrayMapInfo, subresource.miptail.layer);
TWINMMU_SUBFIELD(CUarrayMapInfo, subresource.miptail.offset);
TWINMMU_SUBFIELD(CUarrayMapInfo, subresource.miptail.size);
TWINMMU_SUBFIELD(CUarrayMapInfo, memOperationType);
TWINMMU_SUBFIELD(CUarrayMapInfo, memHandleType);
TWINMMU_SUBFIELD(CUarrayMapInfo, memHandle.memHandle);
TWINMMU_SUBFIELD(CUarrayMapInfo, offset);
TWINMMU_SUBFIELD(CUarrayMapInfo, deviceBitMask);
TWINMMU_SUBFIELD(CUarrayMapInfo, flags);
TWINMMU_SUBFIELD(CUarrayMapInfo, reserved);

#define TWINMMU_VALUE(constant) \
  static_assert(static_cast<long long>(::constant) == static_cast<long long>(constant))
TWINMMU_VALUE(CUDA_SUCCESS);
TWINMMU_VALUE(CUDA_ERROR_NOT_READY);
TWINMMU_VALUE(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
TWINMMU_VALUE(CU_MEM_HANDLE_TYPE_FABRIC);
TWINMMU_VALUE(CU_MEMORYTYPE_HOST);
TWINMMU_VALUE(CU_MEMORYTYPE_DEVICE);
TWINMMU_VALUE(CU_MEMORYTYPE_ARRAY);
TWINMMU_VALUE(CU_MEMORYTYPE_UNIFIED);
#if CUDA_VERSION >= 12080
TWINMMU_VALUE(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
TWINMMU_VALUE(CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
TWINMMU_VALUE(CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
TWINMMU_VALUE(CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE);
TWINMMU_VALUE(CU_MEMCPY_OPERAND_TYPE_POINTER);
TWINMMU_VALUE(CU_MEMCPY_OPERAND_TYPE_ARRAY);
#endif
TWINMMU_VALUE(CU_RESOURCE_TYPE_ARRAY);
TWINMMU_VALUE(CU_RESOURCE_TYPE_MIPMAPPED_ARRAY);
TWINMMU_VALUE(CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL);
TWINMMU_VALUE(CU_MEM_HANDLE_TYPE_GENERIC);
TWINMMU_VALUE(CU_STREAM_NON_BLOCKING);
TWINMMU_VALUE(CU_STREAM_WAIT_VALUE_GEQ);
TWINMMU_VALUE(CU_STREAM_WAIT_VALUE_EQ);
TWINMMU_VALUE(CU_STREAM_WAIT_VALUE_AND);
TWINMMU_VALUE(CU_STREAM_WAIT_VALUE_NOR);
TWINMMU_VALUE(CU_STREAM_WAIT_VALUE_FLUSH);
TWINMMU_VALUE(CU_STREAM_WRITE_VALUE_DEFAULT);
TWINMMU_VALUE(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER);
TWINMMU_VALUE(CU_STREAM_MEM_OP_WAIT_VALUE_32);
TWINMMU_VALUE(CU_STREAM_MEM_OP_WRITE_VALUE_32);
TWINMMU_VALUE(CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES);
TWINMMU_VALUE(CU_STREAM_MEM_OP_WAIT_VALUE_64);
TWINMMU_VALUE(CU_STREAM_MEM_OP_WRITE_VALUE_64);
TWINMMU_VALUE(CU_STREAM_MEM_OP_BARRIER);
TWINMMU_VALUE(CU_STREAM_MEMORY_BARRIER_TYPE_SYS);
TWINMMU_VALUE(CU_STREAM_MEMORY_BARRIER_TYPE_GPU);
TWINMMU_VALUE(CU_STREAM_CAPTURE_MODE_GLOBAL);
TWINMMU_VALUE(CU_STREAM_CAPTURE_MODE_RELAXED);
TWINMMU_VALUE(CU_EVENT_DEFAULT);
TWINMMU_VALUE(CU_EVENT_WAIT_DEFAULT);
TWINMMU_VALUE(CU_LAUNCH_ATTRIBUTE_IGNORE);
TWINMMU_VALUE(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW);
TWINMMU_VALUE(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
TWINMMU_VALUE(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY);
TWINMMU_VALUE(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
TWINMMU_VALUE(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
TWINMMU_VALUE(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
TWINMMU_VALUE(CU_LAUNCH_ATTRIBUTE_PRIORITY);
TWINMMU_VALUE(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP);
TWINMMU_VALUE(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
TWINMMU_VALUE(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
#if CUDA_VERSION >= 13000
TWINMMU_VALUE(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION);
TWINMMU_VALUE(CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING);
#endif
TWINMMU_VALUE(CU_JIT_INFO_LOG_BUFFER);
TWINMMU_VALUE(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
TWINMMU_VALUE(CU_JIT_ERROR_LOG_BUFFER);
TWINMMU_VALUE(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
TWINMMU_VALUE(CU_GET_PROC_ADDRESS_DEFAULT);
TWINMMU_VALUE(CU_GET_PROC_ADDRESS_SUCCESS);
TWINMMU_VALUE(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
TWINMMU_VALUE(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);

static_assert(kSame<std::remove_pointer_t<PFN_cuGetProcAddress_v11030>, cuGetProcAddress_v11030_t>);
static_assert(kSame<std::remove_pointer_t<PFN_cuGetProcAddress_v12000>, cuGetProcAddress_v12000_t>);

// Each function that the toolkit has: its signature, and the exported name, which is what cuda.h
// makes of the name.
constexpr bool Equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}
#define TWINMMU_TEXT(name) #name
#define TWINMMU_EXPANDED_TEXT(name) TWINMMU_TEXT(name)
#define TWINMMU_TOOLKIT_VERSION CUDA_VERSION
#define TWINMMU_CUDA_FUNCTION(name, suffix, version, parameters) \
  static_assert(kSame<decltype(::name), name##_t>);              \
  static_assert(Equal(TWINMMU_EXPANDED_TEXT(name), TWINMMU_TEXT(name##suffix)));
#include "third_party/cuda_abi/functions.inc"

// All comparisons above were made by the compiler.
TEST(CudaHTest, AgreesWithTheToolkit) {
  RecordProperty("cuda_version", CUDA_VERSION);
  SUCCEED() << "compared with cuda.h of CUDA_VERSION " << CUDA_VERSION;
}

}  // namespace
}  // namespace twinmmu::cuda_abi

#else

// Without a toolkit nothing is compared, and nobody may think that it was.
TEST(CudaHTest, AgreesWithTheToolkit) {
  GTEST_SKIP() << "no cuda.h was found when this was built: NOTHING WAS COMPARED";
}

#endif
