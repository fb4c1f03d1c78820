// The device functions and variables of runtime_separate.cu.

#include "tools/examples/runtime/runtime_separate.cuh"

__device__ int calls = 0;
__constant__ int factors[4] = {2, 3, 5, 7};

__device__ int Multiply(int value, int which) {
  atomicAdd(&calls, 1);
  return value * factors[which];
}

__device__ Operation operation = Multiply;
