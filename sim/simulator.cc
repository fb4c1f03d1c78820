#include "sim/simulator.h"

#include <new>
#include <utility>

#include "sim/guarded_executor.h"
#include "sim/guarded_vmm.h"
#include "sim/mmu.h"
#include "sim/window.h"

namespace twinmmu {

struct Simulator::Parts {
  Parts(const Profile& profile, Window window)
      : mmu(profile, std::move(window)), vmm(&mmu), executor(&mmu) {}

  Mmu mmu;
  GuardedVmm vmm;
  GuardedExecutor executor;
};

namespace {

absl::Status NoMemory() {
  try {
    return absl::ResourceExhaustedError("the program has no memory left for a simulator");
  } catch (const std::bad_alloc&) {
    return absl::Status(absl::StatusCode::kResourceExhausted, "");  // nor for a message
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Simulator>> Simulator::Create(const Profile& profile) {
  try {
    const absl::Status valid = profile.Validate();
    if (!valid.ok()) return valid;
    absl::StatusOr<Window> window = Window::Make(profile.window, profile.default_alignment());
    if (!window.ok()) return window.status();
    // Not make_unique: the constructor is private.
    return std::unique_ptr<Simulator>(
        new Simulator(std::make_unique<Parts>(profile, *std::move(window))));
  } catch (const std::bad_alloc&) {
    return NoMemory();
  }
}

Simulator::Simulator(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Simulator::~Simulator() = default;

absl::StatusOr<Vmm*> Simulator::vmm() { return &parts_->vmm; }
absl::StatusOr<Executor*> Simulator::executor() { return &parts_->executor; }
const Profile& Simulator::profile() const { return parts_->mmu.profile; }

}  // namespace twinmmu
