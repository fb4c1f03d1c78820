// Functions that take no part in memory: accepted where a driver accepts them, and without effect.
// None of their codes for wrong arguments is measured; INVALID_VALUE is what the documentation has.

#include <cstdint>
#include <fstream>
#include <mutex>
#include <set>

#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

DriverCode ValidIf(bool valid) { return valid ? DriverCode::kSuccess : DriverCode::kInvalidValue; }

CUresult AcceptInContext(const CallSite& site, bool valid = true) {
  return EnterInContext(site, [&](DriverState&, Context&) { return ValidIf(valid); });
}

// CUsharedconfig. The banks of all devices since compute capability 5.0 have 4 bytes, whatever is
// set.
constexpr int kFourBytes = 1;
constexpr int kEightBytes = 2;

// Call-backs for a log that says nothing yet. Never destroyed: programs make calls when static
// objects are already gone.
class LogCallbacks {
 public:
  static LogCallbacks& Get() {
    static LogCallbacks* const callbacks = new LogCallbacks;
    return *callbacks;
  }
  uint64_t Add() {
    const std::lock_guard lock(mutex_);
    return *handles_.insert(++last_).first;
  }
  // False: there was none.
  bool Remove(uint64_t handle) {
    const std::lock_guard lock(mutex_);
    return handles_.erase(handle) != 0;
  }

 private:
  std::mutex mutex_;
  uint64_t last_ = 0;
  std::set<uint64_t> handles_;
};

}  // namespace

// --- Profiler ------------------------------------------------------------------------------------

extern "C" CUresult cuProfilerStart() { return AcceptInContext(TWINMMU_HERE); }
extern "C" CUresult cuProfilerStop() { return AcceptInContext(TWINMMU_HERE); }

// --- Hints ---------------------------------------------------------------------------------------

extern "C" CUresult cuCtxGetSharedMemConfig(int* config) {
  return EnterInContext(TWINMMU_HERE, {config}, [&](DriverState&, Context&) {
    *config = kFourBytes;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuCtxSetSharedMemConfig(int config) {
  return AcceptInContext(TWINMMU_HERE, config >= 0 && config <= kEightBytes);
}

extern "C" CUresult cuCtxResetPersistingL2Cache() { return AcceptInContext(TWINMMU_HERE); }

// What others write to memory of a device is there at once.
extern "C" CUresult cuFlushGPUDirectRDMAWrites(int target, int scope) {
  constexpr int kCurrentContext = 0;
  constexpr int kToOwner = 100;
  constexpr int kToAllDevices = 200;
  return AcceptInContext(
      TWINMMU_HERE, target == kCurrentContext && (scope == kToOwner || scope == kToAllDevices));
}

// --- The driver's log ----------------------------------------------------------------------------

extern "C" CUresult cuLogsRegisterCallback(void (*callback)(void*, int, char*, size_t),
                                           void* /*user_data*/, void** handle) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](DriverState&) {
    if (callback == nullptr) return NullPointer(site);
    const uint64_t made = LogCallbacks::Get().Add();
    if (handle != nullptr) *handle = ToPointer<void*>(made);
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuLogsUnregisterCallback(void* handle) {
  return Enter(TWINMMU_HERE,
               [&](DriverState&) { return ValidIf(LogCallbacks::Get().Remove(ToNumber(handle))); });
}

extern "C" CUresult cuLogsCurrent(unsigned int* iterator, unsigned int flags) {
  return Enter(TWINMMU_HERE, {iterator}, [&](DriverState&) {
    if (flags == 0) *iterator = 0;
    return ValidIf(flags == 0);
  });
}

extern "C" CUresult cuLogsDumpToFile(unsigned int* /*iterator*/, const char* path,
                                     unsigned int flags) {
  return Enter(TWINMMU_HERE, {path},
               [&](DriverState&) { return ValidIf(flags == 0 && std::ofstream(path).is_open()); });
}

extern "C" CUresult cuLogsDumpToMemory(unsigned int* /*iterator*/, char* buffer, size_t* size,
                                       unsigned int flags) {
  return Enter(TWINMMU_HERE, {buffer, size}, [&](DriverState&) {
    if (flags == 0) *size = 0;
    return ValidIf(flags == 0);
  });
}

}  // namespace twinmmu::libcuda
