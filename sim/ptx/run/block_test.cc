// Blocks: barriers, and many blocks at once.

#include <fstream>

#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// What was stored before a barrier is there behind it, for all warps.
TEST_F(GridTest, HoldsWarpsAtABarrier) {
  RunKernel(
      ".shared .align 4 .b32 s[128]; mov.u64 %rd3, s; mul.wide.u32 %rd4, %r1, 4;\n"
      "add.s64 %rd5, %rd3, %rd4; st.shared.u32 [%rd5], %r1; bar.sync 0;\n"
      "xor.b32 %r2, %r1, 96; mul.wide.u32 %rd4, %r2, 4; add.s64 %rd5, %rd3, %rd4;\n"
      "ld.shared.u32 %r3, [%rd5]; st.global.u32 [%rd2], %r3;",
      128);
  EXPECT_EQ(Read(0), 96u);
  EXPECT_EQ(Read(127), 31u);
}

// A barrier does not wait for threads that have ended.
TEST_F(GridTest, DoesNotWaitForThreadsThatEnded) {
  RunKernel("setp.lt.u32 %p1, %r1, 40; @%p1 exit; bar.sync 0; st.global.u32 [%rd2], 1;", 100);
  EXPECT_EQ(Read(39), 0u);
  EXPECT_EQ(Read(40), 1u);
  EXPECT_EQ(Read(99), 1u);
}

// A barrier of its own number is for as many threads as it says, of whatever warps.
TEST_F(GridTest, HasBarriersForSomeWarps) {
  RunKernel(
      "setp.ge.u32 %p1, %r1, 64; @%p1 bra W; bar.sync 1, 64; bar.sync 2, 96;\n"
      "ld.volatile.global.u32 %r2, [%rd1+1024]; st.global.u32 [%rd2], %r2; bra E;\n"
      "W: st.volatile.global.u32 [%rd1+1024], 5; bar.arrive 2, 96;\nE:",
      96);
  EXPECT_THAT(ReadAll(64), Each(5u));
}

// bar.red counts the predicates of all threads, or joins them.
TEST_F(GridTest, CountsAtABarrier) {
  RunKernel(
      "setp.lt.u32 %p1, %r1, 37; bar.red.popc.u32 %r2, 0, %p1; bar.red.and.pred %p2, 0, %p1;\n"
      "bar.red.or.pred %p3, 0, !%p1; selp.u32 %r3, 100, 0, %p2; selp.u32 %r4, 1000, 0, %p3;\n"
      "add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; st.global.u32 [%rd2], %r2;",
      64);
  EXPECT_THAT(ReadAll(64), Each(1037u));
}

// A barrier that cannot be passed is a deadlock, and says how many came.
TEST_F(GridTest, FindsADeadlockAtABarrier) {
  EXPECT_EQ(
      FaultOf("setp.lt.u32 %p1, %r1, 32; @%p1 bra A; bar.sync 1; bra E;\nA: bar.sync 2;\nE:", 64),
      GridFault::kDeadlock);
  EXPECT_THAT(fault_.words, HasSubstr("32 of 64 threads"));
}

// A block that goes on says who waits at which barrier, and where those are that have not come.
TEST_F(GridTest, SaysWhoWaitsForWhom) {
  const auto program =
      Load(Module(Kernel("setp.lt.u32 %p1, %r1, 32; @%p1 bra L; bar.sync 0; bra E;\n"
                         "L: add.u32 %r2, %r2, 1; bra L;\nE:")));
  ASSERT_NE(program, nullptr);
  const auto grid = MakeGrid(program, Dim3(), Dim3{96, 1, 1}, {memory().value()});
  EXPECT_EQ(grid->Run(1'000'000), Grid::State::kRunning);
  EXPECT_THAT(
      grid->WhoWaits(),
      AllOf(StartsWith("block (0, 0, 0) has 32 threads, the first (0, 0, 0), at PTX line 12"),
            EndsWith("; 64 threads, the first (32, 0, 0), waiting at PTX line 11, bar.sync, "
                     "for barrier 0, which has 64 of 96 threads")));
}

// A kernel that only waits, asleep between its looks, is not charged for that here.
TEST_F(GridTest, CountsNoWorkOfBlocksThatWait) {
  const auto program = Load(Module(
      Kernel("L: nanosleep.u32 100; ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0;\n"
             "@%p1 bra L;")));
  ASSERT_NE(program, nullptr);
  const auto grid = MakeGrid(program, Dim3{3, 1, 1}, Dim3{64, 1, 1}, {memory().value()});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(grid->Run(kEnough), Grid::State::kWaiting);
  EXPECT_EQ(grid->unfinished_work(), 0u);
}

// Blocks that have ended cost nothing any more; of others each instruction of a warp counts, and
// each lane that stores.
TEST_F(GridTest, CountsTheWorkOfBlocksThatGoOn) {
  const auto program =
      Load(Module(Kernel("mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r2, 5; @%p1 bra E;\n"
                         "L: st.global.u32 [%rd2], 1; bra L;\nE:")));
  ASSERT_NE(program, nullptr);
  const auto grid = MakeGrid(program, Dim3{5, 1, 1}, Dim3{32, 1, 1}, {memory().value()});
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kDone);
  EXPECT_EQ(grid->unfinished_work(), 0u);
  const auto endless = MakeGrid(program, Dim3{6, 1, 1}, Dim3{32, 1, 1}, {memory().value()});
  EXPECT_EQ(endless->Run(320'000), Grid::State::kRunning);
  EXPECT_NEAR(static_cast<double>(endless->unfinished_work()), 5000 + 5000 * 33, 20'000);
}

// What a block has cost counts from its last store on to memory that is there after it.
TEST_F(GridTest, CountsTheWorkSinceTheLastResult) {
  const auto after_running = [&](const char* store) {
    const auto program =
        Load(Module(Kernel(absl::StrCat(".shared .b32 shared; L: ", store, " [%rd1], 1; bra L;"))));
    auto grid = MakeGrid(program, Dim3{1, 1, 1}, Dim3{32, 1, 1}, {memory().value()});
    EXPECT_EQ(grid->Run(320'000), Grid::State::kRunning);
    EXPECT_GT(grid->unfinished_work(), 100'000u);
    return grid;
  };
  EXPECT_EQ(after_running("st.global.u32")->fruitless_work(), 0u);
  EXPECT_EQ(after_running("st.u32")->fruitless_work(), 0u);
  const auto grid = after_running("ld.global.u32 %r2, [%rd1]; red.global.add.u32");
  EXPECT_EQ(grid->fruitless_work(), grid->unfinished_work());
  const auto shared = after_running("st.shared.u32 [shared], 1; red.global.add.u32");
  EXPECT_EQ(shared->fruitless_work(), shared->unfinished_work());
}

// Blocks that are resident at once can wait for each other, whichever begins first.
TEST_F(GridTest, LetsBlocksWaitForEachOther) {
  RunKernel(
      "setp.ne.u32 %p1, %r1, 0; @%p1 bra E; mov.u32 %r2, %nctaid.x;\n"
      "atom.global.add.u32 %r3, [%rd1], 1;\n"
      "L: ld.acquire.gpu.global.u32 %r4, [%rd1]; setp.lt.u32 %p2, %r4, %r2; @%p2 bra L;\n"
      "atom.global.add.u32 %r5, [%rd1+4], 1;\nE: bar.sync 0;",
      64, 100);
  EXPECT_THAT(ReadAll(2), ElementsAre(100, 100));
}

// A kernel that waits for what only the host does says so, and goes on when it is done.
TEST_F(GridTest, SaysThatItWaits) {
  const auto program = Load(
      Module(Kernel("L: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra L;\n"
                    "st.global.u32 [%rd1+4], %r2;")));
  ASSERT_NE(program, nullptr);
  const auto grid = MakeGrid(program, Dim3{3, 1, 1}, Dim3{32, 1, 1}, {memory().value()});
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kWaiting);
  Write<uint32_t>(0, 9);
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kDone);
  EXPECT_EQ(Read(1), 9u);
}

// A kernel that computes does not wait, however long.
TEST_F(GridTest, DoesNotTakeWorkForWaiting) {
  const auto program = Load(Module(Kernel("L: add.u32 %r2, %r2, 1; bra L;")));
  ASSERT_NE(program, nullptr);
  const auto grid = MakeGrid(program, Dim3(), Dim3(), {memory().value()});
  EXPECT_EQ(grid->Run(100'000), Grid::State::kRunning);
}

// The result does not depend on the number of the host's threads.
TEST_F(GridTest, GivesTheSameOnSeveralThreads) {
  const auto program = Load(Module(
      Kernel("mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;\n"
             "mul.wide.u32 %rd3, %r4, 4; add.s64 %rd4, %rd1, %rd3; mul.lo.u32 %r5, %r4, %r4;\n"
             "st.global.u32 [%rd4], %r5; red.global.add.u32 [%rd1+262144], 1;")));
  ASSERT_NE(program, nullptr);
  for (const int threads : {1, 2, 5}) {
    Write<uint32_t>(65536, 0);
    const auto grid =
        MakeGrid(program, Dim3{100, 1, 1}, Dim3{64, 1, 1}, {memory().value()}, "k", threads);
    EXPECT_EQ(grid->Run(kEnough), Grid::State::kDone);
    EXPECT_EQ(Read(65536), 6400u);
    EXPECT_EQ(Read(6399), 6399u * 6399u);
  }
}

// A grid of a million threads takes memory for a few blocks only: all of its registers would be a
// GiB, and its shared memory a hundred.
TEST_F(GridTest, KeepsOnlyFewBlocks) {
  const auto program = Load(Module(Kernel(
      ".shared .b32 s[10000]; st.shared.u32 [s], 1; bar.sync 0; red.global.add.u32 [%rd1], 1;")));
  ASSERT_NE(program, nullptr);
  const auto resident = [] {
    std::ifstream file("/proc/self/statm");
    uint64_t size = 0, pages = 0;
    file >> size >> pages;
    return pages * 4096;
  };
  const uint64_t before = resident();
  const auto grid = MakeGrid(program, Dim3{4096, 1, 1}, Dim3{256, 1, 1}, {memory().value()});
  while (grid->Run(100'000) == Grid::State::kRunning) {
  }
  EXPECT_EQ(Read(0), uint32_t{1} << 20);
  EXPECT_LT(resident() - before, uint64_t{64} << 20);
}

// Dynamic shared memory begins behind what is static, which reaches up to there, and has the size
// of the launch.
TEST_F(GridTest, HasDynamicSharedMemory) {
  const auto program =
      Load(Module(".extern .shared .align 16 .b8 d[];\n.shared .align 4 .b32 s[5];\n" +
                  Kernel("mov.u64 %rd3, d; mov.u64 %rd4, s; st.shared.u32 [%rd4+16], 1;\n"
                         "st.shared.u32 [%rd3+96], 2; ld.shared.u32 %r2, [%rd4+16]; mov.u32 %r3, "
                         "%dynamic_smem_size;\nsub.u64 %rd5, %rd3, %rd4; cvt.u32.u64 %r4, %rd5;\n"
                         "st.global.v2.u32 [%rd1], {%r2, %r3}; st.global.u32 [%rd1+8], %r4;")));
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->kernels()[0].shared_bytes, 32u);
  EXPECT_EQ(MakeGrid(program, Dim3(), Dim3(), {memory().value()}, "k", 1, 100)->Run(kEnough),
            Grid::State::kDone);
  EXPECT_THAT(ReadAll(3), ElementsAre(1, 100, 32));
  EXPECT_EQ(MakeGrid(program, Dim3(), Dim3(), {memory().value()}, "k", 1, 96)->Run(kEnough),
            Grid::State::kFaulted);
}

}  // namespace
}  // namespace twinmmu::ptx
