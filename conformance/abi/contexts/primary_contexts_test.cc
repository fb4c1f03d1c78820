// Primary contexts: who holds them, and what becomes of what was made in them.

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

// Nobody holds a primary context yet.
class PrimaryContextsTest : public NewProcessTest {
 protected:
  void SetUp() override {
    if (IsNewProcess()) {
      ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    }
  }

  // It is alive and current, and held once.
  static CUcontext RetainAndSet() {
    CUcontext context = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    return context;
  }
  // It is dead and current.
  static CUcontext ReleaseTheLast() {
    const CUcontext context = RetainAndSet();
    EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    return context;
  }
};

void ExpectState(unsigned int flags, int active) {
  unsigned int flags_now = 77;
  int active_now = 77;
  EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags_now, &active_now), CUDA_SUCCESS);
  EXPECT_EQ(flags_now, flags);
  EXPECT_EQ(active_now, active);
}

TEST_F(PrimaryContextsTest, AreDeadUntilRetained) {
  if (RanInNewProcess()) return;
  ExpectState(0, 0);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(PrimaryContextsTest, FlagsAreKeptBeforeAndWhileAlive) {
  if (RanInNewProcess()) return;
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC), CUDA_SUCCESS);
  ExpectState(CU_CTX_SCHED_BLOCKING_SYNC, 0);
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags(0, 0), CUDA_SUCCESS);
  RetainAndSet();
  ExpectState(0, 1);
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC), CUDA_SUCCESS);
  ExpectState(CU_CTX_SCHED_BLOCKING_SYNC, 1);
}

TEST_F(PrimaryContextsTest, FlagsEndWithTheLastRelease) {
  if (RanInNewProcess()) return;
  RetainAndSet();
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  ExpectState(0, 0);
}

TEST_F(PrimaryContextsTest, FlagsMustBeValid) {
  if (RanInNewProcess()) return;
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags(0, 0x80000000), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags(0, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags(0, CU_CTX_MAP_HOST), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PrimaryContextsTest, TheirStateHasNoFlagsThatWereSetOfTheCurrentContext) {
  if (RanInNewProcess()) return;
  RetainAndSet();
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetFlags(CU_CTX_SCHED_SPIN), CUDA_SUCCESS);
  ExpectState(CU_CTX_SCHED_BLOCKING_SYNC, 1);
  unsigned int flags = 0;
  EXPECT_EQ(cuCtxGetFlags(&flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, unsigned{CU_CTX_SCHED_SPIN | CU_CTX_MAP_HOST});
}

TEST_F(PrimaryContextsTest, CurrentOneMapsHostMemory) {
  if (RanInNewProcess()) return;
  RetainAndSet();
  unsigned int flags = 77;
  EXPECT_EQ(cuCtxGetFlags(&flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, unsigned{CU_CTX_MAP_HOST});
}

TEST_F(PrimaryContextsTest, RetainingDoesNotMakeThemCurrent) {
  if (RanInNewProcess()) return;
  CUcontext context = nullptr;
  CUcontext current = nullptr;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_NE(context, nullptr);
  EXPECT_EQ(current, nullptr);
}

TEST_F(PrimaryContextsTest, LiveUntilReleasedAsOftenAsRetained) {
  if (RanInNewProcess()) return;
  const CUcontext context = RetainAndSet();
  CUcontext again = nullptr;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
  EXPECT_EQ(again, context);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(PrimaryContextsTest, StayCurrentWhenDead) {
  if (RanInNewProcess()) return;
  const CUcontext context = ReleaseTheLast();
  CUcontext current = nullptr;
  CUdevice device = -1;
  unsigned int flags = 77;
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, context);
  EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuCtxGetFlags(&flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, 0u);
}

TEST_F(PrimaryContextsTest, DeadOnesRefuseCalls) {
  if (RanInNewProcess()) return;
  const CUcontext context = ReleaseTheLast();
  CUdeviceptr address = 0;
  CUstream stream = nullptr;
  void* memory = nullptr;
  size_t free = 0;
  size_t total = 0;
  unsigned long long id = 0;
  unsigned int version = 0;
  EXPECT_EQ(cuMemAlloc(&address, 100), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuMemFree(0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuMemAllocHost(&memory, 100), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuStreamCreate(&stream, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuCtxGetId(context, &id), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuCtxGetApiVersion(context, &version), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(PrimaryContextsTest, DeadOnesMayBecomeCurrent) {
  if (RanInNewProcess()) return;
  const CUcontext context = ReleaseTheLast();
  EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
}

TEST_F(PrimaryContextsTest, ComeBackToLifeUnderTheSameHandle) {
  if (RanInNewProcess()) return;
  const CUcontext context = ReleaseTheLast();
  CUcontext again = nullptr;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
  EXPECT_EQ(again, context);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS) << "it was still current";
}

TEST_F(PrimaryContextsTest, MappingsOutliveThem) {
  if (RanInNewProcess()) return;
  RetainAndSet();
  const Mapping mapping;
  const int written = 5;
  EXPECT_EQ(cuMemcpyHtoD(mapping.address(), &written, sizeof(written)), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  unsigned long long access = 0;
  EXPECT_EQ(cuMemGetAccess(&access, &location, mapping.address()), CUDA_SUCCESS);
  EXPECT_EQ(access, 3u);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(mapping.address())),
            CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  RetainAndSet();
  int read = 0;
  EXPECT_EQ(cuMemcpyDtoH(&read, mapping.address(), sizeof(read)), CUDA_SUCCESS);
  EXPECT_EQ(read, 5);
}

TEST_F(PrimaryContextsTest, PlainMemoryDoesNotOutliveThem) {
  if (RanInNewProcess()) return;
  RetainAndSet();
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc(&address, 1000), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  RetainAndSet();
  int read = 0;
  EXPECT_EQ(cuMemcpyDtoH(&read, address, sizeof(read)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PrimaryContextsTest, ResetKillsThemWhoeverHoldsThem) {
  if (RanInNewProcess()) return;
  RetainAndSet();
  EXPECT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  ExpectState(0, 0);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(PrimaryContextsTest, ResetLeavesWhoHoldsThem) {
  if (RanInNewProcess()) return;
  RetainAndSet();
  EXPECT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST_F(PrimaryContextsTest, ResetOnesComeBackToLifeWithTheNextRetain) {
  if (RanInNewProcess()) return;
  RetainAndSet();
  EXPECT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  RetainAndSet();
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(PrimaryContextsTest, ResetLeavesMappings) {
  if (RanInNewProcess()) return;
  RetainAndSet();
  const Mapping mapping;
  EXPECT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  unsigned long long access = 0;
  EXPECT_EQ(cuMemGetAccess(&access, &location, mapping.address()), CUDA_SUCCESS);
  EXPECT_EQ(access, 3u);
}

TEST_F(PrimaryContextsTest, CannotBeDestroyed) {
  if (RanInNewProcess()) return;
  const CUcontext context = RetainAndSet();
  EXPECT_EQ(cuCtxDestroy(context), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(PrimaryContextsTest, OfNoDeviceAreRefused) {
  if (RanInNewProcess()) return;
  CUcontext context = nullptr;
  unsigned int flags = 0;
  int active = 0;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 99), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(nullptr, 99), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(99), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDevicePrimaryCtxGetState(99, &flags, &active), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags(99, 0), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags(99, 3), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(PrimaryContextsTest, NullResultsAreRefused) {
  if (RanInNewProcess()) return;
  unsigned int flags = 0;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDevicePrimaryCtxGetState(0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags, nullptr), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace twinmmu::abi
