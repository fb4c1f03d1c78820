// Runs tests in which memory fails on a driver that is there: a first cuInit has tests of its own.

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "third_party/cuda_abi/cuda_abi.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (twinmmu::libcuda::cuInit(0) != twinmmu::cuda_abi::CUDA_SUCCESS) return 1;
  return RUN_ALL_TESTS();
}
