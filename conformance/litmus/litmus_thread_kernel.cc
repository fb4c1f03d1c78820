#include "conformance/litmus/litmus_thread_kernel.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "conformance/litmus/litmus_control.h"
#include "conformance/litmus/litmus_placement.h"
#include "conformance/litmus/litmus_writer.h"

namespace twinmmu {
namespace {

using coherence::Instruction;
using coherence::LitmusTest;
using coherence::Observable;
using coherence::Program;

constexpr int kMaxKeyBits = 20;

// Registers of the kernel: %r0 thread, %r1 CTA of the group, %r2 instance, %r3 instances, %r4 warp,
// %r5 turns, %r6 role, %r7 seed, %r8 turn, %r9 what the counter of the meetings will be, %r10 how
// long to wait for others; %rd0 control, %rd4 the meeting point of the group.
class ThreadKernelWriter {
 public:
  ThreadKernelWriter(const LitmusTest& test, const LitmusPlacement& placement, int key_bits,
                     LitmusTiming timing)
      : test_(test),
        placement_(placement),
        key_bits_(key_bits),
        timing_(timing),
        writer_(test, timing) {}

  std::string Write() {
    WriteBeginning();
    writer_.Label("TURN");
    writer_.Line("setp.ge.u32 %p0, %r8, %r5;");
    writer_.Line("@%p0 bra END;");
    writer_.Line("setp.ne.u32 %p0, %r6, 0;");
    writer_.Line("@%p0 bra READY;");
    WriteReset();
    writer_.Label("READY");
    WriteMeeting();
    for (size_t cta = 0; cta < placement_.ctas.size(); ++cta) WriteRoles(cta);
    writer_.Label("PLAYED");
    WriteMeeting();
    writer_.Line("setp.ne.u32 %p0, %r6, 0;");
    writer_.Line("@%p0 bra COUNTED;");
    WriteCount();
    writer_.Line("fence.proxy.alias;");
    writer_.Label("COUNTED");
    writer_.Line("add.u32 %r8, %r8, 1;");
    writer_.Line("bra.uni TURN;");
    writer_.Label("END");
    writer_.EndKernel();
    return writer_.Take();
  }

 private:
  void WriteBeginning() {
    writer_.Header();
    writer_.BeginKernel("litmus", {"u64", "u32", "u32", "u32", "u32"});
    writer_.Line("ld.param.u64 %rd0, [p0];");
    writer_.Line("ld.param.u32 %r5, [p1];");
    writer_.Line("ld.param.u32 %r7, [p2];");
    writer_.Line("mov.u32 %r0, %tid.x;");
    writer_.Line("shr.u32 %r4, %r0, 5;");
    writer_.Line("mov.u32 %r16, %ctaid.x;");
    writer_.Line("ld.param.u32 %r27, [p3];");
    writer_.Line("ld.param.u32 %r28, [p4];");
    writer_.Line("div.u32 %r17, %r16, %r27;");
    writer_.Line("rem.u32 %r1, %r16, %r27;");
    writer_.Line("add.u32 %r1, %r1, %r28;");
    writer_.Line("and.b32 %r18, %r0, 31;");
    writer_.Line("mad.lo.u32 %r2, %r17, 32, %r18;");
    writer_.Line("mov.u32 %r19, %nctaid.x;");
    writer_.Line("div.u32 %r19, %r19, %r27;");
    writer_.Line("mul.lo.u32 %r3, %r19, 32;");
    writer_.Line("mul.wide.u32 %rd4, %r17, 128;");
    writer_.Line("add.s64 %rd4, %rd4, %rd0;");
    writer_.Line("add.s64 %rd4, %rd4, ", LitmusControl::kMeetings, ";");
    writer_.Line("mul.lo.u32 %r17, %r17, 0x27D4EB2F;");
    writer_.Line("xor.b32 %r7, %r7, %r17;");
    writer_.Line("mad.lo.u32 %r6, %r1, ", placement_.warps, ", %r4;");
    writer_.LoadAddresses(5);
    for (size_t t = 0; t < test_.program.threads.size(); ++t) {
      writer_.HideAddresses(static_cast<int>(t));
    }
    writer_.Line("mov.u32 %r8, 0;");
    writer_.Line("mov.u32 %r9, 0;");
    writer_.Line("mov.u32 %r10, ", kMaxLitmusTurns, ";");
  }

  // By role 0.
  void WriteReset() {
    const Program& program = test_.program;
    std::set<int> done;
    for (size_t i = 0; i < program.addresses.size(); ++i) {
      const int location = program.addresses[i].locations[0];
      if (program.addresses[i].multicast) continue;
      if (!done.insert(location).second) continue;
      writer_.Line("st.weak.global.u32 [%a", i, "], ", program.locations[location].initial, ";");
    }
  }

  // All threads of the group, and then aliases are coherent.
  void WriteMeeting() {
    const uint32_t threads = placement_.warps * kLanesPerWarp;
    writer_.Line("bar.warp.sync -1;");
    writer_.Line("fence.proxy.alias;");
    writer_.Line("barrier.sync ", placement_.own_barrier, ", ", threads, ";");
    if (placement_.ctas.size() > 1) {
      WriteMeetingOfBlocks();
      writer_.Line("bar.warp.sync -1;");
      writer_.Line("barrier.sync ", placement_.own_barrier, ", ", threads, ";");
    }
    writer_.Line("fence.proxy.alias;");
  }

  // One thread of each block counts it in, and waits for the others.
  void WriteMeetingOfBlocks() {
    const std::string loop = writer_.NewLabel(), done = writer_.NewLabel();
    writer_.Line("add.u32 %r9, %r9, ", placement_.ctas.size(), ";");
    writer_.Line("setp.ne.u32 %p1, %r0, 0;");
    writer_.Line("@%p1 bra ", done, ";");
    writer_.Line("fence.acq_rel", writer_.all(), ";");
    writer_.Line("red.release", writer_.all(), ".global.add.u32 [%rd4], 1;");
    writer_.Line("mov.u32 %r29, 0;");
    writer_.Label(loop);
    writer_.Line("ld.acquire", writer_.all(), ".global.u32 %r26, [%rd4];");
    writer_.Line("setp.ge.u32 %p1, %r26, %r9;");
    writer_.Line("@%p1 bra ", done, ";");
    writer_.Line("add.u32 %r29, %r29, 1;");
    writer_.Line("setp.lt.u32 %p1, %r29, %r10;");  // once too late, it no longer waits
    writer_.Line("@%p1 bra ", loop, ";");
    writer_.Line("mov.u32 %r10, 0;");
    writer_.CountError();
    writer_.Label(done);
  }

  // Each warp of the block goes to its own thread of the test.
  void WriteRoles(size_t cta) {
    const LitmusPlacement::Cta& of = placement_.ctas[cta];
    for (size_t warp = 0; warp < of.threads.size(); ++warp) {
      const size_t role = cta * placement_.warps + warp;
      writer_.Line("setp.ne.u32 %p0, %r6, ", role, ";");
      writer_.Line("@%p0 bra ROLE", role, ";");
      WriteWarming(of.threads[warp]);
      writer_.Body(of.threads[warp], &of.barrier_threads);
      writer_.StoreRegisters(of.threads[warp]);
      writer_.Line("bra.uni PLAYED;");
      writer_.Label(absl::StrCat("ROLE", role));
    }
  }

  // What comes before a thread begins: the lines that it will read, and a delay.
  void WriteWarming(int thread) {
    const std::string cold = writer_.NewLabel();
    // Of four turns, one begins with cold lines.
    writer_.Line("and.b32 %r13, %r8, 3;");
    writer_.Line("setp.eq.u32 %p1, %r13, 3;");
    writer_.Line("@%p1 bra ", cold, ";");
    writer_.Line("mov.u32 %r14, 0;");
    std::set<int> warmed;
    for (const Instruction& instruction : test_.program.threads[thread].instructions) {
      if (instruction.Reads()) warmed.insert(instruction.address);
    }
    for (const int address : warmed) {
      writer_.ReadAddress("%r15", address);
      writer_.Line("or.b32 %r14, %r14, %r15;");
    }
    // Not before the lines are there. No value is this.
    writer_.Line("setp.ne.u32 %p1, %r14, 0xfffffff1;");
    writer_.Line("@%p1 bra ", cold, ";");
    writer_.CountError();
    writer_.Label(cold);
    writer_.Line("mad.lo.u32 %r20, %r8, 0x9E3779B1, ",
                 0x85EBCA6Bu * (static_cast<uint32_t>(thread) + 1), ";");
    writer_.Line("xor.b32 %r20, %r20, %r7;");
    writer_.Line("mul.lo.u32 %r20, %r20, 0x2C1B3C6D;");
    if (timing_ == LitmusTiming::kClocks) {
      // Half of the turns begin at once; in the others, each warp waits a little.
      writer_.Line("and.b32 %r13, %r8, 4;");
      writer_.Line("setp.ne.u32 %p1, %r13, 0;");
      writer_.Line("selp.b32 %r20, %r20, 0, %p1;");
    }
    writer_.Delay(11);
    writer_.Line("bar.warp.sync -1;");
  }

  // By role 0: counts the outcome of its instance.
  void WriteCount() {
    const uint32_t most = (1u << key_bits_) - 1;
    writer_.Line("mov.u32 %r11, 0;");
    for (size_t i = 0; i < test_.observables.size(); ++i) {
      const Observable& observable = test_.observables[i];
      if (observable.thread >= 0) {
        writer_.RegisterPlace(i);
        writer_.Line("ld.relaxed", writer_.all(), ".global.u32 %r12, [%rd3];");
      } else {
        const size_t address = UnicastAddressOf(test_.program, observable.index);
        writer_.Line("ld.relaxed", writer_.all(), ".global.u32 %r12, [%a", address, "];");
      }
      writer_.Line("min.u32 %r12, %r12, ", most, ";");
      writer_.Line("shl.b32 %r12, %r12, ", key_bits_ * static_cast<int>(i), ";");
      writer_.Line("or.b32 %r11, %r11, %r12;");
    }
    writer_.Line("mul.wide.u32 %rd5, %r11, 4;");
    writer_.Line("add.s64 %rd5, %rd5, %rd0;");
    writer_.Line("red.relaxed", writer_.all(), ".global.add.u32 [%rd5+", LitmusControl::kCounts,
                 "], 1;");
  }

  const LitmusTest& test_;
  const LitmusPlacement& placement_;
  const int key_bits_;
  const LitmusTiming timing_;
  LitmusWriter writer_;
};

}  // namespace

absl::StatusOr<LitmusKernel> MakeLitmusKernel(const LitmusTest& test, LitmusTiming timing) {
  const absl::Status can_run = CheckCanRun(test);
  if (!can_run.ok()) return can_run;
  const absl::StatusOr<LitmusPlacement> placement = PlaceThreads(test.program);
  if (!placement.ok()) return placement.status();
  LitmusKernel kernel;
  kernel.ctas.resize(GpusOf(test.program).size());
  for (const LitmusPlacement::Cta& cta : placement->ctas) ++kernel.ctas[cta.gpu];
  kernel.block_threads = placement->warps * kLanesPerWarp;
  const int observables = std::max<int>(1, static_cast<int>(test.observables.size()));
  kernel.key_bits = std::min(8, kMaxKeyBits / observables);
  if (kernel.key_bits < 2) return absl::UnimplementedError("it has too many registers to count");
  kernel.ptx = ThreadKernelWriter(test, *placement, kernel.key_bits, timing).Write();
  return kernel;
}

}  // namespace twinmmu
