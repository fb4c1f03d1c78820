// Limits, cache configuration, priorities and peers of the current context. All but the size of the
// heap are kept and answered, and change nothing: no kernel runs that they could matter to.

#include <algorithm>
#include <iterator>

#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

// What a new context answers, by CUlimit; kUnsupported: the device has no such limit. Source: an
// H200 with driver 580.159.
constexpr size_t kUnsupported = ~size_t{0};
constexpr size_t kLimits[] = {1024, 8650752, 8388608, kUnsupported, 2048, 64,
                              0,    0,       0,       kUnsupported};

constexpr size_t kMaxStackSize = 512 << 10;
constexpr size_t kSmallestHeap = 4 << 20;
constexpr size_t kHeapStep = 64 << 10;

// As an H200 rounds it, up, beyond the largest number to 0.
size_t HeapOf(size_t value) {
  const size_t rest = std::max(value, kSmallestHeap) % kHeapStep;
  return std::max(value, kSmallestHeap) + (rest == 0 ? 0 : kHeapStep - rest);
}

// An H100 of 79 GiB gave 16.5 GiB where more was asked for.
size_t LargestHeapOf(const DriverState& driver, DeviceOrdinal device) {
  const Bytes memory =
      driver.simulator->profile().devices[static_cast<size_t>(device.value())].memory;
  return memory.value() / kHeapStep * kHeapStep / 5;
}

DriverCode CheckLimit(CUlimit limit) {
  if (limit < 0 || limit >= static_cast<CUlimit>(std::size(kLimits))) {
    return DriverCode::kInvalidValue;
  }
  return kLimits[limit] == kUnsupported ? DriverCode::kUnsupportedLimit : DriverCode::kSuccess;
}

std::vector<size_t>& LimitsOf(Context& context) {
  if (context.limits.empty()) context.limits.assign(std::begin(kLimits), std::end(kLimits));
  return context.limits;
}

DriverCode FindPeer(const CallSite& site, DriverState& driver, CUcontext peer, Context** context) {
  if (peer == nullptr) {
    return Misused(site, DiagnosticKind::kNullPointer, DriverCode::kInvalidContext);
  }
  const DriverCode known = FindAlive(site, driver, peer, context);
  const bool dead = known != DriverCode::kSuccess && *context != nullptr;
  return dead ? DriverCode::kContextIsDestroyed : known;
}

}  // namespace

extern "C" CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return EnterInContext(TWINMMU_HERE, {value}, [&](DriverState&, Context& context) {
    const DriverCode known = CheckLimit(limit);
    if (known != DriverCode::kSuccess) return known;
    const std::lock_guard lock(context.mutex);
    *value = LimitsOf(context)[static_cast<size_t>(limit)];
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return EnterInContext(TWINMMU_HERE, [&](DriverState& driver, Context& context) {
    const DriverCode known = CheckLimit(limit);
    if (known != DriverCode::kSuccess) return known;
    if (limit == CU_LIMIT_STACK_SIZE && value > kMaxStackSize) return DriverCode::kInvalidValue;
    const std::lock_guard lock(context.mutex);
    if (limit == CU_LIMIT_MALLOC_HEAP_SIZE) {
      if (context.uses_heap) return DriverCode::kInvalidValue;
      value = std::min(HeapOf(value), LargestHeapOf(driver, context.device));
      const absl::Status set =
          driver.simulator->kernels().SetHeapSize(context.device, Bytes(value));
      if (!set.ok()) return GetDriverCode(set);
    }
    LimitsOf(context)[static_cast<size_t>(limit)] = value;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return EnterInContext(TWINMMU_HERE, {config}, [&](DriverState&, Context& context) {
    *config = context.cache_config;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  return EnterInContext(TWINMMU_HERE, [&](DriverState&, Context& context) {
    if (config < 0 || config > CU_FUNC_CACHE_PREFER_EQUAL) return DriverCode::kInvalidValue;
    context.cache_config = config;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return EnterInContext(TWINMMU_HERE, [&](DriverState&, Context&) {
    if (least != nullptr) *least = kLeastPriority;
    if (greatest != nullptr) *greatest = kGreatestPriority;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  const CallSite site = TWINMMU_HERE;
  return EnterInContext(site, [&](DriverState& driver, Context& context) {
    Context* of = nullptr;
    const DriverCode known = FindPeer(site, driver, peer, &of);
    if (known != DriverCode::kSuccess) return known;
    if (flags != 0) return DriverCode::kInvalidValue;
    return GetDriverCode(
        driver.simulator->linear().EnablePeerAccess(ContextOf(context), of->device));
  });
}

extern "C" CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  const CallSite site = TWINMMU_HERE;
  return EnterInContext(site, [&](DriverState& driver, Context& context) {
    Context* of = nullptr;
    const DriverCode known = FindPeer(site, driver, peer, &of);
    if (known != DriverCode::kSuccess) return known;
    return GetDriverCode(
        driver.simulator->linear().DisablePeerAccess(ContextOf(context), of->device));
  });
}

}  // namespace twinmmu::libcuda
