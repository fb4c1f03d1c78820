// What cudart_abi.h declares has the sizes, offsets and values of the runtime's documentation;
// where a toolkit of CUDA 13.0 is found, of its headers.

#include "third_party/cuda_abi/cudart_abi.h"

#include <cstddef>

#include "gtest/gtest.h"
#include "third_party/cuda_abi/cudart_facts.h"

namespace twinmmu::cuda_abi {
namespace {

static_assert(sizeof(twinmmu_cudaDeviceProp_11) == 728);
static_assert(sizeof(twinmmu_cudaDeviceProp_12) == 1032);
static_assert(sizeof(twinmmu_cudaDeviceProp_13) == 1008);
// Programs of CUDA 11 get the beginning of what those of CUDA 12 get.
static_assert(offsetof(twinmmu_cudaDeviceProp_11, reservedSharedMemPerBlock) ==
              offsetof(twinmmu_cudaDeviceProp_12, reservedSharedMemPerBlock));
static_assert(sizeof(cudaIpcMemHandle_t) == 64);
static_assert(sizeof(cudaExternalMemoryHandleDesc) == 40 &&
              offsetof(cudaExternalMemoryHandleDesc, size) == 24);
static_assert(sizeof(cudaExternalMemoryBufferDesc) == 24);
static_assert(offsetof(cudaExternalMemoryMipmappedArrayDesc, numLevels) == 60);
static_assert(sizeof(textureReference) == 124 && offsetof(textureReference, sRGB) == 40);
static_assert(sizeof(twinmmu_dim3) == 12);
static_assert(offsetof(cudaLaunchConfig_t, stream) == 32);
static_assert(sizeof(cudaLaunchParams) == 56 && offsetof(cudaLaunchParams, args) == 32);
static_assert(offsetof(cudaPointerAttributes, hostPointer) == 16);

TEST(CudartAbi, AgreesWithTheToolkit) {
  const CudartFacts theirs = FactsOfTheirCudart();
  if (theirs.empty()) GTEST_SKIP() << "no toolkit of CUDA 13.0 was found: NOTHING WAS COMPARED";
  const CudartFacts ours = FactsOfOurCudart();
  EXPECT_GE(ours.size(), 300u);
  for (const auto& [name, value] : theirs) EXPECT_EQ(ours.at(name), value) << name;
}

}  // namespace
}  // namespace twinmmu::cuda_abi
