#include "conformance/ptx/arithmetic_cases.h"

#include <algorithm>
#include <cstddef>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "conformance/ptx/arithmetic_values.h"

namespace twinmmu::conformance {
namespace {

using ptx::OperandType;
using ptx::OperationForm;
using ptx::Type;

constexpr int kRandomTrials = 256;

// What the GPU of the recordings has; of all of setp and set, that they combine with a predicate is
// tried with some types.
bool IsTried(const OperationForm& form) {
  if (form.operation.first_target != 0) return false;  // recorded on another GPU
  const std::vector<absl::string_view> words = absl::StrSplit(form.text, '.');
  if (words.front() != "setp" && words.front() != "set") return true;
  if (words[2] != "and" && words[2] != "or" && words[2] != "xor") return true;
  return words.back() == "s32" || words.back() == "f32" || words.back() == "f16x2";
}

// How many values of each operand are tried with each of the others.
size_t ValuesOfEach(int varied) {
  constexpr size_t kValues[] = {0, 1000, 24, 9, 5, 4};
  return kValues[std::min(varied, 5)];
}

// All of what is chosen of each operand with all of the others, and random ones.
void AddTrials(ArithmeticCase& arithmetic) {
  std::vector<std::vector<uint64_t>> choices;
  std::vector<int> read;
  int varied = 0;
  for (int i = 0; i < arithmetic.operand_count(); ++i) {
    if (arithmetic.operand(i).written) continue;
    read.push_back(i);
    if (i != arithmetic.constant && arithmetic.operand(i).type != Type::kPred) ++varied;
  }
  const uint64_t constant =
      arithmetic.constant < 0 ? 0 : arithmetic.inputs[arithmetic.constant].front();
  size_t trials = 1;
  for (const int operand : read) {
    std::vector<uint64_t> values = EdgeValues(arithmetic.operand(operand).type);
    if (operand == arithmetic.constant) values = {constant};
    values.resize(std::min(values.size(), std::max<size_t>(ValuesOfEach(varied), 2)));
    trials *= values.size();
    choices.push_back(values);
    arithmetic.inputs[operand].clear();
  }
  for (size_t trial = 0; trial < trials; ++trial) {
    size_t rest = trial;
    for (size_t i = 0; i < read.size(); ++i) {
      arithmetic.inputs[read[i]].push_back(choices[i][rest % choices[i].size()]);
      rest /= choices[i].size();
    }
  }
  std::mt19937_64 random(20261122);
  for (int i = 0; i < kRandomTrials; ++i) {
    for (const int operand : read) {
      arithmetic.inputs[operand].push_back(
          operand == arithmetic.constant ? constant
                                         : RandomValue(arithmetic.operand(operand).type, random));
    }
  }
  arithmetic.trials = static_cast<int>(trials) + kRandomTrials;
}

ArithmeticCase CaseOf(const OperationForm& form) {
  ArithmeticCase result;
  result.form = &form;
  const auto end = form.operation.operands.begin() + form.operation.operand_count;
  const auto in_text = std::count_if(form.operation.operands.begin(), end,
                                     [](const OperandType& operand) { return !operand.carry; });
  result.name = absl::StrCat(form.text, "/", in_text);
  result.inputs.resize(form.operation.operand_count);
  return result;
}

// --- Kernels -------------------------------------------------------------------------------------

// Whether it is a byte in a register of its own width, as it has to be beside bf16.
bool IsByteRegister(const ArithmeticCase& arithmetic, int index) {
  if (ptx::BytesOf(arithmetic.operand(index).type) != 1) return false;
  for (int i = 0; i < arithmetic.operand_count(); ++i) {
    if (arithmetic.operand(i).type == Type::kBf16) return true;
  }
  return false;
}

// A register of the kernel for an operand: of bits, as those fit each type of their width.
std::string RegisterOf(const ArithmeticCase& arithmetic, int index) {
  const OperandType& operand = arithmetic.operand(index);
  if (operand.type == Type::kPred) return absl::StrCat("%p", index);
  if (IsByteRegister(arithmetic, index)) return absl::StrCat("%b", index);
  const uint64_t bytes = ptx::BytesOf(operand.type);
  return absl::StrCat(bytes <= 2 ? "%h" : bytes == 4 ? "%r" : "%d", index);
}

// Of one that is no flag, and has less than 64.
int BitsOfRegister(const ArithmeticCase& arithmetic, int index) {
  if (IsByteRegister(arithmetic, index)) return 8;
  return ptx::BytesOf(arithmetic.operand(index).type) == 4 ? 32 : 16;
}

std::string LoadOperand(const ArithmeticCase& arithmetic, int index, int slot) {
  const OperandType& operand = arithmetic.operand(index);
  const std::string name = RegisterOf(arithmetic, index);
  std::string text =
      absl::StrCat("  ld.global.u64 %x, [%in+", 8 * slot * arithmetic.trials, "];\n");
  if (operand.type == Type::kPred) return absl::StrCat(text, "  setp.ne.u64 ", name, ", %x, 0;\n");
  const uint64_t bytes = ptx::BytesOf(operand.type);
  if (bytes == 8) return absl::StrCat(text, "  mov.b64 ", name, ", %x;\n");
  return absl::StrCat(text, "  cvt.u", BitsOfRegister(arithmetic, index), ".u64 ", name, ", %x;\n");
}

std::string StoreOperand(const ArithmeticCase& arithmetic, int index, int slot) {
  const OperandType& operand = arithmetic.operand(index);
  const std::string name = RegisterOf(arithmetic, index);
  const uint64_t bytes = ptx::BytesOf(operand.type);
  std::string text;
  if (operand.type == Type::kPred) {
    text = absl::StrCat("  selp.u64 %x, 1, 0, ", name, ";\n");
  } else if (bytes == 8) {
    text = absl::StrCat("  mov.b64 %x, ", name, ";\n");
  } else if (operand.type == Type::kS8 && IsByteRegister(arithmetic, index)) {
    // As the simulator has it, in 16 bits.
    text = absl::StrCat("  cvt.s16.s8 %h7, ", name, ";\n  cvt.u64.u16 %x, %h7;\n");
  } else {
    text = absl::StrCat("  cvt.u64.u", BitsOfRegister(arithmetic, index), " %x, ", name, ";\n");
  }
  return absl::StrCat(text, "  st.global.u64 [%out+", 8 * slot * arithmetic.trials, "], %x;\n");
}

// The instruction, and what sets the carry flag before it, and reads it after it.
std::string InstructionOf(const ArithmeticCase& arithmetic) {
  const bool borrow = absl::StartsWith(arithmetic.form->text, "sub");
  std::string before, operands, after;
  for (int i = 0; i < arithmetic.operand_count(); ++i) {
    const OperandType& operand = arithmetic.operand(i);
    if (operand.carry) {
      const std::string flag = RegisterOf(arithmetic, i);
      if (!operand.written) {
        before = absl::StrCat("  selp.u32 %t, 1, 0, ", flag, ";\n",
                              borrow ? "  sub.cc.u32 %t, 0, %t;\n" : "  add.cc.u32 %t, %t, -1;\n");
      } else {
        after = absl::StrCat(borrow ? "  subc.u32 %t, 0, 0;\n" : "  addc.u32 %t, 0, 0;\n",
                             "  setp.ne.u32 ", flag, ", %t, 0;\n");
      }
      continue;
    }
    const bool second = i == 1 && operand.written;
    absl::StrAppend(&operands,
                    i == 0   ? " "
                    : second ? "|"
                             : ", ",
                    i == arithmetic.constant ? absl::StrCat(arithmetic.inputs[i].front())
                                             : RegisterOf(arithmetic, i));
  }
  return absl::StrCat(before, "  ", arithmetic.form->text, operands, ";\n", after);
}

std::string KernelOf(const ArithmeticCase& arithmetic, size_t index) {
  std::string text = absl::StrCat(
      ".visible .entry case_", index, "(.param .u64 inputs, .param .u64 results)\n{\n",
      "  .reg .pred %p<8>, %done;\n  .reg .b8 %b<8>;\n  .reg .b16 %h<8>;\n  .reg .b32 %r<8>, %i, "
      "%n, %t;\n",
      "  .reg .b64 %d<8>, %in, %out, %x;\n  mov.u32 %i, %ctaid.x;\n  mov.u32 %n, %ntid.x;\n",
      "  mov.u32 %t, %tid.x;\n  mad.lo.u32 %i, %i, %n, %t;\n  setp.ge.u32 %done, %i, ",
      arithmetic.trials, ";\n  @%done ret;\n  ld.param.u64 %in, [inputs];\n",
      "  ld.param.u64 %out, [results];\n  mul.wide.u32 %x, %i, 8;\n",
      "  add.u64 %in, %in, %x;\n  add.u64 %out, %out, %x;\n");
  int slot = 0;
  for (int i = 0; i < arithmetic.operand_count(); ++i) {
    if (arithmetic.operand(i).written) continue;
    text += LoadOperand(arithmetic, i, slot++);
  }
  text += InstructionOf(arithmetic);
  slot = 0;
  for (int i = 0; i < arithmetic.operand_count(); ++i) {
    if (arithmetic.operand(i).written) text += StoreOperand(arithmetic, i, slot++);
  }
  return text + "  ret;\n}\n";
}

}  // namespace

std::vector<ArithmeticCase> ArithmeticCases() {
  constexpr int kLookup = 4;
  std::vector<ArithmeticCase> cases;
  for (const OperationForm& form : ptx::OperationForms()) {
    if (!IsTried(form)) continue;
    ArithmeticCase arithmetic = CaseOf(form);
    if (!absl::StartsWith(form.text, "lop3")) {
      AddTrials(arithmetic);
      cases.push_back(arithmetic);
      continue;
    }
    arithmetic.constant = form.text == "lop3.b32" ? kLookup : kLookup + 1;
    const std::string name = arithmetic.name;
    for (const uint64_t lookup : {0x00, 0x96, 0xe8, 0xca, 0x1b, 0x80, 0x01, 0xd8}) {
      arithmetic.name = absl::StrCat(name, "#", lookup);
      arithmetic.inputs[arithmetic.constant] = {lookup};
      AddTrials(arithmetic);
      cases.push_back(arithmetic);
    }
  }
  return cases;
}

uint64_t HashOfInputs(const ArithmeticCase& arithmetic) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, by words
  for (const std::vector<uint64_t>& values : arithmetic.inputs) {
    for (const uint64_t value : values) hash = (hash ^ value) * 0x100000001b3;
  }
  return hash;
}

std::string KernelsOf(absl::Span<const ArithmeticCase> cases) {
  std::string text = ".version 8.3\n.target sm_90\n.address_size 64\n";
  for (size_t i = 0; i < cases.size(); ++i) text += KernelOf(cases[i], i);
  return text;
}

OperandValues Simulate(const ArithmeticCase& arithmetic) {
  // Of a difference the recording has the borrow, which is the flag turned.
  const bool borrows = absl::StartsWith(arithmetic.form->text, "sub");
  const auto turn = [&](OperandValues* values) {
    for (int i = 0; borrows && i < arithmetic.operand_count(); ++i) {
      if (!arithmetic.operand(i).carry) continue;
      for (uint64_t& flag : (*values)[static_cast<size_t>(i)]) flag ^= 1;
    }
  };
  OperandValues inputs = arithmetic.inputs;
  turn(&inputs);
  OperandValues results = ptx::RunOperation(arithmetic.form->operation, inputs, arithmetic.trials);
  turn(&results);
  return results;
}

}  // namespace twinmmu::conformance
