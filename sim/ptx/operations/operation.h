// Operation: how an instruction computes values from values, for the lanes of a warp.
//
// This is all of PTX that looks at nothing but its operands: arithmetic, logic, comparison,
// selection, conversion. What looks at memory, at other lanes, or at the flow of control is in
// sim/ptx/decode/decode.h.

#ifndef TWINMMU_SIM_PTX_OPERATIONS_OPERATION_H_
#define TWINMMU_SIM_PTX_OPERATIONS_OPERATION_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/ptx/text/module.h"
#include "sim/ptx/text/type.h"

namespace twinmmu::ptx {

constexpr int kLanes = 32;
using Lanes = uint32_t;  // bit i: lane i
constexpr Lanes kAllLanes = ~Lanes{0};

constexpr int kMaxOperands = 7;  // lop3.or.b32 d|p, a, b, c, table, q

// Computes for `lanes`. `operands` are byte offsets into `registers`, where each value has a slot:
// of a type of N bytes, kLanes values of N bytes one after another, aligned to 64 (N is 2, 4 or 8;
// types of one byte take 2; a tuple like f16x2 takes 4); of a predicate, a Lanes. Values of lanes
// not in `lanes` keep what they are. Slots are the same or apart: a destination may be a slot that
// is read, too. A value of one byte has its sign, or 0, in the upper byte when it is written; when
// it is read the upper byte may hold anything.
using Compute = void (*)(const uint32_t* operands, char* registers, Lanes lanes);

// In the order of the text; a pair d|p or p|q counts as two, p|_ too. A destination that is
// discarded (_) gets a slot of its own.
//
// The carry flag CC.CF of a thread is a predicate that the text does not name: the operands marked
// `carry` come behind those of the text, and the decoder gives them the slot of the flag. addc.cc
// has two of them, the flag as it is read and as it is written. After sub.cc it is set where
// nothing is borrowed.
struct OperandType {
  Type type = Type::kB32;
  bool written = false;
  bool carry = false;
};

struct Operation {
  Compute compute = nullptr;
  int operand_count = 0;
  int first_target = 0;  // 100: there is it from sm_100 on
  std::array<OperandType, kMaxOperands> operands;
};

// A form: an opcode with its modifiers, "add.rn.ftz.f32".
struct OperationForm {
  std::string text;
  bool approximate = false;  // PTX gives a bound for the error, not the result
  Operation operation;
};

// What `instruction` (its opcode, modifiers, and the number of its operands) computes. An operand
// whose register is of another width than its type in the result is what the decoder has to deal
// with; of cvt, the decoder extends or cuts.
// NotFound: the opcode is none that computes. Unimplemented: it is, but this form is not covered:
// says what is missing. InvalidArgument: PTX has no such form.
// mov is covered between registers and constants; for one of another operand the answer is
// NotFound. Thread-safe.
absl::StatusOr<Operation> FindOperation(const Instruction& instruction);

// All that is covered. Some forms come twice, with a different number of operands. Thread-safe.
const std::vector<OperationForm>& OperationForms();

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_OPERATIONS_OPERATION_H_
