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
using CUcontext = CUctx_st*;
using CUstream = CUstream_st*;
using CUevent = CUevent_st*;
using CUmodule = CUmod_st*;
using CUfunction = CUfunc_st*;

using CUmemLocationType = int;
using CUmemAccess_flags = int;
using CUmemAllocationType = int;
using CUmemAllocationHandleType = int;
using CUmemAllocationGranularity_flags = int;
using CUmulticastGranularity_flags = int;
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

struct CUmemFabricHandle {
  unsigned char data[64];
};

struct CUmulticastObjectProp {
  unsigned int numDevices;
  size_t size;
  unsigned long long handleTypes;
  unsigned long long flags;
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

inline constexpr unsigned int CU_STREAM_NON_BLOCKING = 1;
inline constexpr unsigned int CU_EVENT_DEFAULT = 0;
inline constexpr unsigned int CU_EVENT_BLOCKING_SYNC = 1;
inline constexpr unsigned int CU_EVENT_DISABLE_TIMING = 2;
inline constexpr unsigned int CU_EVENT_INTERPROCESS = 4;
inline constexpr unsigned int CU_EVENT_WAIT_DEFAULT = 0;
inline constexpr unsigned int CU_EVENT_WAIT_EXTERNAL = 1;

// Of contexts.
using CUlimit = int;
using CUfunc_cache = int;
using CUdevice_P2PAttribute = int;
inline constexpr unsigned int CU_CTX_SCHED_MASK = 7;
inline constexpr unsigned int CU_CTX_MAP_HOST = 8;
inline constexpr unsigned int CU_CTX_FLAGS_MASK = 255;
inline constexpr CUlimit CU_LIMIT_STACK_SIZE = 0;
inline constexpr CUlimit CU_LIMIT_MALLOC_HEAP_SIZE = 2;
inline constexpr CUfunc_cache CU_FUNC_CACHE_PREFER_EQUAL = 3;
inline constexpr CUdevice_P2PAttribute CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK = 1;
inline constexpr CUdevice_P2PAttribute CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED = 2;
inline constexpr CUdevice_P2PAttribute CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED = 3;
inline constexpr CUdevice_P2PAttribute CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED = 4;
inline constexpr CUdevice_P2PAttribute
    CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED = 5;

using CUjit_option = int;
inline constexpr CUjit_option CU_JIT_ERROR_LOG_BUFFER = 5;
inline constexpr CUjit_option CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6;

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
