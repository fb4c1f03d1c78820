// Executor on the CUDA driver.

#ifndef TWINMMU_BACKEND_CUDA_EXECUTOR_H_
#define TWINMMU_BACKEND_CUDA_EXECUTOR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/executor.h"
#include "backend/primary_contexts.h"

namespace twinmmu {

// Every call runs in the primary context of its device. Arguments pass as they came.
class CudaExecutor final : public Executor {
 public:
  explicit CudaExecutor(PrimaryContexts& contexts) : contexts_(contexts) {}  // must outlive it

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
  PrimaryContexts& contexts_;
};

}  // namespace twinmmu

#endif  // TWINMMU_BACKEND_CUDA_EXECUTOR_H_
