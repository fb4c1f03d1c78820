// Legacy IPC. The driver gives handles of memory of cuMemAlloc, which the simulator cannot share,
// and of no other: mappings are shared by cuMemExportToShareableHandle.

#include <atomic>

#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

CUresult NoSuchHandle(const CallSite& site) {
  return EnterInContext(site, [](DriverState&, Context&) { return DriverCode::kInvalidValue; });
}

}  // namespace

extern "C" CUresult cuIpcGetMemHandle(void* handle, CUdeviceptr ptr) {
  const CallSite site = TWINMMU_HERE;
  // Before the driver looks for a context, and even before cuInit.
  if (ptr == 0) return EnterAlways(site, [] { return DriverCode::kInvalidValue; });
  return EnterInContext(site, {handle}, [&](DriverState& driver, Context&) {
    const auto memory = driver.simulator->linear().Find(DeviceAddress(ptr));
    const bool has_handle = memory.ok() && memory->kind == LinearKind::kDevice;
    if (!has_handle) return DriverCode::kInvalidValue;
    static std::atomic<bool> said{false};
    if (said.exchange(true)) return DriverCode::kNotSupported;
    return Misused(site, DiagnosticKind::kFunctionNotSimulated, DriverCode::kNotSupported);
  });
}

// Nothing here declares these two: their parameters stay where the caller put them. As no handle
// was ever given, none is known.
extern "C" CUresult cuIpcOpenMemHandle_v2() { return NoSuchHandle(TWINMMU_HERE); }
TWINMMU_ALIAS(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2);
extern "C" CUresult cuIpcCloseMemHandle() { return NoSuchHandle(TWINMMU_HERE); }

}  // namespace twinmmu::libcuda
