#include "conformance/litmus/litmus_opcode.h"

#include "absl/strings/str_cat.h"

namespace twinmmu {
namespace {

using coherence::Arithmetic;
using coherence::Comparison;
using coherence::Instruction;
using coherence::Scope;
using coherence::Semantics;

const char* NameOf(Scope scope) {
  switch (scope) {
    case Scope::kCta:
      return ".cta";
    case Scope::kCluster:
      return ".cluster";
    case Scope::kGpu:
      return ".gpu";
    case Scope::kSys:
      break;
  }
  return ".sys";
}

std::string Order(const Instruction& instruction) {
  switch (instruction.semantics) {
    case Semantics::kWeak:
      return ".weak";
    case Semantics::kRelaxed:
      return absl::StrCat(".relaxed", NameOf(instruction.scope));
    case Semantics::kAcquire:
      return absl::StrCat(".acquire", NameOf(instruction.scope));
    case Semantics::kRelease:
      return absl::StrCat(".release", NameOf(instruction.scope));
    case Semantics::kAcquireRelease:
      break;
  }
  return absl::StrCat(".acq_rel", NameOf(instruction.scope));
}

const char* NameOf(Arithmetic operation) {
  switch (operation) {
    case Arithmetic::kAdd:
      return ".add.u32";
    case Arithmetic::kExchange:
      return ".exch.b32";
    case Arithmetic::kCompareAndSwap:
      return ".cas.b32";
    case Arithmetic::kMin:
      return ".min.u32";
    case Arithmetic::kMax:
      return ".max.u32";
    case Arithmetic::kAnd:
      return ".and.b32";
    case Arithmetic::kOr:
      return ".or.b32";
    case Arithmetic::kXor:
      return ".xor.b32";
    case Arithmetic::kIncrement:
      return ".inc.u32";
    case Arithmetic::kDecrement:
      break;
  }
  return ".dec.u32";
}

}  // namespace

const char* OpcodeOf(Comparison comparison) {
  switch (comparison) {
    case Comparison::kEqual:
      return "eq";
    case Comparison::kNotEqual:
      return "ne";
    case Comparison::kLess:
      return "lt";
    case Comparison::kLessEqual:
      return "le";
    case Comparison::kGreater:
      return "gt";
    case Comparison::kGreaterEqual:
      break;
  }
  return "ge";
}

std::string OpcodeOf(const Instruction& instruction, bool multicast) {
  switch (instruction.kind) {
    case Instruction::kLoad:
      if (multicast) {
        return absl::StrCat("multimem.ld_reduce", Order(instruction), ".global",
                            NameOf(instruction.operation));
      }
      return absl::StrCat("ld", Order(instruction), ".global.u32");
    case Instruction::kStore:
      return absl::StrCat(multicast ? "multimem.st" : "st", Order(instruction), ".global.u32");
    case Instruction::kAtomic:
      return absl::StrCat(multicast ? "multimem.red" : "atom", Order(instruction), ".global",
                          NameOf(instruction.operation));
    case Instruction::kFence:
      // fence.acquire and fence.release need a newer PTX: what is stronger stands for them.
      return absl::StrCat("fence.", instruction.sequential ? "sc" : "acq_rel",
                          NameOf(instruction.scope));
    case Instruction::kAliasFence:
      return "fence.proxy.alias";
    case Instruction::kBarrier:
      return "barrier.sync";
    case Instruction::kBarrierArrive:
      return "barrier.arrive";
    case Instruction::kTrigger:
      return "griddepcontrol.launch_dependents";
    case Instruction::kGridWait:
      return "griddepcontrol.wait";
    case Instruction::kAliasReleaseFence:
    case Instruction::kAliasAcquireFence:
    case Instruction::kBarrierWait:
    case Instruction::kAsyncFence:
      break;
  }
  return "";
}

}  // namespace twinmmu
