// mbarriers: phases, arrivals, bytes of transactions, and what is wrong use.

#include "absl/strings/str_cat.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// %r9: the address of one.
class MbarrierTest : public GridTest {
 protected:
  static std::string With(const std::string& body) {
    return absl::StrCat(".shared .align 8 .b64 m[2]; mov.u32 %r9, m;\n", body);
  }
  // Word `index` of the memory becomes %p1.
  static std::string Put(int index) {
    return absl::StrCat("selp.u32 %r8, 1, 0, %p1; st.global.u32 [%rd1+", 4 * index, "], %r8;\n");
  }
  static std::string Parity(int parity, int index) {
    return absl::StrCat("mbarrier.test_wait.parity.shared.b64 %p1, [%r9], ", parity, ";\n",
                        Put(index));
  }
  void RunOne(const std::string& body) { RunKernel(With(body), 1); }
  std::string WordsOf(const std::string& body) {
    EXPECT_EQ(FaultOf(With(body), 1), GridFault::kUndefined) << body;
    return fault_.words;
  }
};

// A phase is over when all its arrivals have come; the next one begins with the same count.
TEST_F(MbarrierTest, EndsAPhaseWithItsLastArrival) {
  std::string body = "mbarrier.init.shared.b64 [%r9], 2;\n";
  for (int i = 0; i < 5; ++i) {
    body += Parity(0, 2 * i) + Parity(1, 2 * i + 1) + "mbarrier.arrive.shared.b64 _, [%r9];\n";
  }
  RunOne(body);
  EXPECT_THAT(ReadAll(10), ElementsAre(0, 1, 0, 1, 1, 0, 1, 0, 0, 1));
}

// The state that an arrival gives tells which phase to wait for, and what was pending before.
TEST_F(MbarrierTest, WaitsForThePhaseOfAState) {
  RunOne(absl::StrCat(
      "mbarrier.init.shared.b64 [%r9], 7;\nmbarrier.arrive.shared.b64 %rd3, [%r9], 2;\n"
      "mbarrier.arrive.noComplete.shared.b64 %rd4, [%r9], 1;\n"
      "mbarrier.test_wait.shared.b64 %p1, [%r9], %rd3;\n",
      Put(0), "mbarrier.arrive.shared.b64 _, [%r9], 4;\n",
      "mbarrier.test_wait.shared.b64 %p1, [%r9], %rd3;\n", Put(1),
      "mbarrier.pending_count.b64 %r2, %rd3; st.global.u32 [%rd1+8], %r2;\n"
      "mbarrier.pending_count.b64 %r2, %rd4; st.global.u32 [%rd1+12], %r2;\n"));
  EXPECT_THAT(ReadAll(4), ElementsAre(0, 1, 7, 5));
}

// The 64 bits are as an H100 has them.
TEST_F(MbarrierTest, HasTheBitsOfADevice) {
  RunOne(
      "mbarrier.init.shared.b64 [%r9], 2;\nmbarrier.arrive.shared.b64 _, [%r9];\n"
      "ld.shared.u64 %rd3, [%r9]; st.global.u64 [%rd1], %rd3;");
  EXPECT_EQ(Read<uint64_t>(0), 0x7ffff800001ffffcu);
}

// Bytes that are expected hold a phase open; they may come before they are expected.
TEST_F(MbarrierTest, CountsBytesOfTransactions) {
  const std::string relaxed = ".relaxed.cta.shared::cta.b64 [%r9], ";
  RunOne(absl::StrCat("mbarrier.init.shared.b64 [%r9], 1;\n", "mbarrier.complete_tx", relaxed,
                      "16;\n", "mbarrier.arrive.expect_tx.shared.b64 %rd3, [%r9], 48;\n",
                      Parity(0, 0), "mbarrier.complete_tx", relaxed, "32;\n", Parity(0, 1),
                      "mbarrier.expect_tx", relaxed, "8;\nmbarrier.arrive.shared.b64 _, [%r9];\n",
                      Parity(1, 2), "mbarrier.complete_tx", relaxed, "8;\n", Parity(1, 3)));
  EXPECT_THAT(ReadAll(4), ElementsAre(0, 1, 0, 1));
}

// A thread that drops out counts in this phase, and not in later ones.
TEST_F(MbarrierTest, LetsThreadsDropOut) {
  RunOne(absl::StrCat(
      "mbarrier.init.shared.b64 [%r9], 3;\nmbarrier.arrive_drop.shared.b64 _, [%r9];\n",
      Parity(0, 0), "mbarrier.arrive.shared.b64 _, [%r9], 2;\n", Parity(0, 1),
      "mbarrier.arrive.shared.b64 _, [%r9];\n", Parity(1, 2),
      "mbarrier.arrive.shared.b64 _, [%r9];\n", Parity(1, 3)));
  EXPECT_THAT(ReadAll(4), ElementsAre(0, 1, 0, 1));
}

// Also the last one that it expects.
TEST_F(MbarrierTest, LetsAllThreadsDropOut) {
  RunOne(absl::StrCat("mbarrier.init.shared.b64 [%r9], 2;\n",
                      "mbarrier.arrive_drop.shared.b64 _, [%r9], 2;\n", Parity(0, 0)));
  EXPECT_EQ(Read(0), 1u);
}

// What threads stored before they arrived is there for those that have waited.
TEST_F(MbarrierTest, HoldsThreadsUntilAllHaveArrived) {
  RunKernel(
      With(".shared .align 4 .b32 s[128]; mov.u32 %r7, s;\n"
           "shl.b32 %r6, %r1, 2; add.u32 %r6, %r6, %r7;\n"
           "setp.eq.u32 %p2, %r1, 0; @%p2 mbarrier.init.shared.b64 [%r9], 128; bar.sync 0;\n"
           "st.shared.u32 [%r6], %r1;\nmbarrier.arrive.release.cta.shared::cta.b64 %rd3, [%r9];\n"
           "W: mbarrier.try_wait.acquire.cta.shared::cta.b64 %p1, [%r9], %rd3, 1000;\n"
           "@!%p1 bra W;\nxor.b32 %r5, %r1, 96; shl.b32 %r5, %r5, 2; add.u32 %r5, %r5, %r7;\n"
           "ld.shared.u32 %r4, [%r5]; st.global.u32 [%rd2], %r4;"),
      128);
  EXPECT_EQ(Read(0), 96u);
  EXPECT_EQ(Read(127), 31u);
}

// Lanes of one warp may wait for others of it, too.
TEST_F(MbarrierTest, LetsLanesOfAWarpWaitForEachOther) {
  RunKernel(
      With("setp.eq.u32 %p2, %r1, 0; @%p2 mbarrier.init.shared.b64 [%r9], 1; bar.warp.sync -1;\n"
           "@%p2 bra P;\nW: mbarrier.try_wait.parity.shared.b64 %p1, [%r9], 0;\n@!%p1 bra W;\n"
           "bra E;\nP: mbarrier.arrive.shared.b64 _, [%r9];\nE: st.global.u32 [%rd2], 1;"),
      32);
  EXPECT_THAT(ReadAll(32), Each(1u));
}

// A generic address will do as well.
TEST_F(MbarrierTest, TakesGenericAddresses) {
  RunOne(absl::StrCat("mov.u64 %rd3, m; cvta.shared.u64 %rd3, %rd3;\n",
                      "mbarrier.init.b64 [%rd3+8], 1; mbarrier.arrive.b64 %rd4, [%rd3+8];\n",
                      "mbarrier.test_wait.b64 %p1, [%rd3+8], %rd4;\n", Put(0)));
  EXPECT_EQ(Read(0), 1u);
}

TEST_F(MbarrierTest, FaultsWithoutAnObject) {
  EXPECT_THAT(WordsOf("mbarrier.arrive.shared.b64 _, [%r9];"),
              AllOf(HasSubstr("mbarrier.init has not made one"), HasSubstr("0x400")));
  EXPECT_THAT(WordsOf("mbarrier.test_wait.parity.shared.b64 %p1, [%r9], 0;"),
              HasSubstr("no mbarrier is there"));
  EXPECT_THAT(WordsOf("mbarrier.init.shared.b64 [%r9], 1; mbarrier.inval.shared.b64 [%r9];\n"
                      "mbarrier.arrive.shared.b64 _, [%r9];"),
              HasSubstr("mbarrier.inval has ended it"));
  EXPECT_THAT(WordsOf("mbarrier.init.shared.b64 [%r9], 1; st.shared.u32 [%r9], 5;\n"
                      "mbarrier.arrive.shared.b64 _, [%r9];"),
              HasSubstr("was overwritten"));
}

TEST_F(MbarrierTest, FaultsWhereACountIsBeyondItsRange) {
  const std::string init = "mbarrier.init.shared.b64 [%r9], 2;\n";
  EXPECT_THAT(WordsOf("mov.u32 %r2, 1048576; mbarrier.init.shared.b64 [%r9], %r2;"),
              HasSubstr("from 1 to 2^20 - 1"));
  EXPECT_THAT(WordsOf("mov.u32 %r2, 0; mbarrier.init.shared.b64 [%r9], %r2;"),
              HasSubstr("from 1 to 2^20 - 1"));
  EXPECT_THAT(WordsOf(init + "mbarrier.arrive.shared.b64 _, [%r9], 3;"),
              HasSubstr("more arrivals than the phase has pending"));
  EXPECT_THAT(WordsOf(init + "mbarrier.arrive.noComplete.shared.b64 %rd3, [%r9], 2;"),
              HasSubstr("completes the phase"));
  const std::string expect = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r9], %r2;\n";
  EXPECT_THAT(WordsOf(init + "mov.u32 %r2, 1048575;\n" + expect + "mov.u32 %r2, 1;\n" + expect),
              HasSubstr("beyond 2^20 - 1"));
  EXPECT_THAT(WordsOf(init + "mov.u32 %r2, 1048576;\n"
                             "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r9], %r2;\n"),
              HasSubstr("below -(2^20 - 1)"));
}

TEST_F(MbarrierTest, FaultsWhereNoObjectCanBe) {
  EXPECT_EQ(FaultOf(With("mbarrier.init.shared.b64 [%r9+4], 1;"), 1),
            GridFault::kMisalignedAddress);
  EXPECT_EQ(FaultOf(With("mbarrier.init.shared.b64 [%r9+1000000], 1;"), 1),
            GridFault::kIllegalAddress);
  EXPECT_EQ(FaultOf(With("mbarrier.init.b64 [%rd1], 1;"), 1), GridFault::kIllegalInstruction);
}

// One that waits for ever is named with its mbarrier, and what that waits for.
TEST_F(MbarrierTest, SaysWhoWaitsForWhichOne) {
  const auto program = Load(Module(
      Kernel(With("setp.eq.u32 %p2, %r1, 0; @%p2 mbarrier.init.shared.b64 [%r9], 65; bar.sync 0;\n"
                  "mbarrier.arrive.shared.b64 _, [%r9];\n"
                  "@%p2 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r9], 512;\n"
                  "W: mbarrier.try_wait.parity.shared.b64 %p1, [%r9], 0;\n@!%p1 bra W;"))));
  ASSERT_NE(program, nullptr);
  const auto grid = MakeGrid(program, Dim3(), Dim3{64, 1, 1}, {memory().value()});
  EXPECT_EQ(grid->Run(1'000'000), Grid::State::kRunning);
  // Until it ends behind a wait, not at the branch.
  for (int i = 0; i < 64 && grid->WhoWaits().find(", at") != std::string::npos; ++i) {
    EXPECT_EQ(grid->Run(10 + static_cast<uint64_t>(i)), Grid::State::kWaiting);
  }
  EXPECT_EQ(grid->WhoWaits(),
            "block (0, 0, 0) has 64 threads, the first (0, 0, 0), waiting at PTX line 15, "
            "mbarrier.try_wait.parity.shared.b64, for an even phase of the mbarrier at shared "
            "address 0x400, which has 1 of 65 arrivals to come, and 512 bytes");
}

// What a driver refuses at load.
TEST_F(MbarrierTest, RefusesFormsThatAreNone) {
  for (const char* body :
       {"mbarrier.test_wait.parity.shared.b64 %p1, [%r9], 2;",
        "mbarrier.arrive.shared::cluster.b64 %rd3, [%r9];", "mbarrier.init.shared.b64 [%r9];",
        "mbarrier.shared.b64 [%r9];", "mbarrier.test_wait.shared.b64 %r1, [%r9], %rd3;"}) {
    const auto parsed = Parse(Module(Kernel(With(body))));
    ASSERT_THAT(parsed, IsOk()) << body;
    EXPECT_FALSE(MakeProgram(*parsed).ok()) << body;
  }
}

}  // namespace
}  // namespace twinmmu::ptx
