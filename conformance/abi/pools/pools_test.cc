// Pools: what they are made of, what they tell, who may use their memory.
// Source: an H100 with driver 580.159. That a dead pool is refused by cuDeviceSetMemPool, which
// that driver takes for one, is asked of drivers only that survive it.

#include "conformance/abi/pools/pool_test.h"

namespace twinmmu::abi {
namespace {

// --- Made and destroyed

TEST_F(PoolTest, PoolsNeedProperties) {
  CUmemoryPool pool = nullptr;
  const PoolProps props;
  EXPECT_EQ(create_pool(nullptr, &props), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create_pool(&pool, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolTest, PoolsAreOfNoUnknownType) {
  for (const int type : {0, 3, 4, 0x7fffffff}) {
    PoolProps props;
    props.type = type;
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(create_pool(&pool, &props), CUDA_ERROR_INVALID_VALUE) << type;
  }
}

TEST_F(PoolTest, PoolsHaveHandlesOfTwoTypes) {
  for (const int types : {0, 1, 8, 9}) {
    PoolProps props;
    props.handle_types = types;
    EXPECT_NE(MakePool(props), nullptr) << types;
  }
  for (const int types : {2, 3, 4, 16, 32}) {
    PoolProps props;
    props.handle_types = types;
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(create_pool(&pool, &props), CUDA_ERROR_INVALID_VALUE) << types;
  }
}

TEST_F(PoolTest, PoolsAreOfDevicesThatExist) {
  for (const int device : {99, -1, DeviceCount()}) {
    PoolProps props;
    props.location.id = device;
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(create_pool(&pool, &props), CUDA_ERROR_INVALID_VALUE) << device;
  }
}

TEST_F(PoolTest, PoolsAreNotAnywhere) {
  for (const int type : {0, 4, 5, 6}) {
    PoolProps props;
    props.location.type = static_cast<CUmemLocationType>(type);
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(create_pool(&pool, &props), CUDA_ERROR_INVALID_VALUE) << type;
  }
}

TEST_F(PoolTest, ReservedBytesMustBeZero) {
  for (const int byte : {0, 53}) {
    PoolProps props;
    props.reserved[byte] = 1;
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(create_pool(&pool, &props), CUDA_ERROR_INVALID_VALUE) << byte;
  }
}

TEST_F(PoolTest, SecurityAttributesAreNotLookedAt) {
  PoolProps props;
  props.security_attributes = &props;
  EXPECT_NE(MakePool(props), nullptr);
}

TEST_F(PoolTest, PoolsAreDestroyedOnce) {
  const PoolProps props;
  CUmemoryPool pool = nullptr;
  EXPECT_EQ(create_pool(&pool, &props), CUDA_SUCCESS);
  EXPECT_EQ(destroy_pool(pool), CUDA_SUCCESS);
  EXPECT_EQ(destroy_pool(pool), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolTest, DeadPoolsAreRefused) {
  const PoolProps props;
  CUmemoryPool pool = nullptr;
  CUdeviceptr address = 0;
  uint64_t value = 0;
  EXPECT_EQ(create_pool(&pool, &props), CUDA_SUCCESS);
  EXPECT_EQ(destroy_pool(pool), CUDA_SUCCESS);
  EXPECT_EQ(get_attribute(pool, kUsed, &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(allocate_from(&address, 64, pool, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(trim_pool(pool, 0), CUDA_ERROR_INVALID_VALUE);
  if (!TraitsOf().survives_bad_pointers) return;
  EXPECT_EQ(set_pool_of(0, pool), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolTest, NullIsNoPool) {
  CUdeviceptr address = 0;
  EXPECT_EQ(allocate_from(&address, 64, nullptr, stream_), CUDA_ERROR_INVALID_VALUE);
  CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemAccessDesc grant = {device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  int access = 0;
  EXPECT_EQ(get_access(&access, nullptr, &device), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_access(nullptr, &grant, 1), CUDA_ERROR_INVALID_VALUE);
  uint64_t value = 0;
  EXPECT_EQ(get_attribute(nullptr, kUsed, &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_attribute(nullptr, kReleaseThreshold, &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(trim_pool(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(destroy_pool(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_pool_of(0, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolTest, MemoryOutlivesItsPool) {
  const PoolProps props;
  CUmemoryPool pool = nullptr;
  CUdeviceptr address = 0;
  uint64_t value = 0;
  const size_t free = FreeMemory();
  EXPECT_EQ(create_pool(&pool, &props), CUDA_SUCCESS);
  EXPECT_EQ(allocate_from(&address, kMiB, pool, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(destroy_pool(pool), CUDA_SUCCESS);
  EXPECT_EQ(get_attribute(pool, kUsed, &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8Async(address, 1, kMiB, stream_), CUDA_SUCCESS);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(FreeMemory(), free);
}

// Source: an H200 with driver 580.159.
TEST_F(PoolTest, MemoryOfADeadPoolGoesWhenTheHostWaitsForItsFree) {
  const PoolProps props;
  CUmemoryPool pool = nullptr;
  CUdeviceptr address = 0;
  const size_t free = FreeMemory();
  EXPECT_EQ(create_pool(&pool, &props), CUDA_SUCCESS);
  EXPECT_EQ(allocate_from(&address, kMiB, pool, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(destroy_pool(pool), CUDA_SUCCESS);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(other_), CUDA_SUCCESS);
  EXPECT_LT(FreeMemory(), free);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(FreeMemory(), free);
}

// --- Attributes

TEST_F(PoolTest, NewPoolsAllowAllReuseAndKeepNothing) {
  for (const int flag :
       {kFollowEventDependencies, kAllowOpportunistic, kAllowInternalDependencies}) {
    EXPECT_EQ(Get(pool_, flag), 1u) << flag;
  }
  for (const int count : {kReleaseThreshold, kReserved, kReservedHigh, kUsed, kUsedHigh}) {
    EXPECT_EQ(Get(pool_, count), 0u) << count;
  }
}

TEST_F(PoolTest, FlagsAreIntegers) {
  uint64_t value = ~uint64_t{0};
  EXPECT_EQ(get_attribute(pool_, kAllowOpportunistic, &value), CUDA_SUCCESS);
  EXPECT_EQ(value, 0xffffffff00000001);
}

TEST_F(PoolTest, AnyNumberSetsAFlag) {
  SetFlag(pool_, kAllowOpportunistic, 0);
  EXPECT_EQ(Get(pool_, kAllowOpportunistic), 0u);
  for (const int value : {2, -1}) {
    SetFlag(pool_, kAllowOpportunistic, value);
    EXPECT_EQ(Get(pool_, kAllowOpportunistic), 1u) << value;
  }
}

TEST_F(PoolTest, ThresholdsAreAnyNumber) {
  for (uint64_t value : {uint64_t{1}, ~uint64_t{0}, uint64_t{0}}) {
    EXPECT_EQ(set_attribute(pool_, kReleaseThreshold, &value), CUDA_SUCCESS);
    EXPECT_EQ(Get(pool_, kReleaseThreshold), value);
  }
}

TEST_F(PoolTest, WhatIsInUseCannotBeSet) {
  for (uint64_t value : {0, 1}) {
    EXPECT_EQ(set_attribute(pool_, kReserved, &value), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(set_attribute(pool_, kUsed, &value), CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_F(PoolTest, WatermarksAreSetToZeroOnly) {
  uint64_t value = 1;
  EXPECT_EQ(set_attribute(pool_, kReservedHigh, &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_attribute(pool_, kUsedHigh, &value), CUDA_ERROR_INVALID_VALUE);
  value = 0;
  EXPECT_EQ(set_attribute(pool_, kReservedHigh, &value), CUDA_SUCCESS);
  EXPECT_EQ(set_attribute(pool_, kUsedHigh, &value), CUDA_SUCCESS);
}

TEST_F(PoolTest, OtherAttributesDoNotExist) {
  for (const int attribute : {-1, 0, 9, 15}) {
    uint64_t value = 7;
    EXPECT_EQ(get_attribute(pool_, attribute, &value), CUDA_ERROR_INVALID_VALUE) << attribute;
    EXPECT_EQ(value, 7u);
    EXPECT_EQ(set_attribute(pool_, attribute, &value), CUDA_ERROR_INVALID_VALUE) << attribute;
  }
}

TEST_F(PoolTest, AttributesNeedAPlaceForTheValue) {
  EXPECT_EQ(get_attribute(pool_, kUsed, nullptr), CUDA_ERROR_INVALID_VALUE);
  if (!TraitsOf().survives_bad_pointers) return;
  EXPECT_EQ(set_attribute(pool_, kReleaseThreshold, nullptr), CUDA_ERROR_INVALID_VALUE);
}

// --- Access

TEST_F(PoolTest, DevicesHaveAccessToTheirPools) {
  CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  int access = 9;
  EXPECT_EQ(get_access(&access, pool_, &device), CUDA_SUCCESS);
  EXPECT_EQ(access, 3);
}

TEST_F(PoolTest, TheHostHasNone) {
  for (const int type : {2, 3}) {
    for (const int id : {0, 1, -1}) {
      CUmemLocation host = {static_cast<CUmemLocationType>(type), id};
      int access = 9;
      EXPECT_EQ(get_access(&access, pool_, &host), CUDA_SUCCESS) << type;
      EXPECT_EQ(access, 0);
    }
  }
}

TEST_F(PoolTest, AccessIsAskedOfWhatExists) {
  int access = 9;
  for (const CUmemLocation& location :
       {CUmemLocation{static_cast<CUmemLocationType>(0), 0},
        CUmemLocation{static_cast<CUmemLocationType>(4), 0},
        CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, -1},
        CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, DeviceCount()}}) {
    CUmemLocation asked = location;
    EXPECT_EQ(get_access(&access, pool_, &asked), CUDA_ERROR_INVALID_VALUE) << location.type;
  }
  EXPECT_EQ(access, 9);
  CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  EXPECT_EQ(get_access(nullptr, pool_, &device), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_access(&access, pool_, nullptr), CUDA_ERROR_INVALID_VALUE);
}

class PoolAccessTest : public PoolTest {
 protected:
  CUresult Set(CUmemLocationType type, int id, int access) {
    const CUmemAccessDesc grant = {{type, id}, static_cast<CUmemAccess_flags>(access)};
    return set_access(pool_, &grant, 1);
  }
};

TEST_F(PoolAccessTest, OwnAccessCannotBeTakenAway) {
  EXPECT_EQ(Set(CU_MEM_LOCATION_TYPE_DEVICE, 0, 3), CUDA_SUCCESS);
  EXPECT_EQ(Set(CU_MEM_LOCATION_TYPE_DEVICE, 0, 0), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(PoolAccessTest, AccessToReadIsNotSupported) {
  EXPECT_EQ(Set(CU_MEM_LOCATION_TYPE_DEVICE, 0, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(Set(CU_MEM_LOCATION_TYPE_DEVICE, DeviceCount(), 1), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(PoolAccessTest, ThereIsNoOtherAccess) {
  EXPECT_EQ(Set(CU_MEM_LOCATION_TYPE_DEVICE, 0, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Set(CU_MEM_LOCATION_TYPE_DEVICE, 0, 7), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolAccessTest, OnlyDevicesGetAccess) {
  for (const int type : {0, 2, 3, 4}) {
    for (const int access : {0, 1, 2, 3, 7}) {
      EXPECT_EQ(Set(static_cast<CUmemLocationType>(type), 0, access), CUDA_ERROR_NOT_SUPPORTED)
          << type;
    }
  }
}

TEST_F(PoolAccessTest, DevicesThatDoNotExistGetNone) {
  for (const int access : {0, 2, 3, 7}) {
    EXPECT_EQ(Set(CU_MEM_LOCATION_TYPE_DEVICE, DeviceCount(), access), CUDA_ERROR_INVALID_DEVICE);
  }
}

TEST_F(PoolAccessTest, AccessNeedsDescriptorsEvenForNone) {
  const CUmemAccessDesc grant = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                 CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_EQ(set_access(pool_, &grant, 0), CUDA_SUCCESS);
  EXPECT_EQ(set_access(pool_, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_access(pool_, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
}

// --- The pools of a device

TEST_F(PoolTest, TheDefaultPoolIsTheCurrentOne) {
  CUmemoryPool usual = nullptr;
  CUmemoryPool current = nullptr;
  EXPECT_EQ(default_pool_of(&usual, 0), CUDA_SUCCESS);
  EXPECT_EQ(pool_of(&current, 0), CUDA_SUCCESS);
  EXPECT_NE(usual, nullptr);
  EXPECT_EQ(usual, current);
}

TEST_F(PoolTest, MemoryComesFromTheCurrentPool) {
  CUmemoryPool usual = nullptr;
  CUmemoryPool current = nullptr;
  CUmemoryPool of_memory = nullptr;
  CUdeviceptr address = 0;
  EXPECT_EQ(default_pool_of(&usual, 0), CUDA_SUCCESS);
  EXPECT_EQ(set_pool_of(0, pool_), CUDA_SUCCESS);
  EXPECT_EQ(pool_of(&current, 0), CUDA_SUCCESS);
  EXPECT_EQ(current, pool_);
  EXPECT_EQ(allocate_async(&address, 100, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuPointerGetAttribute(&of_memory, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address),
            CUDA_SUCCESS);
  EXPECT_EQ(of_memory, pool_);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(set_pool_of(0, usual), CUDA_SUCCESS);
}

TEST_F(PoolTest, TheDefaultPoolComesBackWhenTheCurrentOneIsDestroyed) {
  const PoolProps props;
  CUmemoryPool pool = nullptr;
  CUmemoryPool usual = nullptr;
  CUmemoryPool current = nullptr;
  EXPECT_EQ(create_pool(&pool, &props), CUDA_SUCCESS);
  EXPECT_EQ(default_pool_of(&usual, 0), CUDA_SUCCESS);
  EXPECT_EQ(set_pool_of(0, pool), CUDA_SUCCESS);
  EXPECT_EQ(destroy_pool(pool), CUDA_SUCCESS);
  EXPECT_EQ(pool_of(&current, 0), CUDA_SUCCESS);
  EXPECT_EQ(current, usual);
}

TEST_F(PoolTest, DevicesThatDoNotExistHaveNoPools) {
  CUmemoryPool pool = nullptr;
  for (const int device : {DeviceCount(), 99, -1}) {
    EXPECT_EQ(default_pool_of(&pool, device), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(default_pool_of(nullptr, device), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(pool_of(&pool, device), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(set_pool_of(device, pool_), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(default_pool_of(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(pool_of(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolTest, DefaultPoolsAreNotDestroyed) {
  CUmemoryPool usual = nullptr;
  EXPECT_EQ(default_pool_of(&usual, 0), CUDA_SUCCESS);
  EXPECT_EQ(destroy_pool(usual), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolTest, DevicesSayThatTheyHavePools) {
  int value = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(115), 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 1);
}

}  // namespace
}  // namespace twinmmu::abi
