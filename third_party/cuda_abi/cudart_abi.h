/* The part of the CUDA runtime's binary interface that our runtime has, for C and C++: written down
 * from its documentation, so that nothing needs the toolkit to build. Names, values and layouts are
 * the runtime's; cudart_abi_test.cc compares them with the toolkit's headers where those are found.
 *
 * Enumerations are plain integers, because any value must be able to pass. The functions are those
 * of runtime_exports.inc.
 */

#ifndef TWINMMU_THIRD_PARTY_CUDA_ABI_CUDART_ABI_H_
#define TWINMMU_THIRD_PARTY_CUDA_ABI_CUDART_ABI_H_

#include <stddef.h>

typedef int cudaError_t; /* cudart_errors.inc */

/* The driver's objects under other names. */
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef struct CUfunc_st* cudaFunction_t;
typedef struct CUkern_st* cudaKernel_t;
typedef struct CUlib_st* cudaLibrary_t;
typedef struct CUgraph_st* cudaGraph_t;
typedef struct CUgraphNode_st* cudaGraphNode_t;
typedef struct CUgraphExec_st* cudaGraphExec_t;
typedef struct CUmemPoolHandle_st* cudaMemPool_t;
typedef struct CUuserObject_st* cudaUserObject_t;

#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)

/* What the runtime passes on to the driver as it is. */
struct cudaHostNodeParams;
struct cudaMemsetParams;
struct cudaMemAllocNodeParams;
struct cudaMemPoolProps;
struct cudaMemPoolPtrExportData;
struct cudaMemAccessDesc;
struct cudaMemcpyAttributes;
struct cudaLaunchAttribute_st;
struct cudaGraphExecUpdateResultInfo_st;

typedef void (*cudaHostFn_t)(void* argument);
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void* argument);

typedef struct twinmmu_dim3 {
  unsigned int x, y, z;
} twinmmu_dim3;

/* A kernel of a graph; the driver has the same, with a function of its own. */
struct cudaKernelNodeParams {
  void* func;
  twinmmu_dim3 gridDim;
  twinmmu_dim3 blockDim;
  unsigned int sharedMemBytes;
  void** kernelParams;
  void** extra;
};

typedef int cudaMemcpyKind;
enum {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};

enum {
  cudaStreamDefault = 0,
  cudaStreamNonBlocking = 1,
  cudaEventDefault = 0,
  cudaEventDisableTiming = 2,
  cudaEventInterprocess = 4,
  cudaHostAllocDefault = 0,
  cudaHostAllocPortable = 1,
  cudaHostAllocMapped = 2,
  cudaHostRegisterDefault = 0,
  cudaIpcMemLazyEnablePeerAccess = 1,
  cudaMemAttachGlobal = 1,
  cudaEnableDefault = 0,
  cudaEnableLegacyStream = 1,
  cudaEnablePerThreadDefaultStream = 2,
  cudaDriverEntryPointSuccess = 0,
  cudaDriverEntryPointSymbolNotFound = 1,
  cudaDriverEntryPointVersionNotSufficent = 2
};

typedef int cudaMemoryType;
enum {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3
};
enum { cudaInvalidDeviceId = -2, cudaCpuDeviceId = -1 };

/* CUDA 13 has reserved words behind it, which are left as they are. */
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
#if defined(CUDART_VERSION) && CUDART_VERSION < 13000
#else
  long reserved[8];
#endif
};

struct cudaFuncAttributes {
  size_t sharedSizeBytes;
  size_t constSizeBytes;
  size_t localSizeBytes;
  int maxThreadsPerBlock;
  int numRegs;
  int ptxVersion;
  int binaryVersion;
  int cacheModeCA;
  int maxDynamicSharedSizeBytes;
  int preferredShmemCarveout;
  /* From here on since CUDA 12. */
  int clusterDimMustBeSet;
  int requiredClusterWidth;
  int requiredClusterHeight;
  int requiredClusterDepth;
  int clusterSchedulingPolicyPreference;
  int nonPortableClusterSizeAllowed;
  int reserved[16];
};

struct cudaMemLocation {
  int type;
  int id;
};

typedef struct cudaIpcMemHandle_st {
  char reserved[64];
} cudaIpcMemHandle_t;

typedef struct cudaIpcEventHandle_st {
  char reserved[64];
} cudaIpcEventHandle_t;

/* Without what CUDA 13 has behind the flags, which must be zeros. */
typedef struct CUextMemory_st* cudaExternalMemory_t;
struct cudaExternalMemoryHandleDesc {
  int type;
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
};
struct cudaExternalMemoryBufferDesc {
  unsigned long long offset;
  unsigned long long size;
  unsigned int flags;
};

/* Without what CUDA 13 has behind the flags, too. */
typedef struct CUextSemaphore_st* cudaExternalSemaphore_t;
struct cudaExternalSemaphoreHandleDesc {
  int type;
  union {
    int fd;
    struct {
      void* handle;
      const void* name;
    } win32;
    const void* nvSciSyncObj;
  } handle;
  unsigned int flags;
};

typedef struct cudaLaunchConfig_st {
  twinmmu_dim3 gridDim;
  twinmmu_dim3 blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  struct cudaLaunchAttribute_st* attrs;
  unsigned int numAttrs;
} cudaLaunchConfig_t;

/* Of CUDA 11 and 12. */
struct cudaLaunchParams {
  void* func;
  twinmmu_dim3 gridDim;
  twinmmu_dim3 blockDim;
  void** args;
  size_t sharedMem;
  cudaStream_t stream;
};

struct cudaExtent {
  size_t width, height, depth;
};

struct cudaPitchedPtr {
  void* ptr;
  size_t pitch, xsize, ysize;
};

/* Arrays, textures and surfaces. */
typedef struct cudaArray* cudaArray_t;
typedef struct cudaMipmappedArray* cudaMipmappedArray_t;
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

typedef int cudaChannelFormatKind;
enum {
  cudaChannelFormatKindSigned = 0,
  cudaChannelFormatKindUnsigned = 1,
  cudaChannelFormatKindFloat = 2,
  cudaChannelFormatKindNone = 3
};

/* The bits of each channel. */
struct cudaChannelFormatDesc {
  int x, y, z, w;
  cudaChannelFormatKind f;
};

struct cudaPos {
  size_t x, y, z;
};

struct cudaMemcpy3DParms {
  cudaArray_t srcArray;
  struct cudaPos srcPos;
  struct cudaPitchedPtr srcPtr;
  cudaArray_t dstArray;
  struct cudaPos dstPos;
  struct cudaPitchedPtr dstPtr;
  struct cudaExtent extent;
  cudaMemcpyKind kind;
};

struct cudaMemcpy3DPeerParms {
  cudaArray_t srcArray;
  struct cudaPos srcPos;
  struct cudaPitchedPtr srcPtr;
  int srcDevice;
  cudaArray_t dstArray;
  struct cudaPos dstPos;
  struct cudaPitchedPtr dstPtr;
  int dstDevice;
  struct cudaExtent extent;
};

/* A node of any type, as far as it is not the driver's (CUgraphNodeParams). */
struct cudaGraphNodeParams {
  int type;
  int reserved0[3];
  union {
    long long reserved1[29];
    struct cudaKernelNodeParams kernel;
    struct {
      int flags;
      int reserved[3];
      struct cudaMemcpy3DParms copyParams;
    } memcpy;
  } of;
  long long reserved2;
};

typedef int cudaResourceType;
enum {
  cudaResourceTypeArray = 0,
  cudaResourceTypeMipmappedArray = 1,
  cudaResourceTypeLinear = 2,
  cudaResourceTypePitch2D = 3
};

struct cudaResourceDesc {
  cudaResourceType resType;
  union {
    struct {
      cudaArray_t array;
    } array;
    struct {
      cudaMipmappedArray_t mipmap;
    } mipmap;
    struct {
      void* devPtr;
      struct cudaChannelFormatDesc desc;
      size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      struct cudaChannelFormatDesc desc;
      size_t width;
      size_t height;
      size_t pitchInBytes;
    } pitch2D;
    struct {
      int reserved[32];
    } reserved;
  } res;
  unsigned int flags; /* from CUDA 13 on */
};

enum { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };

struct cudaTextureDesc {
  int addressMode[3];
  int filterMode;
  int readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned int maxAnisotropy;
  int mipmapFilterMode;
  float mipmapLevelBias;
  float minMipmapLevelClamp;
  float maxMipmapLevelClamp;
  int disableTrilinearOptimization;
  int seamlessCubemap;
};

/* Until CUDA 12: a texture of old, as the program has it beside the variable of the device. */
struct textureReference {
  int normalized;
  int filterMode;
  int addressMode[3];
  struct cudaChannelFormatDesc channelDesc;
  int sRGB;
  unsigned int maxAnisotropy;
  int mipmapFilterMode;
  float mipmapLevelBias;
  float minMipmapLevelClamp;
  float maxMipmapLevelClamp;
  int disableTrilinearOptimization;
  int reserved[14];
};

struct surfaceReference {
  struct cudaChannelFormatDesc channelDesc;
};

/* Without what CUDA 13 has behind the levels, which must be zeros. */
struct cudaExternalMemoryMipmappedArrayDesc {
  unsigned long long offset;
  struct cudaChannelFormatDesc formatDesc;
  struct cudaExtent extent;
  unsigned int flags;
  unsigned int numLevels;
};

/* The driver's. */
struct cudaResourceViewDesc {
  int format;
  size_t width;
  size_t height;
  size_t depth;
  unsigned int firstMipmapLevel;
  unsigned int lastMipmapLevel;
  unsigned int firstLayer;
  unsigned int lastLayer;
  unsigned int reserved[16];
};

/* What tells about a device, by the version of the runtime: its layout changed with each. */
#define TWINMMU_DEVICE_ARRAY(type, name, count) type name[count];
#define TWINMMU_DEVICE_FIELD(type, name, attribute) type name;
#define TWINMMU_DEVICE_INTS(name, count, ...) int name[count];

struct twinmmu_cudaDeviceProp_11 {
#define TWINMMU_DEVICE_VERSION 11
#include "third_party/cuda_abi/device_properties.inc"
#undef TWINMMU_DEVICE_VERSION
};
struct twinmmu_cudaDeviceProp_12 {
#define TWINMMU_DEVICE_VERSION 12
#include "third_party/cuda_abi/device_properties.inc"
#undef TWINMMU_DEVICE_VERSION
};
struct twinmmu_cudaDeviceProp_13 {
#define TWINMMU_DEVICE_VERSION 13
#include "third_party/cuda_abi/device_properties.inc"
#undef TWINMMU_DEVICE_VERSION
};
#undef TWINMMU_DEVICE_ARRAY
#undef TWINMMU_DEVICE_FIELD
#undef TWINMMU_DEVICE_INTS

/* The codes of errors. */
enum {
#define TWINMMU_CUDART_ERROR(name, code, text) name = code,
#include "third_party/cuda_abi/cudart_errors.inc"
  twinmmu_cudaErrorsEnd
};

#ifndef TWINMMU_CUDART_TYPES_ONLY
#ifdef __cplusplus
extern "C" {
#endif
#define TWINMMU_CUDART_FORWARD(first, last, where, name, driver, parameters, arguments) \
  cudaError_t name parameters;
#define TWINMMU_CUDART_MODELLED(first, last, result, name, drivers, parameters) \
  result name parameters;
#define TWINMMU_CUDART_VERSIONED(first, last, name, drivers)
#define TWINMMU_CUDART_REFUSED(first, last, name)
#include "third_party/cuda_abi/runtime_exports.inc"
#ifdef __cplusplus
}
#endif
#endif

#endif /* TWINMMU_THIRD_PARTY_CUDA_ABI_CUDART_ABI_H_ */
