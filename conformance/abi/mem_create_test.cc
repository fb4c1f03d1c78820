// cuMemCreate: what only its C structure has.

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

}  // namespace
}  // namespace twinmmu::abi
