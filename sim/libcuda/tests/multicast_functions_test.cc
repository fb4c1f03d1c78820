// Multicast objects by the driver's C interface. The simulated driver is linked in: no other one
// can be meant.

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

constexpr CUresult kInvalidValue = 1;
constexpr size_t kSize = size_t{2} << 20;

// From nothing to a mapping, and all the way back.
TEST(MulticastTest, GoesTheWholeWay) {
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  const CUmulticastObjectProp team = {2, kSize, 0, 0};
  size_t granularity = 0;
  EXPECT_EQ(cuMulticastGetGranularity(&granularity, &team, 0), CUDA_SUCCESS);
  EXPECT_EQ(granularity, kSize);
  CUmemGenericAllocationHandle object = 0;
  ASSERT_EQ(cuMulticastCreate(&object, &team), CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastAddDevice(object, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastAddDevice(object, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastAddDevice(object, 1), kInvalidValue);

  CUmemAllocationProp prop = {};
  prop.type = 1;
  prop.location = {1, 0};
  CUmemGenericAllocationHandle memory = 0;
  CUdeviceptr address = 0;
  ASSERT_EQ(cuMemCreate(&memory, kSize, &prop, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAddressReserve(&address, 2 * kSize, kSize, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastBindMem(object, 0, memory, 0, kSize, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastUnbind(object, 0, 0, kSize), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(address, kSize, 0, memory, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastBindAddr(object, 0, address, kSize, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(address + kSize, kSize, 0, object, 0), CUDA_SUCCESS);

  EXPECT_EQ(cuMemUnmap(address, 2 * kSize), CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastUnbind(object, 0, 0, kSize), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(object), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(address, 2 * kSize), CUDA_SUCCESS);
}

// A result or properties that are null are refused.
TEST(MulticastTest, RefusesNullPointers) {
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  const CUmulticastObjectProp team = {1, kSize, 0, 0};
  CUmemGenericAllocationHandle object = 0;
  size_t granularity = 0;
  EXPECT_EQ(cuMulticastCreate(nullptr, &team), kInvalidValue);
  EXPECT_EQ(cuMulticastCreate(&object, nullptr), kInvalidValue);
  EXPECT_EQ(cuMulticastGetGranularity(nullptr, &team, 0), kInvalidValue);
  EXPECT_EQ(cuMulticastGetGranularity(&granularity, nullptr, 0), kInvalidValue);
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
