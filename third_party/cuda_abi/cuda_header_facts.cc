// Compiled once for each header: TWINMMU_FACTS is the function that is defined.

#include "third_party/cuda_abi/cuda_header_facts.h"

#if defined(TWINMMU_FACTS_OF_OURS) || defined(TWINMMU_HAS_CUDA_H)

#include <cuda.h>

#include <cstddef>
#include <typeinfo>

namespace twinmmu {
namespace {

template <typename T>
std::string NameOfType() {
  return typeid(T).name();
}

#define TWINMMU_TEXT(name) #name
#define TWINMMU_EXPANDED_TEXT(name) TWINMMU_TEXT(name)

CudaHeaderFacts FactsOfLayouts() {
  CudaHeaderFacts facts;
#define TWINMMU_FIELD(type, field) \
  facts[#type "." #field] =        \
      std::to_string(offsetof(type, field)) + " " + NameOfType<decltype(type::field)>()
#define TWINMMU_SUBFIELD(type, field) \
  facts[#type "." #field] =           \
      std::to_string(offsetof(type, field)) + " " + std::to_string(sizeof(type::field))
  TWINMMU_FIELD(CUmemLocation, type);
  TWINMMU_FIELD(CUmemLocation, id);
  TWINMMU_FIELD(CUmemAccessDesc, location);
  TWINMMU_FIELD(CUmemAccessDesc, flags);
  TWINMMU_FIELD(CUmemAllocationProp, type);
  TWINMMU_FIELD(CUmemAllocationProp, requestedHandleTypes);
  TWINMMU_FIELD(CUmemAllocationProp, location);
  TWINMMU_FIELD(CUmemAllocationProp, win32HandleMetaData);
  TWINMMU_SUBFIELD(CUmemAllocationProp, allocFlags.compressionType);
  TWINMMU_SUBFIELD(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable);
  TWINMMU_SUBFIELD(CUmemAllocationProp, allocFlags.usage);
  TWINMMU_SUBFIELD(CUmemAllocationProp, allocFlags.reserved);
  TWINMMU_FIELD(CUmulticastObjectProp, numDevices);
  TWINMMU_FIELD(CUmulticastObjectProp, size);
  TWINMMU_FIELD(CUmulticastObjectProp, handleTypes);
  TWINMMU_FIELD(CUmulticastObjectProp, flags);
  TWINMMU_FIELD(CUmemFabricHandle, data);
  TWINMMU_FIELD(CUDA_KERNEL_NODE_PARAMS, func);
  TWINMMU_FIELD(CUDA_KERNEL_NODE_PARAMS, gridDimX);
  TWINMMU_FIELD(CUDA_KERNEL_NODE_PARAMS, gridDimY);
  TWINMMU_FIELD(CUDA_KERNEL_NODE_PARAMS, gridDimZ);
  TWINMMU_FIELD(CUDA_KERNEL_NODE_PARAMS, blockDimX);
  TWINMMU_FIELD(CUDA_KERNEL_NODE_PARAMS, blockDimY);
  TWINMMU_FIELD(CUDA_KERNEL_NODE_PARAMS, blockDimZ);
  TWINMMU_FIELD(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes);
  TWINMMU_FIELD(CUDA_KERNEL_NODE_PARAMS, kernelParams);
  TWINMMU_FIELD(CUDA_KERNEL_NODE_PARAMS, extra);
  TWINMMU_FIELD(CUDA_KERNEL_NODE_PARAMS, kern);
  TWINMMU_FIELD(CUDA_KERNEL_NODE_PARAMS, ctx);
  TWINMMU_FIELD(CUDA_MEMSET_NODE_PARAMS, dst);
  TWINMMU_FIELD(CUDA_MEMSET_NODE_PARAMS, pitch);
  TWINMMU_FIELD(CUDA_MEMSET_NODE_PARAMS, value);
  TWINMMU_FIELD(CUDA_MEMSET_NODE_PARAMS, elementSize);
  TWINMMU_FIELD(CUDA_MEMSET_NODE_PARAMS, width);
  TWINMMU_FIELD(CUDA_MEMSET_NODE_PARAMS, height);
  TWINMMU_FIELD(CUDA_HOST_NODE_PARAMS, fn);
  TWINMMU_FIELD(CUDA_HOST_NODE_PARAMS, userData);
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
  TWINMMU_FIELD(CUDA_ARRAY3D_DESCRIPTOR, Width);
  TWINMMU_FIELD(CUDA_ARRAY3D_DESCRIPTOR, Height);
  TWINMMU_FIELD(CUDA_ARRAY3D_DESCRIPTOR, Depth);
  TWINMMU_FIELD(CUDA_ARRAY3D_DESCRIPTOR, Format);
  TWINMMU_FIELD(CUDA_ARRAY3D_DESCRIPTOR, NumChannels);
  TWINMMU_FIELD(CUDA_ARRAY3D_DESCRIPTOR, Flags);
  TWINMMU_FIELD(CUuuid, bytes);
  return facts;
}

}  // namespace

CudaHeaderFacts TWINMMU_FACTS() {
  CudaHeaderFacts facts = FactsOfLayouts();
#define TWINMMU_VALUE(name) facts[#name] = std::to_string((long long)name)
#define TWINMMU_TYPE(name) facts[#name] = std::to_string(sizeof(name)) + " " + NameOfType<name>()
#define TWINMMU_FUNCTION(name) \
  facts[#name] = TWINMMU_EXPANDED_TEXT(name) " " + NameOfType<decltype(name)>()
#include "third_party/cuda_abi/cuda_header_names.inc"
  return facts;
}

}  // namespace twinmmu

#else

namespace twinmmu {

CudaHeaderFacts TWINMMU_FACTS() { return {}; }

}  // namespace twinmmu

#endif
