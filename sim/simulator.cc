#include "sim/simulator.h"

#include <algorithm>
#include <utility>

#include "sim/mmu.h"
#include "sim/simulated_executor.h"
#include "sim/simulated_vmm.h"
#include "sim/window.h"

namespace twinmmu {

struct Simulator::Parts {
  Parts(const Profile& profile, Window window)
      : mmu(profile, std::move(window)), vmm(&mmu), executor(&mmu) {}

  Mmu mmu;
  SimulatedVmm vmm;
  SimulatedExecutor executor;
};

absl::StatusOr<std::unique_ptr<Simulator>> Simulator::Create(const Profile& profile) {
  const absl::Status valid = profile.Validate();
  if (!valid.ok()) return valid;
  const Bytes alignment = std::max(profile.minimum_granularity, profile.reservation_granularity);
  absl::StatusOr<Window> window = Window::Make(profile.window, alignment);
  if (!window.ok()) return window.status();
  // Not make_unique: the constructor is private.
  return std::unique_ptr<Simulator>(
      new Simulator(std::make_unique<Parts>(profile, *std::move(window))));
}

Simulator::Simulator(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Simulator::~Simulator() = default;

absl::StatusOr<Vmm*> Simulator::vmm() { return &parts_->vmm; }
absl::StatusOr<Executor*> Simulator::executor() { return &parts_->executor; }
const Profile& Simulator::profile() const { return parts_->mmu.profile; }

}  // namespace twinmmu
