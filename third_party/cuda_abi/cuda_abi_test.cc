// Pins the binary interface: committed sizes, offsets and values. This file failing to compile is
// the failure; it needs no toolkit and no driver.

#include "third_party/cuda_abi/cuda_abi.h"

#include <cstddef>

#include "gtest/gtest.h"
#include "third_party/cuda_abi/checkpoint_abi.h"
#include "third_party/cuda_abi/graph_abi.h"
#include "third_party/cuda_abi/tensor_abi.h"
#include "third_party/cuda_abi/texture_abi.h"

namespace twinmmu::cuda_abi {
namespace {

static_assert(sizeof(CUresult) == 4 && sizeof(CUdevice) == 4);
static_assert(sizeof(CUdeviceptr) == 8 && sizeof(CUmemGenericAllocationHandle) == 8);
static_assert(sizeof(size_t) == 8 && sizeof(void*) == 8, "only 64-bit platforms are supported");

static_assert(sizeof(CUmemLocation) == 8 && alignof(CUmemLocation) == 4);
static_assert(offsetof(CUmemLocation, type) == 0);
static_assert(offsetof(CUmemLocation, id) == 4);

static_assert(sizeof(CUmemAccessDesc) == 12 && alignof(CUmemAccessDesc) == 4);
static_assert(offsetof(CUmemAccessDesc, location) == 0);
static_assert(offsetof(CUmemAccessDesc, flags) == 8);

static_assert(sizeof(CUmemAllocationProp) == 32 && alignof(CUmemAllocationProp) == 8);
static_assert(offsetof(CUmemAllocationProp, type) == 0);
static_assert(offsetof(CUmemAllocationProp, requestedHandleTypes) == 4);
static_assert(offsetof(CUmemAllocationProp, location) == 8);
static_assert(offsetof(CUmemAllocationProp, win32HandleMetaData) == 16);
static_assert(offsetof(CUmemAllocationProp, allocFlags.compressionType) == 24);
static_assert(offsetof(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable) == 25);
static_assert(offsetof(CUmemAllocationProp, allocFlags.usage) == 26);
static_assert(offsetof(CUmemAllocationProp, allocFlags.reserved) == 28);

static_assert(sizeof(CUmulticastObjectProp) == 32 && alignof(CUmulticastObjectProp) == 8);
static_assert(offsetof(CUmulticastObjectProp, numDevices) == 0);
static_assert(offsetof(CUmulticastObjectProp, size) == 8);
static_assert(offsetof(CUmulticastObjectProp, handleTypes) == 16);
static_assert(offsetof(CUmulticastObjectProp, flags) == 24);

static_assert(sizeof(CUmemFabricHandle) == 64 && alignof(CUmemFabricHandle) == 1);

static_assert(sizeof(CUlaunchAttribute) == 72 && offsetof(CUlaunchAttribute, value) == 8);
static_assert(sizeof(CUDA_LAUNCH_PARAMS) == 56 && offsetof(CUDA_LAUNCH_PARAMS, hStream) == 40);
static_assert(sizeof(CUlaunchConfig) == 56 && alignof(CUlaunchConfig) == 8);
static_assert(offsetof(CUlaunchConfig, blockDimX) == 12);
static_assert(offsetof(CUlaunchConfig, sharedMemBytes) == 24);
static_assert(offsetof(CUlaunchConfig, hStream) == 32);
static_assert(offsetof(CUlaunchConfig, attrs) == 40);
static_assert(offsetof(CUlaunchConfig, numAttrs) == 48);
static_assert(sizeof(CUDA_ARRAY3D_DESCRIPTOR) == 40 && sizeof(CUDA_MEMCPY3D) == 200);
static_assert(sizeof(CUDA_ARRAY_DESCRIPTOR) == 24 && sizeof(CUDA_ARRAY_MEMORY_REQUIREMENTS) == 32);
static_assert(sizeof(CUDA_RESOURCE_DESC) == 144 && offsetof(CUDA_RESOURCE_DESC, flags) == 136);
static_assert(sizeof(CUDA_TEXTURE_DESC) == 104 && offsetof(CUDA_TEXTURE_DESC, borderColor) == 40);
static_assert(sizeof(CUDA_RESOURCE_VIEW_DESC) == 112 &&
              offsetof(CUDA_RESOURCE_VIEW_DESC, firstMipmapLevel) == 32);
static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS_v1) == 56 && sizeof(CUDA_KERNEL_NODE_PARAMS) == 72);
static_assert(sizeof(CUDA_MEMSET_NODE_PARAMS) == 40 && sizeof(CUDA_MEMSET_NODE_PARAMS_v2) == 48);
static_assert(sizeof(CUDA_MEMCPY_NODE_PARAMS) == 216 && sizeof(CUDA_HOST_NODE_PARAMS) == 16);
static_assert(sizeof(CUgraphNodeParams) == 256 && offsetof(CUgraphNodeParams, kernel) == 16);
static_assert(sizeof(CUDA_MEM_ALLOC_NODE_PARAMS) == 120 &&
              offsetof(CUDA_MEM_ALLOC_NODE_PARAMS, accessDescs) == 88);
static_assert(sizeof(CUDA_BATCH_MEM_OP_NODE_PARAMS) == 32 &&
              offsetof(CUDA_BATCH_MEM_OP_NODE_PARAMS, flags) == 24);
static_assert(sizeof(CUDA_EXTERNAL_SEMAPHORE_PARAMS) == 144 &&
              sizeof(CUDA_EXT_SEM_NODE_PARAMS) == 24 && sizeof(CUDA_CONDITIONAL_NODE_PARAMS) == 32);
static_assert(sizeof(CUgraphEdgeData) == 8 && offsetof(CUgraphEdgeData, type) == 2);
static_assert(sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS) == 32);
static_assert(sizeof(CUgraphExecUpdateResultInfo) == 24);
static_assert(sizeof(CUtensorMap) == 128);
static_assert(sizeof(CUcheckpointLockArgs) == 64 && sizeof(CUcheckpointRestoreArgs) == 64 &&
              offsetof(CUcheckpointRestoreArgs, reserved1) == 56);
static_assert(sizeof(CUDA_MEMCPY2D) == 128 && sizeof(CUDA_MEMCPY3D_PEER) == 200);
static_assert(sizeof(CUmemPoolPtrExportData) == 64 && sizeof(CUipcEventHandle) == 64 &&
              sizeof(CUipcMemHandle) == 64);
static_assert(sizeof(CUlogicalEndpointProp) == 24 && offsetof(CUlogicalEndpointProp, size) == 8 &&
              sizeof(CUlogicalEndpointFabricHandle) == 64 && sizeof(CUcliqueInfo) == 8);
static_assert(sizeof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC) == 104 &&
              offsetof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, handle) == 8 &&
              offsetof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, flags) == 32);
static_assert(sizeof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC) == 88 &&
              offsetof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, flags) == 16);
static_assert(sizeof(CUmemPoolProps) == 88 && offsetof(CUmemPoolProps, reserved) == 34);
static_assert(sizeof(CUmemcpyAttributes) == 24 && sizeof(CUDA_MEMCPY3D_BATCH_OP) == 112);
static_assert(offsetof(CUmemcpy3DOperand, op) == 8 &&
              offsetof(CUDA_MEMCPY3D_BATCH_OP, extent) == 80);
static_assert(sizeof(CUstreamBatchMemOpParams) == 48 && alignof(CUstreamBatchMemOpParams) == 8);
static_assert(offsetof(CUstreamBatchMemOpParams, waitValue.address) == 8 &&
              offsetof(CUstreamBatchMemOpParams, waitValue.value64) == 16 &&
              offsetof(CUstreamBatchMemOpParams, waitValue.flags) == 24 &&
              offsetof(CUstreamBatchMemOpParams, memoryBarrier.flags) == 4);
static_assert(sizeof(CUDA_ARRAY_SPARSE_PROPERTIES) == 48 && sizeof(CUarrayMapInfo) == 96);
static_assert(offsetof(CUDA_ARRAY_SPARSE_PROPERTIES, miptailSize) == 16);
static_assert(offsetof(CUarrayMapInfo, subresource) == 24);
static_assert(offsetof(CUarrayMapInfo, memOperationType) == 56);
static_assert(offsetof(CUarrayMapInfo, offset) == 72);

static_assert(CUDA_SUCCESS == 0 && CUDA_ERROR_NOT_READY == 600);
static_assert(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR == 1 && CU_MEM_HANDLE_TYPE_FABRIC == 8);
static_assert(CU_STREAM_NON_BLOCKING == 1 && CU_EVENT_DEFAULT == 0 && CU_EVENT_WAIT_DEFAULT == 0);
static_assert(CU_JIT_ERROR_LOG_BUFFER == 5 && CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES == 6);
static_assert(CU_GET_PROC_ADDRESS_SUCCESS == 0 && CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND == 1 &&
              CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT == 2 && CU_GET_PROC_ADDRESS_DEFAULT == 0);

// The assertions above hold; a test binary without a test would look like a mistake.
TEST(CudaAbiTest, HasTheCommittedSizesOffsetsAndValues) { SUCCEED(); }

}  // namespace
}  // namespace twinmmu::cuda_abi
