// What the two files of runtime_separate.cu share.

#ifndef TWINMMU_TOOLS_EXAMPLES_RUNTIME_RUNTIME_SEPARATE_CUH_
#define TWINMMU_TOOLS_EXAMPLES_RUNTIME_RUNTIME_SEPARATE_CUH_

extern __device__ int calls;
extern __constant__ int factors[4];

__device__ int Multiply(int value, int which);

using Operation = int (*)(int, int);
extern __device__ Operation operation;

#endif  // TWINMMU_TOOLS_EXAMPLES_RUNTIME_RUNTIME_SEPARATE_CUH_
