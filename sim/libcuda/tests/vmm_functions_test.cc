// Virtual memory by the driver's C interface: what its structures have beside the calls. The
// simulated driver is linked in: no other one can be meant.

#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/profile/profile.h"

namespace twinmmu::libcuda {
namespace {

constexpr CUresult kInvalidValue = 1;
constexpr CUresult kInvalidDevice = 101;
constexpr size_t kSize = size_t{2} << 20;
constexpr CUmemAllocationHandleType kFabric = 8;
constexpr CUmemLocation kDevice = {1, 0};
constexpr CUmemLocation kHost = {2, 0};

// A mapping of memory that can be exported.
class VmmFunctionsTest : public testing::Test {
 protected:
  void SetUp() override {
    Process::Get().Restart(*Profile::Named("fabric-permitted"));
    CUcontext context = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
    CUmemAllocationProp properties = PropertiesAt(kDevice);
    properties.requestedHandleTypes = kFabric;
    ASSERT_EQ(cuMemCreate(&handle_, kSize, &properties, 0), CUDA_SUCCESS);
    address_ = Map(handle_);
  }

  static CUmemAllocationProp PropertiesAt(const CUmemLocation& location) {
    CUmemAllocationProp properties = {};
    properties.type = 1;
    properties.location = location;
    return properties;
  }
  static CUresult Grant(CUdeviceptr address, size_t count) {
    const std::vector<CUmemAccessDesc> grants(count, CUmemAccessDesc{kDevice, 3});
    return cuMemSetAccess(address, kSize, grants.data(), count);
  }
  static CUdeviceptr Map(CUmemGenericAllocationHandle handle) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAddressReserve(&address, kSize, 0, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemMap(address, kSize, 0, handle, 0), CUDA_SUCCESS);
    EXPECT_EQ(Grant(address, 1), CUDA_SUCCESS);
    return address;
  }

  CUmemGenericAllocationHandle handle_ = 0;
  CUdeviceptr address_ = 0;
};

TEST_F(VmmFunctionsTest, AFabricHandleNamesTheSameMemory) {
  char shared[64] = {};
  CUmemGenericAllocationHandle imported = 0;
  ASSERT_EQ(cuMemExportToShareableHandle(shared, handle_, kFabric, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemImportFromShareableHandle(&imported, shared, kFabric), CUDA_SUCCESS);
  const CUdeviceptr alias = Map(imported);
  char value = 0;
  EXPECT_EQ(cuMemsetD8_v2(address_, 7, kSize), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH_v2(&value, alias, 1), CUDA_SUCCESS);
  EXPECT_EQ(value, 7);
}

TEST_F(VmmFunctionsTest, ThereAreAtMost4096Grants) {
  EXPECT_EQ(Grant(address_, 4096), CUDA_SUCCESS);
  EXPECT_EQ(Grant(address_, 4097), kInvalidValue);
}

// A number is a device's only where the location is a device.
TEST_F(VmmFunctionsTest, ADeviceThatIsNoneIsToldBeforeMetadataOfWindows) {
  char metadata[64] = {};
  for (const auto& [type, expected] :
       {std::pair(kDevice.type, kInvalidDevice), std::pair(kHost.type, kInvalidValue)}) {
    for (const int number : {-1, 77}) {
      CUmemAllocationProp properties = PropertiesAt({type, number});
      properties.win32HandleMetaData = metadata;
      CUmemGenericAllocationHandle handle = 0;
      EXPECT_EQ(cuMemCreate(&handle, kSize, &properties, 0), expected) << type << " " << number;
    }
  }
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
