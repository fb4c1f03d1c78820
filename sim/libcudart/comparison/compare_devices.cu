#include <cuda_profiler_api.h>

#include <cstring>

#include "sim/libcudart/comparison/comparison.h"

namespace comparison {

void AskAboutDevices() {
  int value = -7;
  unsigned flags = 77;
  int ordinals[2] = {0, 0};
  ASK(cudaGetDevice(&value));
  NUMBER(value);
  ASK(cudaGetDevice(nullptr));
  ASK(cudaGetDeviceCount(nullptr));
  ASK(cudaSetDevice(-1));
  ASK(cudaSetDevice(100));
  ASK(cudaSetValidDevices(ordinals, 1));
  ASK(cudaSetValidDevices(nullptr, 0));
  ASK(cudaSetValidDevices(nullptr, 1));
  ASK(cudaSetValidDevices(ordinals, -1));
  ordinals[0] = 100;
  ASK(cudaSetValidDevices(ordinals, 1));
  ASK(cudaGetDeviceFlags(nullptr));
  ASK(cudaGetDeviceFlags(&flags));
  NUMBER(flags);
  ASK(cudaSetDeviceFlags(1000));
  ASK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
  ASK(cudaGetDeviceFlags(&flags));
  NUMBER(flags);
  ASK(cudaInitDevice(100, 0, 0));
  ASK(cudaInitDevice(0, 0, 100));
  ASK(cudaInitDevice(0, cudaDeviceScheduleSpin, cudaInitDeviceFlagsAreValid));
  ASK(cudaSetDevice(0));
  ASK(cudaGetDeviceFlags(&flags));
  NUMBER(flags);
  ASK(cudaSetDeviceFlags(cudaDeviceScheduleYield));
  ASK(cudaSetValidDevices(nullptr, 0));

  ASK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
  NUMBER(value);
  ASK(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0));
  ASK(cudaDeviceGetAttribute(&value, cudaDeviceAttr(100000), 0));
  ASK(cudaDeviceGetAttribute(&value, cudaDeviceAttr(0), 0));
  ASK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 100));
  char id[64] = {};
  ASK(cudaDeviceGetPCIBusId(id, 64, 0));
  NUMBER(std::strlen(id));
  ASK(cudaDeviceGetPCIBusId(id, 5, 0));
  ASK(cudaDeviceGetPCIBusId(nullptr, 64, 0));
  ASK(cudaDeviceGetPCIBusId(id, 64, 100));
  ASK(cudaDeviceGetPCIBusId(id, 64, 0));
  ASK(cudaDeviceGetByPCIBusId(&value, id));
  NUMBER(value);
  ASK(cudaDeviceGetByPCIBusId(&value, "nonsense"));
  ASK(cudaDeviceGetByPCIBusId(&value, nullptr));
  ASK(cudaDeviceGetByPCIBusId(nullptr, id));
  ASK(cudaDeviceCanAccessPeer(&value, 0, 0));
  NUMBER(value);
  ASK(cudaDeviceCanAccessPeer(&value, 0, 100));
  ASK(cudaDeviceCanAccessPeer(nullptr, 0, 0));
  ASK(cudaDeviceEnablePeerAccess(0, 0));
  ASK(cudaDeviceEnablePeerAccess(100, 0));
  ASK(cudaDeviceDisablePeerAccess(0));
  ASK(cudaDeviceDisablePeerAccess(100));
  ASK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0));
  ASK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 100));
  ASK(cudaDeviceGetP2PAttribute(nullptr, cudaDevP2PAttrAccessSupported, 0, 0));

  size_t size = 0;
  ASK(cudaDeviceGetLimit(&size, cudaLimitStackSize));
  NUMBER(size);
  ASK(cudaDeviceGetLimit(nullptr, cudaLimitStackSize));
  ASK(cudaDeviceGetLimit(&size, cudaLimit(100)));
  ASK(cudaDeviceGetLimit(&size, cudaLimitPrintfFifoSize));
  NUMBER(size);
  ASK(cudaDeviceGetLimit(&size, cudaLimitMallocHeapSize));
  NUMBER(size);
  ASK(cudaDeviceSetLimit(cudaLimitStackSize, 2048));
  ASK(cudaDeviceGetLimit(&size, cudaLimitStackSize));
  NUMBER(size);
  ASK(cudaDeviceSetLimit(cudaLimit(100), 2048));
  cudaFuncCache cache = cudaFuncCachePreferL1;
  ASK(cudaDeviceGetCacheConfig(&cache));
  NUMBER(cache);
  ASK(cudaDeviceGetCacheConfig(nullptr));
  ASK(cudaDeviceSetCacheConfig(cudaFuncCachePreferShared));
  ASK(cudaDeviceGetCacheConfig(&cache));
  NUMBER(cache);
  ASK(cudaDeviceSetCacheConfig(cudaFuncCache(100)));
  cudaSharedMemConfig banks = cudaSharedMemBankSizeDefault;
  ASK(cudaDeviceGetSharedMemConfig(&banks));
  NUMBER(banks);
  ASK(cudaDeviceGetSharedMemConfig(nullptr));
  ASK(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte));
  ASK(cudaDeviceGetSharedMemConfig(&banks));
  NUMBER(banks);
  ASK(cudaDeviceSetSharedMemConfig(cudaSharedMemConfig(100)));
  int least = 7;
  int greatest = 7;
  ASK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  NUMBER(least);
  NUMBER(greatest);
  ASK(cudaDeviceGetStreamPriorityRange(nullptr, nullptr));
  ASK(cudaCtxResetPersistingL2Cache());
  ASK(cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                                         cudaFlushGPUDirectRDMAWritesToOwner));
  ASK(cudaDeviceSynchronize());

  cudaDeviceProp wanted = {};
  wanted.major = 1;
  ASK(cudaChooseDevice(&value, &wanted));
  ASK(cudaChooseDevice(nullptr, &wanted));
  ASK(cudaChooseDevice(&value, nullptr));
  ASK(cudaGetDeviceProperties(nullptr, 0));
  ASK(cudaGetDeviceProperties(&wanted, 100));
  ASK(cudaGetDeviceProperties(&wanted, -1));
  cudaChannelFormatDesc channels = {32, 0, 0, 0, cudaChannelFormatKindFloat};
  ASK(cudaDeviceGetTexture1DLinearMaxWidth(&size, &channels, 0));
  NUMBER(size);
  ASK(cudaDeviceGetTexture1DLinearMaxWidth(&size, &channels, 100));
  ASK(cudaDeviceGetTexture1DLinearMaxWidth(nullptr, &channels, 0));
  ASK(cudaDeviceGetTexture1DLinearMaxWidth(&size, nullptr, 0));
  channels.x = 5;
  ASK(cudaDeviceGetTexture1DLinearMaxWidth(&size, &channels, 0));
  ASK(cudaProfilerStart());
  ASK(cudaProfilerStop());
  ASK(cudaDeviceReset());
  ASK(cudaDeviceGetLimit(&size, cudaLimitStackSize));
  NUMBER(size);
  ASK(cudaDeviceReset());
  ASK(cudaDeviceReset());
}

void AskAboutErrors() {
  int value = 0;
  ASK(cudaRuntimeGetVersion(&value));
  NUMBER(value);
  ASK(cudaRuntimeGetVersion(nullptr));
  ASK(cudaDriverGetVersion(nullptr));
  NUMBER(std::strcmp(cudaGetErrorName(cudaErrorMissingConfiguration),
                     "cudaErrorMissingConfiguration"));
  NUMBER(std::strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument"));
  NUMBER(std::strcmp(cudaGetErrorString(cudaError_t(12345)), "unrecognized error code"));
  NUMBER(std::strcmp(cudaGetErrorName(cudaError_t(12345)), "unrecognized error code"));
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSuccess;
  ASK(cudaGetDriverEntryPointByVersion("cuMemMap", &function, 12000, cudaEnableDefault, &found));
  NUMBER(found);
  NUMBER(function != nullptr);
  ASK(cudaGetDriverEntryPointByVersion("cuNothing", &function, 12000, cudaEnableDefault, &found));
  NUMBER(found);
  NUMBER(function != nullptr);
  ASK(cudaGetDriverEntryPointByVersion("cuMemMap", &function, 5000, cudaEnableDefault, &found));
  NUMBER(found);
  ASK(cudaGetDriverEntryPointByVersion("cuMemMap", &function, 12000, cudaEnableDefault, nullptr));
  ASK(cudaGetDriverEntryPointByVersion("cuNothing", &function, 12000, cudaEnableDefault, nullptr));
  ASK(cudaGetDriverEntryPointByVersion("cuMemMap", &function, 12000, 100, &found));
  ASK(cudaGetDriverEntryPointByVersion(nullptr, &function, 12000, cudaEnableDefault, &found));
  ASK(cudaGetDriverEntryPointByVersion("cuMemMap", nullptr, 12000, cudaEnableDefault, &found));
  ASK(cudaGetDriverEntryPointByVersion("", &function, 12000, cudaEnableDefault, &found));
  ASK(cudaGetDriverEntryPointByVersion("cuMemMap", &function, 99000, cudaEnableDefault, &found));
  NUMBER(found);
  ASK(cudaGetDriverEntryPoint("cuMemMap", &function, cudaEnableDefault, &found));
  NUMBER(found);
  cudaLogIterator logs = 0;
  size_t size = 100;
  char text[100];
  ASK(cudaLogsCurrent(&logs, 0));
  ASK(cudaLogsCurrent(nullptr, 0));
  ASK(cudaLogsCurrent(&logs, 1));
  ASK(cudaLogsDumpToMemory(&logs, text, &size, 0));
  NUMBER(size);
  ASK(cudaLogsDumpToMemory(&logs, nullptr, &size, 0));
  ASK(cudaLogsDumpToMemory(&logs, text, nullptr, 0));
  ASK(cudaLogsDumpToFile(&logs, nullptr, 0));
  cudaLogsCallbackHandle handle = nullptr;
  ASK(cudaLogsRegisterCallback(nullptr, nullptr, &handle));
  ASK(cudaLogsRegisterCallback([](void*, cudaLogLevel, char*, size_t) {}, nullptr, &handle));
  ASK(cudaLogsUnregisterCallback(handle));
  ASK(cudaLogsUnregisterCallback(nullptr));
}

void AskAboutProperties() {
  cudaDeviceProp properties = {};
  ASK(cudaGetDeviceProperties(&properties, 0));
  const int* const numbers = reinterpret_cast<const int*>(&properties.totalGlobalMem);
  const int count = int(reinterpret_cast<const int*>(&properties + 1) - numbers);
  for (int i = 0; i < count; ++i) {
    if (numbers[i] != 0) {
      NUMBER(i);
      NUMBER(numbers[i]);
    }
  }
  NUMBER(std::strlen(properties.name));
  long long uuid = 0;
  for (const char byte : properties.uuid.bytes) uuid += byte;
  NUMBER(uuid);
  int value = 0;
  for (int attribute = 1; attribute < 150; ++attribute) {
    value = -1;
    NUMBER(attribute);
    ASK(cudaDeviceGetAttribute(&value, cudaDeviceAttr(attribute), 0));
    NUMBER(value);
  }
}

}  // namespace comparison
