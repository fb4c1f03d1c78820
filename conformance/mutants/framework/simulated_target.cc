#include "conformance/mutants/framework/simulated_target.h"

#include <utility>

#include "conformance/instances/sim_target.h"
#include "conformance/mutants/framework/host_kernels.h"

namespace twinmmu::conformance {
namespace {

class TargetDriver : public Driver {
 public:
  // `kernels` may be null.
  TargetDriver(std::unique_ptr<Driver> driver, std::unique_ptr<Real> kernels,
               std::unique_ptr<Real> front)
      : driver_(std::move(driver)), kernels_(std::move(kernels)), front_(std::move(front)) {}

  absl::StatusOr<Vmm*> vmm() override { return front_.get(); }
  absl::StatusOr<Executor*> executor() override { return front_.get(); }
  absl::StatusOr<Multicast*> multicast() override { return front_->multicast(); }
  absl::StatusOr<SparseArrays*> sparse_arrays() override { return front_.get(); }

 private:
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<Real> kernels_;
  std::unique_ptr<Real> front_;
};

Profile WithFlipped(Profile profile, const std::string& quirk) {
  for (const QuirkInfo& info : AllQuirks()) {
    if (info.name == quirk) profile.quirks.*info.field = !(profile.quirks.*info.field);
  }
  return profile;
}

absl::StatusOr<Target> Open(const std::string& name, const MakeReal& make,
                            const std::string& quirk) {
  const bool interprets = name == kInterpreter;
  const absl::StatusOr<Profile> described = Profile::Named(interprets ? "reference" : name);
  if (!described.ok()) return described.status();
  Profile profile = *described;
  // With HostKernels, tests take work that is queued behind a kernel for not done yet.
  if (!interprets) profile.stream_policy = StreamPolicy::kDeferred;
  absl::StatusOr<Target> target = SimTarget(name, WithFlipped(profile, quirk)).open();
  if (!target.ok()) return target;
  target->traits = TraitsOf(profile);
  const absl::StatusOr<Vmm*> vmm = target->driver->vmm();
  if (!vmm.ok()) return vmm.status();
  const absl::StatusOr<Executor*> executor = target->driver->executor();
  if (!executor.ok()) return executor.status();
  std::unique_ptr<Real> kernels;
  if (!interprets) kernels = std::make_unique<HostKernels>(*vmm, *executor);
  std::unique_ptr<Real> front =
      interprets ? make(*vmm, *executor) : make(kernels.get(), kernels.get());
  const absl::StatusOr<Multicast*> multicast = target->driver->multicast();
  if (!multicast.ok()) return multicast.status();
  front->SetMulticast(*multicast);
  const absl::StatusOr<SparseArrays*> arrays = target->driver->sparse_arrays();
  if (!arrays.ok()) return arrays.status();
  front->SetSparseArrays(*arrays);
  target->driver = std::make_unique<TargetDriver>(std::move(target->driver), std::move(kernels),
                                                  std::move(front));
  target->traits.interprets_kernels = interprets;
  target->traits.runs_any_kernel = interprets;
  return target;
}

}  // namespace

TargetFactory SimulatedTarget(const std::string& name, MakeReal make, const std::string& quirk) {
  return TargetFactory{name,
                       [name, make = std::move(make), quirk] { return Open(name, make, quirk); }};
}

}  // namespace twinmmu::conformance
