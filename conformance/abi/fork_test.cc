// A child made by fork, without a new program.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

using ForkTest = NewProcessTest;

// Runs body() in a child: whether its expectations held. What failed there is in the output.
template <typename Body>
bool HoldsInChild(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::fflush(nullptr);
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

CUcontext InitialiseWithContext() {
  CUcontext context = nullptr;
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  return context;
}

TEST_F(ForkTest, ChildCannotUseWhatWasInitialised) {
  if (RanInNewProcess()) return;
  InitialiseWithContext();
  const Mapping mapping;
  EXPECT_TRUE(HoldsInChild([&] {
    int value = 0;
    CUdeviceptr address = 0;
    CUcontext context = reinterpret_cast<CUcontext>(7);
    EXPECT_EQ(cuDeviceGetCount(&value), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(context, reinterpret_cast<CUcontext>(7));
    EXPECT_EQ(cuCtxPopCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuMemAlloc(&address, 10), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuMemUnmap(mapping.address(), mapping.size()), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuMemAddressReserve(&address, kChunk, 0, 0, 0), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, mapping.address()),
              CUDA_ERROR_NOT_INITIALIZED);
  }));
}

TEST_F(ForkTest, ChildCannotInitialiseAgain) {
  if (RanInNewProcess()) return;
  InitialiseWithContext();
  EXPECT_TRUE(HoldsInChild([] {
    int count = 0;
    EXPECT_EQ(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
  }));
}

TEST_F(ForkTest, ChildIsToldVersionsErrorsAndFunctions) {
  if (RanInNewProcess()) return;
  InitialiseWithContext();
  EXPECT_TRUE(HoldsInChild([] {
    int version = 0;
    const char* name = nullptr;
    void* function = nullptr;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    EXPECT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
    EXPECT_EQ(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &name), CUDA_SUCCESS);
    EXPECT_EQ(cuGetProcAddress("cuInit", &function, 12000, 0, &found), CUDA_SUCCESS);
  }));
}

TEST_F(ForkTest, ChildIsRefusedWithoutAContextToo) {
  if (RanInNewProcess()) return;
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  EXPECT_TRUE(HoldsInChild([] {
    int count = 0;
    CUcontext context = nullptr;
    EXPECT_EQ(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_NOT_INITIALIZED);
  }));
}

// At the fork the others are in any part of calls that fail.
TEST_F(ForkTest, ChildIsRefusedWhateverOtherThreadsOfItsParentDo) {
  if (RanInNewProcess()) return;
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      while (!stop) EXPECT_EQ(cuMemAddressFree(1, 1), CUDA_ERROR_INVALID_VALUE);
    });
  }
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    EXPECT_TRUE(HoldsInChild([] {
      alarm(10);  // ends a child that waits for a thread that it does not have
      EXPECT_EQ(cuMemAddressFree(1, 1), CUDA_ERROR_NOT_INITIALIZED);
    }));
  }
  stop = true;
  for (std::thread& other : others) other.join();
}

TEST_F(ForkTest, ChildInitialisesWhatItsParentDidNot) {
  if (RanInNewProcess()) return;
  int version = 0;
  EXPECT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_TRUE(HoldsInChild([] {
    int count = 0;
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
    EXPECT_GE(count, 1);
  }));
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS) << "and the parent can still do so";
}

TEST_F(ForkTest, ParentGoesOn) {
  if (RanInNewProcess()) return;
  InitialiseWithContext();
  const Mapping mapping;
  EXPECT_TRUE(HoldsInChild([] { EXPECT_EQ(cuInit(0), CUDA_ERROR_NOT_INITIALIZED); }));
  const int written = 42;
  int read = 0;
  EXPECT_EQ(cuMemcpyHtoD(mapping.address(), &written, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(&read, mapping.address(), 4), CUDA_SUCCESS);
  EXPECT_EQ(read, 42);
}

}  // namespace
}  // namespace twinmmu::abi
