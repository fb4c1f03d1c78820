// Instructions that say what comes next.

#include <string>
#include <utility>

#include "sim/ptx/decode/decode.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {
namespace {

struct KnownFunction {
  const char* name;
  Builtin builtin;
};
constexpr KnownFunction kKnown[] = {
    {"vprintf", Builtin::kPrint},
    {"__assertfail", Builtin::kAssert},
    {"malloc", Builtin::kAllocate},
    {"free", Builtin::kFree},
    {"cudaGraphSetConditional", Builtin::kSetCondition},
};

}  // namespace

bool IsKnownFunction(absl::string_view name) {
  for (const KnownFunction& known : kKnown) {
    if (name == known.name) return true;
  }
  return false;
}

void Decoder::Bra() {
  Take("uni");
  ExpectOperands(1, 1);
  const Operand& label = At(0);
  if (label.kind != Operand::kLabel || label.index < 0 ||
      static_cast<size_t>(label.index) > function_.body.size()) {
    return FailInvalid("the target is not a label");
  }
  Step& step = Emit(PerformBranch);
  step.branches = true;
  step.target = static_cast<uint32_t>(label.index);  // an instruction; a step in the end
}

void Decoder::BranchIndexed() {
  Take("idx");
  Take("uni");
  ExpectOperands(2, 2);
  const Operand& targets = At(1);
  if (targets.kind != Operand::kTargets || targets.index < 0 ||
      static_cast<size_t>(targets.index) >= function_.target_lists.size()) {
    return FailInvalid("the list of targets is missing");
  }
  std::vector<uint32_t> list;
  for (const int target : function_.target_lists[static_cast<size_t>(targets.index)]) {
    if (target < 0 || static_cast<size_t>(target) > function_.body.size()) {
      return FailInvalid("'", targets.name, "' is not a list of labels");
    }
    list.push_back(static_cast<uint32_t>(target));
  }
  const uint32_t index = Source(At(0), Type::kB32);
  Step& step = Emit(PerformIndexedBranch);
  step.operands[0] = index;
  step.target = static_cast<uint32_t>(code_.target_lists.size());
  code_.target_lists.push_back(std::move(list));
}

// What is passed: a variable of .param, or a register.
std::vector<Passed> Decoder::PassedOf(const Operand& list) {
  std::vector<Passed> all;
  for (const Operand& part : list.parts) {
    Passed passed;
    if (part.kind == Operand::kRegister) {
      const Type type = TypeOfRegister(part.index);
      if (type == Type::kPred) FailInvalid("a predicate cannot be passed");
      if (type == Type::kB128) FailUnimplemented("registers of 128 bits cannot be passed");
      passed.at = RegisterSlot(part.index);
      passed.size = static_cast<uint32_t>(BytesOf(type));
      passed.slot_width = static_cast<uint8_t>(WidthOf(type));
    } else if (part.kind == Operand::kLocalVariable && part.index >= 0 &&
               static_cast<size_t>(part.index) < function_.variables.size() &&
               function_.variables[static_cast<size_t>(part.index)].space == Space::kParam) {
      const size_t index = static_cast<size_t>(part.index);
      passed.at =
          static_cast<uint32_t>(placement_.of_functions[static_cast<size_t>(index_)][index].offset);
      passed.size = static_cast<uint32_t>(function_.variables[index].size());
    } else if (part.kind == Operand::kInteger || part.kind == Operand::kF32 ||
               part.kind == Operand::kF64) {
      const Type type = part.kind == Operand::kF64 ? Type::kB64 : Type::kB32;
      passed.at = Constant(part, type);
      passed.size = static_cast<uint32_t>(BytesOf(type));
      passed.slot_width = static_cast<uint8_t>(passed.size);
    } else {
      FailUnimplemented("'", part.name, "' cannot be passed");
    }
    all.push_back(passed);
  }
  return all;
}

void Decoder::Call() {
  Take("uni");
  size_t next = 0;
  CallSite site;
  if (At(next).kind == Operand::kArguments) site.results = PassedOf(At(next++));
  const Operand& callee = At(next++);
  if (At(next).kind == Operand::kArguments) site.arguments = PassedOf(At(next++));
  uint32_t address = 0;
  if (callee.kind == Operand::kFunction && callee.index >= 0 &&
      static_cast<size_t>(callee.index) < module_.functions.size()) {
    const Function& function = module_.functions[static_cast<size_t>(callee.index)];
    site.function = callee.index;
    for (const KnownFunction& known : kKnown) {
      if (function.external && function.name == known.name) site.builtin = known.builtin;
    }
    if (site.builtin == Builtin::kNone && function.external) {
      return FailInvalid("there is no function '", function.name, "' here");
    }
    if (function.entry) return FailUnimplemented("a kernel cannot be called");
    CheckPassed(site.arguments, function.parameters);
    CheckPassed(site.results, function.results);
    code_.callees.push_back(callee.index);
  } else if (callee.kind == Operand::kRegister) {
    address = Source(callee, Type::kB64);
    code_.calls_by_address = true;
  } else {
    return FailInvalid("what is called is not a function");
  }
  Step& step = Emit(PerformCall);
  step.operands[0] = address;
  step.target = static_cast<uint32_t>(code_.calls.size());
  code_.calls.push_back(std::move(site));
}

void Decoder::CheckPassed(const std::vector<Passed>& passed,
                          const std::vector<Variable>& declared) {
  if (passed.size() != declared.size()) {
    return FailInvalid("it passes ", passed.size(), " values, not ", declared.size());
  }
  for (size_t i = 0; i < passed.size(); ++i) {
    if (passed[i].size == declared[i].size()) continue;
    FailInvalid("'", declared[i].name, "' has ", declared[i].size(), " bytes, not ",
                passed[i].size);
  }
}

void Decoder::Ret() {
  Take("uni");
  ExpectOperands(0, 0);
  Emit(PerformReturn);
}

void Decoder::Exit() {
  ExpectOperands(0, 0);
  Emit(PerformExit);
}

void Decoder::GridControl() {
  ExpectOperands(0, 0);
  const int which = TakeOneOf({"launch_dependents", "wait"});
  if (which < 0) return FailInvalid("it is neither .launch_dependents nor .wait");
  if (module_.target < 90) return FailInvalid("it is there from sm_90 on");
  Emit(which == 0 ? PerformLetNextStart : PerformGridWait);
}

void Decoder::Trap() {
  ExpectOperands(0, 0);
  Emit(PerformTrap);
}

void Decoder::Sleep() {
  Take("u32");
  ExpectOperands(1, 1);
  Emit(PerformSleep);
}

}  // namespace twinmmu::ptx
