// SyncStream: where the work of a call without a stream is done.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_SYNC_STREAM_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_SYNC_STREAM_H_

#include "api/executor.h"

namespace twinmmu {

// A default stream: of a device, unless another one is meant. The call returns when its work is
// done, or, if that is all on the device, when it is queued.
struct SyncStream {
  SyncStream(DeviceOrdinal device) : stream(device) {}  // NOLINT: what executors are given
  explicit SyncStream(Stream other) : stream(other) {}

  Stream stream;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_SYNC_STREAM_H_
