// Mutants with a class between them and Real, which knows or does something for several of them.

#ifndef TWINMMU_CONFORMANCE_MUTANTS_MUTANT_OF_H_
#define TWINMMU_CONFORMANCE_MUTANTS_MUTANT_OF_H_

#include <functional>
#include <utility>
#include <vector>

#include "conformance/mutants/framework/mutant.h"

// As MUTANT, where Real::Map still is what the call does elsewhere. Inside an unnamed namespace.
#define MUTANT_OF(Base, rule_id, call, sentence) \
  NAMED_MUTANT_OF(TWINMMU_MUTANT_NAME(rule_id, __LINE__), Base, rule_id, call, sentence)
// One that also breaks other rules: each has a MUTANT_CLASS behind it.
#define NAMED_MUTANT_OF(Name, Base, rule_id, call, sentence) \
  class Name : public Base {                                 \
   public:                                                   \
    using Base::Base;                                        \
    CALL(call) override;                                     \
  };                                                         \
  MUTANT_CLASS(rule_id, Name, sentence)                      \
  CALL_OF(Name, call)

namespace twinmmu::conformance {

// Hands some work on only when somebody waits.
template <typename Base>
class LateWork : public Base {
 public:
  using Base::Base;
  CALL(SynchronizeStream) override {
    HandOn();
    return Base::SynchronizeStream(stream);
  }
  CALL(SynchronizeDevice) override {
    HandOn();
    return Base::SynchronizeDevice(device);
  }

 protected:
  absl::Status Later(std::function<absl::Status()> work) {
    late_.push_back(std::move(work));
    return absl::OkStatus();
  }
  void Drop() { late_.clear(); }

 private:
  void HandOn() {
    for (const auto& work : std::exchange(late_, {})) work().IgnoreError();
  }
  std::vector<std::function<absl::Status()>> late_;
};
using WorksLate = LateWork<Real>;

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_MUTANTS_MUTANT_OF_H_
