// Limits, cache configuration, priorities and peers of the current context. All but the sizes of
// the heap and of stacks are kept and answered, and change nothing: no kernel runs that they could
// matter to.

#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/device_attributes.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

// What a new context answers, by CUlimit; kUnsupported: the device has no such limit, kOfDevice: an
// attribute of it says. Source: an H100 and an H200 with driver 580.159, as for all here.
constexpr size_t kUnsupported = ~size_t{0};
constexpr size_t kOfDevice = ~size_t{0} - 1;
constexpr size_t kLimits[] = {
    Context::kUsualStack, 8650752, 8388608, kUnsupported, 2048, 64, kOfDevice, kOfDevice, 0,
    kUnsupported};

constexpr size_t kStackEnd = 512 << 10;
constexpr size_t kStackStep = 16;
constexpr size_t kSmallestBuffer = 512 << 10;
constexpr size_t kLargestBuffer = size_t{2} << 30;
constexpr size_t kBufferStep = 256;
constexpr size_t kSmallestHeap = 4 << 20;
constexpr size_t kHeapStep = 64 << 10;
constexpr size_t kFewestLaunches = 32;
constexpr size_t kMostLaunches = 599186;  // of an H200: it depends on the device
constexpr size_t kLargestFetch = 128;
// The persisting part of the L2 cache is set aside in tenths, of which a new context has three.
constexpr size_t kCacheParts = 10;
constexpr size_t kUsualCacheParts = 3;

constexpr int kMostPersistingCache = 108;  // CUdevice_attribute

// Up to a multiple; beyond the largest number to 0, as a driver does.
size_t Rounded(size_t value, size_t step) { return (value + step - 1) / step * step; }

size_t SizeOf(DriverState& driver, const Context& context, int attribute) {
  return static_cast<size_t>(std::max(AttributeOf(driver, context.device, attribute), 0));
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

std::vector<size_t>& LimitsOf(DriverState& driver, Context& context) {
  if (!context.limits.empty()) return context.limits;
  std::vector<size_t> limits(std::begin(kLimits), std::end(kLimits));
  limits[CU_LIMIT_PERSISTING_L2_CACHE_SIZE] =
      SizeOf(driver, context, kMostPersistingCache) / kCacheParts * kUsualCacheParts;
  limits[CU_LIMIT_SHMEM_SIZE] = SizeOf(driver, context, kAttributeSharedPerBlockOptin);
  context.limits = std::move(limits);
  return context.limits;
}

// Makes of it what will be answered; but of a heap. `now`: what it was set to before.
DriverCode CheckSet(DriverState& driver, const Context& context, CUlimit limit, size_t now,
                    size_t* value) {
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      if (*value >= kStackEnd) return DriverCode::kInvalidValue;
      // Where stacks stay as large as they are, what was asked for is answered.
      if (Rounded(*value, kStackStep) != Rounded(now, kStackStep)) {
        *value = Rounded(*value, kStackStep);
      }
      return DriverCode::kSuccess;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      *value = std::min(Rounded(std::max(*value, kSmallestBuffer), kBufferStep), kLargestBuffer);
      return DriverCode::kSuccess;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
      *value = std::clamp(*value, kFewestLaunches, kMostLaunches);
      return DriverCode::kSuccess;
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
      return *value > kLargestFetch ? DriverCode::kInvalidValue : DriverCode::kSuccess;
    case CU_LIMIT_PERSISTING_L2_CACHE_SIZE: {
      const size_t most = SizeOf(driver, context, kMostPersistingCache);
      if (*value > most) return DriverCode::kInvalidValue;
      if (most >= kCacheParts) *value = Rounded(*value, most / kCacheParts);
      return DriverCode::kSuccess;
    }
    case CU_LIMIT_SHMEM_SIZE:
    case CU_LIMIT_CIG_ENABLED:
      return DriverCode::kNotPermitted;
    default:
      return DriverCode::kSuccess;
  }
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
  return EnterInContext(TWINMMU_HERE, {value}, [&](DriverState& driver, Context& context) {
    const DriverCode known = CheckLimit(limit);
    if (known != DriverCode::kSuccess) return known;
    const std::lock_guard lock(context.mutex);
    *value = LimitsOf(driver, context)[static_cast<size_t>(limit)];
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return EnterInContext(TWINMMU_HERE, [&](DriverState& driver, Context& context) {
    const DriverCode known = CheckLimit(limit);
    if (known != DriverCode::kSuccess) return known;
    const std::lock_guard lock(context.mutex);
    size_t& known_value = LimitsOf(driver, context)[static_cast<size_t>(limit)];
    const DriverCode allowed = CheckSet(driver, context, limit, known_value, &value);
    if (allowed != DriverCode::kSuccess) return allowed;
    if (limit == CU_LIMIT_MALLOC_HEAP_SIZE) {
      if (context.uses_heap) return DriverCode::kInvalidValue;
      value = std::min(Rounded(std::max(value, kSmallestHeap), kHeapStep),
                       LargestHeapOf(driver, context.device));
      const absl::Status set =
          driver.simulator->kernels().SetHeapSize(context.device, Bytes(value));
      if (!set.ok()) return GetDriverCode(set);
    }
    if (limit == CU_LIMIT_STACK_SIZE) context.stack_bytes = Rounded(value, kStackStep);
    known_value = value;
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
    if (const Captured unsafe = RefuseUnsafeCall(driver)) return static_cast<DriverCode>(*unsafe);
    return GetDriverCode(
        driver.simulator->linear().DisablePeerAccess(ContextOf(context), of->device));
  });
}

}  // namespace twinmmu::libcuda
