// Pools of managed memory, of CUDA 13.0.
// Source: an H100 with driver 580.159.

#include <utility>

#include "conformance/abi/pools/pool_test.h"

namespace twinmmu::abi {
namespace {

using PoolOf = Function<CUresult(CUmemoryPool*, CUmemLocation*, int)>;
using SetPoolOf = Function<CUresult(CUmemLocation*, int, CUmemoryPool)>;

constexpr int kManaged = 2;

PoolProps Managed(int location = CU_MEM_LOCATION_TYPE_DEVICE, int id = 0) {
  PoolProps props;
  props.type = kManaged;
  props.location = {static_cast<CUmemLocationType>(location), id};
  return props;
}

class ManagedPoolTest : public PoolTest {
 protected:
  void SetUp() override {
    PoolTest::SetUp();
    if (DriverVersion() < 13000) GTEST_SKIP() << "the driver is older than these pools";
  }
  CUdeviceptr AllocateIn(CUmemoryPool pool, size_t size) {
    CUdeviceptr address = 0;
    EXPECT_EQ(allocate_from(&address, size, pool, stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    return address;
  }
  template <typename T>
  static T AttributeOf(CUdeviceptr address, CUpointer_attribute attribute) {
    T value = 0;
    EXPECT_EQ(cuPointerGetAttribute(&value, attribute, address), CUDA_SUCCESS) << attribute;
    return value;
  }
};

TEST_F(ManagedPoolTest, AreAnywhereOrNowhere) {
  for (const int id : {0, 1, -1}) {
    EXPECT_NE(MakePool(Managed(0, id)), nullptr) << id;
    EXPECT_NE(MakePool(Managed(2, id)), nullptr) << id;
    EXPECT_NE(MakePool(Managed(4, id)), nullptr) << id;
  }
  EXPECT_NE(MakePool(Managed(CU_MEM_LOCATION_TYPE_DEVICE, 0)), nullptr);
  EXPECT_NE(MakePool(Managed(3, 0)), nullptr);
  CUmemoryPool pool = nullptr;
  for (const PoolProps& props :
       {Managed(CU_MEM_LOCATION_TYPE_DEVICE, -1),
        Managed(CU_MEM_LOCATION_TYPE_DEVICE, DeviceCount()), Managed(3, -1)}) {
    EXPECT_EQ(create_pool(&pool, &props), CUDA_ERROR_INVALID_VALUE);
  }
  const PoolProps unknown = Managed(5);
  EXPECT_EQ(create_pool(&pool, &unknown), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(ManagedPoolTest, HaveNeitherHandlesNorALimit) {
  CUmemoryPool pool = nullptr;
  for (const int types : {1, 8}) {
    PoolProps props = Managed();
    props.handle_types = types;
    EXPECT_EQ(create_pool(&pool, &props), CUDA_ERROR_INVALID_VALUE) << types;
  }
  PoolProps props = Managed();
  props.most = kMiB;
  EXPECT_EQ(create_pool(&pool, &props), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ManagedPoolTest, ThereIsOneOfEachLocation) {
  const auto ask = [](const char* function, int type, int id, CUmemoryPool* pool) {
    CUmemLocation location = {static_cast<CUmemLocationType>(type), id};
    return PoolOf(function)(pool, &location, kManaged);
  };
  for (const int type : {0, 1, 2, 3}) {
    CUmemoryPool usual = nullptr;
    CUmemoryPool current = nullptr;
    EXPECT_EQ(ask("cuMemGetDefaultMemPool", type, 0, &usual), CUDA_SUCCESS) << type;
    EXPECT_EQ(ask("cuMemGetMemPool", type, 0, &current), CUDA_SUCCESS) << type;
    EXPECT_EQ(usual, current);
    EXPECT_EQ(destroy_pool(usual), CUDA_ERROR_INVALID_VALUE);
  }
  CUmemoryPool managed = nullptr;
  CUmemoryPool pinned = nullptr;
  EXPECT_EQ(ask("cuMemGetDefaultMemPool", 1, 0, &managed), CUDA_SUCCESS);
  EXPECT_EQ(default_pool_of(&pinned, 0), CUDA_SUCCESS);
  EXPECT_NE(managed, pinned);
  EXPECT_EQ(ask("cuMemGetDefaultMemPool", 1, DeviceCount(), &managed), CUDA_ERROR_INVALID_VALUE);
  for (const int type : {4, 5}) {
    EXPECT_EQ(ask("cuMemGetDefaultMemPool", type, 0, &managed), CUDA_ERROR_NOT_SUPPORTED);
  }
}

TEST_F(ManagedPoolTest, TheirMemoryIsNotThatOfTheDevice) {
  const CUmemoryPool managed = MakePool(Managed());
  CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  const SetPoolOf set("cuMemSetMemPool");
  CUmemoryPool usual = nullptr;
  EXPECT_EQ(PoolOf("cuMemGetDefaultMemPool")(&usual, &device, kManaged), CUDA_SUCCESS);
  EXPECT_EQ(set(&device, 1, managed), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(&device, kManaged, managed), CUDA_SUCCESS);
  CUdeviceptr address = 0;
  EXPECT_EQ(allocate_async(&address, 64, stream_), CUDA_SUCCESS);
  EXPECT_EQ(AttributeOf<int>(address, CU_POINTER_ATTRIBUTE_IS_MANAGED), 0);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(set(&device, kManaged, usual), CUDA_SUCCESS);
}

TEST_F(ManagedPoolTest, TheCpuAndTheDeviceUseTheirMemory) {
  const CUdeviceptr address = AllocateIn(MakePool(Managed()), kMiB);
  auto* const word = reinterpret_cast<volatile unsigned*>(address);
  *word = 0x42;
  unsigned copied = 0;
  EXPECT_EQ(cuMemcpyDtoH(&copied, address, sizeof(copied)), CUDA_SUCCESS);
  EXPECT_EQ(copied, 0x42u);
  EXPECT_EQ(cuMemsetD32(address, 0x43, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(*word, 0x43u);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
}

TEST_F(ManagedPoolTest, TheirMemoryIsManaged) {
  const CUmemoryPool pool = MakePool(Managed());
  const CUdeviceptr address = AllocateIn(pool, kMiB);
  EXPECT_EQ(AttributeOf<int>(address, CU_POINTER_ATTRIBUTE_IS_MANAGED), 1);
  EXPECT_EQ(AttributeOf<int>(address, CU_POINTER_ATTRIBUTE_MEMORY_TYPE), 2);
  EXPECT_EQ(AttributeOf<int>(address, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS), 1);
  EXPECT_EQ(AttributeOf<CUdeviceptr>(address, CU_POINTER_ATTRIBUTE_HOST_POINTER), address);
  EXPECT_EQ(AttributeOf<CUdeviceptr>(address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER), address);
  EXPECT_EQ(AttributeOf<CUmemoryPool>(address, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE), pool);
  EXPECT_EQ(AttributeOf<CUcontext>(address, CU_POINTER_ATTRIBUTE_CONTEXT), nullptr);
  EXPECT_EQ(Get(pool, kReserved), 32 * kMiB);
  EXPECT_EQ(Get(pool, kUsed), kMiB);
  EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ManagedPoolTest, TheirMemoryTakesNoAdvice) {
  const CUdeviceptr address = AllocateIn(MakePool(Managed()), kMiB);
  const CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  const Function<CUresult(CUdeviceptr, size_t, int, CUmemLocation)> advise("cuMemAdvise_v2");
  for (const int advice : {1, 2, 3, 4, 5, 6}) {
    EXPECT_EQ(advise(address, 4096, advice, device), CUDA_ERROR_NOT_SUPPORTED) << advice;
    if (advice > 4) continue;
    EXPECT_EQ(advise(address, 4096, advice, {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}), CUDA_SUCCESS)
        << advice;
  }
  const Function<CUresult(CUstream, CUdeviceptr, size_t, unsigned int)> attach(
      "cuStreamAttachMemAsync");
  EXPECT_EQ(attach(stream_, address, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
}

TEST_F(ManagedPoolTest, TheirMemoryPrefersTheirPlace) {
  const Function<CUresult(void*, size_t, int, CUdeviceptr, size_t)> ask("cuMemRangeGetAttribute");
  constexpr int kPreferredLocation = 2;
  for (const auto& [type, place] : {std::pair<int, int>{0, -2}, {1, 0}, {2, -1}, {3, -1}}) {
    const CUdeviceptr address = AllocateIn(MakePool(Managed(type)), 4096);
    int preferred = -9;
    EXPECT_EQ(ask(&preferred, sizeof(preferred), kPreferredLocation, address, 4096), CUDA_SUCCESS);
    EXPECT_EQ(preferred, place) << type;
    EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
  }
}

// Before that, all are told that there is none.
TEST_F(ManagedPoolTest, AccessIsToldToAllAsItWasGivenToOne) {
  const CUmemoryPool pool = MakePool(Managed());
  const auto set = [&](int type, int access) {
    const CUmemAccessDesc grant = {{static_cast<CUmemLocationType>(type), 0},
                                   static_cast<CUmemAccess_flags>(access)};
    return set_access(pool, &grant, 1);
  };
  const auto expect = [&](int expected) {
    for (const int type : {1, 2, 3}) {
      CUmemLocation location = {static_cast<CUmemLocationType>(type), 0};
      int access = 9;
      EXPECT_EQ(get_access(&access, pool, &location), CUDA_SUCCESS) << type;
      EXPECT_EQ(access, expected) << type;
    }
  };
  expect(0);
  EXPECT_EQ(set(1, 0), CUDA_SUCCESS);
  EXPECT_EQ(set(1, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(set(1, 3), CUDA_SUCCESS);
  EXPECT_EQ(set(2, 3), CUDA_SUCCESS);
  expect(3);
}

}  // namespace
}  // namespace twinmmu::abi
