// The pools of a location, of CUDA 13.0, and pools of the host.
// Source: an H100 with driver 580.159.

#include "conformance/abi/pools/pool_test.h"

namespace twinmmu::abi {
namespace {

using PoolOf = Function<CUresult(CUmemoryPool*, CUmemLocation*, int)>;
using SetPoolOf = Function<CUresult(CUmemLocation*, int, CUmemoryPool)>;

class LocationPoolTest : public PoolTest {
 protected:
  static constexpr int kPinned = 1;

  void SetUp() override {
    PoolTest::SetUp();
    if (DriverVersion() < 13000) GTEST_SKIP() << "the driver is older than these functions";
  }
  static CUresult Default(CUmemoryPool* pool, int type, int id) {
    CUmemLocation location = {static_cast<CUmemLocationType>(type), id};
    return PoolOf("cuMemGetDefaultMemPool")(pool, &location, kPinned);
  }
  static CUresult Current(CUmemoryPool* pool, int type, int id) {
    CUmemLocation location = {static_cast<CUmemLocationType>(type), id};
    return PoolOf("cuMemGetMemPool")(pool, &location, kPinned);
  }
  static CUresult Set(int type, int id, CUmemoryPool pool) {
    CUmemLocation location = {static_cast<CUmemLocationType>(type), id};
    return SetPoolOf("cuMemSetMemPool")(&location, kPinned, pool);
  }
};

TEST_F(LocationPoolTest, ThatOfADeviceIsThePoolOfTheDevice) {
  CUmemoryPool of_location = nullptr;
  CUmemoryPool of_device = nullptr;
  EXPECT_EQ(Default(&of_location, CU_MEM_LOCATION_TYPE_DEVICE, 0), CUDA_SUCCESS);
  EXPECT_EQ(default_pool_of(&of_device, 0), CUDA_SUCCESS);
  EXPECT_EQ(of_location, of_device);
  EXPECT_EQ(Set(CU_MEM_LOCATION_TYPE_DEVICE, 0, pool_), CUDA_SUCCESS);
  EXPECT_EQ(Current(&of_location, CU_MEM_LOCATION_TYPE_DEVICE, 0), CUDA_SUCCESS);
  EXPECT_EQ(pool_of(&of_device, 0), CUDA_SUCCESS);
  EXPECT_EQ(of_location, pool_);
  EXPECT_EQ(of_device, pool_);
  EXPECT_EQ(Default(&of_location, CU_MEM_LOCATION_TYPE_DEVICE, 0), CUDA_SUCCESS);
  EXPECT_NE(of_location, pool_);
  EXPECT_EQ(set_pool_of(0, of_location), CUDA_SUCCESS);
}

TEST_F(LocationPoolTest, TheHostHasPools) {
  CUmemoryPool host = nullptr;
  CUmemoryPool again = nullptr;
  EXPECT_EQ(Default(&host, 2, 0), CUDA_SUCCESS);
  EXPECT_EQ(Current(&again, 2, 0), CUDA_SUCCESS);
  EXPECT_EQ(host, again);
  EXPECT_EQ(Set(2, 0, host), CUDA_SUCCESS);
  EXPECT_EQ(destroy_pool(host), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LocationPoolTest, PoolsAreOfTheirOwnLocation) {
  CUmemoryPool host = nullptr;
  EXPECT_EQ(Default(&host, 2, 0), CUDA_SUCCESS);
  EXPECT_EQ(set_pool_of(0, host), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Set(2, 0, pool_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LocationPoolTest, OtherLocationsHaveNone) {
  CUmemoryPool pool = nullptr;
  EXPECT_EQ(Default(&pool, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Default(&pool, 1, DeviceCount()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Default(&pool, 3, 99), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Default(&pool, 4, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(Current(&pool, 5, 0), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(LocationPoolTest, LocationsAndTypesAreLookedAt) {
  CUmemoryPool pool = nullptr;
  CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  for (const char* const name : {"cuMemGetDefaultMemPool", "cuMemGetMemPool"}) {
    EXPECT_EQ(PoolOf(name)(nullptr, &device, kPinned), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(PoolOf(name)(&pool, nullptr, kPinned), CUDA_ERROR_INVALID_VALUE);
  }
  for (const int type : {0, 3, 99}) {
    EXPECT_EQ(PoolOf("cuMemGetDefaultMemPool")(&pool, &device, type), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(SetPoolOf("cuMemSetMemPool")(nullptr, kPinned, pool_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(SetPoolOf("cuMemSetMemPool")(&device, kPinned, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LocationPoolTest, TheCpuUsesMemoryOfTheHost) {
  PoolProps props;
  props.location = {static_cast<CUmemLocationType>(2), 0};
  const CUmemoryPool host = MakePool(props);
  CUdeviceptr address = 0;
  EXPECT_EQ(allocate_from(&address, 64, host, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  auto* const bytes = reinterpret_cast<volatile unsigned char*>(address);
  bytes[63] = 9;
  unsigned char copied = 0;
  EXPECT_EQ(cuMemcpy(reinterpret_cast<CUdeviceptr>(&copied), address + 63, 1), CUDA_SUCCESS);
  EXPECT_EQ(copied, 9);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
}

// Whatever access the device has.
TEST_F(LocationPoolTest, CopiesTakeMemoryOfTheHostAsAPointerOnly) {
  PoolProps props;
  props.location = {static_cast<CUmemLocationType>(2), 0};
  const CUmemoryPool host = MakePool(props);
  CUdeviceptr address = 0;
  CUdeviceptr memory = 0;
  EXPECT_EQ(allocate_from(&address, 64, host, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc(&memory, 64), CUDA_SUCCESS);
  CUmemAccessDesc device = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  auto* const pointer = reinterpret_cast<void*>(address);
  char byte = 0;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(cuMemcpyDtoH(&byte, address, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpyHtoD(address, &byte, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpyDtoD(memory, address, 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpyHtoD(memory, pointer, 4), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyDtoH(pointer, memory, 4), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD8(address, 1, 4), i == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
    EXPECT_EQ(set_access(host, &device, 1), CUDA_SUCCESS);
  }
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
}

TEST_F(LocationPoolTest, DevicesAreGivenAccessToMemoryOfTheHost) {
  PoolProps props;
  props.location = {static_cast<CUmemLocationType>(2), 0};
  const CUmemoryPool host = MakePool(props);
  CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemLocation cpu = props.location;
  int access = 9;
  EXPECT_EQ(get_access(&access, host, &cpu), CUDA_SUCCESS);
  EXPECT_EQ(access, 3);
  EXPECT_EQ(get_access(&access, host, &device), CUDA_SUCCESS);
  EXPECT_EQ(access, 0);
  const CUmemAccessDesc grant = {device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_EQ(set_access(host, &grant, 1), CUDA_SUCCESS);
  EXPECT_EQ(get_access(&access, host, &device), CUDA_SUCCESS);
  EXPECT_EQ(access, 3);
  const CUmemAccessDesc of_host = {cpu, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_EQ(set_access(host, &of_host, 1), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
