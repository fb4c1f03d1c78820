/* What the programs share that call the runtime and the driver: the words for a call of the runtime
 * that failed. check.h has those for the driver's. */

#ifndef TWINMMU_TOOLS_EXAMPLES_RUNTIME_CHECK_RUNTIME_H_
#define TWINMMU_TOOLS_EXAMPLES_RUNTIME_CHECK_RUNTIME_H_

#include "third_party/cuda_abi/cudart_abi.h"
#include "tools/examples/check.h"

/* CHECK_RUNTIME(cudaFree(block)): ends the program where the call fails. */
#define CHECK_RUNTIME(call) check_runtime((call), #call)

static inline void check_runtime(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  fflush(stdout);
  fprintf(stderr, "%s failed: %s, %s\n", call, cudaGetErrorName(error), cudaGetErrorString(error));
  exit(1);
}

#endif /* TWINMMU_TOOLS_EXAMPLES_RUNTIME_CHECK_RUNTIME_H_ */
