// Ends the program with the reason if a call of the runtime fails.

#ifndef TWINMMU_TOOLS_EXAMPLES_RUNTIME_RUNTIME_CHECK_H_
#define TWINMMU_TOOLS_EXAMPLES_RUNTIME_RUNTIME_CHECK_H_

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call) Check((call), #call)

inline void Check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fflush(stdout);
  std::fprintf(stderr, "%s failed: %s, %s\n", call, cudaGetErrorName(error),
               cudaGetErrorString(error));
  std::exit(1);
}

#endif  // TWINMMU_TOOLS_EXAMPLES_RUNTIME_RUNTIME_CHECK_H_
