// Checkpoints of the calling process.
// Source: an H100 with driver 580.159.

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <functional>
#include <thread>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

struct LockArgs {
  unsigned int timeout_ms = 0;
  unsigned int reserved0 = 0;
  unsigned long long reserved1[7] = {};
};
struct RestoreArgs {
  void* pairs = nullptr;
  unsigned int count = 0;
  char reserved[44] = {};
  unsigned long long reserved1 = 0;
};
using Words = unsigned long long[8];

const Function<CUresult(int, int*)> get_state("cuCheckpointProcessGetState");
const Function<CUresult(int, int*)> get_thread("cuCheckpointProcessGetRestoreThreadId");
const Function<CUresult(int, LockArgs*)> lock("cuCheckpointProcessLock");
const Function<CUresult(int, void*)> checkpoint("cuCheckpointProcessCheckpoint");
const Function<CUresult(int, RestoreArgs*)> restore("cuCheckpointProcessRestore");
const Function<CUresult(int, void*)> unlock("cuCheckpointProcessUnlock");

enum State { kRunning, kLocked, kCheckpointed };

State StateNow() {
  int state = -1;
  EXPECT_EQ(get_state(getpid(), &state), CUDA_SUCCESS);
  return static_cast<State>(state);
}

// GoogleTest runs a suite of such a name before the others: an H200 no longer restores a process
// that had managed memory in a pool (OPERATING_SYSTEM), and which suites run before is the linker's
// choice.
class CheckpointDeathTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    if (DriverVersion() < 12080) GTEST_SKIP() << "the driver is older than checkpoints";
  }
  // Another thread calls it while the process is locked.
  void ExpectToWaitUntilUnlocked(const std::function<void()>& call) const {
    EXPECT_EQ(lock(me_, nullptr), CUDA_SUCCESS);
    std::atomic<bool> returned{false};
    std::thread other([&] {
      call();
      returned = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_FALSE(returned);
    EXPECT_EQ(unlock(me_, nullptr), CUDA_SUCCESS);
    other.join();
    EXPECT_TRUE(returned);
  }

  const int me_ = getpid();
};

TEST_F(CheckpointDeathTest, ChangesItsStateStepByStep) {
  EXPECT_EQ(StateNow(), kRunning);
  EXPECT_EQ(lock(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(StateNow(), kLocked);
  EXPECT_EQ(checkpoint(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(StateNow(), kCheckpointed);
  EXPECT_EQ(restore(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(StateNow(), kLocked);
  EXPECT_EQ(unlock(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(StateNow(), kRunning);
}

TEST_F(CheckpointDeathTest, NoOtherStepIsAllowed) {
  EXPECT_EQ(checkpoint(me_, nullptr), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(restore(me_, nullptr), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(unlock(me_, nullptr), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(lock(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(lock(me_, nullptr), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(restore(me_, nullptr), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(checkpoint(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(checkpoint(me_, nullptr), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(lock(me_, nullptr), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(unlock(me_, nullptr), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(restore(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(unlock(me_, nullptr), CUDA_SUCCESS);
}

TEST_F(CheckpointDeathTest, MemoryKeepsAddressesAndContents) {
  const Buffer buffer(4096);
  const Mapping mapping;
  EXPECT_EQ(cuMemsetD8(buffer.address(), 0xa5, 4096), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(mapping.address(), 0x5a, mapping.size()), CUDA_SUCCESS);
  EXPECT_EQ(lock(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(checkpoint(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(restore(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(unlock(me_, nullptr), CUDA_SUCCESS);
  unsigned char bytes[2] = {};
  EXPECT_EQ(cuMemcpyDtoH(&bytes[0], buffer.address() + 4095, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(&bytes[1], mapping.address() + mapping.size() - 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(bytes[0], 0xa5);
  EXPECT_EQ(bytes[1], 0x5a);
}

TEST_F(CheckpointDeathTest, ThreadsWithoutAContextGoOn) {
  const Buffer buffer(4096);
  EXPECT_EQ(lock(me_, nullptr), CUDA_SUCCESS);
  std::thread other([&] {
    EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
    int count = 0;
    EXPECT_EQ(cuDriverGetVersion(&count), CUDA_SUCCESS);
    EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
    CUdeviceptr base = 0;
    EXPECT_EQ(cuMemGetAddressRange(&base, nullptr, buffer.address()), CUDA_ERROR_INVALID_CONTEXT);
  });
  other.join();
  EXPECT_EQ(unlock(me_, nullptr), CUDA_SUCCESS);
}

TEST_F(CheckpointDeathTest, ThreadsWithoutAContextWaitToWorkOnStreams) {
  const Buffer buffer(4096);
  CUstream stream = nullptr;
  EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ExpectToWaitUntilUnlocked(
      [&] { EXPECT_EQ(cuMemsetD8Async(buffer.address(), 1, 16, stream), CUDA_SUCCESS); });
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(CheckpointDeathTest, OtherThreadsWaitUntilItIsUnlocked) {
  const Buffer buffer(4096);
  ExpectToWaitUntilUnlocked([&] {
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD8(buffer.address(), 1, 16), CUDA_SUCCESS);
  });
}

TEST_F(CheckpointDeathTest, OtherThreadsMayAskMeanwhile) {
  const Buffer buffer(4096);
  CUstream stream = nullptr;
  EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  EXPECT_EQ(lock(me_, nullptr), CUDA_SUCCESS);
  std::thread other([&] {
    CUdeviceptr base = 0;
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamQuery(stream), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(cuMemGetAddressRange(&base, nullptr, buffer.address()), CUDA_SUCCESS);
  });
  other.join();
  EXPECT_EQ(unlock(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(CheckpointDeathTest, WordsOfMemoryAreWrittenWhenItIsUnlocked) {
  const Function<CUresult(CUstream, CUdeviceptr, uint32_t, unsigned int)> write(
      "cuStreamWriteValue32_v2");
  const Buffer buffer(4096);
  CUstream stream = nullptr;
  EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ExpectToWaitUntilUnlocked(
      [&] { EXPECT_EQ(write(stream, buffer.address(), 1, 0), CUDA_SUCCESS); });
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

// Memory is made of the process, whatever is current.
TEST_F(CheckpointDeathTest, PhysicalMemoryIsMadeWhenItIsUnlocked) {
  ExpectToWaitUntilUnlocked([] {
    EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
    const CUmemAllocationProp pinned = PinnedOn(0);
    CUmemGenericAllocationHandle memory = 0;
    EXPECT_EQ(cuMemCreate(&memory, kChunk, &pinned, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  });
}

TEST_F(CheckpointDeathTest, AttributesOfStreamsAreToldWhenItIsUnlocked) {
  const Function<CUresult(CUstream, int, void*)> get("cuStreamGetAttribute");
  CUstream stream = nullptr;
  EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ExpectToWaitUntilUnlocked([&] {
    char value[64] = {};
    EXPECT_EQ(get(stream, 8, value), CUDA_SUCCESS);  // CU_LAUNCH_ATTRIBUTE_PRIORITY
  });
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(CheckpointDeathTest, ReservedWordsAreZero) {
  LockArgs locks;
  locks.reserved0 = 1;
  EXPECT_EQ(lock(me_, &locks), CUDA_ERROR_INVALID_VALUE);
  locks = LockArgs();
  locks.reserved1[6] = 1;
  EXPECT_EQ(lock(me_, &locks), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(StateNow(), kRunning);
  Words words = {0, 0, 0, 0, 0, 0, 0, 1};
  EXPECT_EQ(unlock(me_, words), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(lock(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(checkpoint(me_, words), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(StateNow(), kLocked);
  EXPECT_EQ(unlock(me_, nullptr), CUDA_SUCCESS);
}

TEST_F(CheckpointDeathTest, ArgumentsOfZerosAreAsGoodAsNone) {
  LockArgs locks;
  RestoreArgs restores;
  Words words = {};
  EXPECT_EQ(lock(me_, &locks), CUDA_SUCCESS);
  EXPECT_EQ(checkpoint(me_, words), CUDA_SUCCESS);
  EXPECT_EQ(StateNow(), kCheckpointed);
  EXPECT_EQ(restore(me_, &restores), CUDA_SUCCESS);
  EXPECT_EQ(unlock(me_, words), CUDA_SUCCESS);
  EXPECT_EQ(StateNow(), kRunning);
}

TEST_F(CheckpointDeathTest, ReservedWordsOfARestoreAreZero) {
  EXPECT_EQ(lock(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(checkpoint(me_, nullptr), CUDA_SUCCESS);
  RestoreArgs restores;
  restores.reserved1 = 1;
  EXPECT_EQ(restore(me_, &restores), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(StateNow(), kCheckpointed);
  EXPECT_EQ(restore(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(unlock(me_, nullptr), CUDA_SUCCESS);
}

TEST_F(CheckpointDeathTest, ThereMustBeSuchAProcess) {
  for (const int pid : {0, -1, INT_MAX / 2}) {
    int value = 0;
    EXPECT_EQ(get_state(pid, &value), CUDA_ERROR_OPERATING_SYSTEM) << pid;
    EXPECT_EQ(get_thread(pid, &value), CUDA_ERROR_OPERATING_SYSTEM) << pid;
    EXPECT_EQ(lock(pid, nullptr), CUDA_ERROR_OPERATING_SYSTEM) << pid;
    EXPECT_EQ(checkpoint(pid, nullptr), CUDA_ERROR_OPERATING_SYSTEM) << pid;
    EXPECT_EQ(restore(pid, nullptr), CUDA_ERROR_OPERATING_SYSTEM) << pid;
    EXPECT_EQ(unlock(pid, nullptr), CUDA_ERROR_OPERATING_SYSTEM) << pid;
  }
}

TEST_F(CheckpointDeathTest, ResultsMayNotBeNull) {
  EXPECT_EQ(get_state(me_, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_thread(me_, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CheckpointDeathTest, SomeThreadRestores) {
  int thread = 0;
  EXPECT_EQ(get_thread(me_, &thread), CUDA_SUCCESS);
  EXPECT_GT(thread, 0);
}

// Last: an H200 answers UNKNOWN to any checkpoint of the process afterwards.
TEST_F(CheckpointDeathTest, ManagedMemoryForbidsIt) {
  CUdeviceptr managed = 0;
  ASSERT_EQ(cuMemAllocManaged(&managed, 4096, 1), CUDA_SUCCESS);
  EXPECT_EQ(lock(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(checkpoint(me_, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(StateNow(), kLocked);
  EXPECT_EQ(unlock(me_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(managed), CUDA_SUCCESS);
}

class CheckpointWithoutInitTest : public NewProcessTest {};

TEST_F(CheckpointWithoutInitTest, NeedsCuInit) {
  if (RanInNewProcess()) return;
  int state = 0;
  EXPECT_EQ(get_state(getpid(), &state), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(lock(getpid(), nullptr), CUDA_ERROR_NOT_INITIALIZED);
}

}  // namespace
}  // namespace twinmmu::abi
