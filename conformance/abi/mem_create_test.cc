// Allocations: what only their C structures have, and what is told of them.

#include <unistd.h>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

using MemCreateTest = ContextTest;

// Whatever handle types are asked for; of the host's memory, too.
TEST_F(MemCreateTest, MetadataOfWindowsIsInvalid) {
  char metadata[64] = {};
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp properties = PinnedOn(0);
  for (const int types : {0, 1, 2, 8}) {
    properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(types);
    properties.win32HandleMetaData = metadata;
    EXPECT_EQ(cuMemCreate(&handle, 2 << 20, &properties, 0), CUDA_ERROR_INVALID_VALUE) << types;
  }
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
  properties.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  EXPECT_EQ(cuMemCreate(&handle, 2 << 20, &properties, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemCreateTest, AnUnknownDeviceIsToldBeforeMetadata) {
  char metadata[64] = {};
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp properties = PinnedOn(77);
  properties.win32HandleMetaData = metadata;
  EXPECT_EQ(cuMemCreate(&handle, 2 << 20, &properties, 0), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(MemCreateTest, TheGranularityOfDeviceMemoryIs2MiB) {
  const CUmemAllocationProp properties = PinnedOn(0);
  size_t found = 0;
  EXPECT_EQ(cuMemGetAllocationGranularity(&found, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
            CUDA_SUCCESS);
  EXPECT_EQ(found, kChunk);
  EXPECT_EQ(cuMemGetAllocationGranularity(&found, &properties,
                                          static_cast<CUmemAllocationGranularity_flags>(77)),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemCreateTest, AHandleTellsWhatItWasMadeWith) {
  const Mapping mapping;
  CUmemAllocationProp found = {};
  EXPECT_EQ(cuMemGetAllocationPropertiesFromHandle(&found, mapping.handle()), CUDA_SUCCESS);
  EXPECT_EQ(found.type, CU_MEM_ALLOCATION_TYPE_PINNED);
  EXPECT_EQ(found.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(found.location.id, 0);
  EXPECT_EQ(cuMemGetAllocationPropertiesFromHandle(&found, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemCreateTest, AReleasedAllocationGivesItsMemoryBack) {
  constexpr size_t kSize = 32 * kChunk;
  const CUmemAllocationProp properties = PinnedOn(0);
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_EQ(cuMemCreate(&handle, kSize, &properties, 0), CUDA_SUCCESS);
  const size_t before = FreeMemory();
  EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_GE(FreeMemory(), before + kSize);
  EXPECT_EQ(cuMemRelease(0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemCreateTest, AMappedRangeHasADescriptor) {
  constexpr int kDmaBuf = 1;
  const Function<CUresult(void*, CUdeviceptr, size_t, int, unsigned long long)> get(
      "cuMemGetHandleForAddressRange");
  int supported = 0;
  ASSERT_EQ(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0),
            CUDA_SUCCESS);
  if (supported == 0) GTEST_SKIP() << "there are no descriptors of ranges";
  const Mapping mapping;
  int descriptor = -1;
  EXPECT_EQ(get(&descriptor, mapping.address(), mapping.size(), kDmaBuf, 0), CUDA_SUCCESS);
  EXPECT_EQ(close(descriptor), 0);
  EXPECT_EQ(get(&descriptor, mapping.address(), mapping.size(), 77, 0), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace twinmmu::abi
