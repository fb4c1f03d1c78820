// What is asked of events, some of which other processes use too.

#ifndef TWINMMU_SIM_LIBCUDA_SHARING_SHARED_EVENTS_H_
#define TWINMMU_SIM_LIBCUDA_SHARING_SHARED_EVENTS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/executor.h"
#include "sim/libcuda/process.h"

namespace twinmmu::libcuda {

// As the calls of the executor. What another process has recorded last in a shared event, is what
// these wait for or ask about; and others see what is recorded. That it is recorded now is noted.
absl::Status RecordEvent(DriverState& driver, const char* call, Event event, Stream stream);
absl::Status WaitForEvent(DriverState& driver, const char* call, Stream stream, Event event);
absl::StatusOr<bool> QueryEvent(DriverState& driver, Event event);
absl::Status SynchronizeEvent(DriverState& driver, Event event);

// The same of one that a launch records.
void NoteRecorded(DriverState& driver, Event event);

// Whether other processes can use the event.
bool IsShared(DriverState& driver, cuda_abi::CUevent event);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_SHARING_SHARED_EVENTS_H_
