// Process: what the library is to one process: the simulated machine and all that belongs to it.

#ifndef TWINMMU_SIM_LIBCUDA_PROCESS_H_
#define TWINMMU_SIM_LIBCUDA_PROCESS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "api/driver_error.h"
#include "sim/libcuda/arrays.h"
#include "sim/libcuda/contexts.h"
#include "sim/libcuda/exported_descriptors.h"
#include "sim/libcuda/graphs/captures/captures.h"
#include "sim/libcuda/injector.h"
#include "sim/libcuda/modules.h"
#include "sim/libcuda/report/report.h"
#include "sim/libcuda/settings.h"
#include "sim/libcuda/sharing/external_memories.h"
#include "sim/libcuda/streams.h"
#include "sim/simulator.h"

namespace twinmmu::libcuda {

class Graphs;

// What the driver has, once the program has called cuInit.
struct DriverState {
  DriverState(std::unique_ptr<Simulator> simulator, Report* report);
  ~DriverState();

  Report& report;
  std::unique_ptr<Simulator> simulator;
  Vmm& vmm;
  Executor& executor;
  Multicast& multicast;
  Contexts contexts;
  Streams streams;
  Modules modules;
  Arrays arrays;
  ExternalMemories external;
  const std::unique_ptr<Graphs> graphs;
  Captures captures;
  ExportedDescriptors exported;
};

// There is one, from the first call on, for good: programs make calls when static objects are
// already gone. Thread-safe.
class Process {
 public:
  static Process& Get() {
    Process* const process = the_process_.load(std::memory_order_acquire);
    return process != nullptr ? *process : Make();
  }

  // When the process ends by itself: the report is complete.
  static void End();

  // Makes the machine, if there is none. An error is told on stderr in words, too.
  DriverCode Init(unsigned int flags);

  Report& report() { return report_; }
  Injector& injector() { return injector_; }
  // The record of the run; null: nobody wants it.
  record::EventWriter* events() const { return events_.get(); }

  // Null before Init.
  DriverState* driver() const { return driver_.load(std::memory_order_acquire); }
  // The version of the driver that is simulated; also before Init.
  int driver_version() const { return driver_version_; }
  // Whether this is a child made by fork of the process in which Init was called.
  bool IsForked() const { return forked_.load(std::memory_order_relaxed); }

  // For tests: the process gets another machine with this profile, as if it had just called
  // Init. The calling thread must be the only one.
  void Restart(const Profile& profile);

 private:
  Process();
  static Process& Make();
  static void FollowFork();
  void ForgetClosedDescriptors();
  // To the report.
  void TellHeapLeaks();
  void StartEvents();

  static std::atomic<Process*> the_process_;

  absl::StatusOr<Settings> settings_;
  absl::Status rules_;  // what is wrong with those for failures
  int driver_version_;
  Report report_;
  Injector injector_;
  std::unique_ptr<record::EventWriter> events_;
  std::mutex mutex_;  // for Init
  std::atomic<DriverState*> driver_{nullptr};
  std::unique_ptr<DriverState> owned_;
  std::atomic<bool> forked_{false};
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_PROCESS_H_
