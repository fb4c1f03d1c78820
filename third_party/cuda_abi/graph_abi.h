// The driver's types for graphs and stream capture, beside those of cuda_abi.h: written down from
// the documentation of CUDA 13.0.

#ifndef TWINMMU_THIRD_PARTY_CUDA_ABI_GRAPH_ABI_H_
#define TWINMMU_THIRD_PARTY_CUDA_ABI_GRAPH_ABI_H_

#include <cstddef>
#include <cstdint>

#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::cuda_abi {

using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUuserObject = struct CUuserObject_st*;
using CUkernel = struct CUkern_st*;
using CUexternalSemaphore = struct CUextSemaphore_st*;
using CUhostFn = void (*)(void* userData);

inline constexpr CUresult CUDA_ERROR_LOSSY_QUERY = 402;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_MERGE = 902;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906;
inline constexpr CUresult CUDA_ERROR_CAPTURED_EVENT = 907;
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908;
inline constexpr CUresult CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910;

// --- Nodes

using CUgraphNodeType = int;
inline constexpr CUgraphNodeType CU_GRAPH_NODE_TYPE_KERNEL = 0;
inline constexpr CUgraphNodeType CU_GRAPH_NODE_TYPE_MEMCPY = 1;
inline constexpr CUgraphNodeType CU_GRAPH_NODE_TYPE_MEMSET = 2;
inline constexpr CUgraphNodeType CU_GRAPH_NODE_TYPE_HOST = 3;
inline constexpr CUgraphNodeType CU_GRAPH_NODE_TYPE_GRAPH = 4;
inline constexpr CUgraphNodeType CU_GRAPH_NODE_TYPE_EMPTY = 5;
inline constexpr CUgraphNodeType CU_GRAPH_NODE_TYPE_WAIT_EVENT = 6;
inline constexpr CUgraphNodeType CU_GRAPH_NODE_TYPE_EVENT_RECORD = 7;
inline constexpr CUgraphNodeType CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL = 8;
inline constexpr CUgraphNodeType CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT = 9;
inline constexpr CUgraphNodeType CU_GRAPH_NODE_TYPE_MEM_ALLOC = 10;
inline constexpr CUgraphNodeType CU_GRAPH_NODE_TYPE_MEM_FREE = 11;
inline constexpr CUgraphNodeType CU_GRAPH_NODE_TYPE_BATCH_MEM_OP = 12;
inline constexpr CUgraphNodeType CU_GRAPH_NODE_TYPE_CONDITIONAL = 13;

struct CUDA_KERNEL_NODE_PARAMS_v1 {
  CUfunction func;
  unsigned int gridDimX;
  unsigned int gridDimY;
  unsigned int gridDimZ;
  unsigned int blockDimX;
  unsigned int blockDimY;
  unsigned int blockDimZ;
  unsigned int sharedMemBytes;
  void** kernelParams;
  void** extra;
};
// Also what the generic functions take.
struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction func;
  unsigned int gridDimX;
  unsigned int gridDimY;
  unsigned int gridDimZ;
  unsigned int blockDimX;
  unsigned int blockDimY;
  unsigned int blockDimZ;
  unsigned int sharedMemBytes;
  void** kernelParams;
  void** extra;
  CUkernel kern;
  CUcontext ctx;
};

struct CUDA_MEMSET_NODE_PARAMS {
  CUdeviceptr dst;
  size_t pitch;
  unsigned int value;
  unsigned int elementSize;
  size_t width;
  size_t height;
};
struct CUDA_MEMSET_NODE_PARAMS_v2 {
  CUdeviceptr dst;
  size_t pitch;
  unsigned int value;
  unsigned int elementSize;
  size_t width;
  size_t height;
  CUcontext ctx;
};

struct CUDA_MEMCPY_NODE_PARAMS {
  int flags;
  int reserved;
  CUcontext copyCtx;
  CUDA_MEMCPY3D copyParams;
};

struct CUDA_HOST_NODE_PARAMS {
  CUhostFn fn;
  void* userData;
};

using CUgraphChildGraphNodeOwnership = int;
inline constexpr CUgraphChildGraphNodeOwnership CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE = 0;
inline constexpr CUgraphChildGraphNodeOwnership CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE = 1;
struct CUDA_CHILD_GRAPH_NODE_PARAMS {
  CUgraph graph;
  CUgraphChildGraphNodeOwnership ownership;
};

struct CUDA_EVENT_WAIT_NODE_PARAMS {
  CUevent event;
};
struct CUDA_EVENT_RECORD_NODE_PARAMS {
  CUevent event;
};

// Both versions of the driver's name have it; the second one is what the generic functions take.
struct CUDA_MEM_ALLOC_NODE_PARAMS {
  CUmemPoolProps poolProps;
  const CUmemAccessDesc* accessDescs;
  size_t accessDescCount;
  size_t bytesize;
  CUdeviceptr dptr;
};
struct CUDA_MEM_FREE_NODE_PARAMS {
  CUdeviceptr dptr;
};

// The same.
struct CUDA_BATCH_MEM_OP_NODE_PARAMS {
  CUcontext ctx;
  unsigned int count;
  CUstreamBatchMemOpParams* paramArray;
  unsigned int flags;
};

// What a semaphore is waited for, or set to: of both kinds, and looked at by nobody here.
struct CUDA_EXTERNAL_SEMAPHORE_PARAMS {
  unsigned long long words[18];
};
// Both kinds of nodes, and both versions.
struct CUDA_EXT_SEM_NODE_PARAMS {
  CUexternalSemaphore* extSemArray;
  const CUDA_EXTERNAL_SEMAPHORE_PARAMS* paramsArray;
  unsigned int numExtSems;
};

using CUgraphConditionalHandle = uint64_t;
inline constexpr unsigned int CU_GRAPH_COND_ASSIGN_DEFAULT = 1;
using CUgraphConditionalNodeType = int;
inline constexpr CUgraphConditionalNodeType CU_GRAPH_COND_TYPE_IF = 0;
inline constexpr CUgraphConditionalNodeType CU_GRAPH_COND_TYPE_WHILE = 1;
inline constexpr CUgraphConditionalNodeType CU_GRAPH_COND_TYPE_SWITCH = 2;

struct CUDA_CONDITIONAL_NODE_PARAMS {
  CUgraphConditionalHandle handle;
  CUgraphConditionalNodeType type;
  unsigned int size;
  CUgraph* phGraph_out;
  CUcontext ctx;
};

struct CUgraphNodeParams {
  CUgraphNodeType type;
  int reserved0[3];
  union {
    long long reserved1[29];
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMCPY_NODE_PARAMS memcpy;
    CUDA_MEMSET_NODE_PARAMS_v2 memset;
    CUDA_HOST_NODE_PARAMS host;
    CUDA_CHILD_GRAPH_NODE_PARAMS graph;
    CUDA_EVENT_WAIT_NODE_PARAMS eventWait;
    CUDA_EVENT_RECORD_NODE_PARAMS eventRecord;
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    CUDA_MEM_FREE_NODE_PARAMS free;
    CUDA_EXT_SEM_NODE_PARAMS extSem;
    CUDA_BATCH_MEM_OP_NODE_PARAMS memOp;
    CUDA_CONDITIONAL_NODE_PARAMS conditional;
  };
  long long reserved2;
};

// --- Memory of graphs

using CUgraphMem_attribute = int;
inline constexpr CUgraphMem_attribute CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT = 0;
inline constexpr CUgraphMem_attribute CU_GRAPH_MEM_ATTR_USED_MEM_HIGH = 1;
inline constexpr CUgraphMem_attribute CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT = 2;
inline constexpr CUgraphMem_attribute CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH = 3;

// --- Edges

using CUgraphDependencyType = unsigned char;
inline constexpr CUgraphDependencyType CU_GRAPH_DEPENDENCY_TYPE_DEFAULT = 0;
inline constexpr CUgraphDependencyType CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC = 1;
inline constexpr unsigned char CU_GRAPH_KERNEL_NODE_PORT_DEFAULT = 0;
inline constexpr unsigned char CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC = 1;
inline constexpr unsigned char CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER = 2;

struct CUgraphEdgeData {
  unsigned char from_port;
  unsigned char to_port;
  CUgraphDependencyType type;
  unsigned char reserved[5];
};

// --- Instantiation and update

inline constexpr uint64_t CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH = 1;
inline constexpr uint64_t CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD = 2;
inline constexpr uint64_t CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH = 4;
inline constexpr uint64_t CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY = 8;

using CUgraphInstantiateResult = int;
inline constexpr CUgraphInstantiateResult CUDA_GRAPH_INSTANTIATE_SUCCESS = 0;
inline constexpr CUgraphInstantiateResult CUDA_GRAPH_INSTANTIATE_ERROR = 1;
inline constexpr CUgraphInstantiateResult CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE = 2;
inline constexpr CUgraphInstantiateResult CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED = 3;
inline constexpr CUgraphInstantiateResult CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED = 5;

struct CUDA_GRAPH_INSTANTIATE_PARAMS {
  uint64_t flags;
  CUstream hUploadStream;
  CUgraphNode hErrNode_out;
  CUgraphInstantiateResult result_out;
};

using CUgraphExecUpdateResult = int;
inline constexpr CUgraphExecUpdateResult CU_GRAPH_EXEC_UPDATE_SUCCESS = 0;
inline constexpr CUgraphExecUpdateResult CU_GRAPH_EXEC_UPDATE_ERROR = 1;
inline constexpr CUgraphExecUpdateResult CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED = 2;
inline constexpr CUgraphExecUpdateResult CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED = 3;
inline constexpr CUgraphExecUpdateResult CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED = 5;
inline constexpr CUgraphExecUpdateResult CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED = 8;

struct CUgraphExecUpdateResultInfo {
  CUgraphExecUpdateResult result;
  CUgraphNode errorNode;
  CUgraphNode errorFromNode;
};

// --- User objects

inline constexpr unsigned int CU_USER_OBJECT_NO_DESTRUCTOR_SYNC = 1;
inline constexpr unsigned int CU_GRAPH_USER_OBJECT_MOVE = 1;

// --- Capture

inline constexpr CUstreamCaptureMode CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1;

using CUstreamCaptureStatus = int;
inline constexpr CUstreamCaptureStatus CU_STREAM_CAPTURE_STATUS_NONE = 0;
inline constexpr CUstreamCaptureStatus CU_STREAM_CAPTURE_STATUS_ACTIVE = 1;
inline constexpr CUstreamCaptureStatus CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2;

inline constexpr unsigned int CU_STREAM_ADD_CAPTURE_DEPENDENCIES = 0;
inline constexpr unsigned int CU_STREAM_SET_CAPTURE_DEPENDENCIES = 1;

}  // namespace twinmmu::cuda_abi

#endif  // TWINMMU_THIRD_PARTY_CUDA_ABI_GRAPH_ABI_H_
