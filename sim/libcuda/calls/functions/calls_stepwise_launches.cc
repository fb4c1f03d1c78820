// Launches as CUDA 3 had them: the shape and the arguments are set call by call, and are those of
// every launch from then on.

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/launches.h"
#include "sim/libcuda/modules.h"

namespace twinmmu::libcuda {
namespace {

constexpr uint32_t kMostParameterBytes = 32764;

LaunchConfig ConfigOf(const StepwiseLaunch& launch, int width, int height) {
  return {{static_cast<uint32_t>(width), static_cast<uint32_t>(height), 1},
          {launch.block[0], launch.block[1], launch.block[2]},
          launch.dynamic_shared};
}

// Calls change(launch) with what is set of a function, which gives a code. The shape that it leaves
// must be one that the kernel can have.
template <typename Change>
CUresult Set(const CallSite& site, CUfunction function, const Change& change) {
  return EnterInContext(site, [&](DriverState& driver, Context& context) {
    if (IsOfOther(driver, context, function)) return ToResult(DriverCode::kInvalidHandle);
    const absl::StatusOr<Kernel> kernel = KernelOf(driver, context, function);
    if (!kernel.ok()) return ToResult(kernel.status());
    const auto known = driver.simulator->kernels().Find(site.name(), *kernel);
    if (!known.ok()) return ToResult(known.status());
    Records<StepwiseLaunch>& launches = driver.modules.stepwise_launches;
    StepwiseLaunch launch = launches.Find(ToNumber(function)).value_or(StepwiseLaunch());
    const DriverCode code = change(launch);
    if (code != DriverCode::kSuccess) return ToResult(code);
    const absl::Status possible =
        driver.simulator->kernels().CheckLaunch(*known, ConfigOf(launch, 1, 1));
    if (!possible.ok()) return ToResult(possible);
    launches.Add(ToNumber(function), Records<StepwiseLaunch>::Prepared(launch));
    return CUDA_SUCCESS;
  });
}

CUresult SetArgument(const CallSite& site, CUfunction function, int offset, const void* value,
                     unsigned int bytes) {
  return Set(site, function, [&](StepwiseLaunch& launch) {
    if (offset < 0 || bytes > kMostParameterBytes ||
        static_cast<unsigned int>(offset) > kMostParameterBytes - bytes) {
      return DriverCode::kInvalidValue;
    }
    if (value == nullptr) return NullPointer(site);
    const size_t begin = static_cast<size_t>(offset);
    launch.parameters.resize(std::max(launch.parameters.size(), begin + bytes));
    if (bytes != 0) std::memcpy(launch.parameters.data() + begin, value, bytes);
    return DriverCode::kSuccess;
  });
}

CUresult LaunchGrid(const CallSite& site, CUfunction function, int width, int height,
                    CUstream stream) {
  return EnterInContext(site, [&](DriverState& driver, Context& context) {
    if (function == nullptr || IsOfOther(driver, context, function)) {
      return ToResult(DriverCode::kInvalidHandle);
    }
    const auto record = driver.streams.streams.Find(ToNumber(OfCurrent(stream)));
    if (record.has_value() && record->green != CurrentGreen()) {
      return ToResult(DriverCode::kInvalidHandle);
    }
    StepwiseLaunch launch =
        driver.modules.stepwise_launches.Find(ToNumber(function)).value_or(StepwiseLaunch());
    if (width <= 0 || height <= 0) return ToResult(DriverCode::kInvalidValue);
    const LaunchConfig config = ConfigOf(launch, width, height);
    launch.parameters.resize(std::max<size_t>(launch.parameter_bytes, 1));
    size_t bytes = launch.parameter_bytes;
    void* extra[] = {ToPointer<void*>(1), launch.parameters.data(), ToPointer<void*>(2), &bytes,
                     nullptr};
    return LaunchIn(site, driver, context, function, config, stream, LaunchForm(), nullptr, extra);
  });
}

}  // namespace

extern "C" CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z) {
  return Set(TWINMMU_HERE, function, [&](StepwiseLaunch& launch) {
    launch.block[0] = static_cast<uint32_t>(x);
    launch.block[1] = static_cast<uint32_t>(y);
    launch.block[2] = static_cast<uint32_t>(z);
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuFuncSetSharedSize(CUfunction function, unsigned int bytes) {
  return Set(TWINMMU_HERE, function, [&](StepwiseLaunch& launch) {
    launch.dynamic_shared = bytes;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuParamSetSize(CUfunction function, unsigned int bytes) {
  return Set(TWINMMU_HERE, function, [&](StepwiseLaunch& launch) {
    if (bytes > kMostParameterBytes) return DriverCode::kInvalidValue;
    launch.parameter_bytes = bytes;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuParamSeti(CUfunction function, int offset, unsigned int value) {
  return SetArgument(TWINMMU_HERE, function, offset, &value, sizeof(value));
}

extern "C" CUresult cuParamSetf(CUfunction function, int offset, float value) {
  return SetArgument(TWINMMU_HERE, function, offset, &value, sizeof(value));
}

extern "C" CUresult cuParamSetv(CUfunction function, int offset, void* value, unsigned int bytes) {
  return SetArgument(TWINMMU_HERE, function, offset, value, bytes);
}

extern "C" CUresult cuLaunch(CUfunction function) {
  return LaunchGrid(TWINMMU_HERE, function, 1, 1, nullptr);
}

extern "C" CUresult cuLaunchGrid(CUfunction function, int width, int height) {
  return LaunchGrid(TWINMMU_HERE, function, width, height, nullptr);
}

extern "C" CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream) {
  return LaunchGrid(TWINMMU_HERE, function, width, height, stream);
}

}  // namespace twinmmu::libcuda
