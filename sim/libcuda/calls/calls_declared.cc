// Functions that take no part in memory: accepted where a driver accepts them, and without effect.
// INVALID_VALUE for wrong arguments is what the documentation has; what was measured says so.

#include <cstdint>

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

}  // namespace

// --- Profiler ------------------------------------------------------------------------------------

extern "C" CUresult cuProfilerStart() { return AcceptInContext(TWINMMU_HERE); }
extern "C" CUresult cuProfilerStop() { return AcceptInContext(TWINMMU_HERE); }

// No driver of today can: the tools that come with it replace it.
extern "C" CUresult cuProfilerInitialize(const char* /*configuration*/, const char* /*output*/,
                                         int /*mode*/) {
  return EnterAlways(TWINMMU_HERE, [] { return DriverCode::kNotSupported; });
}

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

}  // namespace twinmmu::libcuda
