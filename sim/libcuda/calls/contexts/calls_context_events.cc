// Events of a whole context: of all its streams at once; and what else a context is asked.

#include <optional>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/contexts/green_contexts.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/device_attributes.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/sharing/shared_events.h"

namespace twinmmu::libcuda {
namespace {

// CUexecAffinityParam, of the one type that there is: a number of multiprocessors.
struct ExecAffinity {
  int type;
  unsigned int multiprocessors;
};
constexpr int kMultiprocessorCount = 0;

std::vector<Stream> StreamsOf(DriverState& driver, const Context& context) {
  std::vector<Stream> streams;
  const bool is_green = context.whole != nullptr;
  if (!is_green) streams.emplace_back(context.device, kLegacyStream);
  driver.streams.streams.ForEach([&](uint64_t id, const StreamRecord& record) {
    const Context* const made_in = is_green ? record.green : record.context;
    if (made_in == &context) streams.emplace_back(context.device, id);
  });
  return streams;
}

// Records `event` behind all that the streams have to do, by way of a stream that waits for them.
absl::Status RecordBehind(const CallSite& site, DriverState& driver,
                          const std::vector<Stream>& streams, Event event) {
  Executor& executor = driver.executor;
  const absl::StatusOr<Stream> joined = executor.CreateStream(event.device());
  if (!joined.ok()) return joined.status();
  const auto destroy = absl::MakeCleanup([&] { executor.DestroyStream(*joined).IgnoreError(); });
  for (const Stream stream : streams) {
    const absl::StatusOr<Event> reached = executor.CreateEvent(event.device());
    if (!reached.ok()) return reached.status();
    absl::Status ordered = executor.RecordEvent(*reached, stream);
    if (ordered.ok()) ordered = executor.WaitEvent(*joined, *reached);
    executor.DestroyEvent(*reached).IgnoreError();
    if (!ordered.ok()) return ordered;
  }
  return RecordEvent(driver, site.name(), event, *joined);
}

Context& Whole(Context& context) { return context.whole != nullptr ? *context.whole : context; }

// When it counts that the event is null.
enum class NullEvent { kAtOnce, kAfterCaptures };

// Calls body(driver, context, event, its record): of a context that need not be the current one,
// while none of its streams is captured.
template <typename Body>
CUresult EnterEvent(const CallSite& site, CUcontext handle, CUevent event, NullEvent null,
                    const Body& body) {
  return Enter(site, [&](DriverState& driver) {
    Context* context = nullptr;
    if (handle == nullptr) return ToResult(DriverCode::kInvalidContext);
    const DriverCode alive = FindAlive(site, driver, handle, &context);
    if (alive != DriverCode::kSuccess) return ToResult(alive);
    const CUresult fault = FaultOf(site, driver);
    if (fault != CUDA_SUCCESS) return fault;
    const std::optional<EventRecord> record = FindEvent(site, driver, event);
    const bool waits = event == nullptr && null == NullEvent::kAfterCaptures;
    if (!record.has_value() && !waits) return ToResult(DriverCode::kInvalidHandle);
    const Captured refused = RefuseWaitFor(driver, *context);
    if (refused.has_value()) return *refused;
    if (!record.has_value()) return ToResult(DriverCode::kInvalidHandle);
    return ToResult(
        body(driver, *context, Event(record->context->device, ToNumber(event)), *record));
  });
}

}  // namespace

CUresult Synchronize(DriverState& driver, const Context& context) {
  const Captured refused = RefuseWaitFor(driver, context);
  if (refused.has_value()) return *refused;
  if (context.whole == nullptr) {
    return ToResult(driver.executor.SynchronizeDevice(context.device));
  }
  absl::Status done;
  for (const Stream stream : StreamsOf(driver, context)) {
    if (done.ok()) done = driver.executor.SynchronizeStream(stream);
  }
  return ToResult(done);
}

// --- Events --------------------------------------------------------------------------------------

CUresult RecordOfContext(const CallSite& site, CUcontext handle, CUevent event) {
  return EnterEvent(
      site, handle, event, NullEvent::kAtOnce,
      [&](DriverState& driver, Context& context, Event named, const EventRecord& record) {
        if (record.context != &Whole(context)) {
          return ToResult(DriverCode::kInvalidHandle);
        }
        const absl::Status recorded = RecordBehind(site, driver, StreamsOf(driver, context), named);
        if (!recorded.ok()) return ToResult(recorded);
        ForgetCaptured(driver, event);
        return CUDA_SUCCESS;
      });
}

// A driver makes the streams wait too that are made later; here they do not.
CUresult WaitOfContext(const CallSite& site, CUcontext handle, CUevent event) {
  return EnterEvent(site, handle, event, NullEvent::kAfterCaptures,
                    [&](DriverState& driver, Context& context, Event named, const EventRecord&) {
                      for (const Stream stream : StreamsOf(driver, context)) {
                        const absl::Status waits = WaitForEvent(driver, site.name(), stream, named);
                        if (!waits.ok()) return ToResult(waits);
                      }
                      return CUDA_SUCCESS;
                    });
}

extern "C" CUresult cuCtxRecordEvent(CUcontext handle, CUevent event) {
  return RecordOfContext(TWINMMU_HERE, handle, event);
}

extern "C" CUresult cuCtxWaitEvent(CUcontext handle, CUevent event) {
  return WaitOfContext(TWINMMU_HERE, handle, event);
}

// --- Affinity ------------------------------------------------------------------------------------

// There is none without a server of MPS: a context has all multiprocessors. What a driver with one
// says is not measured.
extern "C" CUresult cuDeviceGetExecAffinitySupport(int* supported, int /*type*/, CUdevice dev) {
  return Enter(TWINMMU_HERE, {supported}, [&](DriverState& driver) {
    if (dev < 0 || dev >= driver.simulator->profile().device_count()) {
      return DriverCode::kInvalidDevice;
    }
    *supported = 0;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuCtxGetExecAffinity(ExecAffinity* affinity, int type) {
  const CallSite site = TWINMMU_HERE;
  return EnterInContext(site, [&](DriverState& driver, Context& context) {
    if (CurrentGreen() != nullptr) return DriverCode::kInvalidContext;
    if (affinity == nullptr) return NullPointer(site);
    if (type != kMultiprocessorCount) return kUnsupportedExecAffinity;
    const int multiprocessors = AttributeOf(driver, context.device, kAttributeMultiprocessors);
    *affinity = {type, static_cast<unsigned int>(multiprocessors)};
    return DriverCode::kSuccess;
  });
}

}  // namespace twinmmu::libcuda
