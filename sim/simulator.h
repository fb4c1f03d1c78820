// Simulator: a GPU's virtual memory in software, behind the interface of a driver.
//
//   absl::StatusOr<std::unique_ptr<Simulator>> simulator =
//       Simulator::Create(Profile::ReferenceH200());
//   Vmm* vmm = (*simulator)->vmm().value();

#ifndef TWINMMU_SIM_SIMULATOR_H_
#define TWINMMU_SIM_SIMULATOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "api/driver.h"
#include "sim/profile.h"

namespace twinmmu {

// One simulated machine, as its profile describes it. It answers every call, whatever is passed,
// and never crashes; only host pointers are taken at their word. Memory costs what is touched of
// it. Simulators share nothing and may live side by side, as far as the host's address space has
// room for their windows. Thread safety: as in api/vmm.h.
class Simulator : public Driver {
 public:
  // InvalidArgument: the profile is wrong, and why. ResourceExhausted: the host has no room for the
  // window of device addresses.
  static absl::StatusOr<std::unique_ptr<Simulator>> Create(const Profile& profile);
  ~Simulator() override;

  absl::StatusOr<Vmm*> vmm() override;
  absl::StatusOr<Executor*> executor() override;

  const Profile& profile() const;

 private:
  struct Parts;
  explicit Simulator(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_SIMULATOR_H_
