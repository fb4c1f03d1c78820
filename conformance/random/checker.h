// Checker: makes calls on an implementation and on the model, and compares code, result and state.

#ifndef TWINMMU_CONFORMANCE_RANDOM_CHECKER_H_
#define TWINMMU_CONFORMANCE_RANDOM_CHECKER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/executor.h"
#include "api/vmm.h"
#include "conformance/random/model.h"
#include "conformance/random/random_call.h"

namespace twinmmu::conformance::random {

// What came of one call.
struct Step {
  bool skipped = false;
  Answer expected;
  std::string difference;  // between the answers; empty if there is none
};

// What the two answer differently, and the questions that show it, which are calls. None: it was
// the call itself.
struct Difference {
  std::string what;
  std::vector<Call> questions;
};

class Checker {
 public:
  // `vmm` and `executor` must outlive this object, and have nothing of others in them. With
  // `defined_only`, calls whose outcome no driver defines are left out: they may end the process.
  Checker(Vmm* vmm, Executor* executor, const ModelParameters& parameters, bool defined_only);

  Step Do(const Call& call);
  // A copy or fill that was taken has faulted since.
  void Fault() { model_.Fault(); }
  // Asks for everything that can be seen. A state that is not the model's stays as it is, too.
  std::optional<Difference> CheckState();
  // Both: a call, and the state after it.
  std::optional<Difference> DoAndCheck(const Call& call);
  // Undoes all that is left, and checks that nothing is lost.
  std::optional<Difference> CleanUp();

  const Model& model() const { return model_; }
  const Slots& slots() const { return slots_; }
  // How many calls were made and compared: those that were asked for, and the questions after them.
  uint64_t answers() const { return answers_; }
  Bytes Value(const Amount& amount) const;
  DeviceAddress Value(const Place& place) const;
  AllocationHandle Value(const HandleOperand& handle) const;
  ShareableHandle ShareableOf(const Call& call) const;

 private:
  bool IsLeftOut(const Call& call) const;
  bool ReachesOthers(const Call& call) const;
  bool MayEndTheProcess(const Call& call) const;
  bool Overlaps(const Call& call) const;
  AddressRange RangeOf(const Call& call) const;

  Step AddressReserve(const Call& call);
  Step Create(const Call& call);
  Step Retain(const Call& call);
  Step GetProperties(const Call& call);
  Step GetMemoryInfo(const Call& call);
  Step Export(const Call& call);
  Step CloseDescriptor(const Call& call);
  Step Import(const Call& call);
  Step GetAddressRange(const Call& call);
  Step CopyHostToDevice(const Call& call);
  Step CopyDeviceToHost(const Call& call);
  Step CopyDeviceToDevice(const Call& call);
  Step Fill(const Call& call);
  template <typename Expect, typename Work>
  Step Transfer(const Call& call, const Expect& expect, const Work& work);

  std::optional<Difference> Ask(const std::vector<Call>& questions);
  std::vector<Call> CallsToCleanUp() const;
  std::optional<Difference> CheckGranule(const Place& place);

  Vmm& vmm_;
  Executor& executor_;
  const bool defined_only_;
  Model model_;
  Slots slots_;
  uint64_t answers_ = 0;
};

}  // namespace twinmmu::conformance::random

#endif  // TWINMMU_CONFORMANCE_RANDOM_CHECKER_H_
