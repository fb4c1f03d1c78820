#include "api/testing/recording/recorder.h"

#include <utility>

#include "api/testing/recording/log.h"
#include "api/testing/recording/recording_executor.h"
#include "api/testing/recording/recording_sparse_arrays.h"
#include "api/testing/recording/recording_vmm.h"

namespace twinmmu {

RecordingDriver::RecordingDriver(std::unique_ptr<Driver> target, RecordingSink sink,
                                 RecorderOptions options)
    : target_(std::move(target)),
      log_(std::make_unique<RecordingLog>(std::move(sink), std::move(options))) {
  const absl::StatusOr<Vmm*> vmm = target_->vmm();
  vmm_status_ = vmm.status();
  if (vmm.ok()) vmm_ = MakeRecordingVmm(*vmm, log_.get());
  const absl::StatusOr<Executor*> executor = target_->executor();
  executor_status_ = executor.status();
  if (executor.ok()) executor_ = MakeRecordingExecutor(*executor, log_.get());
  const absl::StatusOr<SparseArrays*> arrays = target_->sparse_arrays();
  sparse_arrays_status_ = arrays.status();
  if (arrays.ok()) sparse_arrays_ = MakeRecordingSparseArrays(*arrays, log_.get());
}

RecordingDriver::~RecordingDriver() = default;

void RecordingDriver::Begin() { log_->Begin(*target_); }

Names& RecordingDriver::names() { return log_->names(); }

absl::StatusOr<Vmm*> RecordingDriver::vmm() {
  if (vmm_ == nullptr) return vmm_status_;
  return vmm_.get();
}

absl::StatusOr<Executor*> RecordingDriver::executor() {
  if (executor_ == nullptr) return executor_status_;
  return executor_.get();
}

absl::StatusOr<Multicast*> RecordingDriver::multicast() {
  return absl::UnimplementedError("calls of multicast objects cannot be recorded");
}

absl::StatusOr<SparseArrays*> RecordingDriver::sparse_arrays() {
  if (sparse_arrays_ == nullptr) return sparse_arrays_status_;
  return sparse_arrays_.get();
}

}  // namespace twinmmu
