#include "sim/ptx/operations/operation_testing.h"

#include <cstddef>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "sim/ptx/operations/lane_types.h"
#include "sim/ptx/operations/run_operation.h"

namespace twinmmu::ptx {

absl::StatusOr<Operation> Find(absl::string_view form, int operands) {
  Instruction instruction;
  instruction.modifiers = absl::StrSplit(form, '.');
  instruction.opcode = instruction.modifiers.front();
  instruction.modifiers.erase(instruction.modifiers.begin());
  Operand operand;
  operand.kind = Operand::kRegister;
  instruction.operands.assign(operands, operand);
  return FindOperation(instruction);
}

std::vector<uint64_t> ResultsOf(absl::string_view form, const std::vector<uint64_t>& inputs,
                                int results) {
  // The carry flag stands behind what is in the text, and may be read, or written, or both.
  for (int carries = 0; carries <= 2; ++carries) {
    const int in_text = static_cast<int>(inputs.size()) + results - carries;
    const absl::StatusOr<Operation> operation = Find(form, in_text);
    if (!operation.ok()) continue;
    OperandValues values;
    size_t next = 0;
    for (int i = 0; i < operation->operand_count; ++i) {
      const bool read = !operation->operands[i].written && next < inputs.size();
      values.push_back(read ? std::vector<uint64_t>{inputs[next++]} : std::vector<uint64_t>());
    }
    if (next != inputs.size() || operation->operand_count != in_text + carries) continue;
    std::vector<uint64_t> all;
    for (const std::vector<uint64_t>& written : RunOperation(*operation, values, 1)) {
      all.insert(all.end(), written.begin(), written.end());
    }
    return all;
  }
  ADD_FAILURE() << "there is no " << form << " of " << inputs.size() << " inputs and " << results
                << " results";
  return {};
}

uint64_t ResultOf(absl::string_view form, const std::vector<uint64_t>& inputs) {
  const std::vector<uint64_t> results = ResultsOf(form, inputs);
  return results.size() == 1 ? results.front() : 0xbadbadbadbadbad;
}

uint64_t Bits(float x) { return BitsOf(x); }
uint64_t Bits(double x) { return BitsOf(x); }

}  // namespace twinmmu::ptx
