// What a lock for a checkpoint does with work that is not done, and with other processes. The
// simulated driver is linked in: no other one can be meant.

#include <unistd.h>

#include <cstdint>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "third_party/cuda_abi/checkpoint_abi.h"

extern "C" {
int cuCheckpointProcessGetState(int pid, int* state);
int cuCheckpointProcessLock(int pid, twinmmu::cuda_abi::CUcheckpointLockArgs* args);
int cuCheckpointProcessCheckpoint(int pid, void* args);
int cuCheckpointProcessRestore(int pid, twinmmu::cuda_abi::CUcheckpointRestoreArgs* args);
int cuCheckpointProcessUnlock(int pid, void* args);
int cuMemHostAlloc(void** memory, size_t size, unsigned int flags);
int cuMemFreeHost(void* memory);
int cuStreamWaitValue32_v2(twinmmu::cuda_abi::CUstream stream, unsigned long long address,
                           uint32_t value, unsigned int flags);
}

namespace twinmmu::libcuda {
namespace {

constexpr CUresult kInvalidValue = 1;
constexpr CUresult kNotSupported = 801;

class CheckpointWorkTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxPushCurrent_v2(context_), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxPopCurrent_v2(&context_), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  }

  const int me_ = getpid();
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
};

TEST_F(CheckpointWorkTest, LocksWaitForWork) {
  void* memory = nullptr;
  ASSERT_EQ(cuMemHostAlloc(&memory, 4096, 0), CUDA_SUCCESS);
  auto* const gate = static_cast<volatile uint32_t*>(memory);
  *gate = 0;
  ASSERT_EQ(cuStreamWaitValue32_v2(stream_, reinterpret_cast<uintptr_t>(memory), 1, 0),
            CUDA_SUCCESS);
  CUcheckpointLockArgs args = {};
  args.timeoutMs = 50;
  EXPECT_EQ(cuCheckpointProcessLock(me_, &args), CUDA_ERROR_NOT_READY);
  int state = -1;
  EXPECT_EQ(cuCheckpointProcessGetState(me_, &state), CUDA_SUCCESS);
  EXPECT_EQ(state, 0);
  *gate = 1;
  EXPECT_EQ(cuCheckpointProcessLock(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCheckpointProcessUnlock(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
}

TEST_F(CheckpointWorkTest, OtherProcessesAreNotLocked) {
  EXPECT_EQ(cuCheckpointProcessLock(getppid(), nullptr), kNotSupported);
  int state = -1;
  EXPECT_EQ(cuCheckpointProcessGetState(getppid(), &state), kNotSupported);
  EXPECT_EQ(state, -1);
}

TEST_F(CheckpointWorkTest, NothingIsRestoredToOtherDevices) {
  EXPECT_EQ(cuCheckpointProcessLock(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCheckpointProcessCheckpoint(me_, nullptr), CUDA_SUCCESS);
  CUcheckpointGpuPair pair = {};
  CUcheckpointRestoreArgs args = {};
  args.gpuPairsCount = 1;
  EXPECT_EQ(cuCheckpointProcessRestore(me_, &args), kInvalidValue);
  args.gpuPairs = &pair;
  EXPECT_EQ(cuCheckpointProcessRestore(me_, &args), kNotSupported);
  EXPECT_EQ(cuCheckpointProcessRestore(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCheckpointProcessUnlock(me_, nullptr), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::libcuda
