// GuardedExecutor: SimulatedExecutor, whose calls are OUT_OF_MEMORY where they find no memory, and
// NOT_INITIALIZED in a forked child.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_GUARDED_EXECUTOR_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_GUARDED_EXECUTOR_H_

#include <vector>

#include "api/diagnostics.h"
#include "api/executor.h"
#include "sim/base/call_guard.h"
#include "sim/calls/executor/simulated_executor.h"

namespace twinmmu {

class GuardedExecutor : public Executor {
 public:
  // `machine` must outlive this object.
  explicit GuardedExecutor(MachineState* machine) : executor_(machine) {}

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

  // For who has a guard of its own.
  SimulatedExecutor& unguarded() { return executor_; }
  std::vector<Diagnostic> Leaks() const { return executor_.Leaks(); }

 private:
  SimulatedExecutor executor_;
  const CallGuard guard_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_GUARDED_EXECUTOR_H_
