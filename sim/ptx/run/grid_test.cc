// Grid: kernels of this project, and how blocks run.

#include "sim/ptx/run/grid.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/base/thread_sanitizer.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A load by a kernel gives what is there, and a store leaves it.
TEST_F(GridTest, LoadsAndStores) {
  const auto program = Load(TextOf("kernels/access.ptx"));
  ASSERT_NE(program, nullptr);
  Write<uint32_t>(0, 7);
  const auto grid =
      MakeGrid(program, Dim3(), Dim3(), {memory().value(), memory().value() + 4}, "twinmmu_load32");
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kDone);
  EXPECT_EQ(Read(1), 7u);
}

// No atomic addition of many threads is lost.
TEST_F(GridTest, CountsEachThread) {
  const auto program = Load(TextOf("kernels/access.ptx"));
  ASSERT_NE(program, nullptr);
  const auto grid = MakeGrid(program, Dim3{20, 1, 1}, Dim3{100, 1, 1},
                             {memory().value(), memory().value() + 4, 3}, "twinmmu_count", 3);
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kDone);
  EXPECT_EQ(Read(0), 3000u);
  EXPECT_EQ(Read(1), 3000u);
}

// Threads that read a strong vector while others write it see all of one, or of another.
TEST_F(GridTest, MovesAStrongVectorAtOnce) {
  const auto count = [&](const char* type, const char* move, const char* loads,
                         const char* stored) {
    Write<uint32_t>(0, 0);
    const auto program = Load(Module(Kernel(absl::StrCat(
        "mov.u32 %r3, %ctaid.x; setp.eq.u32 %p1, %r3, 0; mov.u32 %r4, 0;\n"
        "mov.u64 %rd4, 0; mov.u64 %rd5, 0; mov.u32 %r7, 0; mov.u32 %r8, 0; mov.u32 %r10, 0;\n"
        "L: cvt.u64.u32 %rd3, %r4;\n",
        "@%p1 st.relaxed.gpu.global.", type, " [%rd1+64], ", stored,
        ";\n@!%p1 ld.relaxed.gpu.global.", type, " ", loads, ", [%rd1+64];\n", move,
        "setp.ne.u64 %p2, %rd4, %rd5; @%p2 st.global.u32 [%rd1], 1;\n"
        "st.global.u32 [%rd1+4], %r4; add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 200000; @%p3 bra "
        "L;"))));
    const auto grid = MakeGrid(program, Dim3{2, 1, 1}, Dim3{32, 1, 1}, {memory().value()}, "k", 2);
    EXPECT_EQ(grid->Run(uint64_t{1} << 30), Grid::State::kDone);
    return Read(0);
  };
  EXPECT_EQ(count("v2.u32", "cvt.u64.u32 %rd4, %r7; cvt.u64.u32 %rd5, %r8;\n", "{%r7, %r8}",
                  "{%r4, %r4}"),
            0u);
  if (kThreadSanitizer) return;  // which has nothing that is wider
  EXPECT_EQ(count("v2.u64", "", "{%rd4, %rd5}", "{%rd3, %rd3}"), 0u);
  EXPECT_EQ(count("v4.u32", "cvt.u64.u32 %rd4, %r7; cvt.u64.u32 %rd5, %r10;\n",
                  "{%r7, %r8, %r9, %r10}", "{%r4, %r4, %r4, %r4}"),
            0u);
}

// What fill wrote, verify finds; a word that was changed, it counts.
TEST_F(GridTest, FillsAndVerifies) {
  const auto program = Load(TextOf("kernels/fill_verify.ptx"));
  ASSERT_NE(program, nullptr);
  const uint64_t words = memory().value() + 64 + 4;
  const uint64_t result = memory().value();
  constexpr uint64_t kCount = 10'003;
  const auto run = [&](const char* name, const std::vector<uint64_t>& arguments) {
    const auto grid = MakeGrid(program, Dim3{4, 1, 1}, Dim3{96, 1, 1}, arguments, name);
    EXPECT_EQ(grid->Run(kEnough), Grid::State::kDone);
  };
  run("twinmmu_fill", {words, kCount, 5});
  run("twinmmu_verify_reset", {result});
  run("twinmmu_verify", {words, kCount, 5, result});
  EXPECT_EQ(Read<uint64_t>(0), 0u);
  Write<uint32_t>(17 + 5000, ~Read(17 + 5000));
  run("twinmmu_verify", {words, kCount, 5, result});
  EXPECT_EQ(Read<uint64_t>(0), 1u);
  EXPECT_EQ(Read<uint64_t>(1), 5000u);
}

// A slice ends where all blocks let the next grid start.
TEST_F(GridTest, StopsWhereTheNextOneMayStart) {
  const auto program = Load(
      Module(Kernel("mov.u32 %r3, %ctaid.x; mul.wide.u32 %rd3, %r3, 4; add.s64 %rd3, %rd1, %rd3;\n"
                    "griddepcontrol.launch_dependents; st.global.u32 [%rd3], 1;")));
  const auto grid = MakeGrid(program, Dim3{3, 1, 1}, Dim3{64, 1, 1}, {memory().value()});
  EXPECT_FALSE(grid->LetsNextStart());
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kRunning);
  EXPECT_TRUE(grid->LetsNextStart());
  EXPECT_EQ(Read(2), 0u);
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kDone);
  EXPECT_EQ(Read(2), 1u);
}

// One that only looks at the same place again gives way after some loops, long before the slice is
// over; one that reads ever new places does not.
TEST_F(GridTest, APollGivesWayAtOnce) {
  const auto count = [&](const char* next) {
    Write<uint32_t>(0, 0);
    const auto program = Load(Module(Kernel(absl::StrCat(
        "mov.u32 %r3, 0; mov.u64 %rd3, %rd1;\n"
        "L: ld.volatile.global.u32 %r2, [%rd3]; add.u32 %r3, %r3, 1;\n",
        next, "setp.eq.u32 %p1, %r2, 0; setp.lt.and.u32 %p1, %r3, 2000, %p1; @%p1 bra L;\n",
        "st.global.u32 [%rd1+4], %r3;"))));
    const auto grid = MakeGrid(program, Dim3(), Dim3(), {memory().value()});
    const Grid::State state = grid->Run(kEnough);
    Write<uint32_t>(0, 1);
    while (grid->Run(kEnough) == Grid::State::kWaiting) {
    }
    return std::pair(state, Read(1));
  };
  EXPECT_EQ(count("").first, Grid::State::kWaiting);
  EXPECT_LT(count("").second, 100u);
  EXPECT_EQ(count("add.s64 %rd3, %rd3, 8;\n").second, 2000u);
}

// So does one that sleeps, and does nothing else meanwhile.
TEST_F(GridTest, ASleepGivesWay) {
  const auto program = Load(
      Module(Kernel("L: nanosleep.u32 100; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 100000;\n"
                    "@%p1 bra L;")));
  const auto grid = MakeGrid(program, Dim3(), Dim3(), {memory().value()});
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kWaiting);
  while (grid->Run(kEnough) == Grid::State::kWaiting) {
  }
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kDone);
}

// What it did before it came to wait counts: the one that waits for it is to have its turn at once.
TEST_F(GridTest, ASliceThatEndsWithPollsMayHaveGotSomewhere) {
  Write<uint32_t>(0, 0);
  Write<uint32_t>(1, 0);
  const auto program =
      Load(Module(Kernel("st.release.sys.global.u32 [%rd1], 1;\n"
                         "L: ld.acquire.sys.global.u32 %r2, [%rd1+4]; setp.eq.u32 %p1, %r2, 0;\n"
                         "@%p1 bra L;")));
  const auto grid = MakeGrid(program, Dim3(), Dim3(), {memory().value()});
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kRunning);
  EXPECT_EQ(Read(0), 1u);
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kWaiting);
  Write<uint32_t>(1, 1);
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kDone);
}

// The rest of its block waits at a barrier: no reason to poll more often.
TEST_F(GridTest, APollGivesWayAsSoonInALargeBlock) {
  const auto count = [&](uint32_t threads) {
    Write<uint32_t>(0, 0);
    const auto program = Load(Module(
        Kernel("mov.u32 %r3, %tid.x; setp.ne.u32 %p1, %r3, 0; @%p1 bra MET; mov.u32 %r3, 0;\n"
               "L: ld.acquire.sys.global.u32 %r2, [%rd1]; add.u32 %r3, %r3, 1;\n"
               "setp.eq.u32 %p1, %r2, 0; @%p1 bra L; st.global.u32 [%rd1+4], %r3;\n"
               "MET: bar.sync 0;")));
    const auto grid = MakeGrid(program, Dim3(), Dim3{threads, 1, 1}, {memory().value()});
    EXPECT_NE(grid->Run(kEnough), Grid::State::kDone);
    Write<uint32_t>(0, 1);
    EXPECT_EQ(grid->Run(kEnough), Grid::State::kDone);
    return Read(1);
  };
  EXPECT_LT(count(1024), 2 * count(64));
}

// A wait that is held lets those threads go on that do not come to it, and few blocks begin.
TEST_F(GridTest, HoldsThreadsAtAWait) {
  const auto program =
      Load(Module(Kernel("setp.eq.u32 %p1, %r1, 0; @%p1 griddepcontrol.wait;\n"
                         "atom.global.add.u32 %r2, [%rd2], 1;")));
  const auto grid = MakeGrid(program, Dim3{100, 1, 1}, Dim3{2, 1, 1}, {memory().value()});
  grid->HoldWaits();
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kRunning);
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kWaiting);
  EXPECT_EQ(Read(0), 0u);
  EXPECT_EQ(Read(1), 16u);
  grid->ReleaseWaits(coherence::Clocks());
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kDone);
  EXPECT_THAT(ReadAll(2), testing::ElementsAre(100u, 100u));
}

// A device of two multiprocessors, each of which holds one block.
class SmallDeviceTest : public GridTest {
 protected:
  SmallDeviceTest() : GridTest(Small()) {}
  static Profile Small() {
    Profile profile = Profile::ReferenceH200(2);
    constexpr auto kMultiprocessors = static_cast<DeviceAttribute>(16);
    constexpr auto kBlocksPerMultiprocessor = static_cast<DeviceAttribute>(106);
    profile.devices[0].attributes[kMultiprocessors] = 2;
    profile.devices[0].attributes[kBlocksPerMultiprocessor] = 1;
    return profile;
  }
  // Each block but the last waits for what the last one does.
  Grid::State WaitForTheLast(uint32_t blocks) {
    const std::string body =
        "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x; sub.u32 %r3, %r3, 1;\n"
        "setp.eq.u32 %p1, %r2, %r3;\n"
        "@%p1 st.release.gpu.global.u32 [%rd1], 1;\n"
        "again: ld.acquire.gpu.global.u32 %r4, [%rd1];\n"
        "setp.eq.u32 %p2, %r4, 0;\n"
        "@%p2 bra again;";
    return Run(Kernel(body), Dim3{blocks, 1, 1}, Dim3{});
  }
};

// A kernel is told of the multiprocessors that the profile gives its device.
TEST_F(SmallDeviceTest, TellsItsMultiprocessors) {
  RunKernel("mov.u32 %r2, %nsmid; st.global.u32 [%rd1], %r2;", 1);
  EXPECT_EQ(Read(0), 2u);
}

// As many blocks run at once as the device holds, and no more.
TEST_F(SmallDeviceTest, HoldsABlockOnEachMultiprocessor) {
  EXPECT_EQ(WaitForTheLast(2), Grid::State::kDone);
  Write<uint32_t>(0, 0);
  EXPECT_EQ(WaitForTheLast(3), Grid::State::kWaiting);
}

}  // namespace
}  // namespace twinmmu::ptx
