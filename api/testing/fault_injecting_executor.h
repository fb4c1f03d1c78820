// FaultInjectingExecutor: passes every call on, but those that a FaultPlan makes fail. The plan may
// be that of a FaultInjectingVmm: then the calls of both are counted together.
//
//   FaultPlan faults;
//   FaultInjectingExecutor executor(real_executor, &faults);
//   faults.FailNth(1, DriverCode::kIllegalAddress, {DriverCall::kCopyDeviceToHost});
//
// A call that fails on purpose is not made: it has changed nothing, no other call fails for it, and
// no work of its stream is lost.

#ifndef TWINMMU_API_TESTING_FAULT_INJECTING_EXECUTOR_H_
#define TWINMMU_API_TESTING_FAULT_INJECTING_EXECUTOR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/executor.h"
#include "api/testing/fault_plan.h"
#include "api/testing/forwarding.h"

namespace twinmmu {

// Thread safety: as in api/vmm.h.
class FaultInjectingExecutor : public ForwardingExecutor {
 public:
  // Both must outlive this object.
  FaultInjectingExecutor(Executor* target, FaultPlan* faults)
      : ForwardingExecutor(target), faults_(*faults) {}

  absl::Status CopyHostToDevice(DeviceOrdinal device, DeviceAddress destination, const void* source,
                                Bytes size) override;
  absl::Status CopyDeviceToHost(DeviceOrdinal device, void* destination, DeviceAddress source,
                                Bytes size) override;
  absl::Status CopyDeviceToDevice(DeviceOrdinal device, DeviceAddress destination,
                                  DeviceAddress source, Bytes size) override;
  absl::Status Fill(DeviceOrdinal device, DeviceAddress destination, const FillPattern& pattern,
                    uint64_t count) override;
  absl::Status CopyHostToDevice(Stream stream, DeviceAddress destination, const void* source,
                                Bytes size) override;
  absl::Status CopyDeviceToHost(Stream stream, void* destination, DeviceAddress source,
                                Bytes size) override;
  absl::Status CopyDeviceToDevice(Stream stream, DeviceAddress destination, DeviceAddress source,
                                  Bytes size) override;
  absl::Status Fill(Stream stream, DeviceAddress destination, const FillPattern& pattern,
                    uint64_t count) override;
  absl::StatusOr<Stream> CreateStream(DeviceOrdinal device) override;
  absl::Status DestroyStream(Stream stream) override;
  absl::StatusOr<bool> QueryStream(Stream stream) override;
  absl::Status SynchronizeStream(Stream stream) override;
  absl::StatusOr<Event> CreateEvent(DeviceOrdinal device) override;
  absl::Status DestroyEvent(Event event) override;
  absl::Status RecordEvent(Event event, Stream stream) override;
  absl::Status WaitEvent(Stream stream, Event event) override;
  absl::StatusOr<bool> QueryEvent(Event event) override;
  absl::Status SynchronizeEvent(Event event) override;
  absl::Status SynchronizeDevice(DeviceOrdinal device) override;
  absl::StatusOr<Module> LoadModule(DeviceOrdinal device, absl::string_view ptx) override;
  absl::Status UnloadModule(Module module) override;
  absl::StatusOr<Kernel> GetKernel(Module module, absl::string_view name) override;
  absl::Status Launch(Stream stream, Kernel kernel, const LaunchConfig& config,
                      absl::Span<const void* const> arguments) override;

 private:
  // What the plan says, or else what `call` gives.
  template <typename F>
  auto Call(DriverCall kind, const F& call) -> decltype(call());

  FaultPlan& faults_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_FAULT_INJECTING_EXECUTOR_H_
