// The part of the CUDA driver's binary interface that TwinMMU uses, written down from its
// documentation: nothing here needs the toolkit to build. Names and values are the driver's.
//
// Enumerations are plain integers, because any value must be able to pass. cuda_abi_test.cc pins
// sizes, offsets and values; cuda_h_test.cc compares all of it with the toolkit's cuda.h where that
// is found. All names are inside the namespace, so that a program can include cuda.h as well; but
// not both in one file with functions.inc, because cuda.h defines function names as macros.

#ifndef TWINMMU_THIRD_PARTY_CUDA_ABI_CUDA_ABI_H_
#define TWINMMU_THIRD_PARTY_CUDA_ABI_CUDA_ABI_H_

#include <cstddef>
#include <cstdint>

namespace twinmmu::cuda_abi {

using CUresult = int;  // named in api/driver_error.h
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUmemGenericAllocationHandle = unsigned long long;

// Declared before the pointers, so that they never mean cuda.h's types of the same names.
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;
struct CUarray_st;
struct CUmipmappedArray_st;
using CUcontext = CUctx_st*;
using CUstream = CUstream_st*;
using CUevent = CUevent_st*;
using CUmodule = CUmod_st*;
using CUfunction = CUfunc_st*;
using CUarray = CUarray_st*;
using CUmipmappedArray = CUmipmappedArray_st*;

using CUmemLocationType = int;
using CUmemAccess_flags = int;
using CUmemAllocationType = int;
using CUmemAllocationHandleType = int;
using CUmemAllocationGranularity_flags = int;
using CUmemRangeHandleType = int;
using CUmulticastGranularity_flags = int;
using CUarray_format = int;
using CUmemorytype = int;
using CUresourcetype = int;
using CUarraySparseSubresourceType = int;
using CUmemOperationType = int;
using CUmemHandleType = int;
using CUdevice_attribute = int;
using CUpointer_attribute = int;

struct CUmemLocation {
  CUmemLocationType type;
  int id;
};

struct CUmemAccessDesc {
  CUmemLocation location;
  CUmemAccess_flags flags;
};

struct CUmemAllocationProp {
  CUmemAllocationType type;
  CUmemAllocationHandleType requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
};

// What a pool is made of. [CUDA 11.2]
struct CUmemPoolHandle_st;
using CUmemoryPool = CUmemPoolHandle_st*;
using CUmemPool_attribute = int;
struct CUmemPoolProps {
  CUmemAllocationType allocType;
  CUmemAllocationHandleType handleTypes;
  CUmemLocation location;
  void* win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};

// Where a piece of a pool is, for other processes.
struct CUmemPoolPtrExportData {
  unsigned char reserved[64];
};

// An event that other processes use, and memory. [CUDA 4.1]
struct CUipcEventHandle {
  char reserved[64];
};
struct CUipcMemHandle {
  char reserved[64];
};

// Names of memory for operations on the fabric. [CUDA 13.3]
using CUlogicalEndpointId = unsigned int;
using CUlogicalEndpointIpcHandleType = int;
struct CUlogicalEndpointProp {
  int type;
  union {
    struct {
      CUdevice device;
    } unicast;
    struct {
      unsigned int numDevices;
    } multicast;
  };
  unsigned long long size;
  unsigned int ipcHandleTypes;
  unsigned int flags;
};
struct CUlogicalEndpointFabricHandle {
  unsigned char data[64];
};

// Devices that reach each other in a certain way. [CUDA 13.4]
struct CUcliqueInfo {
  int type;
  unsigned int id;
};

// Memory that was not made by the driver, or is taken for such. [CUDA 10.0]
struct CUextMemory_st;
using CUexternalMemory = CUextMemory_st*;
using CUexternalMemoryHandleType = int;
struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC {
  CUexternalMemoryHandleType type;
  union {
    int fd;
    struct {
      void* handle;
      const void* name;
    } win32;
    const void* nvSciBufObject;
  } handle;
  unsigned long long size;
  unsigned int flags;
  unsigned int reserved[16];
};
struct CUDA_EXTERNAL_MEMORY_BUFFER_DESC {
  unsigned long long offset;
  unsigned long long size;
  unsigned int flags;
  unsigned int reserved[16];
};

struct CUmemFabricHandle {
  unsigned char data[64];
};

struct CUmulticastObjectProp {
  unsigned int numDevices;
  size_t size;
  unsigned long long handleTypes;
  unsigned long long flags;
};

struct CUDA_ARRAY3D_DESCRIPTOR {
  size_t Width;
  size_t Height;
  size_t Depth;
  CUarray_format Format;
  unsigned int NumChannels;
  unsigned int Flags;
};

struct CUDA_ARRAY_SPARSE_PROPERTIES {
  struct {
    unsigned int width;
    unsigned int height;
    unsigned int depth;
  } tileExtent;
  unsigned int miptailFirstLevel;
  unsigned long long miptailSize;
  unsigned int flags;
  unsigned int reserved[4];
};

struct CUarrayMapInfo {
  CUresourcetype resourceType;
  union {
    CUmipmappedArray mipmap;
    CUarray array;
  } resource;
  CUarraySparseSubresourceType subresourceType;
  union {
    struct {
      unsigned int level;
      unsigned int layer;
      unsigned int offsetX;
      unsigned int offsetY;
      unsigned int offsetZ;
      unsigned int extentWidth;
      unsigned int extentHeight;
      unsigned int extentDepth;
    } sparseLevel;
    struct {
      unsigned int layer;
      unsigned long long offset;
      unsigned long long size;
    } miptail;
  } subresource;
  CUmemOperationType memOperationType;
  CUmemHandleType memHandleType;
  union {
    CUmemGenericAllocationHandle memHandle;
  } memHandle;
  unsigned long long offset;
  unsigned int deviceBitMask;
  unsigned int flags;
  unsigned int reserved[2];
};

struct CUDA_MEMCPY3D {
  size_t srcXInBytes;
  size_t srcY;
  size_t srcZ;
  size_t srcLOD;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  void* reserved0;
  size_t srcPitch;
  size_t srcHeight;
  size_t dstXInBytes;
  size_t dstY;
  size_t dstZ;
  size_t dstLOD;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  void* reserved1;
  size_t dstPitch;
  size_t dstHeight;
  size_t WidthInBytes;
  size_t Height;
  size_t Depth;
};

struct CUDA_MEMCPY2D {
  size_t srcXInBytes;
  size_t srcY;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  size_t srcPitch;
  size_t dstXInBytes;
  size_t dstY;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  size_t dstPitch;
  size_t WidthInBytes;
  size_t Height;
};

// CUDA_MEMCPY3D with contexts in the place of what is reserved there.
struct CUDA_MEMCPY3D_PEER {
  size_t srcXInBytes;
  size_t srcY;
  size_t srcZ;
  size_t srcLOD;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  CUcontext srcContext;
  size_t srcPitch;
  size_t srcHeight;
  size_t dstXInBytes;
  size_t dstY;
  size_t dstZ;
  size_t dstLOD;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  CUcontext dstContext;
  size_t dstPitch;
  size_t dstHeight;
  size_t WidthInBytes;
  size_t Height;
  size_t Depth;
};

// Of many copies at once. [CUDA 12.8]
using CUmemcpySrcAccessOrder = int;
using CUmemcpy3DOperandType = int;
struct CUmemcpyAttributes {
  CUmemcpySrcAccessOrder srcAccessOrder;
  CUmemLocation srcLocHint;
  CUmemLocation dstLocHint;
  unsigned int flags;
};
struct CUextent3D {
  size_t width;
  size_t height;
  size_t depth;
};
struct CUoffset3D {
  size_t x;
  size_t y;
  size_t z;
};
struct CUmemcpy3DOperand {
  CUmemcpy3DOperandType type;
  union {
    struct {
      CUdeviceptr ptr;
      size_t rowLength;
      size_t layerHeight;
      CUmemLocation locHint;
    } ptr;
    struct {
      CUarray array;
      CUoffset3D offset;
    } array;
  } op;
};
struct CUDA_MEMCPY3D_BATCH_OP {
  CUmemcpy3DOperand src;
  CUmemcpy3DOperand dst;
  CUextent3D extent;
  CUmemcpySrcAccessOrder srcAccessOrder;
  unsigned int flags;
};

struct CUuuid {
  char bytes[16];
};

// What cuDeviceGetProperties tells: the device attributes 1 to 10, sizes and blocks by their three
// dimensions.
struct CUdevprop {
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int sharedMemPerBlock;
  int totalConstantMemory;
  int SIMDWidth;
  int memPitch;
  int regsPerBlock;
  int clockRate;
  int textureAlign;
};

inline constexpr CUresult CUDA_SUCCESS = 0;
inline constexpr CUresult CUDA_ERROR_NOT_READY = 600;

inline constexpr CUmemAllocationHandleType CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1;
inline constexpr CUmemAllocationHandleType CU_MEM_HANDLE_TYPE_FABRIC = 8;

inline constexpr CUmemorytype CU_MEMORYTYPE_HOST = 1;
inline constexpr CUmemorytype CU_MEMORYTYPE_DEVICE = 2;
inline constexpr CUmemorytype CU_MEMORYTYPE_ARRAY = 3;
inline constexpr CUmemorytype CU_MEMORYTYPE_UNIFIED = 4;
inline constexpr CUmemcpySrcAccessOrder CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1;
inline constexpr CUmemcpySrcAccessOrder CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL = 2;
inline constexpr CUmemcpySrcAccessOrder CU_MEMCPY_SRC_ACCESS_ORDER_ANY = 3;
inline constexpr unsigned int CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE = 1;
inline constexpr CUmemcpy3DOperandType CU_MEMCPY_OPERAND_TYPE_POINTER = 1;
inline constexpr CUmemcpy3DOperandType CU_MEMCPY_OPERAND_TYPE_ARRAY = 2;
inline constexpr CUresourcetype CU_RESOURCE_TYPE_ARRAY = 0;
inline constexpr CUresourcetype CU_RESOURCE_TYPE_MIPMAPPED_ARRAY = 1;
inline constexpr CUarraySparseSubresourceType CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL = 1;
inline constexpr CUmemHandleType CU_MEM_HANDLE_TYPE_GENERIC = 0;
inline constexpr unsigned int CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL = 1;

inline constexpr unsigned int CU_STREAM_NON_BLOCKING = 1;
using CUstreamCaptureMode = int;
inline constexpr CUstreamCaptureMode CU_STREAM_CAPTURE_MODE_GLOBAL = 0;
inline constexpr CUstreamCaptureMode CU_STREAM_CAPTURE_MODE_RELAXED = 2;
inline constexpr unsigned int CU_EVENT_DEFAULT = 0;
inline constexpr unsigned int CU_EVENT_BLOCKING_SYNC = 1;
inline constexpr unsigned int CU_EVENT_DISABLE_TIMING = 2;
inline constexpr unsigned int CU_EVENT_INTERPROCESS = 4;
inline constexpr unsigned int CU_EVENT_WAIT_DEFAULT = 0;
inline constexpr unsigned int CU_EVENT_WAIT_EXTERNAL = 1;

// Of streams that wait for words of memory, and write them.
using CUstreamBatchMemOpType = int;
inline constexpr unsigned int CU_STREAM_WAIT_VALUE_GEQ = 0;
inline constexpr unsigned int CU_STREAM_WAIT_VALUE_EQ = 1;
inline constexpr unsigned int CU_STREAM_WAIT_VALUE_AND = 2;
inline constexpr unsigned int CU_STREAM_WAIT_VALUE_NOR = 3;
inline constexpr unsigned int CU_STREAM_WAIT_VALUE_FLUSH = 1u << 30;
inline constexpr unsigned int CU_STREAM_WRITE_VALUE_DEFAULT = 0;
inline constexpr unsigned int CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER = 1;
inline constexpr CUstreamBatchMemOpType CU_STREAM_MEM_OP_WAIT_VALUE_32 = 1;
inline constexpr CUstreamBatchMemOpType CU_STREAM_MEM_OP_WRITE_VALUE_32 = 2;
inline constexpr CUstreamBatchMemOpType CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES = 3;
inline constexpr CUstreamBatchMemOpType CU_STREAM_MEM_OP_WAIT_VALUE_64 = 4;
inline constexpr CUstreamBatchMemOpType CU_STREAM_MEM_OP_WRITE_VALUE_64 = 5;
inline constexpr CUstreamBatchMemOpType CU_STREAM_MEM_OP_BARRIER = 6;
inline constexpr unsigned int CU_STREAM_MEMORY_BARRIER_TYPE_SYS = 0;
inline constexpr unsigned int CU_STREAM_MEMORY_BARRIER_TYPE_GPU = 1;
union CUstreamBatchMemOpParams {
  CUstreamBatchMemOpType operation;
  struct Word {
    CUstreamBatchMemOpType operation;
    CUdeviceptr address;
    union {
      uint32_t value;
      uint64_t value64;
    };
    unsigned int flags;
    CUdeviceptr alias;
  } waitValue;
  Word writeValue;
  struct Fence {
    CUstreamBatchMemOpType operation;
    unsigned int flags;
  } flushRemoteWrites;
  Fence memoryBarrier;
  uint64_t pad[6];
};

// Of contexts.
using CUlimit = int;
using CUfunc_cache = int;
using CUdevice_P2PAttribute = int;
inline constexpr unsigned int CU_CTX_SCHED_MASK = 7;
inline constexpr unsigned int CU_CTX_MAP_HOST = 8;
inline constexpr unsigned int CU_CTX_LMEM_RESIZE_TO_MAX = 16;
inline constexpr unsigned int CU_CTX_FLAGS_MASK = 255;
inline constexpr CUlimit CU_LIMIT_STACK_SIZE = 0;
inline constexpr CUlimit CU_LIMIT_PRINTF_FIFO_SIZE = 1;
inline constexpr CUlimit CU_LIMIT_MALLOC_HEAP_SIZE = 2;
inline constexpr CUlimit CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4;
inline constexpr CUlimit CU_LIMIT_MAX_L2_FETCH_GRANULARITY = 5;
inline constexpr CUlimit CU_LIMIT_PERSISTING_L2_CACHE_SIZE = 6;
inline constexpr CUlimit CU_LIMIT_SHMEM_SIZE = 7;
inline constexpr CUlimit CU_LIMIT_CIG_ENABLED = 8;
inline constexpr CUfunc_cache CU_FUNC_CACHE_PREFER_EQUAL = 3;
inline constexpr CUdevice_P2PAttribute CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK = 1;
inline constexpr CUdevice_P2PAttribute CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED = 2;
inline constexpr CUdevice_P2PAttribute CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED = 3;
inline constexpr CUdevice_P2PAttribute CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED = 4;
inline constexpr CUdevice_P2PAttribute
    CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED = 5;

// Of launches.
using CUlaunchAttributeID = int;
union CUlaunchAttributeValue {
  alignas(8) char pad[64];
  struct {
    void* base_ptr;
    size_t num_bytes;
    float hitRatio;
    int hitProp;
    int missProp;
  } accessPolicyWindow;
  int cooperative;
  struct {
    unsigned int x, y, z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
  struct {
    CUevent event;
    int flags;
    int triggerAtBlockStart;
  } programmaticEvent;
  struct {
    CUevent event;
    int flags;
  } launchCompletionEvent;
  struct {
    int deviceUpdatable;
    void* devNode;
  } deviceUpdatableKernelNode;
  int clusterSchedulingPolicyPreference;
  struct {
    unsigned char default_, remote;
  } memSyncDomainMap;
  int memSyncDomain;
  unsigned int sharedMemCarveout;
};
struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  char pad[8 - sizeof(CUlaunchAttributeID)];
  CUlaunchAttributeValue value;
};
struct CUlaunchConfig {
  unsigned int gridDimX;
  unsigned int gridDimY;
  unsigned int gridDimZ;
  unsigned int blockDimX;
  unsigned int blockDimY;
  unsigned int blockDimZ;
  unsigned int sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned int numAttrs;
};
// Of one device, in a launch on several.
struct CUDA_LAUNCH_PARAMS {
  CUfunction function;
  unsigned int gridDimX;
  unsigned int gridDimY;
  unsigned int gridDimZ;
  unsigned int blockDimX;
  unsigned int blockDimY;
  unsigned int blockDimZ;
  unsigned int sharedMemBytes;
  CUstream hStream;
  void** kernelParams;
};
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_IGNORE = 0;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW = 1;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY = 3;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 5;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT = 7;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_PRIORITY = 8;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP = 9;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN = 10;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION = 11;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT = 12;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE = 13;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 14;
inline constexpr CUlaunchAttributeID CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING = 16;

using CUjit_option = int;
inline constexpr CUjit_option CU_JIT_INFO_LOG_BUFFER = 3;
inline constexpr CUjit_option CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4;
inline constexpr CUjit_option CU_JIT_ERROR_LOG_BUFFER = 5;
inline constexpr CUjit_option CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6;
inline constexpr CUjit_option CU_JIT_GLOBAL_SYMBOL_NAMES = 17;
inline constexpr CUjit_option CU_JIT_GLOBAL_SYMBOL_ADDRESSES = 18;
inline constexpr CUjit_option CU_JIT_GLOBAL_SYMBOL_COUNT = 19;

using CUdriverProcAddressQueryResult = int;
inline constexpr CUdriverProcAddressQueryResult CU_GET_PROC_ADDRESS_SUCCESS = 0;
inline constexpr CUdriverProcAddressQueryResult CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1;
inline constexpr CUdriverProcAddressQueryResult CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2;
inline constexpr uint64_t CU_GET_PROC_ADDRESS_DEFAULT = 0;
inline constexpr uint64_t CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1;
inline constexpr uint64_t CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2;

// Exported as "cuGetProcAddress" (CUDA 11.3) and "cuGetProcAddress_v2" (CUDA 12.0).
using cuGetProcAddress_v11030_t = CUresult(const char* symbol, void** function, int version,
                                           uint64_t flags);
using cuGetProcAddress_v12000_t = CUresult(const char* symbol, void** function, int version,
                                           uint64_t flags, CUdriverProcAddressQueryResult* found);

// The type of each function of functions.inc: cuMemMap_t.
#define TWINMMU_CUDA_FUNCTION(name, suffix, version, parameters) \
  using name##_t = CUresult parameters;
#include "third_party/cuda_abi/functions.inc"

}  // namespace twinmmu::cuda_abi

#endif  // TWINMMU_THIRD_PARTY_CUDA_ABI_CUDA_ABI_H_
