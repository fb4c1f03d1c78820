#include "conformance/litmus/litmus_writer.h"

#include "conformance/litmus/litmus_control.h"
#include "conformance/litmus/litmus_opcode.h"
#include "conformance/litmus/litmus_placement.h"

namespace twinmmu {

using coherence::Arithmetic;
using coherence::Instruction;
using coherence::Observable;
using coherence::Scope;
using coherence::Thread;

namespace {

constexpr uint32_t kSleeps = 1100;

}  // namespace

LitmusWriter::LitmusWriter(const coherence::LitmusTest& test, LitmusTiming timing)
    : test_(test),
      program_(test.program),
      all_(GpusOf(test.program).size() > 1 ? ".sys" : ".gpu"),
      timing_(timing) {}

void LitmusWriter::Header() {
  if (test_.multicast) {
    absl::StrAppend(&text_, ".version 8.1\n.target sm_90\n.address_size 64\n");
    return;
  }
  bool clusters = false;
  for (const Thread& thread : program_.threads) {
    for (const Instruction& instruction : thread.instructions) {
      clusters = clusters || instruction.scope == Scope::kCluster;
      clusters = clusters || instruction.kind == Instruction::kTrigger ||
                 instruction.kind == Instruction::kGridWait;
    }
  }
  absl::StrAppend(&text_, ".version 8.0\n.target ", clusters ? "sm_90" : "sm_70",
                  "\n.address_size 64\n");
}

void LitmusWriter::BeginKernel(const std::string& name, std::vector<const char*> types) {
  for (size_t i = 0; i < program_.addresses.size(); ++i) types.push_back("u64");
  absl::StrAppend(&text_, "\n.visible .entry ", name, "(\n");
  for (size_t i = 0; i < types.size(); ++i) {
    Line(".param .", types[i], " p", i, i + 1 == types.size() ? "" : ",");
  }
  absl::StrAppend(&text_, ")\n{\n");
  Line(".reg .pred %p<4>;");
  Line(".reg .b32 %r<32>;");
  Line(".reg .b64 %rd<16>;");
  Line(".reg .b64 %a<", program_.addresses.size() + 1, ">;");
  for (size_t t = 0; t < program_.threads.size(); ++t) {
    Line(".reg .b32 %t", t, "_<", program_.threads[t].registers.size() + 1, ">;");
  }
}

void LitmusWriter::EndKernel() {
  Line("ret;");
  absl::StrAppend(&text_, "}\n");
}

void LitmusWriter::LoadAddresses(int first) {
  Line("mul.wide.u32 %rd1, %r2, ", kLitmusStride, ";");
  for (size_t i = 0; i < program_.addresses.size(); ++i) {
    Line("ld.param.u64 %rd2, [p", first + i, "];");
    Line("add.s64 %a", i, ", %rd2, %rd1;");
  }
}

void LitmusWriter::HideAddresses(int thread) {
  const Thread& of = program_.threads[thread];
  Line(".reg .b64 %b", thread, "_<", of.instructions.size() + 1, ">;");
  for (size_t i = 0; i < of.instructions.size(); ++i) {
    if (!of.instructions[i].IsAccess()) continue;
    Line("ld.volatile.global.u32 %r24, [%rd0+", LitmusControl::kZeros + 4 * (next_zero_++ % 512),
         "];");
    Line("cvt.u64.u32 %rd6, %r24;");
    Line("add.s64 %b", thread, "_", i, ", %a", of.instructions[i].address, ", %rd6;");
  }
}

void LitmusWriter::Delay(int bits) {
  if (timing_ == LitmusTiming::kGivingWay) {
    Line("mov.u32 %r31, %r20;");
    return;
  }
  const std::string loop = NewLabel();
  Line("shr.u32 %r20, %r20, ", 32 - bits, ";");
  Line("mov.u32 %r21, %clock;");
  Label(loop);
  Line("mov.u32 %r22, %clock;");
  Line("sub.u32 %r22, %r22, %r21;");
  Line("setp.lt.u32 %p1, %r22, %r20;");
  Line("@%p1 bra ", loop, ";");
}

// By the toss of a coin. A warp that sleeps lets the others of its block run; the simulator goes on
// to another block, or another kernel, once a block has done nothing but that for long enough.
void LitmusWriter::GiveWay() {
  const std::string loop = NewLabel(), go = NewLabel();
  Line("mad.lo.u32 %r31, %r31, 1664525, 1013904223;");
  Line("setp.lt.s32 %p1, %r31, 0;");
  Line("@%p1 bra ", go, ";");
  Line("mov.u32 %r21, ", kSleeps, ";");
  Label(loop);
  Line("nanosleep.u32 20;");
  Line("sub.u32 %r21, %r21, 1;");
  Line("setp.ne.u32 %p1, %r21, 0;");
  Line("@%p1 bra ", loop, ";");
  Label(go);
}

void LitmusWriter::Body(int thread, const std::map<int, int>* barrier_threads) {
  const Thread& of = program_.threads[thread];
  for (size_t r = 0; r < of.registers.size(); ++r) Line("mov.u32 %t", thread, "_", r, ", 0;");
  for (size_t i = 0; i < of.instructions.size(); ++i) {
    address_ = absl::StrCat("[%b", thread, "_", i, "]");
    if (timing_ == LitmusTiming::kGivingWay) GiveWay();
    Emit(thread, of.instructions[i], barrier_threads);
  }
}

void LitmusWriter::ReadAddress(absl::string_view result, int address) {
  const char* const opcode = program_.addresses[address].multicast
                                 ? "multimem.ld_reduce.weak.global.add"
                                 : "ld.weak.global.ca";
  Line(opcode, ".u32 ", result, ", [%a", address, "];");
}

void LitmusWriter::StoreRegisters(int thread) {
  for (size_t i = 0; i < test_.observables.size(); ++i) {
    const Observable& observable = test_.observables[i];
    if (observable.thread != thread) continue;
    RegisterPlace(i);
    Line("st.relaxed", all_, ".global.u32 [%rd3], %t", thread, "_", observable.index, ";");
  }
}

void LitmusWriter::RegisterPlace(size_t observable) {
  Line("mad.lo.u32 %r23, %r3, ", observable, ", %r2;");
  Line("mul.wide.u32 %rd3, %r23, 4;");
  Line("add.s64 %rd3, %rd3, %rd0;");
  Line("add.s64 %rd3, %rd3, ", LitmusControl::kRegisters, ";");
}

void LitmusWriter::CountError() {
  Line("red.relaxed", all_, ".global.add.u32 [%rd0+", LitmusControl::kErrors, "], 1;");
}

std::string LitmusWriter::OpcodeOf(const Instruction& instruction) const {
  const bool multicast =
      instruction.IsAccess() && program_.addresses[instruction.address].multicast;
  return twinmmu::OpcodeOf(instruction, multicast);
}

std::string LitmusWriter::Operand(int thread, const coherence::Value& value) const {
  return value.reg < 0 ? absl::StrCat(value.constant) : absl::StrCat("%t", thread, "_", value.reg);
}

std::string LitmusWriter::ResultOf(int thread, const Instruction& instruction) const {
  return instruction.result < 0 ? "%r24" : absl::StrCat("%t", thread, "_", instruction.result);
}

void LitmusWriter::Emit(int thread, const Instruction& instruction,
                        const std::map<int, int>* barrier_threads) {
  switch (instruction.kind) {
    case Instruction::kLoad:
    case Instruction::kAtomic:
      if (instruction.until) {
        EmitSpin(thread, instruction);
      } else {
        EmitRead(thread, instruction);
      }
      return;
    case Instruction::kStore:
      Line(OpcodeOf(instruction), " ", address_, ", ", Operand(thread, instruction.value), ";");
      return;
    case Instruction::kBarrier:
    case Instruction::kBarrierArrive:
      if (barrier_threads == nullptr) return;
      Line(OpcodeOf(instruction), " ", instruction.barrier, ", ",
           barrier_threads->at(instruction.barrier), ";");
      return;
    case Instruction::kFence:
    case Instruction::kAliasFence:
    case Instruction::kTrigger:
    case Instruction::kGridWait:
      Line(OpcodeOf(instruction), ";");
      return;
    case Instruction::kAliasReleaseFence:
    case Instruction::kAliasAcquireFence:
    case Instruction::kBarrierWait:
    case Instruction::kAsyncFence:
      return;  // CheckCanRun refuses them
  }
}

void LitmusWriter::EmitRead(int thread, const Instruction& instruction) {
  const std::string result = ResultOf(thread, instruction);
  if (instruction.kind == Instruction::kLoad) {
    Line(OpcodeOf(instruction), " ", result, ", ", address_, ";");
    return;
  }
  if (program_.addresses[instruction.address].multicast) {
    Line(OpcodeOf(instruction), " ", address_, ", ", Operand(thread, instruction.value), ";");
    return;
  }
  const std::string compare = instruction.operation == Arithmetic::kCompareAndSwap
                                  ? absl::StrCat(Operand(thread, instruction.compare), ", ")
                                  : "";
  Line(OpcodeOf(instruction), " ", result, ", ", address_, ", ", compare,
       Operand(thread, instruction.value), ";");
}

void LitmusWriter::EmitSpin(int thread, const Instruction& instruction) {
  const std::string loop = NewLabel(), done = NewLabel();
  Line("mov.u32 %r25, 0;");
  Label(loop);
  EmitRead(thread, instruction);
  Line("setp.", twinmmu::OpcodeOf(instruction.until->comparison), ".u32 %p2, ",
       ResultOf(thread, instruction), ", ", instruction.until->value, ";");
  Line("@%p2 bra ", done, ";");
  Line("add.u32 %r25, %r25, 1;");
  Line("setp.lt.u32 %p2, %r25, ", kMaxLitmusTurns, ";");
  Line("@%p2 bra ", loop, ";");
  CountError();
  Label(done);
}

}  // namespace twinmmu
