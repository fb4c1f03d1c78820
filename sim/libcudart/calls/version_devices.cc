// Versions and devices, as far as they differ from one version of the runtime to the next. Compiled
// once for each, with TWINMMU_RUNTIME_VERSION.

#include <algorithm>
#include <cstring>
#include <iterator>

#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {

const int kRuntimeVersion = TWINMMU_RUNTIME_VERSION;

#if TWINMMU_RUNTIME_VERSION >= 13000
using DeviceProperties = twinmmu_cudaDeviceProp_13;
#define TWINMMU_DEVICE_VERSION 13
#elif TWINMMU_RUNTIME_VERSION >= 12000
using DeviceProperties = twinmmu_cudaDeviceProp_12;
#define TWINMMU_DEVICE_VERSION 12
#else
using DeviceProperties = twinmmu_cudaDeviceProp_11;
#define TWINMMU_DEVICE_VERSION 11
#endif

namespace {

// What the driver does not know is 0.
int Attribute(int attribute, int device) {
  int value = 0;
  const bool known =
      attribute != 0 && driver.cuDeviceGetAttribute(&value, attribute, device) == cudaSuccess;
  return known ? value : 0;
}

void FillFields(DeviceProperties& properties, int device) {
#define TWINMMU_DEVICE_ARRAY(type, name, count)
#define TWINMMU_DEVICE_FIELD(type, name, attribute) \
  properties.name = static_cast<type>(Attribute(attribute, device));
#define TWINMMU_DEVICE_INTS(name, count, ...)                \
  {                                                          \
    const int attributes[count] = {__VA_ARGS__};             \
    for (int i = 0; i < count; ++i) {                        \
      properties.name[i] = Attribute(attributes[i], device); \
    }                                                        \
  }
#include "third_party/cuda_abi/device_properties.inc"
}

cudaError_t ReadProperties(DeviceProperties* properties, int device) {
  size_t memory = 0;
  cudaError_t error = driver.cuDeviceGetName(properties->name, sizeof(properties->name), device);
  if (error == cudaSuccess) error = driver.cuDeviceTotalMem_v2(&memory, device);
  if (error != cudaSuccess) return error;
  FillFields(*properties, device);
  properties->totalGlobalMem = memory;
  driver.cuDeviceGetUuid_v2(properties->uuid, device);
  return cudaSuccess;
}

TWINMMU_INLINE cudaError_t GetProperties(DeviceProperties* properties, int device) {
  return Anywhere([&]() -> cudaError_t {
    if (properties == nullptr) return cudaErrorInvalidValue;
    DeviceProperties found = {};
    const cudaError_t error = ReadProperties(&found, device);
    if (error == cudaSuccess) *properties = found;
    return error;
  });
}

// Of the version that the program was made for, or the newest that the driver has.
TWINMMU_INLINE cudaError_t FindEntryPoint(const char* symbol, void** function,
                                          unsigned long long flags, int* found) {
  return Anywhere([&]() -> cudaError_t {
    int newest = 0;
    int result = cudaDriverEntryPointSymbolNotFound;
    cudaError_t error = driver.cuDriverGetVersion(&newest);
    if (error != cudaSuccess) return error;
    error = driver.cuGetProcAddress_v2(symbol, function, std::min(newest, kRuntimeVersion), flags,
                                       &result);
    if (error != cudaSuccess) return error;
    // Only the function of CUDA 11 cannot be asked for it.
    constexpr bool kIsAnError = TWINMMU_RUNTIME_VERSION < 12000;
    if (found != nullptr) *found = result;
    if (kIsAnError && result != cudaDriverEntryPointSuccess) return cudaErrorSymbolNotFound;
    return cudaSuccess;
  });
}

#if TWINMMU_RUNTIME_VERSION < 13000
// The part of the structure that was there before CUDA 12.
void CopyOldest(const DeviceProperties& from, twinmmu_cudaDeviceProp_11* to) {
  std::memcpy(to, &from, sizeof(*to));
}
#endif

// How much of what is wanted a device has. What is 0 is not wanted.
int Matches(const DeviceProperties& wanted, const DeviceProperties& found) {
  const bool as_new =
      found.major > wanted.major || (found.major == wanted.major && found.minor >= wanted.minor);
  const bool matches[] = {
      wanted.major != 0 && as_new,
      wanted.totalGlobalMem != 0 && found.totalGlobalMem >= wanted.totalGlobalMem,
      wanted.sharedMemPerBlock != 0 && found.sharedMemPerBlock >= wanted.sharedMemPerBlock,
      wanted.regsPerBlock != 0 && found.regsPerBlock >= wanted.regsPerBlock,
      wanted.maxThreadsPerBlock != 0 && found.maxThreadsPerBlock >= wanted.maxThreadsPerBlock,
      wanted.totalConstMem != 0 && found.totalConstMem >= wanted.totalConstMem,
      wanted.multiProcessorCount != 0 && found.multiProcessorCount >= wanted.multiProcessorCount,
  };
  return static_cast<int>(std::count(std::begin(matches), std::end(matches), true));
}

TWINMMU_INLINE cudaError_t Choose(int* device, const DeviceProperties* wanted) {
  return Anywhere([&]() -> cudaError_t {
    if (device == nullptr || wanted == nullptr) return cudaErrorInvalidValue;
    int count = 0;
    const cudaError_t error = driver.cuDeviceGetCount(&count);
    if (error != cudaSuccess) return error;
    int best = -1;
    for (int i = 0; i < count; ++i) {
      DeviceProperties found = {};
      const cudaError_t read = ReadProperties(&found, i);
      if (read != cudaSuccess) return read;
      const int matches = Matches(*wanted, found);
      if (matches <= best) continue;
      best = matches;
      *device = i;
    }
    return cudaSuccess;
  });
}

}  // namespace

// Of equally good ones, the first. What it looks at is in all versions of the structure.
extern "C" cudaError_t cudaChooseDevice(int* device, const DeviceProperties* wanted) {
  return Choose(device, wanted);
}
#if TWINMMU_DEVICE_VERSION == 12
extern "C" cudaError_t cudaChooseDevice_v2(int* device, const DeviceProperties* wanted) {
  return Choose(device, wanted);
}
#endif

extern "C" cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return Record(cudaErrorInvalidValue);
  *version = kRuntimeVersion;
  return cudaSuccess;
}

#if TWINMMU_RUNTIME_VERSION >= 13000
extern "C" cudaError_t cudaGetDeviceProperties(DeviceProperties* properties, int device) {
  return GetProperties(properties, device);
}
#else
extern "C" cudaError_t cudaGetDeviceProperties(twinmmu_cudaDeviceProp_11* properties, int device) {
  if (properties == nullptr) return Record(cudaErrorInvalidValue);
  DeviceProperties found = {};
  const cudaError_t error = GetProperties(&found, device);
  if (error == cudaSuccess) CopyOldest(found, properties);
  return error;
}
extern "C" cudaError_t cudaGetDeviceProperties_v2(DeviceProperties* properties, int device) {
  return GetProperties(properties, device);
}
#endif

#if TWINMMU_RUNTIME_VERSION >= 12000
extern "C" cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function,
                                               unsigned long long flags, int* found) {
  return FindEntryPoint(symbol, function, flags, found);
}
extern "C" cudaError_t cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function,
                                                    unsigned long long flags, int* found) {
  if (flags == cudaEnableDefault) flags = cudaEnablePerThreadDefaultStream;
  return FindEntryPoint(symbol, function, flags, found);
}
#else
extern "C" cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function,
                                               unsigned long long flags) {
  return FindEntryPoint(symbol, function, flags, nullptr);
}
extern "C" cudaError_t cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function,
                                                    unsigned long long flags) {
  if (flags == cudaEnableDefault) flags = cudaEnablePerThreadDefaultStream;
  return FindEntryPoint(symbol, function, flags, nullptr);
}
#endif

}  // namespace twinmmu::cudart
