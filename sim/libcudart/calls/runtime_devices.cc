// Devices, and their primary contexts.

#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {
namespace {

constexpr unsigned int kMapsHostMemory = 8;  // cudaDeviceMapHost

// A way to wait, and flags that stand alone.
bool AreFlags(unsigned int flags) {
  constexpr unsigned int kWays = 7;
  constexpr unsigned int kAll = 0xff;  // cudaDeviceMask
  const unsigned int way = flags & kWays;
  return (way & (way - 1)) == 0 && (flags & ~kAll) == 0;
}

}  // namespace

// Known since the start, and told to functions that streams call, too.
extern "C" cudaError_t cudaGetDeviceCount(int* count) {
  return Anywhere([&]() -> cudaError_t {
    if (count == nullptr) return cudaErrorInvalidValue;
    *count = DeviceCount();
    return cudaSuccess;
  });
}

extern "C" cudaError_t cudaGetDevice(int* device) {
  return Anywhere([&]() -> cudaError_t {
    return device != nullptr ? CurrentDevice(device) : cudaErrorInvalidValue;
  });
}

extern "C" cudaError_t cudaSetDevice(int device) {
  return Anywhere([&] { return UseDevice(device); });
}

extern "C" cudaError_t cudaSetValidDevices(int* devices, int count) {
  return Anywhere([&]() -> cudaError_t {
    if (count < 0 || (devices == nullptr && count > 0)) return cudaErrorInvalidValue;
    int present = 0;
    const cudaError_t error = driver.cuDeviceGetCount(&present);
    if (error != cudaSuccess) return error;
    for (int i = 0; i < count; ++i) {
      if (devices[i] < 0 || devices[i] >= present) return cudaErrorInvalidDevice;
    }
    first_valid_device.store(count > 0 ? devices[0] : 0, std::memory_order_relaxed);
    // As the genuine one does: the thread has no context then.
    return driver.cuCtxSetCurrent(nullptr);
  });
}

extern "C" cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags) {
  constexpr unsigned int kDeviceFlagsAreValid = 1;
  return Anywhere([&] {
    if ((flags & kDeviceFlagsAreValid) != 0) {
      const cudaError_t error =
          driver.cuDevicePrimaryCtxSetFlags_v2(device, device_flags & ~kMapsHostMemory);
      if (error != cudaSuccess) return error;
    }
    CUcontext context = nullptr;
    return PrimaryContext(device, &context);
  });
}

extern "C" cudaError_t cudaDeviceReset() {
  return Anywhere([] { return ResetDevice(); });
}

extern "C" cudaError_t cudaThreadExit() {
  return Anywhere([] { return ResetDevice(); });
}

extern "C" cudaError_t cudaThreadSynchronize() {
  return InContext([] { return driver.cuCtxSynchronize(); });
}

// The flags are those of the primary context, which is there and current then.
extern "C" cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  return Anywhere([&]() -> cudaError_t {
    int device = 0;
    cudaError_t error = CurrentDevice(&device);
    if (error != cudaSuccess) return error;
    if (!AreFlags(flags)) return cudaErrorInvalidValue;
    error = CheckPrimary();
    // A driver maps host memory anyway, and takes no flag for it.
    if (error == cudaSuccess) {
      error = driver.cuDevicePrimaryCtxSetFlags_v2(device, flags & ~kMapsHostMemory);
    }
    return error == cudaSuccess ? BindContext() : error;
  });
}

// Without a context there is nothing to stop, nor in one that is destroyed.
extern "C" cudaError_t cudaProfilerStop() {
  return Anywhere([]() -> cudaError_t {
    CUcontext current = nullptr;
    const cudaError_t error = driver.cuCtxGetCurrent(&current);
    if (error != cudaSuccess || current == nullptr) return error;
    const cudaError_t stopped = driver.cuProfilerStop();
    return stopped == cudaErrorContextIsDestroyed ? cudaSuccess : stopped;
  });
}

extern "C" cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  return Anywhere([&]() -> cudaError_t {
    if (flags == nullptr) return cudaErrorInvalidValue;
    CUcontext current = nullptr;
    driver.cuCtxGetCurrent(&current);
    if (current != nullptr) return driver.cuCtxGetFlags(flags);
    int active = 0;
    const cudaError_t error = driver.cuDevicePrimaryCtxGetState(ChosenDevice(), flags, &active);
    // Every context will have it.
    if (error == cudaSuccess) *flags |= kMapsHostMemory;
    return error;
  });
}

extern "C" cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  return InContext([&] {
    CUcontext context = nullptr;
    cudaError_t error = CheckPrimary();
    if (error == cudaSuccess) error = PrimaryContext(peer, &context);
    return error == cudaSuccess ? driver.cuCtxEnablePeerAccess(context, flags) : error;
  });
}

extern "C" cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return InContext([&] {
    CUcontext context = nullptr;
    cudaError_t error = CheckPrimary();
    if (error == cudaSuccess) error = PrimaryContext(peer, &context);
    return error == cudaSuccess ? driver.cuCtxDisablePeerAccess(context) : error;
  });
}

extern "C" cudaError_t cudaDeviceGetP2PAttribute(int* value, int attribute, int device, int peer) {
  return Anywhere([&] { return driver.cuDeviceGetP2PAttribute(value, attribute, device, peer); });
}

// The older names.
extern "C" cudaError_t cudaThreadGetLimit(size_t* value, int limit) {
  return InContext([&] { return driver.cuCtxGetLimit(value, limit); });
}
extern "C" cudaError_t cudaThreadSetLimit(int limit, size_t value) {
  return InContext([&] { return driver.cuCtxSetLimit(limit, value); });
}
extern "C" cudaError_t cudaThreadGetCacheConfig(int* config) {
  return InContext([&] { return driver.cuCtxGetCacheConfig(config); });
}
extern "C" cudaError_t cudaThreadSetCacheConfig(int config) {
  return InContext([&] { return driver.cuCtxSetCacheConfig(config); });
}

}  // namespace twinmmu::cudart
