// Clusters: where blocks are, their barrier, and each other's shared memory.

#include "absl/strings/str_cat.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kSync[] = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";

// Kernel k in clusters of 2. %rd2: the word of the thread, by %tid.x and %ctaid.x; %r9: shared
// memory of 64 bytes, at the same place in each block; %r10: the same of the other block; %r2: the
// rank.
class ClusterTest : public GridTest {
 protected:
  static std::string Kernel(const std::string& body, const char* cluster = "2") {
    return absl::StrCat(
        ".visible .entry k(.param .u64 p) .reqnctapercluster ", cluster,
        "\n{\n.reg .pred %p<10>; .reg .b32 %r<40>; .reg .b64 %rd<20>;\n"
        ".shared .align 16 .b8 s[64]; .shared .align 8 .b64 m;\n"
        "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
        "mov.u32 %r3, %ntid.x; mad.lo.u32 %r3, %r2, %r3, %r1; mul.wide.u32 %rd2, %r3, 4;\n"
        "add.s64 %rd2, %rd1, %rd2; mov.u32 %r2, %cluster_ctarank; mov.u32 %r9, s;\n"
        "xor.b32 %r4, %r2, 1; mapa.shared::cluster.u32 %r10, %r9, %r4;\n",
        body, "\nret;\n}\n");
  }
  void RunBlocks(const std::string& body, uint32_t threads = 1, uint32_t blocks = 4) {
    EXPECT_EQ(Run(Kernel(body), Dim3{blocks, 1, 1}, Dim3{threads, 1, 1}), Grid::State::kDone)
        << fault_.place.instruction << ": " << fault_.words;
  }
  GridFault::Kind FaultOfBlocks(const std::string& body, uint32_t threads = 1) {
    EXPECT_EQ(Run(Kernel(body), Dim3{2, 1, 1}, Dim3{threads, 1, 1}), Grid::State::kFaulted);
    return fault_.kind;
  }
};

// A block knows its cluster and its place in it.
TEST_F(ClusterTest, TellsBlocksWhereTheyAre) {
  const std::string body =
      "mov.u32 %r5, %clusterid.x; mov.u32 %r6, %nclusterid.y; mov.u32 %r7, %cluster_ctaid.y;\n"
      "mov.u32 %r8, %cluster_nctaid.x; mov.u32 %r11, %cluster_nctarank;\n"
      "mov.u32 %r12, %ctaid.y; mov.u32 %r13, %nctaid.x; mov.u32 %r14, %ctaid.x;\n"
      "mad.lo.u32 %r12, %r12, %r13, %r14; mul.wide.u32 %rd3, %r12, 32; add.u64 %rd3, %rd1, %rd3;\n"
      "mov.pred %p1, %is_explicit_cluster; selp.u32 %r15, 1, 0, %p1;\n"
      "st.global.v4.u32 [%rd3], {%r5, %r6, %r7, %r8}; st.global.v2.u32 [%rd3+16], {%r2, %r11};\n"
      "st.global.u32 [%rd3+24], %r15;";
  EXPECT_EQ(Run(Kernel(body, "2, 2"), Dim3{4, 4, 1}, Dim3{1, 1, 1}), Grid::State::kDone);
  // Block (3, 2): cluster (1, 1), place (1, 0), rank 1.
  std::vector<uint32_t> words = ReadAll(128);
  words.erase(words.begin(), words.begin() + 11 * 8);
  words.resize(7);
  EXPECT_THAT(words, ElementsAre(1, 2, 0, 2, 1, 4, 1));
}

// Each block writes into the other's shared memory, and reads it behind the barrier.
TEST_F(ClusterTest, SharesMemoryBetweenBlocks) {
  RunBlocks(absl::StrCat("add.u32 %r5, %r2, 100; shl.b32 %r6, %r1, 2; add.u32 %r7, %r10, %r6;\n",
                         kSync, "st.shared::cluster.u32 [%r7], %r5;\n", kSync,
                         "add.u32 %r8, %r9, %r6; ld.shared.u32 %r5, [%r8];\n",
                         "st.global.u32 [%rd2], %r5;\n", kSync),
            8);
  std::vector<uint32_t> words = ReadAll(32);
  EXPECT_EQ(words[0], 101u);
  EXPECT_EQ(words[7], 101u);
  EXPECT_EQ(words[8], 100u);
  EXPECT_EQ(words[16], 101u);
}

// Generic addresses reach there, too; atomics are atomic.
TEST_F(ClusterTest, ReachesOtherBlocksByGenericAddresses) {
  RunBlocks(
      absl::StrCat("mov.u64 %rd3, s; cvta.shared.u64 %rd3, %rd3; mov.u32 %r5, 0;\n", kSync,
                   "mapa.u64 %rd4, %rd3, %r5; atom.add.u32 %r6, [%rd4], 1;\n",
                   "red.shared::cluster.add.u32 [%r10], 0; getctarank.u64 %r7, %rd4;\n", kSync,
                   "ld.u32 %r8, [%rd4]; add.u32 %r8, %r8, %r7; st.global.u32 [%rd2], %r8;\n",
                   "isspacep.shared::cluster %p1, %rd4; isspacep.shared::cta %p2, %rd4;\n",
                   "selp.u32 %r5, 1, 0, %p1; selp.u32 %r6, 10, 0, %p2; add.u32 %r5, %r5, %r6;\n",
                   "st.global.u32 [%rd2+1024], %r5;\n", kSync),
      16);
  EXPECT_THAT(ReadAll(64), Each(32u));
  EXPECT_EQ(Read(256), 11u);
  EXPECT_EQ(Read(272), 1u);
}

// An address tells whose block's memory it is in, by its own width.
TEST_F(ClusterTest, TellsTheRankOfAnAddress) {
  RunBlocks(absl::StrCat("mov.u64 %rd3, s; cvta.shared.u64 %rd3, %rd3; mapa.u64 %rd4, %rd3, %r4;\n",
                         "getctarank.u64 %r5, %rd4; getctarank.shared::cluster.u32 %r6, %r10;\n",
                         "getctarank.shared::cluster.u32 %r7, %r9; mad.lo.u32 %r5, %r5, 10, %r6;\n",
                         "mad.lo.u32 %r5, %r5, 10, %r7; st.global.u32 [%rd2], %r5;\n"));
  EXPECT_THAT(ReadAll(4), ElementsAre(110, 1, 110, 1));
}

// An mbarrier takes arrivals, and bytes, from other blocks.
TEST_F(ClusterTest, ArrivesAtMbarriersOfOtherBlocks) {
  RunBlocks(
      absl::StrCat(
          "mov.u32 %r5, m; mbarrier.init.shared.b64 [%r5], 2; mapa.shared::cluster.u32 %r6, %r5, "
          "%r4;\n",
          kSync, "mbarrier.arrive.expect_tx.shared.b64 _, [%r5], 12;\n",
          "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];\nadd.u32 %r7, %r2, 7;\n",
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r10], {%r7, 3}, "
          "[%r6];\n",
          "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 "
          "[%r10+8], 5, [%r6];\n",
          "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r5], 0;\n",
          "@!%p1 bra W;\nld.shared.v2.u32 {%r7, %r8}, [%r9]; ld.shared.u32 %r11, [%r9+8];\n",
          "add.u32 %r7, %r7, %r8; add.u32 %r7, %r7, %r11; st.global.u32 [%rd2], %r7;\n", kSync),
      1, 2);
  EXPECT_THAT(ReadAll(2), ElementsAre(8 + 3 + 5, 7 + 3 + 5));
}

// One copy goes to all blocks of a mask, and each one's mbarrier gets the bytes.
TEST_F(ClusterTest, CopiesToSeveralBlocks) {
  for (uint32_t i = 0; i < 16; ++i) Write(64 + i, i + 30);
  RunBlocks(
      absl::StrCat(
          "mov.u32 %r5, m; mbarrier.init.shared.b64 [%r5], 1; fence.mbarrier_init.release.cluster;"
          "\n",
          kSync, "mbarrier.arrive.expect_tx.shared.b64 _, [%r5], 64;\n",
          "setp.eq.u32 %p2, %r2, 0; .reg .b16 %h1; mov.u16 %h1, 3;\n",
          "@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
          "cluster [%r9], [%rd1+256], 64, [%r5], %h1;\n",
          "W: mbarrier.try_wait.parity.shared.b64 %p1, [%r5], 0;\n@!%p1 bra W;\n",
          "ld.shared.u32 %r7, [%r9+60]; st.global.u32 [%rd2], %r7;\n", kSync),
      1, 2);
  EXPECT_THAT(ReadAll(2), Each(45u));
}

// From the shared memory of one block to that of another.
TEST_F(ClusterTest, CopiesBetweenSharedMemories) {
  RunBlocks(
      absl::StrCat(
          "mov.u32 %r5, m; mbarrier.init.shared.b64 [%r5], 1; mapa.shared::cluster.u32 %r6, %r5, "
          "%r4;\nadd.u32 %r7, %r2, 50; st.shared.u32 [%r9], %r7; fence.proxy.async;\n",
          kSync, "mbarrier.arrive.expect_tx.shared.b64 _, [%r5], 16; add.u32 %r10, %r10, 16;\n",
          "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r10], [%r9], "
          "16, [%r6];\n",
          "W: mbarrier.try_wait.parity.shared.b64 %p1, [%r5], 0;\n@!%p1 bra W;\n",
          "ld.shared.u32 %r7, [%r9+16]; st.global.u32 [%rd2], %r7;\n", kSync),
      1, 2);
  EXPECT_THAT(ReadAll(2), ElementsAre(51, 50));
}

// Blocks that meet get on, whatever they look at meanwhile: none of them waits for others.
TEST_F(ClusterTest, GetsOnAtTheBarrier) {
  RunBlocks(absl::StrCat("mov.u32 %r5, 0;\nL: ld.volatile.global.u32 %r6, [%rd1+1024];\n", kSync,
                         "add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 3000; @%p1 bra L;\n",
                         "st.global.u32 [%rd2], %r5;\n"));
  EXPECT_THAT(ReadAll(4), Each(3000u));
}

// A warp that the turn of its block cuts short goes on in the next one: it gets as far as the
// others, however little of each turn they leave. Here one works for most of a turn, then waits in
// vain.
TEST_F(ClusterTest, GivesAllWarpsAsMuch) {
  RunBlocks(
      "setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [m], 1; bar.sync 0;\n"
      "setp.eq.u32 %p1, %r1, 32; @%p1 bra OTHER; setp.ne.u32 %p1, %r1, 0; @%p1 bra E;\n"
      "mov.u32 %r5, 0; ROUND: mov.u32 %r6, 0;\n"
      "WORK: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 150; @%p1 bra WORK;\n"
      "mbarrier.test_wait.parity.shared.b64 %p2, [m], 0;\n"
      "add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 20; @%p1 bra ROUND;\n"
      "ld.volatile.shared.u32 %r7, [s]; st.global.u32 [%rd2], %r7; st.volatile.shared.u32 [s+4], "
      "1;\n"
      "bra E;\n"
      "OTHER: add.u32 %r8, %r8, 1; st.volatile.shared.u32 [s], %r8;\n"
      "ld.volatile.shared.u32 %r9, [s+4]; setp.eq.u32 %p1, %r9, 0; @%p1 bra OTHER;\nE:",
      64, 2);
  EXPECT_GT(Read(0), 1000u);
  EXPECT_GT(Read(64), 1000u);
}

// A block that exits counts no more at the barrier.
TEST_F(ClusterTest, DoesNotWaitForBlocksThatExited) {
  RunBlocks(
      absl::StrCat("setp.eq.u32 %p1, %r2, 1; @%p1 exit;\n", kSync, "st.global.u32 [%rd2], 1;"), 40,
      2);
  EXPECT_EQ(Read(39), 1u);
}

TEST_F(ClusterTest, FaultsInTheMemoryOfABlockThatExited) {
  EXPECT_EQ(FaultOfBlocks("setp.eq.u32 %p1, %r2, 1; @%p1 exit; mov.u32 %r5, 0;\n"
                          "L: add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 3000;\n"
                          "@%p2 bra L; ld.shared::cluster.u32 %r6, [%r10];"),
            GridFault::kUndefined);
  EXPECT_EQ(fault_.words, "shared memory of the block of rank 1 of the cluster, which has exited");
}

TEST_F(ClusterTest, FaultsInTheMemoryOfABlockThatIsNotThere) {
  EXPECT_EQ(FaultOfBlocks("mov.u32 %r5, 5; mapa.shared::cluster.u32 %r6, %r9, %r5;\n"
                          "st.shared::cluster.u32 [%r6], 1;"),
            GridFault::kUndefined);
  EXPECT_EQ(fault_.words, "shared memory of the block of rank 5 of a cluster that has 2 blocks");
}

// .shared alone means that of the own block.
TEST_F(ClusterTest, FaultsInTheMemoryOfAnotherBlockThatIsNotNamed) {
  for (const char* const access : {"ld.shared.u32 %r6, [%r10];", "st.shared::cta.u32 [%r10], 1;",
                                   "atom.shared.add.u32 %r6, [%r10], 1;"}) {
    EXPECT_EQ(FaultOfBlocks(absl::StrCat(kSync, access, kSync)), GridFault::kIllegalInstruction);
    EXPECT_EQ(fault_.words,
              "it is in the shared memory of another block, which takes .shared::cluster");
  }
}

TEST_F(ClusterTest, FaultsForAMaskOfABlockThatIsNotThere) {
  EXPECT_EQ(FaultOfBlocks("mov.u32 %r5, m; mbarrier.init.shared.b64 [%r5], 1;\n"
                          ".reg .b16 %h1; mov.u16 %h1, 5;\n"
                          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
                          "multicast::cluster [%r9], [%rd1], 16, [%r5], %h1;"),
            GridFault::kUndefined);
  EXPECT_EQ(fault_.words, "the mask names the block of rank 2 of a cluster that has 2 blocks");
}

// A barrier that cannot be passed says who waits.
TEST_F(ClusterTest, FindsADeadlockAtTheBarrier) {
  EXPECT_EQ(FaultOfBlocks("setp.eq.u32 %p1, %r2, 0; @%p1 bra A;\nbar.sync 1, 64; bra E;\n"
                          "A: barrier.cluster.arrive; barrier.cluster.wait;\nE:",
                          32),
            GridFault::kDeadlock);
  EXPECT_THAT(fault_.words,
              HasSubstr("for the barrier of the cluster, which has 32 of 64 threads"));
}

TEST_F(ClusterTest, FaultsWhereAThreadArrivesTwice) {
  EXPECT_EQ(FaultOfBlocks("barrier.cluster.arrive; barrier.cluster.arrive;"),
            GridFault::kUndefined);
}

// A thread arrives at another block's mbarrier, but waits for its own only.
TEST_F(ClusterTest, FaultsWhereAThreadWaitsForAnotherBlocksMbarrier) {
  EXPECT_EQ(
      FaultOfBlocks(absl::StrCat("mov.u32 %r5, m; mbarrier.init.shared.b64 [%r5], 1;\n", kSync,
                                 "mapa.shared::cluster.u32 %r6, %r5, %r4;\n",
                                 "mbarrier.test_wait.parity.shared.b64 %p1, [%r6], 1;\n", kSync)),
      GridFault::kIllegalInstruction);
}

}  // namespace
}  // namespace twinmmu::ptx
