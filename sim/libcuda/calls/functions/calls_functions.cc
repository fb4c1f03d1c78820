// What a program asks about functions that are loaded, and what devices can do for each other.

#include <algorithm>

#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/modules.h"

namespace twinmmu::libcuda {
namespace {

constexpr int kLoaded = 1;             // CU_FUNCTION_LOADING_STATE_LOADED
constexpr int kAtomicOperations = 13;  // CUatomicOperation

// Of a module or of a library in a context; a CUkernel is none.
bool IsFunction(const CallSite& site, DriverState& driver, CUfunction function) {
  const Kernel kernel(DeviceOrdinal(0), ToNumber(function));
  return driver.simulator->kernels().Find(site.name(), kernel).ok();
}

bool Exists(const DriverState& driver, CUdevice dev) {
  return dev >= 0 && dev < driver.simulator->profile().device_count();
}

bool AreOperations(const int* operations, unsigned int count) {
  return count != 0 && std::all_of(operations, operations + count, [](int operation) {
           return operation >= 0 && operation < kAtomicOperations;
         });
}

}  // namespace

// --- Loading -------------------------------------------------------------------------------------

// All of a module is loaded with it.
extern "C" CUresult cuFuncIsLoaded(int* state, CUfunction function) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {state}, [&](DriverState& driver) {
    if (!IsFunction(site, driver, function)) return DriverCode::kInvalidHandle;
    *state = kLoaded;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuFuncLoad(CUfunction function) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](DriverState& driver) {
    return IsFunction(site, driver, function) ? DriverCode::kSuccess : DriverCode::kInvalidHandle;
  });
}

// A function that the CPU and all devices call by one address: no device here has unified function
// pointers, and an H100 has none.
extern "C" CUresult cuLibraryGetUnifiedFunction(void** function, CUlibrary library,
                                                const char* name) {
  return Enter(TWINMMU_HERE, {function, name}, [&](DriverState& driver) {
    const bool exists = driver.modules.libraries.Find(ToNumber(library)).has_value();
    return exists ? DriverCode::kInvalidValue : DriverCode::kInvalidHandle;
  });
}

// --- Atomic operations ---------------------------------------------------------------------------

// Over PCI Express a device has none that the host takes as such.
extern "C" CUresult cuDeviceGetHostAtomicCapabilities(unsigned int* capabilities,
                                                      const int* operations, unsigned int count,
                                                      CUdevice dev) {
  return Enter(TWINMMU_HERE, {capabilities, operations}, [&](DriverState& driver) {
    if (!Exists(driver, dev)) return DriverCode::kInvalidDevice;
    if (!AreOperations(operations, count)) return DriverCode::kInvalidValue;
    std::fill_n(capabilities, count, 0u);
    return DriverCode::kSuccess;
  });
}

// What two devices can do is not measured.
extern "C" CUresult cuDeviceGetP2PAtomicCapabilities(unsigned int* capabilities,
                                                     const int* operations, unsigned int count,
                                                     CUdevice from, CUdevice to) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {capabilities, operations}, [&](DriverState& driver) {
    if (count == 0) return DriverCode::kInvalidValue;
    if (!Exists(driver, from) || !Exists(driver, to) || from == to) {
      return DriverCode::kInvalidDevice;
    }
    if (!AreOperations(operations, count)) return DriverCode::kInvalidValue;
    return Misused(site, DiagnosticKind::kFunctionNotSimulated, DriverCode::kNotSupported);
  });
}

}  // namespace twinmmu::libcuda
