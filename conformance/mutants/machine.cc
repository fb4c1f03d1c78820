#include "conformance/mutants/machine.h"

#include <utility>

#include "conformance/instances/sim.h"
#include "conformance/mutants/host_kernels.h"

namespace twinmmu::conformance {
namespace {

class MachineDriver : public Driver {
 public:
  MachineDriver(std::unique_ptr<Driver> driver, std::unique_ptr<Real> kernels,
                std::unique_ptr<Real> front)
      : driver_(std::move(driver)), kernels_(std::move(kernels)), front_(std::move(front)) {}

  absl::StatusOr<Vmm*> vmm() override { return front_.get(); }
  absl::StatusOr<Executor*> executor() override { return front_.get(); }

 private:
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<Real> kernels_;
  std::unique_ptr<Real> front_;
};

}  // namespace

TargetFactory Machine(const std::string& profile, MakeReal make) {
  const auto open = [profile, make = std::move(make)]() -> absl::StatusOr<Target> {
    const absl::StatusOr<Profile> described = Profile::Named(profile);
    if (!described.ok()) return described.status();
    // With kernels, tests take work that is queued behind one for not done yet.
    Profile deferred = *described;
    deferred.stream_policy = StreamPolicy::kDeferred;
    absl::StatusOr<Target> target = SimTarget(profile, deferred).open();
    if (!target.ok()) return target;
    const absl::StatusOr<Vmm*> vmm = target->driver->vmm();
    if (!vmm.ok()) return vmm.status();
    const absl::StatusOr<Executor*> executor = target->driver->executor();
    if (!executor.ok()) return executor.status();
    std::unique_ptr<Real> kernels = std::make_unique<HostKernels>(*vmm, *executor);
    std::unique_ptr<Real> front = make(kernels.get(), kernels.get());
    target->driver = std::make_unique<MachineDriver>(std::move(target->driver), std::move(kernels),
                                                     std::move(front));
    target->traits.interprets_kernels = false;
    return target;
  };
  return TargetFactory{profile, open};
}

}  // namespace twinmmu::conformance
