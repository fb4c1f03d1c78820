// Compiled twice: with TWINMMU_FACTS_OF_OUR_CUDART, and without for the toolkit's.

#include "third_party/cuda_abi/cudart_facts.h"

#include <cstddef>

#ifdef TWINMMU_FACTS_OF_OUR_CUDART
#include "third_party/cuda_abi/cudart_abi.h"
#define TWINMMU_CUDART_FACTS FactsOfOurCudart
using cudaDeviceProp = twinmmu_cudaDeviceProp_13;
using dim3 = twinmmu_dim3;
#define TWINMMU_HAS_CUDART
#else
#define TWINMMU_CUDART_FACTS FactsOfTheirCudart
#ifdef TWINMMU_HAS_CUDA_H
#include "cuda_runtime_api.h"
#if CUDART_VERSION >= 13000 && CUDART_VERSION < 13010
#define TWINMMU_HAS_CUDART
#endif
#endif
#endif

namespace twinmmu::cuda_abi {
#ifdef TWINMMU_HAS_CUDART
namespace {

void AddDeviceFields(CudartFacts& facts) {
#define TWINMMU_DEVICE_VERSION 13
#define TWINMMU_DEVICE_ARRAY(type, name, count) TWINMMU_DEVICE_FIELD(type, name, 0)
#define TWINMMU_DEVICE_INTS(name, count, ...) TWINMMU_DEVICE_FIELD(int, name, 0)
#define TWINMMU_DEVICE_FIELD(type, name, attribute)                          \
  facts["offset of cudaDeviceProp." #name] = offsetof(cudaDeviceProp, name); \
  facts["size of cudaDeviceProp." #name] = sizeof(cudaDeviceProp::name);
#include "third_party/cuda_abi/device_properties.inc"
}

void AddErrors(CudartFacts& facts) {
#define TWINMMU_CUDART_ERROR(name, code, text) facts[#name] = name;
#include "third_party/cuda_abi/cudart_errors.inc"
}

}  // namespace

CudartFacts TWINMMU_CUDART_FACTS() {
  CudartFacts facts;
  AddDeviceFields(facts);
  AddErrors(facts);
#define TWINMMU_SIZE(type) facts["size of " #type] = sizeof(type)
  TWINMMU_SIZE(cudaDeviceProp);
  TWINMMU_SIZE(cudaPointerAttributes);
  TWINMMU_SIZE(cudaFuncAttributes);
  TWINMMU_SIZE(cudaLaunchConfig_t);
  TWINMMU_SIZE(cudaIpcMemHandle_t);
  TWINMMU_SIZE(cudaIpcEventHandle_t);
  TWINMMU_SIZE(cudaMemLocation);
  TWINMMU_SIZE(cudaExtent);
  TWINMMU_SIZE(cudaPitchedPtr);
  TWINMMU_SIZE(cudaMemcpy3DParms);
  TWINMMU_SIZE(dim3);
#define TWINMMU_OFFSET(type, field) facts["offset of " #type "." #field] = offsetof(type, field)
  TWINMMU_OFFSET(cudaPointerAttributes, device);
  TWINMMU_OFFSET(cudaPointerAttributes, devicePointer);
  TWINMMU_OFFSET(cudaPointerAttributes, hostPointer);
  TWINMMU_OFFSET(cudaFuncAttributes, sharedSizeBytes);
  TWINMMU_OFFSET(cudaFuncAttributes, maxThreadsPerBlock);
  TWINMMU_OFFSET(cudaFuncAttributes, maxDynamicSharedSizeBytes);
  TWINMMU_OFFSET(cudaFuncAttributes, clusterDimMustBeSet);
  TWINMMU_OFFSET(cudaFuncAttributes, requiredClusterDepth);
  TWINMMU_OFFSET(cudaFuncAttributes, clusterSchedulingPolicyPreference);
  TWINMMU_OFFSET(cudaFuncAttributes, nonPortableClusterSizeAllowed);
  TWINMMU_OFFSET(cudaMemcpy3DParms, srcPtr);
  TWINMMU_OFFSET(cudaMemcpy3DParms, dstArray);
  TWINMMU_OFFSET(cudaMemcpy3DParms, extent);
  TWINMMU_OFFSET(cudaMemcpy3DParms, kind);
  TWINMMU_OFFSET(cudaLaunchConfig_t, dynamicSmemBytes);
  TWINMMU_OFFSET(cudaLaunchConfig_t, stream);
  TWINMMU_OFFSET(cudaLaunchConfig_t, attrs);
  TWINMMU_OFFSET(cudaLaunchConfig_t, numAttrs);
#define TWINMMU_VALUE(name) facts[#name] = static_cast<long long>(name)
  TWINMMU_VALUE(cudaMemcpyDefault);
  TWINMMU_VALUE(cudaMemcpyDeviceToHost);
  TWINMMU_VALUE(cudaStreamNonBlocking);
  TWINMMU_VALUE(cudaEventDisableTiming);
  TWINMMU_VALUE(cudaEventInterprocess);
  TWINMMU_VALUE(cudaHostAllocMapped);
  TWINMMU_VALUE(cudaMemoryTypeUnregistered);
  TWINMMU_VALUE(cudaMemoryTypeManaged);
  TWINMMU_VALUE(cudaInvalidDeviceId);
  TWINMMU_VALUE(cudaEnablePerThreadDefaultStream);
  TWINMMU_VALUE(cudaDriverEntryPointVersionNotSufficent);
  return facts;
}
#else
CudartFacts TWINMMU_CUDART_FACTS() { return {}; }
#endif

}  // namespace twinmmu::cuda_abi
