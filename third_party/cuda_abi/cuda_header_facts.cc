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
