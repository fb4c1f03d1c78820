// Events by legacy IPC: one process records what another one waits for.
// Source of the codes: an H100 with driver 580.159.

#include <cstring>
#include <memory>
#include <optional>

#include "sim/host/shared_event.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/device_attributes.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

constexpr CUresult kMapFailed = 205;  // CUDA_ERROR_MAP_FAILED

CUresult WhyNotOpened(const absl::Status& status) {
  if (absl::IsResourceExhausted(status)) return ToResult(DriverCode::kOutOfMemory);
  if (absl::IsFailedPrecondition(status)) return ToResult(DriverCode::kInvalidContext);
  return kMapFailed;
}

}  // namespace

extern "C" CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event) {
  const CallSite site = TWINMMU_HERE;
  // Even before cuInit.
  if (event == nullptr) return EnterAlways(site, [] { return DriverCode::kInvalidValue; });
  return EnterInContext(
      site, NamedObject::NullFirst({}), {handle}, [&](DriverState& driver, Context& context) {
        if (!HasIpc(driver, context)) return DriverCode::kNotSupported;
        const std::optional<EventRecord> record = FindEvent(site, driver, event);
        const bool has_handle =
            record.has_value() && record->shared != nullptr && record->shared->IsMadeHere();
        std::memset(handle->reserved, 0, sizeof(handle->reserved));  // as a driver does
        if (!has_handle) return DriverCode::kInvalidHandle;
        std::memcpy(handle->reserved, record->shared->name().data(), sizeof(handle->reserved));
        return DriverCode::kSuccess;
      });
}

extern "C" CUresult cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle handle) {
  const NamedObject none = NamedObject::NullFirst({});
  return EnterInContext(TWINMMU_HERE, none, {event}, [&](DriverState& driver, Context& context) {
    if (!HasIpc(driver, context)) return ToResult(DriverCode::kNotSupported);
    SharedEventName name;
    std::memcpy(name.data(), handle.reserved, sizeof(handle.reserved));
    absl::StatusOr<std::shared_ptr<SharedEvent>> shared = SharedEvent::Open(name);
    if (!shared.ok()) return WhyNotOpened(shared.status());
    Records<EventRecord>::Prepared record(
        EventRecord{&context, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS, std::nullopt,
                    *std::move(shared)});
    const absl::StatusOr<Event> made = driver.executor.CreateEvent(context.device);
    if (!made.ok()) return ToResult(made.status());
    driver.streams.events.Add(made->value(), std::move(record));
    driver.report.AddObject(ObjectKind::kEvent, made->value(), Bytes(0), context.device.value());
    *event = ToPointer<CUevent>(made->value());
    return CUDA_SUCCESS;
  });
}

}  // namespace twinmmu::libcuda
