// The current device of each thread, its context, and what is told of it.

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "third_party/cuda_abi/cudart_abi.h"
#include "third_party/cuda_abi/include/cuda.h"

extern "C" cudaError_t cudaGetDeviceProperties(twinmmu_cudaDeviceProp_13* properties, int device);
extern "C" cudaError_t cudaRuntimeGetVersion(int* version);

namespace {

class RuntimeDevices : public testing::Test {
 protected:
  RuntimeDevices() {
    EXPECT_EQ(cudaGetDeviceCount(&count_), cudaSuccess);
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  }
  ~RuntimeDevices() override { cudaGetLastError(); }

  static int Current() {
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    return device;
  }

  // Whether device 0 has a primary context.
  static bool IsActive() {
    unsigned int flags = 0;
    int active = 0;
    EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
    return active != 0;
  }

  int count_ = 0;
};

// The first test: the runtime has no context of the second device yet.
TEST_F(RuntimeDevices, AreSetInAPrimaryContextThatTheDriverMade) {
  ASSERT_GE(count_, 2);
  CUcontext context = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  EXPECT_EQ(cudaSetDeviceFlags(0), cudaSuccess);
  EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(1), CUDA_SUCCESS);
}

TEST_F(RuntimeDevices, MapMemoryOfTheHostAnyway) {
  constexpr unsigned int kBlocking = 4;  // cudaDeviceScheduleBlockingSync
  constexpr unsigned int kMapsHostMemory = 8;
  unsigned int flags = 0;
  EXPECT_EQ(cudaSetDeviceFlags(kMapsHostMemory | kBlocking), cudaSuccess);
  EXPECT_EQ(cudaGetDeviceFlags(&flags), cudaSuccess);
  EXPECT_EQ(flags, kMapsHostMemory | kBlocking);
  EXPECT_EQ(cudaSetDeviceFlags(kMapsHostMemory), cudaSuccess);
  EXPECT_EQ(cudaGetDeviceFlags(&flags), cudaSuccess);
  EXPECT_EQ(flags, kMapsHostMemory);
}

TEST_F(RuntimeDevices, AreEachThreadsOwn) {
  ASSERT_GE(count_, 2);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  std::thread([&] {
    EXPECT_EQ(Current(), 0);
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, 4), cudaSuccess) << "a context is made by the first call";
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
  }).join();
  EXPECT_EQ(Current(), 1);
  EXPECT_EQ(cudaSetDevice(count_), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  EXPECT_EQ(Current(), 1);
}

TEST_F(RuntimeDevices, UseTheContextThatTheDriverMadeCurrent) {
  ASSERT_GE(count_, 2);
  CUcontext context = nullptr;
  ASSERT_EQ(cuCtxCreate(&context, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(Current(), 1);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 4), cudaSuccess);
  CUcontext owner = nullptr;
  EXPECT_EQ(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT,
                                  reinterpret_cast<CUdeviceptr>(memory)),
            CUDA_SUCCESS);
  EXPECT_EQ(owner, context);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
  EXPECT_EQ(Current(), 0);
}

// Where the driver took the context away, the next call makes the primary one current again.
TEST_F(RuntimeDevices, GetAContextAgain) {
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  CUcontext current = nullptr;
  CUcontext primary = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
  EXPECT_EQ(current, primary);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST_F(RuntimeDevices, LoseTheirMemoryByAReset) {
  size_t before = 0;
  size_t after = 0;
  size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, size_t{64} << 20), cudaSuccess);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(Current(), 0);
  EXPECT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_EQ(after, before);
  // Another thread that used the device before notices, too.
  EXPECT_EQ(cudaFree(memory), cudaErrorInvalidValue);
}

TEST_F(RuntimeDevices, AreResetOnceAndNotWhatTheDriverMadeSince) {
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_FALSE(IsActive());
  CUcontext context = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_TRUE(IsActive());
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST_F(RuntimeDevices, OfAnotherThreadSurviveAReset) {
  std::thread([] {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    std::thread([] {
      EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
      EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
      EXPECT_FALSE(IsActive());
    }).join();
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }).join();
}

TEST_F(RuntimeDevices, GetANewContextAfterAResetByTheDriver) {
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 64), cudaSuccess);
  ASSERT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  EXPECT_EQ(cudaFree(memory), cudaErrorInvalidValue) << "it went with the context";
  EXPECT_TRUE(IsActive());
  EXPECT_EQ(cudaMalloc(&memory, 64), cudaSuccess);
  EXPECT_EQ(cudaMemset(memory, 1, 64), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

// Whichever thread notices first, none is told of it.
TEST_F(RuntimeDevices, GetANewContextInThreadsThatNoticeAResetTogether) {
  constexpr int kRounds = 1000;
  std::atomic<int> ready{0};
  std::atomic<int> round{0};
  std::atomic<int> failures{0};
  const auto use = [&] { failures += cudaStreamQuery(nullptr) == cudaSuccess ? 0 : 1; };
  const auto wait_for = [](const std::atomic<int>& number, int wanted) {
    // Without a pause at first, so that both threads go on at once.
    for (int looks = 0; number < wanted; ++looks) {
      if (looks > 10'000) std::this_thread::yield();
    }
  };
  std::thread other([&] {
    for (int next = 1; next <= kRounds; ++next) {
      use();
      ready = next;
      wait_for(round, next);
      use();
    }
  });
  for (int next = 1; next <= kRounds; ++next) {
    use();
    wait_for(ready, next);
    EXPECT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
    round = next;
    use();
  }
  other.join();
  EXPECT_EQ(failures, 0);
}

TEST_F(RuntimeDevices, GetNoContextByAQuestionForSeveralAttributesOfARange) {
  std::thread([] {
    int value = 0;
    void* values[] = {&value};
    size_t sizes[] = {sizeof(value)};
    int attributes[] = {1};
    char byte = 0;
    EXPECT_EQ(cudaMemRangeGetAttributes(values, sizes, attributes, 1, &byte, 1),
              cudaErrorDeviceUninitialized);
  }).join();
}

// The thread has no context before, nor behind what needs none.
TEST_F(RuntimeDevices, GetNoContextByCallsThatNeedNone) {
  std::thread([] {
    const auto has_context = [] {
      CUcontext current = nullptr;
      EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
      return current != nullptr;
    };
    cudaMemPool_t pool = nullptr;
    EXPECT_EQ(cudaDeviceGetMemPool(&pool, 0), cudaSuccess);
    EXPECT_EQ(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
    EXPECT_EQ(cudaDeviceGraphMemTrim(0), cudaSuccess);
    EXPECT_EQ(cudaCreateTextureObject(nullptr, nullptr, nullptr, nullptr), cudaErrorInvalidValue);
    EXPECT_EQ(cudaProfilerStop(), cudaSuccess);
    EXPECT_FALSE(has_context());
    EXPECT_EQ(cudaProfilerStart(), cudaSuccess);
    EXPECT_TRUE(has_context());
  }).join();
}

TEST_F(RuntimeDevices, GetTheirContextWithItsFlags) {
  std::thread([] {
    constexpr unsigned int kSpins = 1;  // cudaDeviceScheduleSpin
    unsigned int before = 0;
    int active = 0;
    ASSERT_EQ(cuDevicePrimaryCtxGetState(0, &before, &active), CUDA_SUCCESS);
    EXPECT_EQ(cudaSetDeviceFlags(3), cudaErrorInvalidValue);
    CUcontext current = nullptr;
    EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, nullptr);
    EXPECT_EQ(cudaSetDeviceFlags(kSpins), cudaSuccess);
    EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
    EXPECT_NE(current, nullptr);
    unsigned int flags = 0;
    EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(flags & 7, kSpins);
    EXPECT_NE(active, 0);
    EXPECT_EQ(cudaSetDeviceFlags(before & 7), cudaSuccess);
  }).join();
}

// Their settings are those of the primary context, whatever the driver made current.
TEST_F(RuntimeDevices, AreSetInTheirPrimaryContextOnly) {
  CUcontext context = nullptr;
  ASSERT_EQ(cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cudaSetDeviceFlags(0), cudaErrorIncompatibleDriverContext);
  EXPECT_EQ(cudaSetDeviceFlags(3), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorIncompatibleDriverContext);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorIncompatibleDriverContext);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_TRUE(IsActive());
  EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
  cudaGetLastError();
}

TEST_F(RuntimeDevices, AreNotResetByAThreadWithoutAContext) {
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  std::thread([] { EXPECT_EQ(cudaDeviceReset(), cudaSuccess); }).join();
  EXPECT_TRUE(IsActive());
}

TEST_F(RuntimeDevices, LeaveTheThreadWhenOthersAreMadeValid) {
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaSetValidDevices(nullptr, 0), cudaSuccess);
  CUcontext current = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, nullptr);
}

TEST_F(RuntimeDevices, AreToldAsTheDriverTells) {
  // What lies behind the structure is not written.
  struct {
    twinmmu_cudaDeviceProp_13 told;
    char behind[8];
  } properties;
  std::memset(&properties, 0x5a, sizeof(properties));
  ASSERT_EQ(cudaGetDeviceProperties(&properties.told, 0), cudaSuccess);
  EXPECT_EQ(std::string(properties.behind, 8), std::string(8, 0x5a));
  char name[256];
  size_t memory = 0;
  int value = 0;
  EXPECT_EQ(cuDeviceGetName(name, sizeof(name), 0), CUDA_SUCCESS);
  EXPECT_STREQ(properties.told.name, name);
  EXPECT_EQ(cuDeviceTotalMem(&memory, 0), CUDA_SUCCESS);
  EXPECT_EQ(properties.told.totalGlobalMem, memory);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(properties.told.major, value);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0),
            cudaSuccess);
  EXPECT_EQ(properties.told.multiProcessorCount, value);
  EXPECT_EQ(properties.told.maxThreadsDim[0], 1024);
  EXPECT_EQ(properties.told.warpSize, 32);
  EXPECT_EQ(cudaGetDeviceProperties(&properties.told, count_), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetDeviceProperties(nullptr, 0), cudaErrorInvalidValue);
}

TEST_F(RuntimeDevices, ReachTheirPeers) {
  ASSERT_GE(count_, 2);
  int can = 0;
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
  ASSERT_EQ(can, 1);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaSuccess);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(count_, 0), cudaErrorInvalidDevice);
}

TEST_F(RuntimeDevices, HaveNames) {
  char id[32] = "";
  int device = -1;
  EXPECT_EQ(cudaDeviceGetPCIBusId(id, sizeof(id), 1), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetByPCIBusId(&device, id), cudaSuccess);
  EXPECT_EQ(device, 1);
}

// The driver's functions by name, and versions of both.
TEST_F(RuntimeDevices, GiveTheDriversFunctions) {
  void* function = nullptr;
  int found = -1;
  EXPECT_EQ(
      cudaGetDriverEntryPointByVersion("cuMemMap", &function, 12000, cudaEnableDefault, &found),
      cudaSuccess);
  EXPECT_EQ(found, cudaDriverEntryPointSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemMap));
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuMemcpyAsync", &function, 12000, cudaEnableDefault,
                                             nullptr),
            cudaSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemcpyAsync));
  EXPECT_EQ(
      cudaGetDriverEntryPointByVersion("cuMemMap", &function, 9000, cudaEnableDefault, &found),
      cudaSuccess);
  EXPECT_EQ(found, cudaDriverEntryPointVersionNotSufficent);
  int runtime = 0;
  int driver = 0;
  EXPECT_EQ(cudaRuntimeGetVersion(&runtime), cudaSuccess);
  EXPECT_EQ(cudaDriverGetVersion(&driver), cudaSuccess);
  EXPECT_EQ(runtime, 13000);
  EXPECT_GE(driver, 12000);
}

}  // namespace
