// Asynchronous notifications of a device: callbacks are kept, and none is ever called, as nothing
// of what they tell (memory over a budget) happens here.

#include <mutex>
#include <unordered_map>

#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

using CUasyncCallbackHandle = struct CUasyncCallbackEntry_st*;
using Callback = void (*)(void* info, void* data, CUasyncCallbackHandle handle);

struct Registered {
  std::mutex mutex;                                // guards what follows
  std::unordered_map<uint64_t, CUdevice> devices;  // by handle
  uint64_t last = 0;

  // Never destroyed: programs call to the very end.
  static Registered& Get() {
    static Registered& all = *new Registered;
    return all;
  }
};

}  // namespace

extern "C" CUresult cuDeviceRegisterAsyncNotification(CUdevice dev, Callback callback,
                                                      void* /*data*/,
                                                      CUasyncCallbackHandle* handle) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {reinterpret_cast<const void*>(callback)}, [&](DriverState& driver) {
    if (!driver.simulator->profile().HasDevice(dev)) return DriverCode::kInvalidDevice;
    if (handle == nullptr) return NullPointer(site);
    Registered& registered = Registered::Get();
    const std::lock_guard lock(registered.mutex);
    const uint64_t id = registered.last + 1;
    registered.devices.emplace(id, dev);
    registered.last = id;
    *handle = ToPointer<CUasyncCallbackHandle>(id);
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuDeviceUnregisterAsyncNotification(CUdevice dev,
                                                        CUasyncCallbackHandle handle) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    if (handle == nullptr) return DriverCode::kInvalidValue;
    if (!driver.simulator->profile().HasDevice(dev)) return DriverCode::kInvalidDevice;
    Registered& registered = Registered::Get();
    const std::lock_guard lock(registered.mutex);
    const auto known = registered.devices.find(ToNumber(handle));
    if (known == registered.devices.end() || known->second != dev) {
      return DriverCode::kInvalidValue;
    }
    registered.devices.erase(known);
    return DriverCode::kSuccess;
  });
}

}  // namespace twinmmu::libcuda
