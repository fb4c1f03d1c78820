// Streams and events.

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "sim/calls/executor/host_functions.h"
#include "sim/host/shared_event.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/contexts/green_contexts.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/of_thread.h"
#include "sim/libcuda/sharing/shared_events.h"

namespace twinmmu::libcuda {
namespace {

// What a call leaves that fails after a fault: a handle, as an H200 does, but of no stream.
constexpr uint64_t kDeadStream = uint64_t{1} << 60;

CUresult CreateStream(const CallSite& site, CUstream* stream, unsigned int flags, int priority) {
  const NamedObject none = NamedObject::NullFirst({});
  return EnterInAnyContext(site, none, {stream}, [&](DriverState& driver, Context& context) {
    const CUresult fault = FaultOf(site, driver);
    const bool is_valid = (flags & ~cuda_abi::CU_STREAM_NON_BLOCKING) == 0;
    if (is_valid && fault != CUDA_SUCCESS) {
      *stream = ToPointer<CUstream>(kDeadStream);
      return fault;
    }
    return MakeStream(driver, context, CurrentGreen(), flags, priority, stream);
  });
}

// What is kept of a stream; of a default stream what holds for that.
DriverCode FindStream(DriverState& driver, Context& context, CUstream stream,
                      StreamRecord* record) {
  if (ToNumber(OfCurrent(stream)) <= kLegacyStream) {
    const std::optional<StreamRecord> set =
        driver.streams.legacy_streams.Find(ToNumber(context.handle()));
    *record = StreamRecord{&context, 0, set.has_value() ? set->priority : kLeastPriority,
                           kLegacyStreamId};
    return DriverCode::kSuccess;
  }
  const Stream named = StreamOf(driver, context, stream);
  const std::optional<StreamRecord> found = driver.streams.streams.Find(named.value());
  if (!found.has_value()) return DriverCode::kInvalidHandle;
  *record = *found;
  return DriverCode::kSuccess;
}

// Calls answer(record) for a stream, unless refuse(driver, context, stream) has an answer.
template <typename Refuse, typename Answer>
CUresult AskStream(const CallSite& site, CUstream stream, const void* result, const Refuse& refuse,
                   const Answer& answer) {
  const NamedObject named = NamedObject::NullFirst(stream);
  return EnterInContext(site, named, {result}, [&](DriverState& driver, Context& context) {
    StreamRecord record;
    const DriverCode known = FindStream(driver, context, stream, &record);
    if (known != DriverCode::kSuccess) return ToResult(known);
    const Captured refused = refuse(driver, *record.context, stream);
    if (refused.has_value()) return *refused;
    answer(record);
    return CUDA_SUCCESS;
  });
}

// Two questions are not for streams that capture; an H200 spoils the capture.
Captured RefuseWhileCapturing(DriverState& driver, const Context& context, CUstream stream) {
  return RefuseCaptured(driver, context, stream);
}

Event EventOf(DriverState& driver, const Context& context, CUevent event) {
  const std::optional<EventRecord> record = driver.streams.events.Find(ToNumber(event));
  return Event(record.has_value() ? record->context->device : context.device, ToNumber(event));
}

CUresult NotReady(const absl::StatusOr<bool>& done) {
  if (!done.ok()) return ToResult(done.status());
  return *done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

DriverCode CheckEventFlags(unsigned int flags) {
  constexpr unsigned int kKnown =
      CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  const bool timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  const bool shared = (flags & CU_EVENT_INTERPROCESS) != 0;
  return (flags & ~kKnown) != 0 || (shared && timed) ? DriverCode::kInvalidValue
                                                     : DriverCode::kSuccess;
}

// As for work: an event of the default stream is reached after the work of the others, too, and
// who waits for it waits for them.
Stream OrderedStreamOf(DriverState& driver, const Context& context, CUstream stream) {
  const Stream named = StreamOf(driver, context, stream);
  if (!driver.simulator->IsBypassingStreams()) KeepDefaultOrder(driver, context, named);
  return named;
}

// Whether a stream is done: the default stream of a context is when the others are, too. To ask
// orders nothing. Source: an H200 with driver 580.159, as for what waits here for that stream.
absl::StatusOr<bool> IsDone(DriverState& driver, const Context& context, CUstream stream) {
  absl::StatusOr<bool> done = driver.executor.QueryStream(StreamOf(driver, context, stream));
  if (ToNumber(OfCurrent(stream)) > kLegacyStream) return done;
  for (const uint64_t id : BlockingStreamsOf(driver, context)) {
    if (!done.ok() || !*done) break;
    done = driver.executor.QueryStream(Stream(context.device, id));
  }
  return done;
}

// How long a function that a stream called may wait for what may wait for it.
constexpr std::chrono::milliseconds kMostOfHostFunctions(1000);

// The same as a wait, in such a function, which would hang: asks is_done() for a while.
template <typename IsDone>
CUresult WaitInHostFunction(const CallSite& site, const IsDone& is_done) {
  const auto end = std::chrono::steady_clock::now() + kMostOfHostFunctions;
  while (std::chrono::steady_clock::now() < end) {
    const absl::StatusOr<bool> done = is_done();
    if (!done.ok() || *done) return ToResult(done.status());
    std::this_thread::yield();
  }
  return ToResult(Misused(site, DiagnosticKind::kCallInHostFunction, DriverCode::kNotPermitted,
                          "what it waits for may wait for the function, which hangs a driver"));
}

CUresult RecordOn(const CallSite& site, CUevent event, CUstream stream) {
  return EnterOnStream(site, stream, [&](DriverState& driver, Context& context) {
    const Captured captured = IsShared(driver, event)
                                  ? RefuseCaptured(driver, context, stream, /*invalidates=*/false)
                                  : CaptureRecord(site, driver, context, event, stream, false);
    if (captured.has_value()) return *captured;
    StreamRecord to;
    if (FindStream(driver, context, stream, &to) == DriverCode::kSuccess) {
      const std::optional<EventRecord> record = driver.streams.events.Find(ToNumber(event));
      if (record.has_value() && record->context != to.context) {
        return ToResult(DriverCode::kInvalidHandle);
      }
    }
    return ToResult(RecordEvent(driver, site.name(), EventOf(driver, context, event),
                                OrderedStreamOf(driver, context, stream)));
  });
}

}  // namespace

CUresult MakeStream(DriverState& driver, Context& context, Context* green, unsigned int flags,
                    int priority, CUstream* stream) {
  if ((flags & ~CU_STREAM_NON_BLOCKING) != 0) return ToResult(DriverCode::kInvalidValue);
  Records<StreamRecord>::Prepared record(StreamRecord{&context, flags});
  record->priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
  record->green = green;
  const absl::StatusOr<Stream> made = driver.executor.CreateStream(context.device);
  if (!made.ok()) return ToResult(made.status());
  record->id = driver.streams.NextId();
  driver.streams.streams.Add(made->value(), std::move(record));
  driver.report.AddObject(ObjectKind::kStream, made->value(), Bytes(0), context.device.value());
  *stream = ToPointer<CUstream>(made->value());
  return CUDA_SUCCESS;
}

// --- Streams -------------------------------------------------------------------------------------

extern "C" CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  return CreateStream(TWINMMU_HERE, stream, flags, kLeastPriority);
}

extern "C" CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  return CreateStream(TWINMMU_HERE, stream, flags, priority);
}

extern "C" CUresult cuStreamDestroy_v2(CUstream stream) {
  const CallSite site = TWINMMU_HERE;
  const NamedObject named = NamedObject::OfCreated(stream);
  return EnterInAnyContext(site, named, {}, [&](DriverState& driver, Context& context) {
    const CUresult fault = FaultOn(site, driver, stream);
    if (fault != CUDA_SUCCESS) {
      return stream != nullptr ? fault : ToResult(DriverCode::kInvalidHandle);
    }
    const bool is_default = ToNumber(stream) <= kLastDefaultStream;  // which nobody can destroy
    const absl::Status destroyed = driver.executor.DestroyStream(
        is_default ? Stream(context.device, ToNumber(stream)) : StreamOf(driver, context, stream));
    if (destroyed.ok()) {
      ForgetCaptured(driver, stream);
      driver.streams.streams.Remove(ToNumber(stream));
      driver.report.RemoveObject(ObjectKind::kStream, ToNumber(stream));
    }
    return ToResult(destroyed);
  });
}
TWINMMU_ALIAS(cuStreamDestroy, cuStreamDestroy_v2);

extern "C" CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return AskStream(TWINMMU_HERE, stream, priority, RefuseQuestion,
                   [&](const StreamRecord& record) { *priority = record.priority; });
}
TWINMMU_OF_THREAD(cuStreamGetPriority_ptsz, cuStreamGetPriority, (CUstream stream, int* priority),
                  OfThread(stream), priority)

extern "C" CUresult cuStreamGetFlags(CUstream stream, unsigned int* flags) {
  return AskStream(TWINMMU_HERE, stream, flags, RefuseWhileCapturing,
                   [&](const StreamRecord& record) { *flags = record.flags; });
}
TWINMMU_OF_THREAD(cuStreamGetFlags_ptsz, cuStreamGetFlags, (CUstream stream, unsigned int* flags),
                  OfThread(stream), flags)

extern "C" CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  return AskStream(TWINMMU_HERE, stream, id, RefuseWhileCapturing,
                   [&](const StreamRecord& record) { *id = record.id; });
}
TWINMMU_OF_THREAD(cuStreamGetId_ptsz, cuStreamGetId, (CUstream stream, unsigned long long* id),
                  OfThread(stream), id)

extern "C" CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return AskStream(TWINMMU_HERE, stream, context, RefuseQuestion, [&](const StreamRecord& record) {
    Context* const green = record.green;
    *context = green != nullptr ? green->handle() : record.context->handle();
  });
}
TWINMMU_OF_THREAD(cuStreamGetCtx_ptsz, cuStreamGetCtx, (CUstream stream, CUcontext* context),
                  OfThread(stream), context)

extern "C" CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext* context, void** green) {
  const void* const wanted = context != nullptr ? static_cast<const void*>(context) : green;
  return AskStream(TWINMMU_HERE, stream, wanted, RefuseQuestion, [&](const StreamRecord& record) {
    if (context != nullptr) *context = record.context->handle();
    if (green != nullptr) *green = record.green;
  });
}
TWINMMU_OF_THREAD(cuStreamGetCtx_v2_ptsz, cuStreamGetCtx_v2,
                  (CUstream stream, CUcontext* context, void** green), OfThread(stream), context,
                  green)

extern "C" CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  const CallSite site = TWINMMU_HERE;
  return EnterOnStream(site, stream, [&](DriverState& driver, Context& context) {
    const bool external = flags == CU_EVENT_WAIT_EXTERNAL;
    if (!external && flags != CU_EVENT_WAIT_DEFAULT) {
      return RefuseInvalid(driver, context, stream).value_or(ToResult(DriverCode::kInvalidValue));
    }
    const Captured captured = CaptureWait(site, driver, context, stream, event, external);
    if (captured.has_value()) return *captured;
    if (external) {
      const bool known = FindEvent(site, driver, event).has_value();
      return ToResult(known ? DriverCode::kIllegalState : DriverCode::kInvalidHandle);
    }
    return ToResult(WaitForEvent(driver, site.name(), OrderedStreamOf(driver, context, stream),
                                 EventOf(driver, context, event)));
  });
}
TWINMMU_OF_THREAD(cuStreamWaitEvent_ptsz, cuStreamWaitEvent,
                  (CUstream stream, CUevent event, unsigned int flags), OfThread(stream), event,
                  flags)

extern "C" CUresult cuStreamQuery(CUstream stream) {
  return EnterInContext(TWINMMU_HERE, stream, {}, [&](DriverState& driver, Context& context) {
    const Captured refused = RefuseWaitFor(driver, context, stream);
    if (refused.has_value()) return *refused;
    return NotReady(IsDone(driver, context, stream));
  });
}
TWINMMU_OF_THREAD(cuStreamQuery_ptsz, cuStreamQuery, (CUstream stream), OfThread(stream))

extern "C" CUresult cuStreamSynchronize(CUstream stream) {
  const CallSite site = TWINMMU_HERE;
  return EnterOnStream(site, stream, [&](DriverState& driver, Context& context) {
    const Captured refused = RefuseWaitFor(driver, context, stream);
    if (refused.has_value()) return *refused;
    if (host_function_context != nullptr) {
      return WaitInHostFunction(site, [&] { return IsDone(driver, context, stream); });
    }
    const bool is_legacy = ToNumber(OfCurrent(stream)) <= kLegacyStream;
    return ToResult(driver.executor.SynchronizeStream(
        is_legacy ? OrderedStreamOf(driver, context, stream) : StreamOf(driver, context, stream)));
  });
}
TWINMMU_OF_THREAD(cuStreamSynchronize_ptsz, cuStreamSynchronize, (CUstream stream),
                  OfThread(stream))

// A thread of the library calls the function when all work before it is done. Or else
// capture(driver, context) is the answer. `always`: after a fault too, as a callback, which is
// told.
template <typename Capture, typename Run>
CUresult RunOnHost(const CallSite& site, CUstream stream, const void* function, unsigned int flags,
                   const Capture& capture, bool always, const Run& run) {
  if (flags != 0) return RefuseAnywhere(site, DriverCode::kInvalidValue);
  return EnterInAnyContext(site, stream, {function}, [&](DriverState& driver, Context& context) {
    const CUresult fault = FaultOn(site, driver, stream);
    if (fault != CUDA_SUCCESS) return fault;
    const Captured captured = capture(driver, context);
    if (captured.has_value()) return *captured;
    const Stream to = WorkOf(driver, context, stream);
    return ToResult(driver.simulator->host_functions().Submit(
        site.name(), to,
        [site, run, context = &context](DriverCode code) {
          CallHostFunction(site, context, [&] { run(ToResult(code)); });
        },
        always));
  });
}

extern "C" CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void*), void* argument) {
  const CallSite site = TWINMMU_HERE;
  const auto capture = [&](DriverState& driver, Context& context) {
    return CaptureHost(site, driver, context, {function, argument}, stream);
  };
  return RunOnHost(site, stream, reinterpret_cast<const void*>(function), 0, capture, false,
                   [=](CUresult) { function(argument); });
}
TWINMMU_OF_THREAD(cuLaunchHostFunc_ptsz, cuLaunchHostFunc,
                  (CUstream stream, void (*function)(void*), void* argument), OfThread(stream),
                  function, argument)

extern "C" CUresult cuStreamAddCallback(CUstream stream,
                                        void (*callback)(CUstream, CUresult, void*), void* argument,
                                        unsigned int flags) {
  const auto refuse = [&](DriverState& driver, Context& context) {
    return RefuseCaptured(driver, context, stream);
  };
  return RunOnHost(TWINMMU_HERE, stream, reinterpret_cast<const void*>(callback), flags, refuse,
                   true, [=](CUresult code) { callback(stream, code, argument); });
}
TWINMMU_OF_THREAD(cuStreamAddCallback_ptsz, cuStreamAddCallback,
                  (CUstream stream, void (*callback)(CUstream, CUresult, void*), void* argument,
                   unsigned int flags),
                  OfThread(stream), callback, argument, flags)

// --- Events --------------------------------------------------------------------------------------

extern "C" CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  return EnterInContext(TWINMMU_HERE, {event}, [&](DriverState& driver, Context& context) {
    const DriverCode valid = CheckEventFlags(flags);
    if (valid != DriverCode::kSuccess) return ToResult(valid);
    std::shared_ptr<SharedEvent> shared;
    if ((flags & CU_EVENT_INTERPROCESS) != 0) {
      absl::StatusOr<std::shared_ptr<SharedEvent>> page = SharedEvent::Make();
      if (!page.ok()) return ToResult(DriverCode::kOutOfMemory);
      shared = *std::move(page);
    }
    Records<EventRecord>::Prepared record(
        EventRecord{&context, flags, std::nullopt, std::move(shared)});
    const absl::StatusOr<Event> made = driver.executor.CreateEvent(context.device);
    if (!made.ok()) return ToResult(made.status());
    driver.streams.events.Add(made->value(), std::move(record));
    driver.report.AddObject(ObjectKind::kEvent, made->value(), Bytes(0), context.device.value());
    *event = ToPointer<CUevent>(made->value());
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuEventDestroy_v2(CUevent event) {
  return EnterWithHandle(TWINMMU_HERE, event, {}, [&](DriverState& driver, Context& context) {
    const absl::Status destroyed = driver.executor.DestroyEvent(EventOf(driver, context, event));
    if (destroyed.ok()) {
      ForgetCaptured(driver, event);
      driver.streams.events.Remove(ToNumber(event));
      driver.report.RemoveObject(ObjectKind::kEvent, ToNumber(event));
    }
    return destroyed;
  });
}
TWINMMU_ALIAS(cuEventDestroy, cuEventDestroy_v2);

extern "C" CUresult cuEventRecord(CUevent event, CUstream stream) {
  return RecordOn(TWINMMU_HERE, event, stream);
}
TWINMMU_OF_THREAD(cuEventRecord_ptsz, cuEventRecord, (CUevent event, CUstream stream), event,
                  OfThread(stream))

extern "C" CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
  const CallSite site = TWINMMU_HERE;
  if (flags == 0) return RecordOn(site, event, stream);
  return EnterOnStream(site, stream, [&](DriverState& driver, Context& context) {
    if (event == nullptr) CheckLegacyUncaptured(driver, context, stream);
    if (!FindEvent(site, driver, event).has_value()) {
      return ToResult(DriverCode::kInvalidHandle);
    }
    if (flags != CU_EVENT_WAIT_EXTERNAL) {
      return RefuseInvalid(driver, context, stream).value_or(ToResult(DriverCode::kInvalidValue));
    }
    return CaptureRecord(site, driver, context, event, stream, true)
        .value_or(ToResult(DriverCode::kIllegalState));
  });
}
TWINMMU_OF_THREAD(cuEventRecordWithFlags_ptsz, cuEventRecordWithFlags,
                  (CUevent event, CUstream stream, unsigned int flags), event, OfThread(stream),
                  flags)

extern "C" CUresult cuEventQuery(CUevent event) {
  return EnterWithHandle(TWINMMU_HERE, event, {}, [&](DriverState& driver, Context& context) {
    const Captured refused = RefuseWaitFor(driver, event);
    if (refused.has_value()) return *refused;
    return NotReady(QueryEvent(driver, EventOf(driver, context, event)));
  });
}

extern "C" CUresult cuEventSynchronize(CUevent event) {
  const CallSite site = TWINMMU_HERE;
  return EnterWithHandle(site, event, {}, [&](DriverState& driver, Context& context) {
    const Captured refused = RefuseWaitFor(driver, event);
    if (refused.has_value()) return *refused;
    if (host_function_context != nullptr) {
      return WaitInHostFunction(
          site, [&] { return QueryEvent(driver, EventOf(driver, context, event)); });
    }
    return ToResult(SynchronizeEvent(driver, EventOf(driver, context, event)));
  });
}

// The time between the calls that recorded them.
extern "C" CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  const CallSite site = TWINMMU_HERE;
  // Without a first event or a result INVALID_HANDLE, after a fault, too.
  const CUevent named = milliseconds != nullptr ? start : nullptr;
  return EnterWithHandle(site, named, {}, [&](DriverState& driver, Context& context) {
    for (const CUevent event : {start, end}) {
      const Captured refused = RefuseTimeOf(driver, event);
      if (refused.has_value()) return *refused;
    }
    const std::optional<EventRecord> from = FindEvent(site, driver, start);
    const std::optional<EventRecord> to = FindEvent(site, driver, end);
    for (const std::optional<EventRecord>& record : {from, to}) {
      const bool timed = record.has_value() && record->recorded.has_value() &&
                         (record->flags & CU_EVENT_DISABLE_TIMING) == 0;
      if (!timed) return ToResult(DriverCode::kInvalidHandle);
    }
    if (from->context != to->context) return ToResult(DriverCode::kInvalidHandle);
    if (milliseconds == nullptr) {
      return ToResult(Misused(site, DiagnosticKind::kNullPointer, DriverCode::kInvalidHandle));
    }
    for (const CUevent event : {start, end}) {
      const CUresult done = NotReady(QueryEvent(driver, EventOf(driver, context, event)));
      if (done != CUDA_SUCCESS) return done;
    }
    using Milliseconds = std::chrono::duration<float, std::milli>;
    *milliseconds = Milliseconds(*to->recorded - *from->recorded).count();
    return CUDA_SUCCESS;
  });
}
TWINMMU_ALIAS(cuEventElapsedTime, cuEventElapsedTime_v2);

}  // namespace twinmmu::libcuda
