// Memory by legacy IPC: that of cuMemAlloc, and no other. Mappings are shared by
// cuMemExportToShareableHandle.
// Source of the codes, and of what is looked at in the flags: an H100 and an H200 with driver
// 580.159.

#include <cstring>

#include "sim/calls/linear/linear_calls.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/device_attributes.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

constexpr unsigned int kLazyPeerAccess = 1;  // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS

}  // namespace

extern "C" CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr ptr) {
  const CallSite site = TWINMMU_HERE;
  // Before the driver looks for a context, and even before cuInit.
  if (ptr == 0) return EnterAlways(site, [] { return DriverCode::kInvalidValue; });
  return EnterInContext(
      site, NamedObject::NullFirst({}), {handle}, [&](DriverState& driver, Context& context) {
        if (!HasIpc(driver, context)) return ToResult(DriverCode::kNotSupported);
        const absl::StatusOr<FileName> name = driver.simulator->linear().Share(DeviceAddress(ptr));
        if (name.ok()) std::memcpy(handle->reserved, name->data(), sizeof(handle->reserved));
        return ToResult(name.status());
      });
}

extern "C" CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* ptr, CUipcMemHandle handle,
                                          unsigned int flags) {
  const CallSite site = TWINMMU_HERE;
  if ((flags & kLazyPeerAccess) == 0) return RefuseAnywhere(site, DriverCode::kInvalidValue);
  return EnterInContext(site, NamedObject::NullFirst({}), {ptr},
                        [&](DriverState& driver, Context& context) {
                          if (!HasIpc(driver, context)) return ToResult(DriverCode::kNotSupported);
                          FileName name;
                          std::memcpy(name.data(), handle.reserved, sizeof(handle.reserved));
                          const absl::StatusOr<LinearCalls::Opened> opened =
                              driver.simulator->linear().OpenShared(ContextOf(context), name);
                          if (!opened.ok()) return ToResult(opened.status());
                          const uint64_t address = opened->range.base.value();
                          if (opened->is_new) {
                            driver.report.AddObject(ObjectKind::kMemory, address,
                                                    opened->range.size, opened->device.value());
                          }
                          *ptr = address;
                          return CUDA_SUCCESS;
                        });
}
TWINMMU_ALIAS(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2);

extern "C" CUresult cuIpcCloseMemHandle(CUdeviceptr ptr) {
  return EnterInContext(TWINMMU_HERE, [&](DriverState& driver, Context&) {
    const absl::StatusOr<bool> gone = driver.simulator->linear().CloseShared(DeviceAddress(ptr));
    if (gone.ok() && *gone) driver.report.RemoveObject(ObjectKind::kMemory, ptr);
    return ToResult(gone.status());
  });
}

}  // namespace twinmmu::libcuda
