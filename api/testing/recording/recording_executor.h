// The Executor of a RecordingDriver.

#ifndef TWINMMU_API_TESTING_RECORDING_RECORDING_EXECUTOR_H_
#define TWINMMU_API_TESTING_RECORDING_RECORDING_EXECUTOR_H_

#include <memory>

#include "api/executor.h"
#include "api/testing/recording/log.h"

namespace twinmmu {

// Both must outlive it.
std::unique_ptr<Executor> MakeRecordingExecutor(Executor* target, RecordingLog* log);

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_RECORDING_EXECUTOR_H_
