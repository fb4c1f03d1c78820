// What tests of pools need: the functions, which are not in our cuda.h, and work that is pending as
// long as a test wants.

#ifndef TWINMMU_CONFORMANCE_ABI_POOLS_POOL_TEST_H_
#define TWINMMU_CONFORMANCE_ABI_POOLS_POOL_TEST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {

using CUmemoryPool = struct CUmemPoolHandle_st*;

struct PoolProps {
  int type = 1;  // pinned
  int handle_types = 0;
  CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  void* security_attributes = nullptr;
  size_t most = 0;
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};

enum PoolAttributeNumber {
  kFollowEventDependencies = 1,
  kAllowOpportunistic = 2,
  kAllowInternalDependencies = 3,
  kReleaseThreshold = 4,
  kReserved = 5,
  kReservedHigh = 6,
  kUsed = 7,
  kUsedHigh = 8,
};

inline constexpr Function<CUresult(CUmemoryPool*, const PoolProps*)> create_pool("cuMemPoolCreate");
inline constexpr Function<CUresult(CUmemoryPool)> destroy_pool("cuMemPoolDestroy");
inline constexpr Function<CUresult(CUmemoryPool, size_t)> trim_pool("cuMemPoolTrimTo");
inline constexpr Function<CUresult(CUmemoryPool, int, void*)> get_attribute(
    "cuMemPoolGetAttribute");
inline constexpr Function<CUresult(CUmemoryPool, int, void*)> set_attribute(
    "cuMemPoolSetAttribute");
inline constexpr Function<CUresult(CUmemoryPool, const CUmemAccessDesc*, size_t)> set_access(
    "cuMemPoolSetAccess");
inline constexpr Function<CUresult(int*, CUmemoryPool, CUmemLocation*)> get_access(
    "cuMemPoolGetAccess");
inline constexpr Function<CUresult(CUmemoryPool*, CUdevice)> default_pool_of(
    "cuDeviceGetDefaultMemPool");
inline constexpr Function<CUresult(CUmemoryPool*, CUdevice)> pool_of("cuDeviceGetMemPool");
inline constexpr Function<CUresult(CUdevice, CUmemoryPool)> set_pool_of("cuDeviceSetMemPool");
inline constexpr Function<CUresult(CUdeviceptr*, size_t, CUstream)> allocate_async(
    "cuMemAllocAsync");
inline constexpr Function<CUresult(CUdeviceptr*, size_t, CUmemoryPool, CUstream)> allocate_from(
    "cuMemAllocFromPoolAsync");
inline constexpr Function<CUresult(CUdeviceptr, CUstream)> free_async("cuMemFreeAsync");

// Two streams that wait for nobody, and a pool of device 0 that is not its default.
class PoolTest : public ContextTest {
 protected:
  static constexpr size_t kMiB = size_t{1} << 20;

  void SetUp() override;
  void TearDown() override;

  // From now on pools keep what is free.
  void KeepAll(CUmemoryPool pool);
  CUmemoryPool MakePool(const PoolProps& props = PoolProps());
  CUdeviceptr Allocate(size_t size, CUstream stream);
  static uint64_t Get(CUmemoryPool pool, int attribute);
  static void SetFlag(CUmemoryPool pool, int attribute, int value);

  // The stream has work that is not done before Open is called.
  void Block(CUstream stream);
  void Open();

  CUmemoryPool pool_ = nullptr;
  CUstream stream_ = nullptr;
  CUstream other_ = nullptr;

 private:
  std::vector<CUmemoryPool> pools_;
  CUmodule module_ = nullptr;
  volatile unsigned* gate_ = nullptr;
};

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_POOLS_POOL_TEST_H_
