// Settings of devices and of threads, choosing a device, the driver's log, and what profilers ask.

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "third_party/cuda_abi/cuda_abi.h"
#include "third_party/cuda_abi/cudart_abi.h"

// Those of CUDA 13.
extern "C" {
cudaError_t cudaChooseDevice(int* device, const twinmmu_cudaDeviceProp_13* wanted);
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    int* found);
}

namespace {

using twinmmu::cuda_abi::CU_LIMIT_STACK_SIZE;

constexpr int kNone = 100;  // whatever it is asked for

class RuntimeSettings : public testing::Test {
 protected:
  RuntimeSettings() { EXPECT_EQ(cudaSetDevice(0), cudaSuccess); }
  ~RuntimeSettings() override { cudaGetLastError(); }
};

TEST_F(RuntimeSettings, LimitsAreSetAndRead) {
  size_t size = 0;
  EXPECT_EQ(cudaDeviceGetLimit(&size, CU_LIMIT_STACK_SIZE), cudaSuccess);
  EXPECT_EQ(size, 1024u);
  EXPECT_EQ(cudaDeviceSetLimit(CU_LIMIT_STACK_SIZE, 2048), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetLimit(&size, CU_LIMIT_STACK_SIZE), cudaSuccess);
  EXPECT_EQ(size, 2048u);
  EXPECT_EQ(cudaDeviceGetLimit(nullptr, CU_LIMIT_STACK_SIZE), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetLimit(&size, kNone), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSetLimit(kNone, 2048), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetLimit(&size, CU_LIMIT_STACK_SIZE), cudaSuccess);
  EXPECT_EQ(size, 1024u) << "a new context";
}

TEST_F(RuntimeSettings, WhatTheCacheIsForIsSetAndRead) {
  constexpr int kShared = 1;  // cudaFuncCachePreferShared
  int config = kNone;
  EXPECT_EQ(cudaDeviceGetCacheConfig(&config), cudaSuccess);
  EXPECT_EQ(config, 0);
  EXPECT_EQ(cudaDeviceSetCacheConfig(kShared), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetCacheConfig(&config), cudaSuccess);
  EXPECT_EQ(config, kShared);
  EXPECT_EQ(cudaDeviceGetCacheConfig(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSetCacheConfig(kNone), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
}

TEST_F(RuntimeSettings, BanksAreOfFourBytesWhateverIsSet) {
  constexpr int kFourBytes = 1;
  constexpr int kEightBytes = 2;
  int config = kNone;
  EXPECT_EQ(cudaDeviceSetSharedMemConfig(kEightBytes), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetSharedMemConfig(&config), cudaSuccess);
  EXPECT_EQ(config, kFourBytes);
  EXPECT_EQ(cudaDeviceGetSharedMemConfig(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSetSharedMemConfig(kNone), cudaErrorInvalidValue);
}

TEST_F(RuntimeSettings, CachesAndWritesFromOutsideNeedNoCare) {
  constexpr int kCurrentDevice = 0;
  constexpr int kToOwner = 100;
  EXPECT_EQ(cudaCtxResetPersistingL2Cache(), cudaSuccess);
  EXPECT_EQ(cudaDeviceFlushGPUDirectRDMAWrites(kCurrentDevice, kToOwner), cudaSuccess);
  EXPECT_EQ(cudaDeviceFlushGPUDirectRDMAWrites(1, kToOwner), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceFlushGPUDirectRDMAWrites(kCurrentDevice, 1), cudaErrorInvalidValue);
}

TEST_F(RuntimeSettings, AProfilerStartsAndStops) {
  EXPECT_EQ(cudaProfilerStart(), cudaSuccess);
  EXPECT_EQ(cudaProfilerStop(), cudaSuccess);
}

// --- Choosing a device

TEST_F(RuntimeSettings, ADeviceIsInitializedWithItsFlagsAndNotMadeCurrent) {
  constexpr unsigned int kBlocking = 4;  // cudaDeviceScheduleBlockingSync
  constexpr unsigned int kMapsHostMemory = 8;
  constexpr unsigned int kFlagsAreValid = 1;
  int device = -1;
  unsigned int flags = 0;
  EXPECT_EQ(cudaInitDevice(1, kBlocking | kMapsHostMemory, kFlagsAreValid), cudaSuccess);
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cudaGetDeviceFlags(&flags), cudaSuccess);
  EXPECT_EQ(flags, kMapsHostMemory | kBlocking);
  EXPECT_EQ(cudaInitDevice(1, 0, 0), cudaSuccess) << "without flags";
  EXPECT_EQ(cudaGetDeviceFlags(&flags), cudaSuccess);
  EXPECT_EQ(flags, kMapsHostMemory | kBlocking);
  EXPECT_EQ(cudaInitDevice(kNone, 0, 0), cudaErrorInvalidDevice);
}

TEST_F(RuntimeSettings, AThreadThatChoseNoneTakesTheFirstValidDevice) {
  const auto device_of_new_thread = [] {
    int device = -1;
    std::thread([&] { EXPECT_EQ(cudaGetDevice(&device), cudaSuccess); }).join();
    return device;
  };
  int devices[] = {1, 0};
  EXPECT_EQ(cudaSetValidDevices(devices, 2), cudaSuccess);
  EXPECT_EQ(device_of_new_thread(), 1);
  EXPECT_EQ(cudaSetValidDevices(nullptr, 0), cudaSuccess);
  EXPECT_EQ(device_of_new_thread(), 0);
  EXPECT_EQ(cudaSetValidDevices(nullptr, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaSetValidDevices(devices, -1), cudaErrorInvalidValue);
  devices[0] = kNone;
  EXPECT_EQ(cudaSetValidDevices(devices, 1), cudaErrorInvalidDevice);
}

TEST_F(RuntimeSettings, TheFirstOfEquallyGoodDevicesIsChosen) {
  twinmmu_cudaDeviceProp_13 wanted = {};
  wanted.major = 1;
  int device = -1;
  EXPECT_EQ(cudaChooseDevice(&device, &wanted), cudaSuccess);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cudaChooseDevice(nullptr, &wanted), cudaErrorInvalidValue);
  EXPECT_EQ(cudaChooseDevice(&device, nullptr), cudaErrorInvalidValue);
}

// --- What is asked about devices

TEST_F(RuntimeSettings, PairsOfDevicesSayWhatTheyShare) {
  constexpr int kAccess = 2;         // cudaDevP2PAttrAccessSupported
  constexpr int kNativeAtomics = 3;  // cudaDevP2PAttrNativeAtomicSupported
  int value = 7;
  EXPECT_EQ(cudaDeviceGetP2PAttribute(&value, kAccess, 0, 1), cudaSuccess);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(cudaDeviceGetP2PAttribute(&value, kNativeAtomics, 0, 1), cudaSuccess);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(cudaDeviceGetP2PAttribute(&value, kAccess, 0, 0), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceGetP2PAttribute(&value, kAccess, 0, kNone), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceGetP2PAttribute(nullptr, kAccess, 0, 1), cudaErrorInvalidValue);
}

TEST_F(RuntimeSettings, AtomicOperationsAreAskedForOneByOne) {
  const int operations[] = {0, 1};
  unsigned int found[] = {77, 77, 77};
  EXPECT_EQ(cudaDeviceGetHostAtomicCapabilities(found, operations, 2, 0), cudaSuccess);
  EXPECT_EQ(found[0], 0u);
  EXPECT_EQ(found[1], 0u);
  EXPECT_EQ(found[2], 77u) << "behind what was asked for";
  EXPECT_EQ(cudaDeviceGetHostAtomicCapabilities(nullptr, operations, 2, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetHostAtomicCapabilities(found, operations, 2, kNone),
            cudaErrorInvalidDevice);
  found[0] = 77;
  EXPECT_EQ(cudaDeviceGetP2PAtomicCapabilities(found, operations, 1, 0, 1), cudaSuccess);
  EXPECT_NE(found[0], 77u);
  EXPECT_EQ(cudaDeviceGetP2PAtomicCapabilities(nullptr, operations, 1, 0, 1),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetP2PAtomicCapabilities(found, operations, 1, 0, 0), cudaErrorInvalidDevice);
}

TEST_F(RuntimeSettings, ATextureOfMemoryHasAWidth) {
  const cudaChannelFormatDesc words = {32, 0, 0, 0, cudaChannelFormatKindFloat};
  const cudaChannelFormatDesc pairs = {32, 32, 0, 0, cudaChannelFormatKindFloat};
  const cudaChannelFormatDesc strange = {5, 0, 0, 0, cudaChannelFormatKindFloat};
  size_t width = 0;
  size_t width_of_pairs = 0;
  EXPECT_EQ(cudaDeviceGetTexture1DLinearMaxWidth(&width, &words, 0), cudaSuccess);
  EXPECT_GT(width, 0u);
  EXPECT_EQ(cudaDeviceGetTexture1DLinearMaxWidth(&width_of_pairs, &pairs, 0), cudaSuccess);
  EXPECT_LE(width_of_pairs, width);
  EXPECT_EQ(cudaDeviceGetTexture1DLinearMaxWidth(&width, &strange, 0),
            cudaErrorInvalidChannelDescriptor);
  EXPECT_EQ(cudaDeviceGetTexture1DLinearMaxWidth(&width, &words, kNone), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceGetTexture1DLinearMaxWidth(nullptr, &words, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetTexture1DLinearMaxWidth(&width, nullptr, 0), cudaErrorInvalidValue);
}

TEST_F(RuntimeSettings, NotificationsAreRegisteredForADevice) {
  const auto nothing = [](void*, void*, void*) {};
  void* handle = nullptr;
  EXPECT_EQ(cudaDeviceRegisterAsyncNotification(0, nothing, nullptr, &handle), cudaSuccess);
  EXPECT_EQ(cudaDeviceUnregisterAsyncNotification(1, handle), cudaErrorInvalidValue)
      << "of another device";
  EXPECT_EQ(cudaDeviceUnregisterAsyncNotification(0, handle), cudaSuccess);
  EXPECT_EQ(cudaDeviceUnregisterAsyncNotification(0, handle), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceRegisterAsyncNotification(0, nullptr, nullptr, &handle),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceRegisterAsyncNotification(kNone, nothing, nullptr, &handle),
            cudaErrorInvalidDevice);
}

// --- The driver's functions, and its log

TEST_F(RuntimeSettings, TheDriversFunctionsAreThoseOfTheRuntimesVersion) {
  void* function = nullptr;
  void* by_version = nullptr;
  int found = -1;
  EXPECT_EQ(cudaGetDriverEntryPoint("cuMemcpyBatchAsync", &function, cudaEnableDefault, &found),
            cudaSuccess);
  EXPECT_EQ(found, cudaDriverEntryPointSuccess);
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuMemcpyBatchAsync", &by_version, 13000,
                                             cudaEnableDefault, &found),
            cudaSuccess);
  EXPECT_EQ(function, by_version);
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuMemcpyBatchAsync", &by_version, 12080,
                                             cudaEnableDefault, &found),
            cudaSuccess);
  EXPECT_NE(function, by_version);
  EXPECT_EQ(cudaGetDriverEntryPoint("cuNothing", &function, cudaEnableDefault, &found),
            cudaSuccess);
  EXPECT_EQ(found, cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(cudaGetDriverEntryPoint("cuNothing", &function, cudaEnableDefault, nullptr),
            cudaSuccess)
      << "who does not ask is not told";
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(cudaGetDriverEntryPoint("cuMemMap", &function, 100, &found), cudaErrorInvalidValue);
}

constexpr char kReturning[] = "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemFree_v2";

// A call whose driver function fails.
void FailOnce() {
  char nowhere = 0;
  EXPECT_EQ(cudaFree(&nowhere), cudaErrorInvalidValue);
}

TEST_F(RuntimeSettings, CallbacksAreToldWhichFunctionOfTheDriverFailed) {
  std::string told;
  const auto keep = [](void* text, int, char* words, size_t size) {
    static_cast<std::string*>(text)->append(words, size);
  };
  void* handle = nullptr;
  ASSERT_EQ(cudaLogsRegisterCallback(keep, &told, &handle), cudaSuccess);
  FailOnce();
  EXPECT_NE(told.find(kReturning), std::string::npos) << told;
  EXPECT_EQ(cudaLogsUnregisterCallback(handle), cudaSuccess);
  told.clear();
  FailOnce();
  EXPECT_EQ(told, "") << "no longer";
  EXPECT_EQ(cudaLogsRegisterCallback(nullptr, nullptr, &handle), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLogsUnregisterCallback(nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeSettings, TheLogIsReadFromAPositionOn) {
  unsigned int position = 0;
  ASSERT_EQ(cudaLogsCurrent(&position, 0), cudaSuccess);
  FailOnce();
  unsigned int again = position;
  std::vector<char> text(4096);
  size_t size = text.size();
  EXPECT_EQ(cudaLogsDumpToMemory(&position, text.data(), &size, 0), cudaSuccess);
  EXPECT_EQ(size, std::strlen(text.data()));
  EXPECT_NE(std::string(text.data()).find(kReturning), std::string::npos) << text.data();
  const std::string path = testing::TempDir() + "log_of_the_driver";
  EXPECT_EQ(cudaLogsDumpToFile(&again, path.c_str(), 0), cudaSuccess);
  std::ostringstream in_file;
  in_file << std::ifstream(path).rdbuf();
  EXPECT_EQ(in_file.str(), text.data());
  EXPECT_EQ(again, position);
  EXPECT_EQ(cudaLogsCurrent(nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLogsDumpToMemory(&position, nullptr, &size, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLogsDumpToMemory(&position, text.data(), nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLogsDumpToFile(&position, nullptr, 0), cudaErrorInvalidValue);
}

}  // namespace
