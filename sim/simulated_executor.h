// SimulatedExecutor: Executor on a software MMU.

#ifndef TWINMMU_SIM_SIMULATED_EXECUTOR_H_
#define TWINMMU_SIM_SIMULATED_EXECUTOR_H_

#include <cstdint>
#include <mutex>

#include "api/executor.h"
#include "sim/handle_table.h"
#include "sim/mmu.h"

namespace twinmmu {

// Every operation runs at the call, so all work of a stream is always done. Definitions stand by
// subject: executor_copies.cc, executor_streams.cc, executor_kernels.cc.
class SimulatedExecutor : public Executor {
 public:
  // `mmu` must outlive this object.
  explicit SimulatedExecutor(Mmu* mmu) : mmu_(*mmu) {}

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
  // The bodies of copies and fills; `call` is the driver's name of the one that was asked for.
  absl::Status WriteFromHost(const char* call, DeviceOrdinal device, DeviceAddress destination,
                             const void* source, Bytes size);
  absl::Status ReadToHost(const char* call, DeviceOrdinal device, void* destination,
                          DeviceAddress source, Bytes size);
  absl::Status CopyOnDevice(const char* call, DeviceOrdinal device, DeviceAddress destination,
                            DeviceAddress source, Bytes size);
  absl::Status FillOnDevice(const char* call, DeviceOrdinal device, DeviceAddress destination,
                            const FillPattern& pattern, uint64_t count);

  absl::Status CheckDevice(const char* call, DeviceOrdinal device) const;
  absl::Status CheckStream(const char* call, Stream stream);
  absl::Status CheckEvent(const char* call, Event event);
  // With mmu_.mutex held: `device` may access all of `range`; the CPU can access host memory.
  absl::Status CheckDeviceRange(const char* call, DeviceOrdinal device, const AddressRange& range,
                                Access access) const;
  absl::Status CheckHostRange(const char* call, const void* memory, Bytes size,
                              Access access) const;

  struct StreamState {
    DeviceOrdinal device;
  };
  struct EventState {
    DeviceOrdinal device;
  };

  Mmu& mmu_;
  std::mutex mutex_;  // guards what follows; never taken while mmu_.mutex is held
  HandleTable<StreamState> streams_;
  HandleTable<EventState> events_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_SIMULATED_EXECUTOR_H_
