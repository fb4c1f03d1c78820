#include "tools/litmus_ptx.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace twinmmu {
namespace {

using coherence::Address;
using coherence::Arithmetic;
using coherence::Comparison;
using coherence::Instruction;
using coherence::LitmusTest;
using coherence::Observable;
using coherence::Program;
using coherence::Scope;
using coherence::Semantics;
using coherence::Thread;

constexpr int kMaxKeyBits = 20;
// Turns of a loop that waits: seconds, for what takes microseconds.
constexpr uint32_t kMaxTurns = 1 << 21;

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

const char* NameOf(Comparison comparison) {
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

// Writes PTX. Labels are numbered over the whole text.
class Writer {
 public:
  explicit Writer(const Program& program) : program_(program) {}

  template <typename... Parts>
  void Line(const Parts&... parts) {
    absl::StrAppend(&text_, "  ", parts..., "\n");
  }
  void Label(absl::string_view name) { absl::StrAppend(&text_, name, ":\n"); }
  std::string NewLabel() { return absl::StrCat("L", next_label_++); }
  void Raw(absl::string_view text) { absl::StrAppend(&text_, text); }
  std::string Take() { return std::move(text_); }

  void Header() {
    bool clusters = false;
    for (const Thread& thread : program_.threads) {
      for (const Instruction& instruction : thread.instructions) {
        clusters = clusters || instruction.scope == Scope::kCluster;
        clusters = clusters || instruction.kind == Instruction::kTrigger ||
                   instruction.kind == Instruction::kGridWait;
      }
    }
    Raw(absl::StrCat(".version 8.0\n.target ", clusters ? "sm_90" : "sm_70",
                     "\n.address_size 64\n"));
  }

  // Parameters p0, p1, ... of these types.
  void BeginKernel(const std::string& name, std::vector<const char*> types) {
    for (size_t i = 0; i < program_.addresses.size(); ++i) types.push_back("u64");
    Raw(absl::StrCat("\n.visible .entry ", name, "(\n"));
    for (size_t i = 0; i < types.size(); ++i) {
      Line(".param .", types[i], " p", i, i + 1 == types.size() ? "" : ",");
    }
    Raw(")\n{\n");
    Line(".reg .pred %p<4>;");
    Line(".reg .b32 %r<32>;");
    Line(".reg .b64 %rd<16>;");
    Line(".reg .b64 %a<", program_.addresses.size() + 1, ">;");
    for (size_t t = 0; t < program_.threads.size(); ++t) {
      Line(".reg .b32 %t", t, "_<", program_.threads[t].registers.size() + 1, ">;");
    }
  }

  // %a0, %a1, ...: the addresses of the instance in %r2. `first`: the parameter of the first base.
  void LoadAddresses(int first) {
    Line("mul.wide.u32 %rd1, %r2, ", kLitmusStride, ";");
    for (size_t i = 0; i < program_.addresses.size(); ++i) {
      Line("ld.param.u64 %rd2, [p", first + i, "];");
      Line("add.s64 %a", i, ", %rd2, %rd1;");
    }
  }

  // %b0_0, ...: the address that an instruction of a thread accesses, as a register of its own that
  // is computed of what the compiler does not know. Otherwise it takes the value of an earlier weak
  // load for a later one of the same address, even across an acquire.
  void HideAddresses(int thread) {
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

  // Waits for %r20 clocks.
  void Delay() {
    const std::string loop = NewLabel();
    Line("mov.u32 %r21, %clock;");
    Label(loop);
    Line("mov.u32 %r22, %clock;");
    Line("sub.u32 %r22, %r22, %r21;");
    Line("setp.lt.u32 %p1, %r22, %r20;");
    Line("@%p1 bra ", loop, ";");
  }

  void Body(int thread, const std::map<int, int>& barrier_threads, bool barriers) {
    const Thread& of = program_.threads[thread];
    for (size_t r = 0; r < of.registers.size(); ++r) Line("mov.u32 %t", thread, "_", r, ", 0;");
    for (size_t i = 0; i < of.instructions.size(); ++i) {
      address_ = absl::StrCat("[%b", thread, "_", i, "]");
      Emit(thread, of.instructions[i], barrier_threads, barriers);
    }
  }

  // %rd3: the place of this observable for the instance in %r2.
  void RegisterPlace(size_t observable, uint32_t instances_register_shift) {
    (void)instances_register_shift;
    Line("mad.lo.u32 %r23, %r3, ", observable, ", %r2;");  // %r3: how many instances there are
    Line("mul.wide.u32 %rd3, %r23, 4;");
    Line("add.s64 %rd3, %rd3, %rd0;");
    Line("add.s64 %rd3, %rd3, ", LitmusControl::kRegisters, ";");
  }

  void StoreRegisters(const LitmusTest& test, int thread) {
    for (size_t i = 0; i < test.observables.size(); ++i) {
      const Observable& observable = test.observables[i];
      if (observable.thread != thread) continue;
      RegisterPlace(i, 0);
      Line("st.relaxed.gpu.global.u32 [%rd3], %t", thread, "_", observable.index, ";");
    }
  }

  void CountError() {
    Line("red.relaxed.gpu.global.add.u32 [%rd0+", LitmusControl::kErrors, "], 1;");
  }

 private:
  std::string Operand(int thread, const coherence::Value& value) {
    return value.reg < 0 ? absl::StrCat(value.constant)
                         : absl::StrCat("%t", thread, "_", value.reg);
  }

  void Emit(int thread, const Instruction& instruction, const std::map<int, int>& barrier_threads,
            bool barriers) {
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
        Line("st", Order(instruction), ".global.u32 ", address_, ", ",
             Operand(thread, instruction.value), ";");
        return;
      case Instruction::kFence:
        // fence.acquire and fence.release need a newer PTX: what is stronger stands for them.
        Line("fence.", instruction.sequential ? "sc" : "acq_rel", NameOf(instruction.scope), ";");
        return;
      case Instruction::kAliasFence:
        Line("fence.proxy.alias;");
        return;
      case Instruction::kBarrier:
      case Instruction::kBarrierArrive:
        if (barriers) {
          Line("barrier.", instruction.kind == Instruction::kBarrier ? "sync " : "arrive ",
               instruction.barrier, ", ", barrier_threads.at(instruction.barrier), ";");
        }
        return;
      case Instruction::kTrigger:
        Line("griddepcontrol.launch_dependents;");
        return;
      case Instruction::kGridWait:
        Line("griddepcontrol.wait;");
        return;
      case Instruction::kAliasReleaseFence:
      case Instruction::kAliasAcquireFence:
        return;  // refused before
    }
  }

  void EmitRead(int thread, const Instruction& instruction) {
    const std::string result =
        instruction.result < 0 ? "%r24" : absl::StrCat("%t", thread, "_", instruction.result);
    if (instruction.kind == Instruction::kLoad) {
      Line("ld", Order(instruction), ".global.u32 ", result, ", ", address_, ";");
      return;
    }
    const std::string compare = instruction.operation == Arithmetic::kCompareAndSwap
                                    ? absl::StrCat(Operand(thread, instruction.compare), ", ")
                                    : "";
    Line("atom", Order(instruction), ".global", NameOf(instruction.operation), " ", result, ", ",
         address_, ", ", compare, Operand(thread, instruction.value), ";");
  }

  void EmitSpin(int thread, const Instruction& instruction) {
    const std::string loop = NewLabel(), done = NewLabel();
    const std::string result =
        instruction.result < 0 ? "%r24" : absl::StrCat("%t", thread, "_", instruction.result);
    Line("mov.u32 %r25, 0;");
    Label(loop);
    EmitRead(thread, instruction);
    Line("setp.", NameOf(instruction.until->comparison), ".u32 %p2, ", result, ", ",
         instruction.until->value, ";");
    Line("@%p2 bra ", done, ";");
    Line("add.u32 %r25, %r25, 1;");
    Line("setp.lt.u32 %p2, %r25, ", kMaxTurns, ";");
    Line("@%p2 bra ", loop, ";");
    CountError();
    Label(done);
  }

  const Program& program_;
  std::string text_;
  std::string address_;  // of the instruction that is being written
  int next_label_ = 0;
  size_t next_zero_ = 0;
};

absl::Status CheckCanRun(const LitmusTest& test) {
  if (test.multicast) {
    return absl::UnimplementedError("multicast objects are never made on hardware");
  }
  if (!test.runnable) return absl::UnimplementedError("it says that it is not runnable");
  for (const Thread& thread : test.program.threads) {
    if (thread.place.gpu != test.program.threads[0].place.gpu) {
      return absl::UnimplementedError("it needs two GPUs that share memory");
    }
    if (!thread.after_trigger.empty()) {
      return absl::UnimplementedError("programmatic launches cannot be made through api/");
    }
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.kind == Instruction::kAliasReleaseFence ||
          instruction.kind == Instruction::kAliasAcquireFence) {
        return absl::UnimplementedError(
            absl::StrCat(instruction.text, " needs PTX 9.4, which the driver may not have"));
      }
    }
  }
  return absl::OkStatus();
}

// How the threads of a test lie in the blocks of a group.
struct Placement {
  std::vector<std::vector<int>> ctas;               // threads
  uint32_t warps = 1;                               // of a block
  std::vector<std::map<int, int>> barrier_threads;  // per CTA: threads that meet at a barrier
  int own_barrier = 15;
};

absl::StatusOr<Placement> PlaceThreads(const Program& program) {
  Placement placement;
  std::map<int, size_t> cta_of;
  std::set<int> used;
  for (size_t t = 0; t < program.threads.size(); ++t) {
    const int cta = program.threads[t].place.cta;
    const auto [found, is_new] = cta_of.emplace(cta, placement.ctas.size());
    if (is_new) placement.ctas.emplace_back();
    placement.ctas[found->second].push_back(static_cast<int>(t));
  }
  for (const std::vector<int>& threads : placement.ctas) {
    std::map<int, std::set<int>> times;
    std::map<int, int> meeting;
    for (const int t : threads) {
      std::map<int, int> own;
      for (const Instruction& instruction : program.threads[t].instructions) {
        if (instruction.kind == Instruction::kBarrier ||
            instruction.kind == Instruction::kBarrierArrive) {
          ++own[instruction.barrier];
        }
      }
      for (const auto& [barrier, count] : own) {
        times[barrier].insert(count);
        meeting[barrier] += static_cast<int>(kLanesPerWarp);
        used.insert(barrier);
      }
    }
    for (const auto& [barrier, counts] : times) {
      if (counts.size() != 1) {
        return absl::UnimplementedError(
            absl::StrCat("its threads come to barrier ", barrier, " unequally often"));
      }
    }
    placement.barrier_threads.push_back(std::move(meeting));
    placement.warps = std::max(placement.warps, static_cast<uint32_t>(threads.size()));
  }
  while (used.count(placement.own_barrier) != 0) --placement.own_barrier;
  if (placement.own_barrier < 0) return absl::UnimplementedError("it uses all barriers");
  return placement;
}

// All threads of the group, and then aliases are coherent. %r9 counts the meetings.
void WriteMeeting(const Placement& placement, Writer* writer) {
  const uint32_t threads = placement.warps * kLanesPerWarp;
  const size_t ctas = placement.ctas.size();
  writer->Line("bar.warp.sync -1;");
  writer->Line("fence.proxy.alias;");
  writer->Line("barrier.sync ", placement.own_barrier, ", ", threads, ";");
  if (ctas > 1) {
    const std::string loop = writer->NewLabel(), done = writer->NewLabel();
    writer->Line("add.u32 %r9, %r9, ", ctas, ";");
    writer->Line("setp.ne.u32 %p1, %r0, 0;");
    writer->Line("@%p1 bra ", done, ";");
    writer->Line("fence.acq_rel.gpu;");
    writer->Line("red.release.gpu.global.add.u32 [%rd4], 1;");
    writer->Line("mov.u32 %r25, 0;");
    writer->Label(loop);
    writer->Line("ld.acquire.gpu.global.u32 %r26, [%rd4];");
    writer->Line("setp.ge.u32 %p1, %r26, %r9;");
    writer->Line("@%p1 bra ", done, ";");
    writer->Line("add.u32 %r25, %r25, 1;");
    writer->Line("setp.lt.u32 %p1, %r25, %r10;");  // once too late, it no longer waits
    writer->Line("@%p1 bra ", loop, ";");
    writer->Line("mov.u32 %r10, 0;");
    writer->CountError();
    writer->Label(done);
    writer->Line("bar.warp.sync -1;");
    writer->Line("barrier.sync ", placement.own_barrier, ", ", threads, ";");
  }
  writer->Line("fence.proxy.alias;");
}

// By warp 0 of CTA 0.
void WriteReset(const Program& program, Writer* writer) {
  std::set<int> done;
  for (size_t i = 0; i < program.addresses.size(); ++i) {
    const int location = program.addresses[i].locations[0];
    if (!done.insert(location).second) continue;
    writer->Line("st.weak.global.u32 [%a", i, "], ", program.locations[location].initial, ";");
  }
}

// By warp 0 of CTA 0: counts the outcome of its instance.
void WriteCount(const LitmusTest& test, int bits, Writer* writer) {
  const uint32_t most = (1u << bits) - 1;
  writer->Line("mov.u32 %r11, 0;");
  for (size_t i = 0; i < test.observables.size(); ++i) {
    const Observable& observable = test.observables[i];
    if (observable.thread >= 0) {
      writer->RegisterPlace(i, 0);
      writer->Line("ld.relaxed.gpu.global.u32 %r12, [%rd3];");
    } else {
      size_t address = 0;
      while (test.program.addresses[address].locations[0] != observable.index) ++address;
      writer->Line("ld.relaxed.gpu.global.u32 %r12, [%a", address, "];");
    }
    writer->Line("min.u32 %r12, %r12, ", most, ";");
    writer->Line("shl.b32 %r12, %r12, ", bits * static_cast<int>(i), ";");
    writer->Line("or.b32 %r11, %r11, %r12;");
  }
  writer->Line("mul.wide.u32 %rd5, %r11, 4;");
  writer->Line("add.s64 %rd5, %rd5, %rd0;");
  writer->Line("red.relaxed.gpu.global.add.u32 [%rd5+", LitmusControl::kCounts, "], 1;");
}

// A turn of one thread of the test, without the meetings.
void WriteThread(const LitmusTest& test, const Placement& placement, size_t cta, int thread,
                 Writer* writer) {
  const std::string cold = writer->NewLabel(), go = writer->NewLabel();
  // Of four turns, one begins with cold lines.
  writer->Line("and.b32 %r13, %r8, 3;");
  writer->Line("setp.eq.u32 %p1, %r13, 3;");
  writer->Line("@%p1 bra ", cold, ";");
  writer->Line("mov.u32 %r14, 0;");
  std::set<int> warmed;
  for (const Instruction& instruction : test.program.threads[thread].instructions) {
    if (instruction.Reads()) warmed.insert(instruction.address);
  }
  for (const int address : warmed) {
    writer->Line("ld.weak.global.ca.u32 %r15, [%a", address, "];");
    writer->Line("or.b32 %r14, %r14, %r15;");
  }
  // Not before the lines are there. No value is this.
  writer->Line("setp.ne.u32 %p1, %r14, 0xfffffff1;");
  writer->Line("@%p1 bra ", cold, ";");
  writer->CountError();
  writer->Label(cold);
  // Half of the turns begin at once; in the others, each warp waits for up to 2047 clocks.
  writer->Line("and.b32 %r13, %r8, 4;");
  writer->Line("setp.eq.u32 %p1, %r13, 0;");
  writer->Line("@%p1 bra ", go, ";");
  writer->Line("mad.lo.u32 %r20, %r8, 0x9E3779B1, ",
               0x85EBCA6Bu * (static_cast<uint32_t>(thread) + 1), ";");
  writer->Line("xor.b32 %r20, %r20, %r7;");
  writer->Line("mul.lo.u32 %r20, %r20, 0x2C1B3C6D;");
  writer->Line("shr.u32 %r20, %r20, 21;");
  writer->Delay();
  writer->Label(go);
  writer->Line("bar.warp.sync -1;");
  writer->Body(thread, placement.barrier_threads[cta], true);
  writer->StoreRegisters(test, thread);
}

void WriteBeginning(const LitmusTest& test, const Placement& placement, Writer* writer) {
  // %r0 thread, %r1 CTA of the group, %r2 instance, %r3 instances, %r4 warp, %r6 role, %r7 seed,
  // %r8 turn, %rd0 control, %rd4 the meeting point of the group.
  writer->Header();
  writer->BeginKernel("litmus", {"u64", "u32", "u32"});
  writer->Line("ld.param.u64 %rd0, [p0];");
  writer->Line("ld.param.u32 %r5, [p1];");
  writer->Line("ld.param.u32 %r7, [p2];");
  writer->Line("mov.u32 %r0, %tid.x;");
  writer->Line("shr.u32 %r4, %r0, 5;");
  writer->Line("mov.u32 %r16, %ctaid.x;");
  writer->Line("div.u32 %r17, %r16, ", placement.ctas.size(), ";");
  writer->Line("rem.u32 %r1, %r16, ", placement.ctas.size(), ";");
  writer->Line("and.b32 %r18, %r0, 31;");
  writer->Line("mad.lo.u32 %r2, %r17, 32, %r18;");
  writer->Line("mov.u32 %r19, %nctaid.x;");
  writer->Line("div.u32 %r19, %r19, ", placement.ctas.size(), ";");
  writer->Line("mul.lo.u32 %r3, %r19, 32;");
  writer->Line("mul.wide.u32 %rd4, %r17, 128;");
  writer->Line("add.s64 %rd4, %rd4, %rd0;");
  writer->Line("add.s64 %rd4, %rd4, ", LitmusControl::kMeetings, ";");
  writer->Line("mul.lo.u32 %r17, %r17, 0x27D4EB2F;");
  writer->Line("xor.b32 %r7, %r7, %r17;");
  writer->Line("mad.lo.u32 %r6, %r1, ", placement.warps, ", %r4;");
  writer->LoadAddresses(3);
  for (size_t t = 0; t < test.program.threads.size(); ++t) {
    writer->HideAddresses(static_cast<int>(t));
  }
}

}  // namespace

absl::StatusOr<LitmusKernel> MakeLitmusKernel(const LitmusTest& test) {
  const absl::Status can_run = CheckCanRun(test);
  if (!can_run.ok()) return can_run;
  const absl::StatusOr<Placement> placement = PlaceThreads(test.program);
  if (!placement.ok()) return placement.status();
  LitmusKernel kernel;
  kernel.ctas = static_cast<uint32_t>(placement->ctas.size());
  kernel.block_threads = placement->warps * kLanesPerWarp;
  const int observables = std::max<int>(1, static_cast<int>(test.observables.size()));
  kernel.key_bits = std::min(8, kMaxKeyBits / observables);
  if (kernel.key_bits < 2) return absl::UnimplementedError("it has too many registers to count");

  Writer writer(test.program);
  WriteBeginning(test, *placement, &writer);
  writer.Line("mov.u32 %r8, 0;");
  writer.Line("mov.u32 %r9, 0;");
  writer.Line("mov.u32 %r10, ", kMaxTurns, ";");
  writer.Label("TURN");
  writer.Line("setp.ge.u32 %p0, %r8, %r5;");
  writer.Line("@%p0 bra END;");
  writer.Line("setp.ne.u32 %p0, %r6, 0;");
  writer.Line("@%p0 bra READY;");
  WriteReset(test.program, &writer);
  writer.Label("READY");
  WriteMeeting(*placement, &writer);
  for (size_t cta = 0; cta < placement->ctas.size(); ++cta) {
    for (size_t warp = 0; warp < placement->ctas[cta].size(); ++warp) {
      const size_t role = cta * placement->warps + warp;
      writer.Line("setp.ne.u32 %p0, %r6, ", role, ";");
      writer.Line("@%p0 bra ROLE", role, ";");
      WriteThread(test, *placement, cta, placement->ctas[cta][warp], &writer);
      writer.Line("bra.uni PLAYED;");
      writer.Label(absl::StrCat("ROLE", role));
    }
  }
  writer.Label("PLAYED");
  WriteMeeting(*placement, &writer);
  writer.Line("setp.ne.u32 %p0, %r6, 0;");
  writer.Line("@%p0 bra COUNTED;");
  WriteCount(test, kernel.key_bits, &writer);
  writer.Line("fence.proxy.alias;");
  writer.Label("COUNTED");
  writer.Line("add.u32 %r8, %r8, 1;");
  writer.Line("bra.uni TURN;");
  writer.Label("END");
  writer.Line("ret;");
  writer.Raw("}\n");
  kernel.ptx = writer.Take();
  return kernel;
}

absl::StatusOr<std::string> MakeTaskKernels(const LitmusTest& test, uint32_t instances) {
  const absl::Status can_run = CheckCanRun(test);
  if (!can_run.ok()) return can_run;
  Writer writer(test.program);
  writer.Header();
  for (size_t t = 0; t < test.program.threads.size(); ++t) {
    if (test.program.threads[t].kind != Thread::kLaunch) continue;
    const std::string started = writer.NewLabel();
    writer.BeginKernel(absl::StrCat("task", t), {"u64", "u32"});
    writer.Line("ld.param.u64 %rd0, [p0];");
    writer.Line("ld.param.u32 %r20, [p1];");
    writer.Line("mov.u32 %r0, %tid.x;");
    writer.Line("mov.u32 %r16, %ctaid.x;");
    writer.Line("mov.u32 %r17, %ntid.x;");
    writer.Line("mad.lo.u32 %r2, %r16, %r17, %r0;");
    writer.Line("mov.u32 %r3, ", instances, ";");
    writer.LoadAddresses(2);
    writer.HideAddresses(static_cast<int>(t));
    writer.Line("setp.ne.u32 %p0, %r2, 0;");
    writer.Line("@%p0 bra ", started, ";");
    writer.Line("st.relaxed.sys.global.u32 [%rd0+", LitmusControl::kStarted + 4 * t, "], 1;");
    writer.Label(started);
    writer.Delay();
    writer.Body(static_cast<int>(t), {}, /*barriers=*/false);
    writer.StoreRegisters(test, static_cast<int>(t));
    writer.Line("ret;");
    writer.Raw("}\n");
  }
  return writer.Take();
}

}  // namespace twinmmu
