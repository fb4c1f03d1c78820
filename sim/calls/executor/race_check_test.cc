// Races of memory with one address, where the profile asks for them: between operations of streams,
// between blocks, and in shared memory.

#include <string>
#include <vector>

#include "api/testing/diagnostic_matchers.h"
#include "sim/calls/executor/kernel_calls.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Each takes the address of words, and has BODY in it.
std::string KernelText(const std::string& body) {
  std::string text = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry kernel(.param .u64 at) {
  .reg .b64 %rd<8>;
  .reg .b32 %r<16>;
  .reg .pred %p<4>;
  .shared .align 16 .b8 tile[4096];
  ld.param.u64 %rd1, [at];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, tile;
  mad.lo.u32 %r4, %r1, 4, %r3;
  xor.b32 %r5, %r1, 32;
  mad.lo.u32 %r5, %r5, 4, %r3;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd2, %rd1, %rd2;
)";
  return text + body + "\n  ret;\n}\n";
}

constexpr char kStore[] = "st.global.u32 [%rd2], %r1;";
constexpr char kLoad[] = "ld.global.u32 %r6, [%rd2];";

Profile ProfileOf(StreamPolicy policy) {
  Profile profile = Profile::ReferenceH200(2);
  profile.race_check = true;
  profile.stream_policy = policy;
  return profile;
}

class RaceCheckTest : public MachineTest {
 protected:
  explicit RaceCheckTest(StreamPolicy policy = StreamPolicy::kEager)
      : MachineTest(ProfileOf(policy)) {}

  void SetUp() override {
    const auto made = linear().Allocate({kDevice0}, KiB(64));
    ASSERT_THAT(made, IsOk());
    at_ = *made;
    a_ = *executor().CreateStream(kDevice0);
    b_ = *executor().CreateStream(kDevice0);
    ASSERT_THAT(executor().Fill(kDevice0, at_, {0, Bytes(4)}, KiB(16).value()), IsOk());
    ASSERT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  }

  void Launch(Stream stream, const std::string& body, uint32_t threads = 32, uint32_t blocks = 1) {
    const auto module = executor().LoadModule(kDevice0, KernelText(body));
    ASSERT_THAT(module, IsOk());
    const auto kernel = executor().GetKernel(*module, "kernel");
    ASSERT_THAT(kernel, IsOk());
    LaunchConfig config;
    config.grid = {blocks, 1, 1};
    config.block = {threads, 1, 1};
    const void* const argument = &at_;
    ASSERT_THAT(executor().Launch(stream, *kernel, config, {&argument, 1}), IsOk());
  }
  // On a_, with an event that b_ waits for.
  void LaunchRecording(LaunchEvent::Kind kind, const std::string& body = kStore) {
    const auto module = executor().LoadModule(kDevice0, KernelText(body));
    ASSERT_THAT(module, IsOk());
    LaunchForm form;
    form.events = {{*executor().CreateEvent(kDevice0), kind}};
    const void* const argument = &at_;
    ASSERT_THAT(simulator_->kernels().Launch(a_, *executor().GetKernel(*module, "kernel"),
                                             LaunchConfig(), {&argument, 1}, form),
                IsOk());
    ASSERT_THAT(executor().WaitEvent(b_, form.events[0].event), IsOk());
  }
  void Fill(Stream stream) {
    ASSERT_THAT(executor().Fill(stream, at_, {0, Bytes(1)}, 4096), IsOk());
  }
  std::vector<Diagnostic> Found() {
    EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
    return simulator_->diagnostics();
  }
  // Of a launch on its own.
  std::vector<Diagnostic> FoundIn(const std::string& body, uint32_t threads = 64,
                                  uint32_t blocks = 1) {
    Launch(a_, body, threads, blocks);
    return Found();
  }

  DeviceAddress at_;
  Stream a_;
  Stream b_;
};

class QueuedRaceCheckTest : public RaceCheckTest {
 protected:
  QueuedRaceCheckTest() : RaceCheckTest(StreamPolicy::kDeferred) {}
};

// What the pools of frameworks did: fresh memory is zeroed on one stream, and used on another.
TEST_F(RaceCheckTest, AFillOnOneStreamAndAKernelOnAnotherRace) {
  Fill(a_);
  Launch(b_, kLoad);
  const std::vector<Diagnostic> found = Found();
  ASSERT_THAT(found, ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
  EXPECT_THAT(found[0], DiagnosticSeverityIs(Severity::kError));
  EXPECT_THAT(found[0].message,
              AllOf(HasSubstr("kernel kernel, PTX line 18, ld.global.u32, thread (0, 0, 0) of "
                              "block (0, 0, 0), call "),
                    HasSubstr(" reads " + ToString(at_) + ", which cuMemsetAsync, call "),
                    HasSubstr("has written; their streams do not wait for each other")));
}

TEST_F(QueuedRaceCheckTest, AFillOnOneStreamAndAKernelOnAnotherRace) {
  Fill(a_);
  Launch(b_, kLoad);
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
}

TEST_F(RaceCheckTest, AnEventOrdersTwoStreams) {
  Fill(a_);
  const Event event = *executor().CreateEvent(kDevice0);
  ASSERT_THAT(executor().RecordEvent(event, a_), IsOk());
  ASSERT_THAT(executor().WaitEvent(b_, event), IsOk());
  Launch(b_, kLoad);
  EXPECT_THAT(Found(), IsEmpty());
}

// A kernel whose launch records an event on one stream, and a fill on another that waits for it.
TEST_F(RaceCheckTest, ACompletionEventOrdersNothingThatItsKernelDoes) {
  LaunchRecording(LaunchEvent::Kind::kCompletion);
  Fill(b_);
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
}

TEST_F(RaceCheckTest, ACompletionEventOrdersWhatItsKernelComesAfter) {
  Fill(a_);
  LaunchRecording(LaunchEvent::Kind::kCompletion, "");
  Fill(b_);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(RaceCheckTest, AProgrammaticEventOrdersItsKernel) {
  LaunchRecording(LaunchEvent::Kind::kProgrammatic);
  Fill(b_);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(QueuedRaceCheckTest, ACompletionEventOrdersNothingThatItsKernelDoes) {
  LaunchRecording(LaunchEvent::Kind::kCompletion);
  Fill(b_);
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
}

TEST_F(RaceCheckTest, AWaitOfTheHostOrdersTwoStreams) {
  Fill(a_);
  ASSERT_THAT(executor().SynchronizeStream(a_), IsOk());
  Launch(b_, kLoad);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(RaceCheckTest, OneStreamOrdersItsWork) {
  Fill(a_);
  Launch(a_, kStore);
  Launch(a_, kLoad);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(RaceCheckTest, ReadsDoNotRace) {
  Launch(a_, kLoad);
  Launch(b_, kLoad);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(RaceCheckTest, OtherBytesDoNotRace) {
  Launch(a_, "st.global.u8 [%rd2+1], %r1;");
  Launch(b_, "st.global.u8 [%rd2+2], %r1;");
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(RaceCheckTest, MappedMemoryIsWatchedToo) {
  const AddressRange range = Ready(1);
  ASSERT_THAT(executor().Fill(a_, range.base, {0, Bytes(1)}, 4096), IsOk());
  at_ = range.base;
  Launch(b_, kStore);
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
}

// What was noted of memory goes with it.
TEST_F(RaceCheckTest, OtherMemoryAtTheSamePlaceDoesNotRace) {
  for (int i = 0; i < 4; ++i) {
    const AddressRange range = Reserve(1);
    const AllocationHandle handle = MapNew(range.base, 1);
    Grant(range, For(kDevice0, Access::kReadWrite));
    at_ = range.base;
    Launch(i % 2 == 0 ? a_ : b_, kStore);
    ASSERT_THAT(vmm().Unmap(range), IsOk());
    ASSERT_THAT(vmm().Release(handle), IsOk());
    ASSERT_THAT(vmm().AddressFree(range), IsOk());
  }
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(RaceCheckTest, WhatIsMappedAgainDoesNotRaceWithWhatWasBefore) {
  const AllocationHandle handle = Create(1);
  for (const Stream stream : {a_, b_}) {
    const AddressRange range = Reserve(1);
    ASSERT_THAT(vmm().Map(range, handle), IsOk());
    Grant(range, For(kDevice0, Access::kReadWrite));
    at_ = range.base;
    Launch(stream, kStore);
    ASSERT_THAT(vmm().Unmap(range), IsOk());
  }
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(RaceCheckTest, BlocksRace) {
  const std::vector<Diagnostic> found = FoundIn(kStore, 32, 2);
  ASSERT_THAT(found, ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
  EXPECT_THAT(found[0].message,
              AllOf(HasSubstr("of block (0, 0, 0)"), HasSubstr("of block (1, 0, 0)"),
                    HasSubstr("blocks of a grid come in any order")));
}

TEST_F(RaceCheckTest, AtomicOperationsOfBlocksDoNotRace) {
  EXPECT_THAT(FoundIn("red.global.gpu.add.u32 [%rd1], %r1;", 32, 2), IsEmpty());
}

TEST_F(RaceCheckTest, AtomicOperationsOfTooSmallAScopeRace) {
  const std::vector<Diagnostic> found = FoundIn("red.global.cta.add.u32 [%rd1], %r1;", 32, 2);
  ASSERT_THAT(found, ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
  EXPECT_THAT(found[0].message, HasSubstr("with the scopes .cta and .cta"));
}

TEST_F(RaceCheckTest, WhatIsWeakIsNotTakenForStrong) {
  const std::vector<Diagnostic> found = FoundIn(
      "setp.ne.u32 %p1, %r2, 0;\n @%p1 bra other;\n st.global.u32 [%rd1], %r1;\n ret;\n"
      "other:\n ld.relaxed.gpu.global.u32 %r6, [%rd1];",
      1, 2);
  ASSERT_THAT(found, ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
  EXPECT_THAT(found[0].message, HasSubstr("blocks of a grid come in any order"));
}

TEST_F(RaceCheckTest, SharedMemoryWithoutABarrierRaces) {
  const std::vector<Diagnostic> found =
      FoundIn("st.shared.u32 [%r4], %r1;\n ld.shared.u32 %r6, [%r5];");
  ASSERT_THAT(found, ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
  EXPECT_THAT(found[0].message, AllOf(HasSubstr("PTX line 18, st.shared.u32, thread ("),
                                      HasSubstr("PTX line 19, ld.shared.u32, thread ("),
                                      HasSubstr("shared memory at 0x"), HasSubstr("bar.sync")));
}

TEST_F(RaceCheckTest, ABarrierOrdersSharedMemory) {
  EXPECT_THAT(FoundIn("st.shared.u32 [%r4], %r1;\n bar.sync 0;\n ld.shared.u32 %r6, [%r5];", 64, 8),
              IsEmpty());
}

TEST_F(RaceCheckTest, LanesOfAWarpRaceWithoutABarrierOfTheirs) {
  const std::string neighbour = "xor.b32 %r7, %r1, 1;\n mad.lo.u32 %r7, %r7, 4, %r3;\n";
  EXPECT_THAT(FoundIn(neighbour + "st.shared.u32 [%r4], %r1;\n bar.warp.sync 0xffffffff;\n"
                                  "ld.shared.u32 %r6, [%r7];",
                      32),
              IsEmpty());
  const std::vector<Diagnostic> found =
      FoundIn(neighbour + "st.shared.u32 [%r4], %r1;\n ld.shared.u32 %r6, [%r7];", 32);
  ASSERT_THAT(found, ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
  EXPECT_THAT(found[0].message, HasSubstr("__syncwarp"));
}

// One block tells the other by a flag, with fences of sufficient scope.
std::string HandOver(const std::string& fence) {
  return "setp.ne.u32 %p1, %r2, 0;\n @%p1 bra other;\n"
         "st.global.u32 [%rd1+256], %r1;\n" +
         fence +
         "\n st.relaxed.gpu.global.u32 [%rd1+512], 1;\n ret;\n"
         "other:\n ld.relaxed.gpu.global.u32 %r6, [%rd1+512];\n"
         "setp.eq.u32 %p2, %r6, 0;\n @%p2 bra other;\n" +
         fence + "\n ld.global.u32 %r7, [%rd1+256];";
}

TEST_F(RaceCheckTest, AReleaseAndAnAcquireOrderBlocks) {
  EXPECT_THAT(FoundIn(HandOver("fence.acq_rel.gpu;"), 1, 2), IsEmpty());
}

TEST_F(RaceCheckTest, FencesOfTooSmallAScopeDoNotOrderBlocks) {
  EXPECT_THAT(FoundIn(HandOver("fence.acq_rel.cta;"), 1, 2),
              ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
}

// cp.async writes shared memory as the thread that asked.
TEST_F(RaceCheckTest, AsynchronousCopiesAreWatched) {
  const std::string copy = "cp.async.ca.shared.global [%r4], [%rd2], 4;\n cp.async.wait_all;\n";
  EXPECT_THAT(FoundIn(copy + "bar.sync 0;\n ld.shared.u32 %r6, [%r5];"), IsEmpty());
  EXPECT_THAT(FoundIn(copy + "ld.shared.u32 %r6, [%r5];"),
              ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
}

std::string Diverging(const std::string& barrier) {
  return "setp.gt.u32 %p1, %r1, 7;\n @%p1 bra other;\n" + barrier + "\n ret;\nother:\n" + barrier;
}

TEST_F(RaceCheckTest, LanesMustComeToABarrierTogether) {
  const std::vector<Diagnostic> found = FoundIn(Diverging("bar.sync 0;"));
  ASSERT_THAT(found, ElementsAre(IsDiagnostic(DiagnosticKind::kDivergentBarrier)));
  EXPECT_THAT(found[0].message,
              AllOf(HasSubstr("PTX line 20, bar.sync"), HasSubstr("PTX line 23, bar.sync")));
}

TEST_F(RaceCheckTest, ABarrierThatIsNotAlignedTakesThemApart) {
  EXPECT_THAT(FoundIn(Diverging("barrier.sync 0;")), IsEmpty());
}

TEST_F(RaceCheckTest, WarpsMayComeToABarrierAtSeveralPlaces) {
  EXPECT_THAT(FoundIn("setp.gt.u32 %p1, %r1, 31;\n @%p1 bra other;\n bar.sync 0;\n ret;\n"
                      "other:\n bar.sync 0;"),
              IsEmpty());
}

TEST_F(RaceCheckTest, ThreadsMayEndBeforeABarrier) {
  EXPECT_THAT(FoundIn("setp.gt.u32 %p1, %r1, 7;\n @%p1 ret;\n bar.sync 0;"), IsEmpty());
}

// A kernel that polls a word may be told by a copy of a few bytes.
TEST_F(QueuedRaceCheckTest, AFewBytesCopiedAreAFlag) {
  Launch(a_, R"(again:
  ld.acquire.sys.global.u32 %r6, [%rd1+512];
  setp.eq.u32 %p1, %r6, 0;
  @%p1 bra again;
  ld.global.u32 %r7, [%rd1+256];)",
         1);
  ASSERT_THAT(executor().Fill(b_, at_ + Bytes(256), {1, Bytes(1)}, 128), IsOk());
  ASSERT_THAT(executor().Fill(b_, at_ + Bytes(512), {1, Bytes(4)}, 1), IsOk());
  EXPECT_THAT(Found(), IsEmpty());
}

// And a program that copies a word again and again may be told by a kernel.
TEST_F(QueuedRaceCheckTest, AKernelMayTellTheHostByAWord) {
  Launch(a_, "st.global.u32 [%rd1+256], 7;\n st.release.sys.global.u32 [%rd1+512], 1;", 1);
  uint32_t flag = 0;
  while (flag == 0) {
    ASSERT_THAT(executor().CopyDeviceToHost(b_, &flag, at_ + Bytes(512), Bytes(4)), IsOk());
    ASSERT_THAT(executor().SynchronizeStream(b_), IsOk());
  }
  ASSERT_THAT(executor().Fill(b_, at_ + Bytes(256), {1, Bytes(1)}, 128), IsOk());
  EXPECT_THAT(Found(), IsEmpty());
}

// Not watched: nothing is said.
class UnwatchedTest : public MachineTest {};

TEST_F(UnwatchedTest, RacesOfOneAddressAreNotToldUnlessAskedFor) {
  const AddressRange range = Ready(1);
  const Stream stream = *executor().CreateStream(kDevice0);
  ASSERT_THAT(executor().Fill(stream, range.base, {0, Bytes(1)}, 4096), IsOk());
  ASSERT_THAT(executor().Fill(kDevice0, range.base, {0, Bytes(1)}, 4096), IsOk());
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

}  // namespace
}  // namespace twinmmu
