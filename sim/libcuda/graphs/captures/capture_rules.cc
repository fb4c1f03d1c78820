#include "sim/libcuda/graphs/captures/capture_rules.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <thread>

#include "absl/strings/string_view.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/graphs/graphs.h"

namespace twinmmu::libcuda {
namespace {

// Calls that may do more than they say: free memory, wait for the device. Whatever their arguments;
// others ask RefuseUnsafeCall. Source: an H200 with driver 580.159, all functions with arguments of
// zero and with objects of theirs.
constexpr const char* kUnsafe[] = {
    "cuMemAlloc",
    "cuMemAllocManaged",
    "cuMemFree",
    "cuMemAllocHost",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemHostRegister",
    "cuMemHostUnregister",
    "cuArrayCreate",
    "cuArray3DCreate",
    "cuMipmappedArrayCreate",
    "cuArrayDestroy",
    "cuTexObjectCreate",
    "cuTexObjectDestroy",
    "cuSurfObjectCreate",
    "cuSurfObjectDestroy",
    "cuMemPoolCreate",
    "cuMemPoolDestroy",
    "cuMemPoolTrimTo",
    "cuMemPoolGetAttribute",
    "cuMemPoolSetAttribute",
    "cuMemPoolGetAccess",
    "cuMemPoolSetAccess",
    "cuMemPoolExportToShareableHandle",
    "cuMemPoolImportFromShareableHandle",
    "cuMemPoolExportPointer",
    "cuMemPoolImportPointer",
    "cuMemSetMemPool",
    "cuDeviceSetMemPool",
    "cuImportExternalMemory",
    "cuDestroyExternalMemory",
    "cuImportExternalSemaphore",
    "cuDestroyExternalSemaphore",
    "cuModuleUnload",
    "cuLaunch",
    "cuLaunchGrid",
    "cuLaunchGridAsync",
    "cuCtxSetLimit",
    "cuCtxSetCacheConfig",
    "cuCtxSetSharedMemConfig",
    "cuProfilerStart",
    "cuProfilerStop",
    "cuGraphInstantiate",
    "cuGraphInstantiateWithFlags",
    "cuGraphInstantiateWithParams",
    "cuGraphExecDestroy",
};

bool IsUnsafe(absl::string_view call) {
  return std::find(std::begin(kUnsafe), std::end(kUnsafe), call) != std::end(kUnsafe);
}

}  // namespace

CUstreamCaptureMode& CaptureModeOfThread() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

bool IsLegacy(CUstream stream) { return ToNumber(OfCurrent(stream)) <= kLegacyStream; }

bool IsBlocking(DriverState& driver, CUstream stream) {
  const uint64_t id = ToNumber(OfCurrent(stream));
  const std::optional<StreamRecord> record = driver.streams.streams.Find(id);
  return !record.has_value() || (record->flags & CU_STREAM_NON_BLOCKING) == 0;
}

const Context& MadeIn(DriverState& driver, const Context& context, CUstream stream) {
  const uint64_t id = ToNumber(OfCurrent(stream));
  const std::optional<StreamRecord> record = driver.streams.streams.Find(id);
  if (!record.has_value()) return context;
  return record->green != nullptr ? *record->green : *record->context;
}

StreamName NameOf(const Context& context, CUstream stream) {
  const uint64_t id = ToNumber(OfCurrent(stream));
  if (id != kPerThreadStream) return {id, nullptr, {}};
  return {kPerThreadStream, &context, std::this_thread::get_id()};
}

DriverCode AdmitCaptured(const CallSite& site, DriverState& driver) {
  if (!IsUnsafe(site.name())) return DriverCode::kSuccess;
  const std::lock_guard lock(driver.graphs->mutex);
  return static_cast<DriverCode>(RefuseUnsafe(driver).value_or(CUDA_SUCCESS));
}

bool HasBlocking(DriverState& driver, const Context& context) {
  return driver.captures.Any([&](const CapturedStream& captured) {
    return captured.context == &context && captured.blocking;
  });
}

Captured RefuseLegacy(DriverState& driver, const Context& context, CUstream stream) {
  if (!IsLegacy(stream)) return std::nullopt;
  const bool any = driver.captures.Invalidate([&](const CapturedStream& captured) {
    return captured.context == &context && captured.blocking;
  });
  if (any) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  return std::nullopt;
}

Captured RefuseUnsafe(DriverState& driver) {
  const CUstreamCaptureMode mode = CaptureModeOfThread();
  if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) return std::nullopt;
  const bool any = driver.captures.Invalidate([&](const CapturedStream& captured) {
    const Capture& capture = *captured.capture;
    if (capture.mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
    const bool own = capture.thread == std::this_thread::get_id();
    const bool global =
        mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    return own || global;
  });
  if (any) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return std::nullopt;
}

}  // namespace twinmmu::libcuda
