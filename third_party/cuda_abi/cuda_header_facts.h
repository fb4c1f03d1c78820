// What a cuda.h says, as text: so that two of them can be compared, which no file can include both.

#ifndef TWINMMU_THIRD_PARTY_CUDA_ABI_CUDA_HEADER_FACTS_H_
#define TWINMMU_THIRD_PARTY_CUDA_ABI_CUDA_HEADER_FACTS_H_

#include <map>
#include <string>

namespace twinmmu {

// By name: values of enumerators and macros, types and symbols of functions, layouts. Of the names
// that our own header has.
using CudaHeaderFacts = std::map<std::string, std::string>;

// Of include/cuda.h, and with CUDA_API_PER_THREAD_DEFAULT_STREAM.
CudaHeaderFacts FactsOfOurs();
CudaHeaderFacts FactsOfOursPerThread();
// Of the toolkit's header; empty: none was found when this was built.
CudaHeaderFacts FactsOfTheirs();
CudaHeaderFacts FactsOfTheirsPerThread();

}  // namespace twinmmu

#endif  // TWINMMU_THIRD_PARTY_CUDA_ABI_CUDA_HEADER_FACTS_H_
