// Arithmetic cases: each form of an instruction that computes, with the inputs that it is tried on,
// and a kernel that tries it on a device.

#ifndef TWINMMU_CONFORMANCE_PTX_ARITHMETIC_CASES_H_
#define TWINMMU_CONFORMANCE_PTX_ARITHMETIC_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "sim/ptx/operations/operation.h"
#include "sim/ptx/operations/run_operation.h"

namespace twinmmu::conformance {

using ptx::OperandValues;

struct ArithmeticCase {
  std::string name;  // "add.s32/3", with the number of operands; unique
  const ptx::OperationForm* form = nullptr;
  int constant = -1;  // the operand that must be a constant, if there is one; its inputs are equal
  OperandValues inputs;
  int trials = 0;

  const ptx::OperandType& operand(int index) const { return form->operation.operands[index]; }
  int operand_count() const { return form->operation.operand_count; }
};

// All forms that the simulator covers, but of comparisons that are combined with a predicate a few
// of each kind. The same in every process.
std::vector<ArithmeticCase> ArithmeticCases();

// Changes with any input.
uint64_t HashOfInputs(const ArithmeticCase& arithmetic);

// PTX with a kernel for each case, "case_<index>": (inputs, results), both addresses of 64-bit
// words: for each operand that is read, or written, one after another, a word for each trial. One
// thread for each trial, in blocks of kCaseThreads.
constexpr int kCaseThreads = 128;
std::string KernelsOf(absl::Span<const ArithmeticCase> cases);

// What the simulator's operation gives for the inputs.
OperandValues Simulate(const ArithmeticCase& arithmetic);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_PTX_ARITHMETIC_CASES_H_
