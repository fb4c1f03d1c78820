#include "sim/libcuda/sharing/shared_events.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "sim/calls/executor/host_functions.h"
#include "sim/host/shared_event.h"
#include "sim/libcuda/calls/convert.h"

namespace twinmmu::libcuda {
namespace {

constexpr std::chrono::microseconds kLook(50);  // how often a thread looks that waits

// Null: the event is of this process alone.
std::shared_ptr<SharedEvent> SharedOf(DriverState& driver, uint64_t event) {
  const std::optional<EventRecord> record = driver.streams.events.Find(event);
  return record.has_value() ? record->shared : nullptr;
}

}  // namespace

bool IsShared(DriverState& driver, cuda_abi::CUevent event) {
  return SharedOf(driver, ToNumber(event)) != nullptr;
}

absl::Status RecordEvent(DriverState& driver, const char* call, Event event, Stream stream) {
  const std::shared_ptr<SharedEvent> shared = SharedOf(driver, event.value());
  if (shared == nullptr) {
    absl::Status recorded = driver.executor.RecordEvent(event, stream);
    if (recorded.ok()) NoteRecorded(driver, event);
    return recorded;
  }
  const uint64_t record = shared->Record();
  absl::Cleanup end = [&] { shared->End(record); };
  absl::Status recorded = driver.simulator->host_functions().Mark(
      call, stream, [shared, record] { shared->End(record); });
  if (recorded.ok()) recorded = driver.executor.RecordEvent(event, stream);
  if (!recorded.ok()) return recorded;
  std::move(end).Cancel();
  NoteRecorded(driver, event);
  return absl::OkStatus();
}

void NoteRecorded(DriverState& driver, Event event) {
  driver.streams.events.Edit(event.value(), [](EventRecord& record) {
    record.recorded = std::chrono::steady_clock::now();
  });
}

// Where the process that recorded it is gone before its work was done, it never comes to pass, as
// an H100 with driver 580.159 has it.
absl::Status WaitForEvent(DriverState& driver, const char* call, Stream stream, Event event) {
  const absl::Status waits = driver.executor.WaitEvent(stream, event);
  const std::shared_ptr<SharedEvent> shared = SharedOf(driver, event.value());
  if (!waits.ok() || shared == nullptr || shared->IsOwn()) return waits;
  const uint64_t last = shared->last();
  HostFunctions& functions = driver.simulator->host_functions();
  if (shared->IsOver(last) && !functions.WatchesOthers()) return waits;
  return functions.Await(call, stream, [shared, last] { return shared->IsOver(last); });
}

absl::StatusOr<bool> QueryEvent(DriverState& driver, Event event) {
  const absl::StatusOr<bool> done = driver.executor.QueryEvent(event);
  const std::shared_ptr<SharedEvent> shared = SharedOf(driver, event.value());
  if (!done.ok() || shared == nullptr) return done;
  if (!*done || !shared->IsOver(shared->last())) return false;
  if (!shared->IsOwn()) driver.simulator->host_functions().HostAwaited();
  return true;
}

absl::Status SynchronizeEvent(DriverState& driver, Event event) {
  const std::shared_ptr<SharedEvent> shared = SharedOf(driver, event.value());
  if (shared != nullptr && !shared->IsOwn()) {
    const uint64_t last = shared->last();
    while (!shared->IsOver(last)) std::this_thread::sleep_for(kLook);
    driver.simulator->host_functions().HostAwaited();
  }
  return driver.executor.SynchronizeEvent(event);
}

}  // namespace twinmmu::libcuda
