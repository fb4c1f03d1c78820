// What a program asks about functions that are loaded, and what devices can do for each other.

#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/functions/found_kernel.h"
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

// None, neither with the host over PCI Express nor with a peer over NVLink: measured on two H100s,
// which clear what stands for an unknown operation, too.
DriverCode GiveAtomicCapabilities(const int* operations, unsigned int count,
                                  unsigned int* capabilities) {
  if (count == 0) return DriverCode::kInvalidValue;
  for (unsigned int i = 0; i < count; ++i) {
    capabilities[i] = 0;
    if (operations[i] < 0 || operations[i] >= kAtomicOperations) return DriverCode::kInvalidValue;
  }
  return DriverCode::kSuccess;
}

}  // namespace

// --- Loading -------------------------------------------------------------------------------------

// All of a module is loaded with it.
extern "C" CUresult cuFuncIsLoaded(int* state, CUfunction function) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {state}, [&](DriverState& driver) {
    const CUresult fault = FaultOfKernel(site, driver, function, Handle::kFunction);
    if (fault != cuda_abi::CUDA_SUCCESS) return fault;
    if (!IsFunction(site, driver, function)) return ToResult(DriverCode::kInvalidHandle);
    *state = kLoaded;
    return cuda_abi::CUDA_SUCCESS;
  });
}

extern "C" CUresult cuFuncLoad(CUfunction function) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](DriverState& driver) {
    const CUresult fault = FaultOfKernel(site, driver, function, Handle::kFunction);
    if (fault != cuda_abi::CUDA_SUCCESS) return fault;
    const bool is_one = IsFunction(site, driver, function);
    return ToResult(is_one ? DriverCode::kSuccess : DriverCode::kInvalidHandle);
  });
}

// A function that the CPU and all devices call by one address: no device here has unified function
// pointers, and an H100 has none.
extern "C" CUresult cuLibraryGetUnifiedFunction(void** function, CUlibrary library,
                                                const char* /*name*/) {
  return Enter(TWINMMU_HERE, {function}, [&](DriverState& driver) {
    const bool exists = driver.modules.libraries.Find(ToNumber(library)).has_value();
    return exists ? DriverCode::kInvalidValue : DriverCode::kInvalidHandle;
  });
}

// --- Atomic operations ---------------------------------------------------------------------------

extern "C" CUresult cuDeviceGetHostAtomicCapabilities(unsigned int* capabilities,
                                                      const int* operations, unsigned int count,
                                                      CUdevice dev) {
  return Enter(TWINMMU_HERE, {capabilities, operations}, [&](DriverState& driver) {
    if (count == 0) return DriverCode::kInvalidValue;
    if (!driver.simulator->profile().HasDevice(dev)) return DriverCode::kInvalidDevice;
    return GiveAtomicCapabilities(operations, count, capabilities);
  });
}

extern "C" CUresult cuDeviceGetP2PAtomicCapabilities(unsigned int* capabilities,
                                                     const int* operations, unsigned int count,
                                                     CUdevice from, CUdevice to) {
  return Enter(TWINMMU_HERE, {capabilities, operations}, [&](DriverState& driver) {
    if (count == 0) return DriverCode::kInvalidValue;
    if (!driver.simulator->profile().HasDevice(from) ||
        !driver.simulator->profile().HasDevice(to) || from == to) {
      return DriverCode::kInvalidDevice;
    }
    return GiveAtomicCapabilities(operations, count, capabilities);
  });
}

}  // namespace twinmmu::libcuda
