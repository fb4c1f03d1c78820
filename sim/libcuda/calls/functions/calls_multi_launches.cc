// A cooperative launch on several devices at once. Of one device it is a cooperative launch; more
// devices are not simulated, as kernels here synchronise within one.

#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/launches.h"
#include "sim/libcuda/modules.h"

namespace twinmmu::libcuda {
namespace {

constexpr unsigned int kKnownFlags = 3;  // that launches do not wait for the other devices' work

CUresult LaunchOne(const CallSite& site, DriverState& driver, Context& context,
                   const CUDA_LAUNCH_PARAMS& launch) {
  const Captured refused = RefuseCaptured(driver, context, launch.hStream);
  if (refused.has_value()) return *refused;
  const LaunchConfig config{{launch.gridDimX, launch.gridDimY, launch.gridDimZ},
                            {launch.blockDimX, launch.blockDimY, launch.blockDimZ},
                            launch.sharedMemBytes};
  return LaunchIn(site, driver, context, launch.function, config, launch.hStream,
                  LaunchForm{true, {}}, launch.kernelParams, nullptr);
}

CUresult RefuseSeveral(const CallSite& site, DriverState& driver, Context& context,
                       const CUDA_LAUNCH_PARAMS* list) {
  const absl::StatusOr<Kernel> first = KernelOf(driver, context, list[0].function);
  const absl::StatusOr<Kernel> second = KernelOf(driver, context, list[1].function);
  const bool same = first.ok() && second.ok() && first->device() == second->device();
  if (same) return ToResult(DriverCode::kInvalidDevice);
  return ToResult(NotSimulated(site, "launches on several devices"));
}

}  // namespace

extern "C" CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* list,
                                                         unsigned int count, unsigned int flags) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {list}, [&](DriverState& driver) {
    const auto devices = static_cast<unsigned int>(driver.simulator->profile().device_count());
    if (count == 0 || count > devices || (flags & ~kKnownFlags) != 0) {
      return ToResult(DriverCode::kInvalidValue);
    }
    const bool on_default = ToNumber(list[0].hStream) <= kLastDefaultStream;
    if (count == 1 && on_default) return ToResult(DriverCode::kInvalidHandle);
    return InCurrentContext(site, driver, [&](Context& context) {
      return count == 1 ? LaunchOne(site, driver, context, list[0])
                        : RefuseSeveral(site, driver, context, list);
    });
  });
}

}  // namespace twinmmu::libcuda
