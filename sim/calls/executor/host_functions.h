// HostFunctions: functions of the program that a stream calls when their turn comes.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_HOST_FUNCTIONS_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_HOST_FUNCTIONS_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "api/driver_error.h"
#include "api/executor.h"
#include "sim/base/call_guard.h"
#include "sim/streams/host_thread.h"

namespace twinmmu {

class SimulatedStreams;
struct SimulatorState;

// As a driver calls them: one at a time, by a thread that does nothing else, whatever locks the
// program's threads hold.
class HostFunctions {
 public:
  // Both must outlive this object.
  HostFunctions(SimulatorState* state, SimulatedStreams* streams);
  ~HostFunctions() { thread_->Stop(); }
  HostFunctions(const HostFunctions&) = delete;
  HostFunctions& operator=(const HostFunctions&) = delete;

  // Calls `function`, which may not throw, in its turn. After a fault only if `always`, and with
  // its code.
  absl::Status Submit(const char* call, Stream stream, std::function<void(DriverCode)> function,
                      bool always = false);

  // For what other processes see of a stream. Calls `task`, which may not throw and takes no lock,
  // in its turn, whether or not this process makes another call: not after a fault.
  absl::Status Mark(const char* call, Stream stream, std::function<void()> task);
  // What is behind it in the stream waits until `is_over()`, which takes no lock, for as long as
  // that takes.
  absl::Status Await(const char* call, Stream stream, std::function<bool()> is_over);
  // The host has waited for a record of another process. Whether that matters to anybody, and an
  // Await of what is over.
  void HostAwaited();
  bool WatchesOthers() const;

 private:
  template <typename MakeRun>
  absl::Status SubmitRun(const char* call, Stream stream, bool calls_program,
                         const MakeRun& make_run);

  SimulatorState& state_;
  SimulatedStreams& streams_;
  const std::shared_ptr<HostThread> thread_;
  const CallGuard guard_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_HOST_FUNCTIONS_H_
