// Mutants of the interpreter: one that does an instruction otherwise.
//
//   PTX_MUTANT(KERNEL_2, "atom.global.add.u32 *, [*], *;", "ld.global.u32 $0, [$1];",
//              "An atomic add adds nothing.")
//
// The machine runs kernels by its own interpreter, and is given another text: each instruction of
// the first form stands there in the second form, which is what a wrong interpreter would do with
// it. Where no instruction has that form, or the new text cannot be loaded, nothing is changed: the
// mutant survives, which fails the build.

#ifndef TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_PTX_MUTANT_H_
#define TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_PTX_MUTANT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "conformance/mutants/framework/mutant.h"
#include "conformance/mutants/framework/simulated_target.h"

namespace twinmmu::conformance {

// `ptx` with each line that has the form `instruction` in the form `instead`. Blanks count as one,
// and not at the ends of a line. Each * in `instruction` stands for any text, as short as possible,
// and $0, $1 ... in `instead` for what the first, the second ... is; an empty `instead` drops the
// line.
std::string WithInstead(absl::string_view ptx, absl::string_view instruction,
                        absl::string_view instead);

class PtxMutant : public Real {
 public:
  // The texts live as long as this object.
  PtxMutant(Vmm* vmm, Executor* executor, absl::string_view instruction, absl::string_view instead)
      : Real(vmm, executor), instruction_(instruction), instead_(instead) {}
  CALL(LoadModule) override;

 private:
  absl::string_view instruction_;
  absl::string_view instead_;
};

}  // namespace twinmmu::conformance

// To be used inside namespace twinmmu::conformance.
#define PTX_MUTANT(rule_id, instruction, instead, sentence)   \
  TWINMMU_PTX_MUTANT(rule_id, instruction, instead, sentence, \
                     TWINMMU_MUTANT_NAME(rule_id, __LINE__))
#define TWINMMU_PTX_MUTANT(rule_id, instruction, instead, sentence, Class)                  \
  namespace {                                                                               \
  class Class : public PtxMutant {                                                          \
   public:                                                                                  \
    Class(Vmm* vmm, Executor* executor) : PtxMutant(vmm, executor, instruction, instead) {} \
  };                                                                                        \
  INTERPRETER_MUTANT(rule_id, Class, sentence)                                              \
  }
// A mutant of the same machine that is a class of its own, as with MUTANT_CLASS.
#define INTERPRETER_MUTANT(rule_id, Class, sentence) \
  MUTANT_CLASS_ON(kInterpreter, rule_id, Class, sentence)

#endif  // TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_PTX_MUTANT_H_
