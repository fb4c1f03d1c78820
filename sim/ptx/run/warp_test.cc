// Warps: how lanes part and meet, and what they exchange.

#include "absl/strings/str_cat.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Lanes that went different ways run together again where their ways meet.
TEST_F(GridTest, MeetsAfterADivergence) {
  RunKernel(
      "and.b32 %r2, %r1, 3; setp.eq.u32 %p1, %r2, 0; mov.u32 %r3, 1;\n"
      "@%p1 bra A; mov.u32 %r3, 2; bra B;\nA: mov.u32 %r3, 3;\n"
      "B: activemask.b32 %r4; st.global.u32 [%rd2], %r4; st.global.u32 [%rd2+128], %r3;");
  EXPECT_THAT(ReadAll(32), Each(0xffffffffu));
  EXPECT_EQ(Read(32), 3u);
  EXPECT_EQ(Read(33), 2u);
}

// So do lanes that went round a loop for different times.
TEST_F(GridTest, MeetsAfterALoop) {
  RunKernel(
      "mov.u32 %r2, 0;\nL: add.u32 %r2, %r2, 1; setp.le.u32 %p1, %r2, %r1; @%p1 bra L;\n"
      "activemask.b32 %r4; st.global.u32 [%rd2], %r4; st.global.u32 [%rd2+128], %r2;");
  EXPECT_THAT(ReadAll(32), Each(0xffffffffu));
  EXPECT_EQ(Read(63), 32u);
}

// What all lanes do together they do where a loop begins, though some come there first.
TEST_F(GridTest, ExchangesWhereSomeLanesGoBackFirst) {
  RunKernel(
      "mov.u32 %r2, 0; mov.u32 %r5, 0;\n"
      "HEAD: shfl.sync.bfly.b32 %r3, %r1, 1, 31, 0xffffffff; add.u32 %r5, %r5, %r3;\n"
      "add.u32 %r2, %r2, 1; setp.ge.u32 %p2, %r2, 3; @%p2 bra DONE;\n"
      "and.b32 %r4, %r1, 1; setp.eq.u32 %p1, %r4, 0; @%p1 bra HEAD;\n"
      "add.u32 %r5, %r5, 0; bra HEAD;\n"
      "DONE: st.global.u32 [%rd2], %r5;");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(Read(i), 3 * (i ^ 1));
}

// A lane that holds a lock lets the others of its warp wait for it.
TEST_F(GridTest, LetsALaneFinishThatOthersSpinFor) {
  RunKernel(
      "L: atom.global.cas.b32 %r2, [%rd1], 0, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra L;\n"
      "ld.volatile.global.u32 %r3, [%rd1+4]; add.u32 %r3, %r3, 1;\n"
      "st.volatile.global.u32 [%rd1+4], %r3; membar.gl; atom.global.exch.b32 %r4, [%rd1], 0;",
      64, 3);
  EXPECT_EQ(Read(1), 192u);
}

// So does one whose others sleep between their looks.
TEST_F(GridTest, LetsALaneFinishThatOthersSleepFor) {
  RunKernel(
      "setp.eq.u32 %p1, %r1, 7; @%p1 bra A;\n"
      "L: nanosleep.u32 100; ld.global.u32 %r2, [%rd1+1024]; setp.eq.u32 %p2, %r2, 0;\n"
      "@%p2 bra L; bra E;\nA: st.global.u32 [%rd1+1024], 1;\nE: st.global.u32 [%rd2], 1;");
  EXPECT_THAT(ReadAll(32), Each(1u));
}

// So does one whose others look again by a branch by index.
TEST_F(GridTest, LetsALaneFinishThatOthersBranchByIndexFor) {
  RunKernel(
      "T: .branchtargets L, E; setp.eq.u32 %p1, %r1, 7; @%p1 bra A;\n"
      "L: ld.volatile.global.u32 %r2, [%rd1+1024]; brx.idx %r2, T;\n"
      "A: st.volatile.global.u32 [%rd1+1024], 1;\nE: st.global.u32 [%rd2], 1;");
  EXPECT_THAT(ReadAll(32), Each(1u));
}

// shfl in its four modes, and whether the source was in reach.
TEST_F(GridTest, Shuffles) {
  RunKernel(
      "shfl.sync.up.b32 %r2|%p1, %r1, 1, 0, 0xffffffff; st.global.u32 [%rd2], %r2;\n"
      "shfl.sync.down.b32 %r3|%p2, %r1, 2, 0x1f, 0xffffffff; st.global.u32 [%rd2+128], %r3;\n"
      "shfl.sync.bfly.b32 %r4, %r1, 1, 0x1f, 0xffffffff; st.global.u32 [%rd2+256], %r4;\n"
      "shfl.sync.idx.b32 %r5, %r1, 3, 0x181f, 0xffffffff; st.global.u32 [%rd2+384], %r5;\n"
      "selp.u32 %r6, 1, 0, %p1; selp.u32 %r7, 2, 0, %p2; add.u32 %r6, %r6, %r7;\n"
      "st.global.u32 [%rd2+512], %r6;");
  EXPECT_THAT((std::vector{Read(0), Read(1), Read(31)}), ElementsAre(0, 0, 30));
  EXPECT_THAT((std::vector{Read(32), Read(61), Read(62)}), ElementsAre(2, 31, 30));
  EXPECT_THAT((std::vector{Read(64), Read(65)}), ElementsAre(1, 0));
  EXPECT_THAT((std::vector{Read(96), Read(96 + 7), Read(96 + 8)}), ElementsAre(3, 3, 11));
  EXPECT_THAT((std::vector{Read(128), Read(129), Read(128 + 31)}), ElementsAre(2, 3, 1));
}

// vote, match, redux and elect among the lanes of a mask.
TEST_F(GridTest, Votes) {
  RunKernel(
      "setp.lt.u32 %p1, %r1, 5; vote.sync.ballot.b32 %r2, %p1, 0xffffffff;\n"
      "vote.sync.all.pred %p2, %p1, 0xffffffff; vote.sync.any.pred %p3, !%p1, 0xffffffff;\n"
      "and.b32 %r3, %r1, 1; match.any.sync.b32 %r4, %r3, 0xffffffff;\n"
      "match.all.sync.b32 %r5|%p4, 7, 0xffffffff; redux.sync.add.s32 %r6, %r1, 0xffffffff;\n"
      "redux.sync.max.u32 %r7, %r1, 0xffffffff; elect.sync %r8|%p5, 0xffffffff;\n"
      "selp.u32 %r9, 1, 0, %p2; selp.u32 %r10, 2, 0, %p3; add.u32 %r9, %r9, %r10;\n"
      "selp.u32 %r10, 4, 0, %p4; add.u32 %r9, %r9, %r10; selp.u32 %r10, 8, 0, %p5;\n"
      "add.u32 %r9, %r9, %r10; setp.ne.u32 %p6, %r1, 0; @%p6 bra E;\n"
      "st.global.v4.u32 [%rd1], {%r2, %r4, %r5, %r6}; st.global.v2.u32 [%rd1+16], {%r7, %r9};\nE:");
  EXPECT_THAT(ReadAll(6), ElementsAre(0x1f, 0x55555555, 0xffffffff, 496, 31, 14));
}

// Lanes wait for those of the mask that come later.
TEST_F(GridTest, WaitsForTheLanesOfAMask) {
  RunKernel(
      "setp.lt.u32 %p1, %r1, 16; @%p1 bra A;\nadd.u32 %r1, %r1, 100;\n"
      "A: bar.warp.sync 0xffffffff; shfl.sync.bfly.b32 %r3, %r1, 16, 0x1f, 0xffffffff;\n"
      "st.global.u32 [%rd2], %r3;");
  EXPECT_EQ(Read(0), 116u);
  EXPECT_EQ(Read(31), 15u);
}

// bar.warp.sync holds lanes together that are at different ones.
TEST_F(GridTest, PassesAWarpBarrierFromTwoPlaces) {
  RunKernel(
      "setp.lt.u32 %p1, %r1, 16; @%p1 bra A;\nbar.warp.sync 0xffffffff; bra B;\n"
      "A: bar.warp.sync 0xffffffff;\nB: st.global.u32 [%rd2], 1;");
  EXPECT_THAT(ReadAll(32), Each(1u));
}

// Lanes that wait for some that wait elsewhere are a deadlock.
TEST_F(GridTest, FindsADeadlockInAWarp) {
  EXPECT_EQ(FaultOf("setp.lt.u32 %p1, %r1, 16; @%p1 bra A;\n"
                    "vote.sync.any.pred %p2, %p1, 0xffffffff; bra B;\n"
                    "A: vote.sync.any.pred %p2, %p1, 0xffffffff;\nB:"),
            GridFault::kDeadlock);
  EXPECT_THAT(fault_.words, HasSubstr("16 threads, the first (0, 0, 0), waiting at PTX line 13, "
                                      "vote.sync.any.pred, for lanes 0xffff0000 of mask "
                                      "0xffffffff"));
}

// --- Member masks of a part of a warp ---

// The mask of the 8 lanes that a lane is one of, in %r3; its first lane in %r2.
constexpr char kTile[] = "and.b32 %r2, %r1, 24; mov.u32 %r4, 0xff; shl.b32 %r3, %r4, %r2;\n";

// Lanes with equal masks shuffle among themselves, whatever the masks of the others.
TEST_F(GridTest, ShufflesWithinTiles) {
  RunKernel(absl::StrCat(kTile,
                         "shfl.sync.bfly.b32 %r5, %r1, 4, 0x181f, %r3;\n"
                         "st.global.u32 [%rd2], %r5;"));
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(Read(lane), lane ^ 4);
}

// So do lanes whose masks interleave.
TEST_F(GridTest, ShufflesAmongOddAndEvenLanes) {
  RunKernel(
      "and.b32 %r2, %r1, 1; mov.u32 %r4, 0x55555555; shl.b32 %r3, %r4, %r2;\n"
      "shfl.sync.up.b32 %r5, %r1, 2, 0, %r3; st.global.u32 [%rd2], %r5;");
  for (uint32_t lane = 2; lane < 32; ++lane) EXPECT_EQ(Read(lane), lane - 2);
}

// Each group of equal masks votes for itself.
TEST_F(GridTest, VotesWithinTiles) {
  RunKernel(absl::StrCat(kTile,
                         "setp.gt.u32 %p1, %r1, 10; vote.sync.ballot.b32 %r5, %p1, %r3;\n"
                         "st.global.u32 [%rd2], %r5;"));
  EXPECT_THAT((std::vector{Read(0), Read(8), Read(16), Read(31)}),
              ElementsAre(0, 0xf800, 0xff0000, 0xff000000));
}

// Each reduces its own values.
TEST_F(GridTest, ReducesWithinTiles) {
  RunKernel(absl::StrCat(kTile, "redux.sync.add.s32 %r5, %r1, %r3; st.global.u32 [%rd2], %r5;"));
  EXPECT_THAT((std::vector{Read(0), Read(8), Read(16), Read(31)}), ElementsAre(28, 92, 156, 220));
}

// Each matches its own values.
TEST_F(GridTest, MatchesWithinTiles) {
  RunKernel(absl::StrCat(kTile,
                         "and.b32 %r5, %r1, 1; match.any.sync.b32 %r6, %r5, %r3;\n"
                         "match.all.sync.b32 %r7|%p1, %r2, %r3; st.global.u32 [%rd2], %r6;\n"
                         "st.global.u32 [%rd2+128], %r7;"));
  EXPECT_THAT((std::vector{Read(0), Read(9), Read(16), Read(31)}),
              ElementsAre(0x55, 0xaa00, 0x550000, 0xaa000000));
  EXPECT_THAT((std::vector{Read(32), Read(63)}), ElementsAre(0xff, 0xff000000));
}

// Each elects a leader.
TEST_F(GridTest, ElectsWithinTiles) {
  RunKernel(absl::StrCat(kTile, "elect.sync %r5|%p1, %r3; st.global.u32 [%rd2], %r5;"));
  EXPECT_THAT((std::vector{Read(0), Read(15), Read(16), Read(31)}), ElementsAre(0, 8, 16, 24));
}

// A group that is complete goes on while another waits for lanes that come later.
TEST_F(GridTest, WaitsOnlyForTheLanesOfItsOwnMask) {
  RunKernel(
      "setp.ge.u32 %p1, %r1, 24; @%p1 bra L; mov.u32 %r3, 0xffff; setp.ge.u32 %p2, %r1, 16;\n"
      "@%p2 mov.u32 %r3, 0xffff0000; bra S;\n"
      "L: ld.volatile.global.u32 %r4, [%rd1+1024]; setp.eq.u32 %p3, %r4, 0; @%p3 bra L;\n"
      "mov.u32 %r3, 0xffff0000;\nS: vote.sync.ballot.b32 %r5, 1, %r3;\n"
      "st.volatile.global.u32 [%rd1+1024], 1; st.global.u32 [%rd2], %r5;");
  EXPECT_THAT((std::vector{Read(0), Read(16), Read(31)}),
              ElementsAre(0xffff, 0xffff0000, 0xffff0000));
}

// Lanes that end are not waited for any more.
TEST_F(GridTest, DoesNotWaitForLanesThatEnd) {
  RunKernel(
      "setp.lt.u32 %p1, %r1, 16; @%p1 bra A;\nadd.u32 %r2, %r1, 1; exit;\n"
      "A: vote.sync.ballot.b32 %r3, 1, 0xffffffff; st.global.u32 [%rd2], %r3;");
  EXPECT_THAT(ReadAll(16), Each(0xffffu));
}

// bar.warp.sync with masks of parts of a warp holds each part for itself.
TEST_F(GridTest, PassesWarpBarriersOfTiles) {
  RunKernel(absl::StrCat(kTile, "bar.warp.sync %r3; st.global.u32 [%rd2], %r3;"));
  EXPECT_THAT((std::vector{Read(0), Read(8), Read(31)}), ElementsAre(0xff, 0xff00, 0xff000000));
}

// Lanes at a bar.warp.sync of another mask do not count.
TEST_F(GridTest, PassesAWarpBarrierOnlyWithItsMask) {
  EXPECT_EQ(FaultOf("setp.ge.u32 %p1, %r1, 16; mov.u32 %r3, -1; @%p1 mov.u32 %r3, 0xfffffffe;\n"
                    "bar.warp.sync %r3; bar.sync 0;"),
            GridFault::kDeadlock);
}

// A lane that its own mask does not name is told: other lanes have gone elsewhere, or name others.
TEST_F(GridTest, RefusesAMaskWithoutTheLaneItself) {
  for (const char* body :
       {"shfl.sync.bfly.b32 %r5, %r1, 1, 0x1f, %r3;", "bar.warp.sync %r3;",
        "vote.sync.ballot.b32 %r5, 1, %r3;", "redux.sync.add.s32 %r5, %r1, %r3;"}) {
    for (const char* before : {"mov.u32 %r3, 0x7fffffff; setp.eq.u32 %p1, %r1, 0; @%p1 bra E;\n",
                               "setp.lt.u32 %p1, %r1, 31; selp.u32 %r3, -1, 0x7fffffff, %p1;\n"}) {
      EXPECT_EQ(FaultOf(absl::StrCat(before, body, "\nE: ret;")), GridFault::kIllegalInstruction)
          << before << body;
      EXPECT_EQ(fault_.words, "lane 31 is not in its own member mask, 0x7fffffff") << body;
    }
  }
}

// Where a warp comes as a whole, with one mask, the mask is not looked at, as on an H200.
TEST_F(GridTest, TakesAllLanesOfAWholeWarpWhateverTheirMask) {
  RunKernel(
      "mov.u32 %r3, 0xffff; shfl.sync.up.b32 %r4, %r1, 1, 0, %r3; st.global.u32 [%rd2], %r4;\n"
      "redux.sync.add.s32 %r5, %r1, 0; st.global.u32 [%rd2+128], %r5;\n"
      "bar.warp.sync 0x7fffffff; vote.sync.ballot.b32 %r6, 1, 0x55555555;\n"
      "st.global.u32 [%rd2+256], %r6;");
  EXPECT_THAT((std::vector{Read(0), Read(15), Read(16), Read(17), Read(31)}),
              ElementsAre(0, 14, 15, 16, 30));
  EXPECT_THAT((std::vector{Read(32), Read(63)}), ElementsAre(496, 496));
  EXPECT_THAT((std::vector{Read(64), Read(95)}), ElementsAre(~0u, ~0u));
}

// --- Branches, ends ---

// brx.idx goes where the index says, each lane its way.
TEST_F(GridTest, BranchesByIndex) {
  RunKernel(
      "T: .branchtargets A, B, C; brx.idx %r1, T;\nA: mov.u32 %r2, 10; bra E;\n"
      "B: mov.u32 %r2, 20; bra E;\nC: mov.u32 %r2, 30;\nE: st.global.u32 [%rd2], %r2;",
      3);
  EXPECT_THAT(ReadAll(3), ElementsAre(10, 20, 30));
}

// Lanes whose predicate is false go on behind it.
TEST_F(GridTest, APartOfAWarpBranchesByIndex) {
  RunKernel(
      "T: .branchtargets A, B; and.b32 %r3, %r1, 1; setp.lt.u32 %p1, %r1, 3; mov.u32 %r2, 5;\n"
      "@%p1 brx.idx %r3, T; mov.u32 %r2, 7; bra E;\nA: mov.u32 %r2, 10; bra E;\n"
      "B: mov.u32 %r2, 20;\nE: st.global.u32 [%rd2], %r2;",
      5);
  EXPECT_THAT(ReadAll(5), ElementsAre(10, 20, 10, 7, 7));
}

// Lanes whose predicate is false go on behind an exit.
TEST_F(GridTest, APartOfAWarpExits) {
  RunKernel("setp.lt.u32 %p1, %r1, 2; add.u32 %r2, %r2, 3; @%p1 exit; st.global.u32 [%rd2], %r2;",
            4);
  EXPECT_THAT(ReadAll(4), ElementsAre(0, 0, 3, 3));
}

// Lanes may arrive at the barrier of the cluster apart; all wait for all.
TEST_F(GridTest, APartOfAWarpArrivesAtTheCluster) {
  RunKernel(
      "setp.lt.u32 %p1, %r1, 2; @%p1 st.global.u32 [%rd2], 4; @%p1 barrier.cluster.arrive;\n"
      "@!%p1 barrier.cluster.arrive; barrier.cluster.wait;\n"
      "@!%p1 ld.global.u32 %r2, [%rd1]; @!%p1 st.global.u32 [%rd2], %r2;",
      4);
  EXPECT_THAT(ReadAll(4), ElementsAre(4, 4, 4, 4));
}

// Or wait for it apart: the others go on to where they arrive.
TEST_F(GridTest, APartOfAWarpWaitsForTheCluster) {
  RunKernel(
      "setp.lt.u32 %p1, %r1, 2; mov.u32 %r2, %r1; @%p1 barrier.cluster.arrive;\n"
      "add.u32 %r2, %r2, 10; @%p1 barrier.cluster.wait;\n"
      "@!%p1 barrier.cluster.arrive; @!%p1 barrier.cluster.wait; st.global.u32 [%rd2], %r2;",
      4);
  EXPECT_THAT(ReadAll(4), ElementsAre(10, 11, 12, 13));
}

// The carry flag is each thread's own.
TEST_F(GridTest, Carries) {
  RunKernel(
      "sub.u32 %r2, 0, %r1; add.cc.u32 %r3, %r2, 1; addc.u32 %r4, 0, 0;\n"
      "st.global.u32 [%rd2], %r4;",
      4);
  EXPECT_THAT(ReadAll(4), ElementsAre(0, 1, 0, 0));
}

// It lies beside what the kernel has: its parameters are still there when it is set.
TEST_F(GridTest, CarriesBesideParameters) {
  RunKernel(
      "add.cc.u32 %r3, %r1, 0xfffffffe; ld.param.u64 %rd3, [p]; addc.u32 %r4, 5, 0;\n"
      "mul.wide.u32 %rd4, %r1, 4; add.u64 %rd3, %rd3, %rd4; st.global.u32 [%rd3], %r4;",
      4);
  EXPECT_THAT(ReadAll(4), ElementsAre(5, 5, 6, 6));
}

// A comparison gives its result and the opposite.
TEST_F(GridTest, ComparesIntoTwoPredicates) {
  RunKernel(
      "setp.lt.u32 %p1|%p2, %r1, 2; selp.u32 %r2, 1, 0, %p1; selp.u32 %r3, 10, 0, %p2;\n"
      "add.u32 %r2, %r2, %r3; st.global.u32 [%rd2], %r2;",
      4);
  EXPECT_THAT(ReadAll(4), ElementsAre(1, 1, 10, 10));
}

// Compiled divisions of 128 bits ask by addc whether a difference has borrowed: then it adds 0.
TEST_F(GridTest, AddsTheCarryOfADifference) {
  RunKernel(
      "sub.cc.u32 %r2, %r1, 2; subc.cc.u32 %r3, 0, 0; addc.u32 %r4, 0, 0;\n"
      "st.global.u32 [%rd2], %r4;",
      4);
  EXPECT_THAT(ReadAll(4), ElementsAre(0, 0, 1, 1));
}

// trap ends the grid.
// A kernel ends behind its last instruction, for lanes too that do not run that.
TEST_F(GridTest, EndsBehindAGuardedInstruction) {
  EXPECT_EQ(Run(".visible .entry k(.param .u64 p) {\n"
                ".reg .pred %p1; .reg .b32 %r1; .reg .b64 %rd<3>;\n"
                "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;\n"
                "add.s64 %rd2, %rd1, %rd2; setp.lt.u32 %p1, %r1, 2;\n"
                "@%p1 st.global.u32 [%rd2], 7;\n}\n",
                Dim3(), Dim3{4, 1, 1}),
            Grid::State::kDone);
  EXPECT_THAT(ReadAll(4), ElementsAre(7, 7, 0, 0));
}

TEST_F(GridTest, Traps) { EXPECT_EQ(FaultOf("trap;"), GridFault::kTrap); }

// A clock goes on by 16 for each instruction, whatever the host's time is: by 64 more where there
// are four instructions more.
TEST_F(GridTest, ClocksCountInstructions) {
  EXPECT_EQ(Run(Kernel("mov.u64 %rd3, %clock64; add.u32 %r2, %r2, 1; mov.u64 %rd4, %clock64;\n"
                       "add.u32 %r2, %r2, 1; add.u32 %r2, %r2, 1; add.u32 %r2, %r2, 1;\n"
                       "add.u32 %r2, %r2, 1; add.u32 %r2, %r2, 1; mov.u64 %rd5, %clock64;\n"
                       "sub.u64 %rd3, %rd4, %rd3; sub.u64 %rd5, %rd5, %rd4;\n"
                       "sub.u64 %rd3, %rd5, %rd3; cvt.u32.u64 %r2, %rd3;\n"
                       "st.global.u32 [%rd1], %r2;"),
                Dim3(), Dim3()),
            Grid::State::kDone);
  EXPECT_EQ(Read(0), 64u);
}

// So does a branch that only some lanes take, also for the others.
TEST_F(GridTest, ClocksCountABranchOfAPartOfAWarpOnce) {
  const auto clocks_of = [&](const char* instruction) {
    RunKernel(
        absl::StrCat("T: .branchtargets A; mov.u32 %r3, 0; setp.eq.u32 %p1, %r1, 0;\n"
                     "mov.u64 %rd3, %clock64; @%p1 ",
                     instruction,
                     "; mov.u64 %rd4, %clock64; sub.u64 %rd4, %rd4, %rd3;\n"
                     "cvt.u32.u64 %r2, %rd4; st.global.u32 [%rd2], %r2;\nA:"));
    return Read(1);
  };
  EXPECT_EQ(clocks_of("bra A"), clocks_of("add.u32 %r4, %r4, 1"));
  EXPECT_EQ(clocks_of("brx.idx %r3, T"), clocks_of("add.u32 %r4, %r4, 1"));
}

// Special registers say where a thread is.
TEST_F(GridTest, KnowsWhereAThreadIs) {
  EXPECT_EQ(Run(Kernel("mov.u32 %r2, %tid.y; mov.u32 %r3, %ctaid.z; mov.u32 %r4, %ntid.x;\n"
                       "mov.u32 %r5, %nctaid.y; mov.u32 %r6, %laneid; mov.u32 %r7, %lanemask_lt;\n"
                       "setp.eq.u32 %p1, %r1, 2; setp.eq.and.u32 %p1, %r2, 1, %p1;\n"
                       "setp.eq.and.u32 %p1, %r3, 1, %p1; @!%p1 bra E;\n"
                       "st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r5};\n"
                       "st.global.v2.u32 [%rd1+16], {%r6, %r7};\nE:"),
                Dim3{1, 1, 2}, Dim3{4, 2, 1}),
            Grid::State::kDone);
  EXPECT_THAT(ReadAll(6), ElementsAre(1, 1, 4, 1, 6, 0x3f));
}

// a[i] in an operand is the address of element i of a variable.
TEST_F(GridTest, TakesAddressesOfElements) {
  EXPECT_EQ(Run(".global .align 8 .b64 g[4];\n.global .align 8 .u32 m[3][5];\n" +
                    Kernel(".shared .align 4 .b32 s[4]; mov.u64 %rd3, g; mov.u64 %rd4, g[2];\n"
                           "sub.u64 %rd5, %rd4, %rd3; mov.u64 %rd3, m; mov.u64 %rd4, m[2];\n"
                           "sub.u64 %rd6, %rd4, %rd3; mov.u64 %rd3, s[0]; mov.u64 %rd4, s[3];\n"
                           "sub.u64 %rd7, %rd4, %rd3; st.global.u64 [%rd1], %rd5;\n"
                           "st.global.u64 [%rd1+8], %rd6; st.global.u64 [%rd1+16], %rd7;"),
                Dim3(), Dim3()),
            Grid::State::kDone)
      << fault_.words;
  EXPECT_THAT((std::vector{Read<uint64_t>(0), Read<uint64_t>(1), Read<uint64_t>(2)}),
              ElementsAre(16, 8, 12));
}

// isspacep tells variables of .const from those of .global, and knows neither in a window.
TEST_F(GridTest, TellsConstantsFromGlobals) {
  const auto bits = [](const char* address) {
    return absl::StrCat(address,
                        " isspacep.const %p1, %rd4; isspacep.global %p2, %rd4;\n"
                        "selp.u32 %r2, 1, 0, %p1; selp.u32 %r3, 2, 0, %p2; add.u32 %r2, %r2, %r3;\n"
                        "st.global.u32 [%rd1], %r2; add.u64 %rd1, %rd1, 4;\n");
  };
  EXPECT_EQ(Run(".global .align 8 .b64 g[4];\n.const .align 4 .b32 c[4];\n"
                ".global .align 8 .b64 h;\n.const .align 4 .b32 d;\n" +
                    Kernel(absl::StrCat(".shared .align 4 .b32 s[4];\n",
                                        bits("mov.u64 %rd3, c; cvta.const.u64 %rd4, %rd3;"),
                                        bits("mov.u64 %rd3, d; cvta.const.u64 %rd4, %rd3;"),
                                        bits("mov.u64 %rd3, g; cvta.global.u64 %rd4, %rd3;"),
                                        bits("mov.u64 %rd3, h; cvta.global.u64 %rd4, %rd3;"),
                                        bits("mov.u64 %rd3, s; cvta.shared.u64 %rd4, %rd3;"))),
                Dim3(), Dim3()),
            Grid::State::kDone);
  EXPECT_THAT(ReadAll(5), ElementsAre(1, 1, 2, 2, 0));
}

// Shared variables lie behind what the system takes, which special registers tell.
TEST_F(GridTest, KnowsWhatSharedMemoryIsReserved) {
  RunKernel(
      ".shared .align 4 .b32 s[4]; mov.u32 %r2, %reserved_smem_offset_begin;\n"
      "mov.u32 %r3, %reserved_smem_offset_end; mov.u32 %r4, %reserved_smem_offset_cap;\n"
      "mov.u32 %r5, s; mov.u32 %r6, %reserved_smem_offset_0; st.global.v4.u32 [%rd1], "
      "{%r2, %r3, %r4, %r5}; st.global.u32 [%rd1+16], %r6;",
      1);
  EXPECT_THAT(ReadAll(5), ElementsAre(0, 288, 1024, 1024, 0));
}

// %total_smem_size is rounded up to what is given out; %aggr_smem_size has what the system takes.
// What the kernel has reaches to where shared memory of no size begins, if it names that.
TEST_F(GridTest, KnowsHowMuchSharedMemoryThereIs) {
  const std::string sizes =
      "mov.u32 %r2, %total_smem_size; mov.u32 %r3, %aggr_smem_size;\n"
      "mov.u32 %r4, %dynamic_smem_size; st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r4};\n";
  RunKernel(sizes, 1);
  EXPECT_THAT(ReadAll(3), ElementsAre(0, 1024, 0));
  const std::string one = ".shared .b8 s[1]; st.shared.u8 [s], %r1;\n";
  RunKernel(one + sizes, 1);
  EXPECT_THAT(ReadAll(3), ElementsAre(128, 1025, 0));
  EXPECT_EQ(Run(".extern .shared .align 4 .b8 d[];\n" + Kernel(one + "mov.u32 %r5, d;\n" + sizes),
                Dim3(), Dim3()),
            Grid::State::kDone);
  EXPECT_THAT(ReadAll(3), ElementsAre(128, 1040, 0));
}

// mov packs and unpacks vectors; cvt takes and gives registers that are wider than its types.
TEST_F(GridTest, MovesAndResizes) {
  RunKernel(
      "mov.b64 %rd3, {%r1, 7}; mov.b64 {%r2, %r3}, %rd3; mov.b32 {%h1, %h2}, 0x12345678;\n"
      "mov.b32 %r4, {%h2, %h1}; cvt.s8.s32 %r5, 0x1ff; cvt.u32.u8 %r6, %r4;\n"
      "st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6};",
      1);
  EXPECT_THAT(ReadAll(4), ElementsAre(7, 0x56781234, ~0u, 0x34));
}

}  // namespace
}  // namespace twinmmu::ptx
