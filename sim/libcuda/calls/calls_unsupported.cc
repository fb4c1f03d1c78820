// What the simulator cannot do: exported, so that programs load, and NOT_SUPPORTED.

#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

CUresult Unsupported(const CallSite& site) {
  return EnterInContext(site, [](DriverState&, Context&) { return DriverCode::kNotSupported; });
}

}  // namespace

// Nothing here declares them: their parameters stay where the caller put them.
#define TWINMMU_UNSUPPORTED(symbol) \
  extern "C" CUresult symbol() { return Unsupported(TWINMMU_HERE); }

TWINMMU_UNSUPPORTED(cuMemAllocManaged)
TWINMMU_UNSUPPORTED(cuMemAllocAsync)
TWINMMU_ALIAS(cuMemAllocAsync_ptsz, cuMemAllocAsync);
TWINMMU_UNSUPPORTED(cuMemFreeAsync)
TWINMMU_ALIAS(cuMemFreeAsync_ptsz, cuMemFreeAsync);

}  // namespace twinmmu::libcuda
