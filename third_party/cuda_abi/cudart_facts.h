// Names of the runtime with their values, sizes and offsets, from one of two headers: ours, or the
// toolkit's. They have the same names, so each is included by a file of its own.

#ifndef TWINMMU_THIRD_PARTY_CUDA_ABI_CUDART_FACTS_H_
#define TWINMMU_THIRD_PARTY_CUDA_ABI_CUDART_FACTS_H_

#include <map>
#include <string>

namespace twinmmu::cuda_abi {

using CudartFacts = std::map<std::string, long long>;
CudartFacts FactsOfOurCudart();
// Empty: no toolkit of CUDA 13 was found.
CudartFacts FactsOfTheirCudart();

}  // namespace twinmmu::cuda_abi

#endif  // TWINMMU_THIRD_PARTY_CUDA_ABI_CUDART_FACTS_H_
