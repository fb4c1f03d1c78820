#include "sim/libcuda/stream_order.h"

#include <pthread.h>

#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/driver_error.h"

namespace twinmmu::libcuda {
namespace {

using cuda_abi::CUstream;

uint64_t ToNumber(CUstream stream) { return reinterpret_cast<uintptr_t>(stream); }

// What `waiting` is given later waits for what `before` was given.
void Order(DriverState& driver, Stream waiting, Stream before) {
  const absl::StatusOr<Event> event = driver.executor.CreateEvent(before.device());
  absl::Status ordered = event.status();
  if (ordered.ok()) ordered = driver.executor.RecordEvent(*event, before);
  if (ordered.ok()) ordered = driver.executor.WaitEvent(waiting, *event);
  if (event.ok()) driver.executor.DestroyEvent(*event).IgnoreError();
  if (GetDriverCode(ordered) == DriverCode::kOutOfMemory) throw std::bad_alloc();
  // Else, if it failed, there was a fault: nothing runs any more.
}

// Stands for the streams of all threads that have ended.
const ThreadStreams::Thread kEnded = {};

// Null: there was a fault.
std::optional<uint64_t> MakeStreamOf(DriverState& driver, const Context& context,
                                     ThreadStreams::Thread thread) {
  Records<StreamRecord>::Prepared record(StreamRecord{driver.contexts.Find(context.handle())});
  driver.streams.of_threads.Set(context, thread, 0);  // so that there is room for it
  const absl::StatusOr<Stream> made = driver.executor.CreateStream(context.device);
  if (GetDriverCode(made.status()) == DriverCode::kOutOfMemory) throw std::bad_alloc();
  if (!made.ok()) return std::nullopt;
  record->id = driver.streams.NextId();
  driver.streams.of_threads.Set(context, thread, made->value());
  driver.streams.streams.Add(made->value(), std::move(record));
  return made->value();
}

// What work the stream of a thread still has, the default stream of the context waits for, as
// before. (On an H200, too.)
void End(DriverState& driver, const Context& context, uint64_t stream) {
  const Stream ending(context.device, stream);
  try {
    if (!driver.streams.streams.Find(stream).has_value()) return;
    uint64_t ended = driver.streams.of_threads.Find(context, kEnded);
    if (ended == 0) ended = MakeStreamOf(driver, context, kEnded).value_or(0);
    if (ended != 0) Order(driver, Stream(context.device, ended), ending);
  } catch (const std::bad_alloc&) {
    return;  // it stays, then
  }
  if (driver.streams.streams.Remove(stream)) driver.executor.DestroyStream(ending).IgnoreError();
}

void EndStreamsOfThread(void*) {
  Process& process = Process::Get();
  DriverState* const driver = process.driver();
  if (driver == nullptr || process.IsForked()) return;
  for (const auto& [context, stream] :
       driver->streams.of_threads.Take(std::this_thread::get_id())) {
    End(*driver, *context, stream);
  }
}

// Not of the thread that leaves main: it may make calls until the process has ended.
void CallAtEndOfThread() {
  static const std::optional<pthread_key_t> key = []() -> std::optional<pthread_key_t> {
    pthread_key_t made = 0;
    if (pthread_key_create(&made, EndStreamsOfThread) != 0) return std::nullopt;
    return made;
  }();
  static char any = 0;
  if (key.has_value()) pthread_setspecific(*key, &any);
}

Stream StreamOfThread(DriverState& driver, const Context& context) {
  const ThreadStreams::Thread thread = std::this_thread::get_id();
  std::optional<uint64_t> stream = driver.streams.of_threads.Find(context, thread);
  if (*stream == 0) {
    CallAtEndOfThread();
    stream = MakeStreamOf(driver, context, thread);
  }
  return Stream(context.device, stream.value_or(kPerThreadStream));
}

}  // namespace

thread_local CUstream default_stream = nullptr;
thread_local Context* host_function_context = nullptr;

void CheckDefaultStream() {
  if (ABSL_PREDICT_TRUE(host_function_context == nullptr)) return;
  throw Refusal{DriverCode::kNotPermitted, DiagnosticKind::kCallInHostFunction, "a default stream"};
}

CUstream OfCurrent(CUstream stream) {
  if (ToNumber(stream) > kLastDefaultStream) return stream;
  CheckDefaultStream();
  const Context* const green = CurrentGreen();
  if (ABSL_PREDICT_TRUE(green == nullptr)) return stream;
  if (ToNumber(stream) != kPerThreadStream) {
    return reinterpret_cast<CUstream>(static_cast<uintptr_t>(green->default_stream));
  }
  throw Refusal{DriverCode::kInvalidHandle, DiagnosticKind::kUseOfUnknownStream,
                "a green context has no default streams of threads"};
}

Stream StreamOf(DriverState& driver, const Context& context, CUstream stream) {
  const uint64_t id = ToNumber(OfCurrent(stream));
  if (id == kPerThreadStream) return StreamOfThread(driver, context);
  if (id <= kLegacyStream) return Stream(context.device, id);
  const std::optional<StreamRecord> record = driver.streams.streams.Find(id);
  return Stream(record.has_value() ? record->context->device : context.device, id);
}

bool IsStream(const DriverState& driver, CUstream stream) {
  return ToNumber(stream) <= kLastDefaultStream ||
         driver.streams.streams.Find(ToNumber(stream)).has_value();
}

std::vector<uint64_t> BlockingStreamsOf(DriverState& driver, const Context& context) {
  std::vector<uint64_t> blocking;
  driver.streams.streams.ForEach([&](uint64_t id, const StreamRecord& record) {
    const bool of_context = record.context == &context;
    if (of_context && (record.flags & cuda_abi::CU_STREAM_NON_BLOCKING) == 0) {
      blocking.push_back(id);
    }
  });
  return blocking;
}

void KeepDefaultOrder(DriverState& driver, const Context& context, Stream stream) {
  const Stream legacy(stream.device());
  if (stream.value() > kLastDefaultStream) {
    const std::optional<StreamRecord> record = driver.streams.streams.Find(stream.value());
    const bool blocking =
        record.has_value() && (record->flags & cuda_abi::CU_STREAM_NON_BLOCKING) == 0;
    if (blocking) Order(driver, stream, legacy);
    return;
  }
  for (const uint64_t id : BlockingStreamsOf(driver, context)) {
    Order(driver, legacy, Stream(stream.device(), id));
  }
}

}  // namespace twinmmu::libcuda
