// Mutants with a class between them and Real, which knows or does something for several of them.

#ifndef TWINMMU_CONFORMANCE_MUTANTS_MUTANT_OF_H_
#define TWINMMU_CONFORMANCE_MUTANTS_MUTANT_OF_H_

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

#endif  // TWINMMU_CONFORMANCE_MUTANTS_MUTANT_OF_H_
