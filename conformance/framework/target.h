// What the suite runs on: an implementation of the interface, and what is declared of it.

#ifndef TWINMMU_CONFORMANCE_FRAMEWORK_TARGET_H_
#define TWINMMU_CONFORMANCE_FRAMEWORK_TARGET_H_

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/driver.h"
#include "conformance/rules/rules.h"

namespace twinmmu::conformance {

// When copies and fills on a stream run, if nothing that takes long is before them.
enum class WorkTiming {
  kAtTheCall,          // they are done when the call returns
  kAtTheLatestMoment,  // when somebody waits for them or asks after them, and not before
  kWhenever,           // in between, as on a device
};

// What tests branch on: never the name of an implementation. A wrong declaration fails a test.
struct Traits {
  // Kernels are interpreted, and take a thousand times as long as on a device: a test that would
  // have them go through gigabytes takes megabytes, and one of many rounds takes fewer.
  bool interprets_kernels = false;
  // Atomic additions through two addresses of one word may be lost, as the memory model allows: a
  // simulator that does what it allows. No device does.
  bool loses_aliased_atomics = false;
  // Host memory lies at its device address in the CPU's view too. Where it does not (a simulator
  // whose addresses are but numbers), the CPU is not asked.
  bool cpu_sees_host_memory = true;
  // Some device has virtual memory management. Where none does, every call of it is Unimplemented,
  // and every rule about it asserts just that.
  bool has_vmm = true;
  // The target makes multicast objects. Where it does not, Driver::multicast() is Unimplemented,
  // and every rule about them asserts just that: so it is on hardware, unless somebody asked for
  // it.
  bool multicast_allowed = false;
  // Calls of multicast objects that a driver never answers, or that are undefined, are answered: by
  // a simulator. Elsewhere nobody makes them.
  bool multicast_mistakes_answered = false;
  // Kernels of any text can be run; if not, those of kernels/ alone: by a machine that stands in
  // for one of a device. What tests of other texts ask is then not asked.
  bool runs_any_kernel = true;
  WorkTiming work_timing = WorkTiming::kWhenever;
  // Nobody else uses the devices. Where others do, free memory moves by itself, and what only it
  // can show is not tested.
  bool sole_user = true;
  // How much memory of a device the driver may take for its own streams and events as long as it is
  // open; a leak takes it every time. What it takes at first use is not counted.
  Bytes driver_may_take;
  // Departures from the rules that were seen on this target; any other departure is a failure, and
  // so is one that is declared and does not show.
  std::set<Deviation> deviations;
  // Somebody has run the suite on such a machine, and what it does is on record. Where it is not,
  // a test that fails shows a difference from the reference: "unrecorded here".
  bool recorded = true;
};

// All departures of the reference driver, 580.159 on an H200, which a simulator of it shares.
std::set<Deviation> ReferenceDeviations();

struct Target {
  std::string name;  // a column of the table: "sim", "cuda"
  std::unique_ptr<Driver> driver;
  Traits traits;
};

// How a target comes to be. `open` gives FailedPrecondition where the hardware or its driver is
// absent (its tests are then skipped, or fail with --require-hardware); any other error is a
// failure.
struct TargetFactory {
  std::string name;
  std::function<absl::StatusOr<Target>()> open;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_FRAMEWORK_TARGET_H_
